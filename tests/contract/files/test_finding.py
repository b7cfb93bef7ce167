"""A reader of other people's contracts decides which files may be read: every file is asked for before it is opened."""

from pathlib import Path

import pytest

from trueup.contract.files.documents import Barred, Find, SourceFile, anywhere
from trueup.contract.lint.run import lint_contract

NAMING = ["extends: {}\n", "schema: {}\n", "tools: {}\n", "schema: true\nquality: {{model: {}}}\n"]


def only(path: Path, text: str, asked: list[Path]) -> Find:
    """Allow only one text, which is supplied for a file that does not exist."""

    def find(other: Path) -> SourceFile:
        asked.append(other)
        if other != path:
            raise Barred("Name no files.")
        return SourceFile(path, "mine.yaml", text)

    return find


def test_a_text_may_be_supplied_for_a_file(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    linted = lint_contract(path, find=only(path, "name: a\nshema: true\n", []))
    assert [(fault.file, fault.line, fault.code) for fault in linted.faults] == [("mine.yaml", 2, "N005")]
    assert not path.exists()


@pytest.mark.parametrize("text", NAMING)
def test_a_barred_file_is_a_fault_with_the_hint(tmp_path: Path, text: str) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("schema: true\n", "utf-8")
    path, asked = tmp_path / "none.yaml", list[Path]()
    linted = lint_contract(path, find=only(path, text.format(other.name), asked))
    assert linted.contract is None
    assert [fault.hint for fault in linted.faults] == ["Name no files."]
    assert asked[-1] == other


def test_a_file_may_be_read_under_another_name_from_another_place(tmp_path: Path) -> None:
    path, real = tmp_path / "top.yaml", tmp_path / "real.yaml"
    path.write_text("extends: base.yaml\n", "utf-8")
    real.write_text("shema: true\n", "utf-8")

    def find(other: Path) -> SourceFile:
        return SourceFile(real, "called") if other.name == "base.yaml" else anywhere(other)

    assert [fault.file for fault in lint_contract(path, find=find).faults] == ["called"]


@pytest.mark.parametrize("text", NAMING[:3])
def test_a_name_that_is_too_long_is_a_fault(tmp_path: Path, text: str) -> None:
    path = tmp_path / "top.yaml"
    path.write_text(text.format("x" * 5000 + ".yaml"), "utf-8")
    assert [fault.code for fault in lint_contract(path).faults] in (["N008"], ["N007"], ["N009"])


@pytest.mark.parametrize(("key", "code"), [("schema", "N007"), ("tools", "N009")])
def test_a_file_that_contains_a_text_is_not_read_as_a_path(tmp_path: Path, key: str, code: str) -> None:
    (tmp_path / "real.json").write_text('{"type": "object"}', "utf-8")
    (tmp_path / "name.json").write_text('"real.json"', "utf-8")
    path = tmp_path / "top.yaml"
    path.write_text(f"{key}: name.json\n", "utf-8")
    (found,) = lint_contract(path).faults
    assert (found.code, "contains a text" in found.message) == (code, True)
