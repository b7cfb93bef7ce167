"""Contracts that start from others: what is merged, what is replaced, the position of each part, and refused circles."""

import json
from pathlib import Path

import pytest

from trueup import Contract
from trueup.contract.files.extends import read_whole
from trueup.contract.files.faults import ContractError


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return folder / f"{next(iter(files))}.yaml"


def test_mappings_are_merged_and_the_rest_is_replaced(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        top="extends: base.yaml\nname: top\norder: {only_once: [book]}\ncalls: {parallel: false}\nlanguage: null\n",
        base="name: base\nlanguage: es\naccept: none\ntools: [{name: look}, {name: book}]\n"
        "order: {sequence: [look, book], only_once: [look]}\ncalls: {mentions: false}\n",
    )
    data = read_whole(path).data
    assert data["name"] == "top"
    assert data["accept"] == "none"
    assert "language" not in data
    assert data["order"] == {"sequence": ["look", "book"], "only_once": ["book"]}
    assert data["calls"] == {"mentions": False, "parallel": False}
    assert Contract.load(path).language == ""


def test_null_removes_an_inherited_part_and_nothing_else(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        top="extends: base.yaml\nstates:\n  OLD: null\n  NEW:\n  KEPT: {fallback: null}\n",
        base="states:\n  OLD: {fallback: Old.}\n  KEPT: {fallback: Kept., hint: Stay.}\n",
    )
    assert read_whole(path).data["states"] == {"KEPT": {"hint": "Stay."}, "NEW": None}
    assert Contract.load(path).check("hi", {"state": "NEW"}).ok


def test_lists_of_named_items_are_merged_by_name(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        top="extends: base.yaml\ntools: [{name: book, description: new}, {name: pay}]",
        base="tools: [{name: look}, {name: book, description: old}]",
    )
    assert read_whole(path).data["tools"] == [{"name": "look"}, {"name": "book", "description": "new"}, {"name": "pay"}]


def test_a_schema_is_never_mixed_with_another(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        top="extends: base.yaml\nschema: {type: object, required: [b]}",
        base="schema: {type: object, properties: {a: {type: string}}}",
    )
    assert read_whole(path).data["schema"] == {"type": "object", "required": ["b"]}


def test_later_bases_win_and_the_file_itself_wins_over_all(tmp_path: Path) -> None:
    path = write(
        tmp_path, top="extends: [one.yaml, two.yaml]\nname: top", one="name: one\nlanguage: en\nversion: 1", two="name: two\nlanguage: es"
    )  # fmt: skip
    assert read_whole(path).data == {"name": "top", "language": "es", "version": 1}


def test_examples_belong_to_their_own_file(tmp_path: Path) -> None:
    path = write(tmp_path, top="extends: base.yaml\nschema: true", base="schema: true\nexamples: [{reply: '{}'}]")
    assert "examples" not in read_whole(path).data


def test_a_part_is_placed_in_the_file_that_gave_it(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        top="extends: base.yaml\norder:\n  only_once: [bok]\n",
        base="tools: [{name: look}, {name: book}]\norder:\n  requires:\n    book: [lok]\n",
    )
    with pytest.raises(ContractError) as caught:
        Contract.load(path)
    places = [(Path(f.file).name, f.line, f.column, f.path) for f in caught.value.faults]
    assert places == [("base.yaml", 4, 12, "$.order.requires.book[0]"), ("top.yaml", 3, 15, "$.order.only_once[0]")]


def test_a_circle_is_refused_with_its_chain(tmp_path: Path) -> None:
    path = write(tmp_path, a="extends: b.yaml", b="name: b\nextends: c.yaml", c="extends: [b.yaml]")
    with pytest.raises(ContractError) as caught:
        Contract.load(path)
    (found,) = caught.value.faults
    assert (found.code, Path(found.file).name, found.line, found.column) == ("N008", "c.yaml", 1, 11)
    assert "b.yaml → c.yaml → b.yaml" in found.message


def test_a_long_chain_and_a_wide_diamond_end(tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"chain{n}.yaml").write_text(f"extends: chain{n + 1}.yaml")
        (tmp_path / f"wide{n}.yaml").write_text(
            f"extends: [wide{n + 1}.yaml, wide{n + 1}.yaml]" if n < 15 else "name: end"
        )
    with pytest.raises(ContractError, match="is longer than 20 files"):
        Contract.load(tmp_path / "chain0.yaml")
    assert Contract.load(tmp_path / "wide0.yaml").name == "end"


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "person.json").write_text(json.dumps({"type": "object", "required": ["name"]}))
    (tmp_path / "inner" / "tools.yaml").write_text("- name: look\n- name: book\n")
    (tmp_path / "inner" / "base.yaml").write_text("schema: person.json\ntools: tools.yaml\n")
    (tmp_path / "top.yaml").write_text("extends: inner/base.yaml\norder: [look, book]\n")
    contract = Contract.load(tmp_path / "top.yaml")
    assert not contract.check("{}").ok
    assert [tool.name for tool in contract.tools] == ["look", "book"]


@pytest.mark.parametrize(
    ("schema", "code", "says"),
    [
        ("nowhere.json", "N007", "there is no such file"),
        ("https://example.org/x.json", "N007", "does not fetch files"),
        ("file:///etc/passwd", "N007", "does not fetch files"),
        ('\'{"type": "object"}\'', "N007", "text that contains JSON"),
        ("shop.models:Invoice", "N007", "must end in"),
        ("broken.json", "N002", "not JSON"),
        ("list.json", "N007", "cannot be used"),
    ],
)
@pytest.mark.spec("X7")
def test_a_schema_that_cannot_be_used_says_why(tmp_path: Path, schema: str, code: str, says: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "c.yaml").write_text(f"name: x\nschema: {schema}\n")
    with pytest.raises(ContractError) as caught:
        Contract.load(tmp_path / "c.yaml")
    assert caught.value.faults[0].code == code
    assert says in str(caught.value)
