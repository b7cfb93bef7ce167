"""Writing suggestions: into the file that has the part, completely or not at all, with the deciding replies as
examples."""

import json
import os
from pathlib import Path

import pytest

from tests.tuning.making import cases_of, kinds, tuned, write
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract, load_contract
from trueup.tuning.applying import MOST_EXAMPLES, CannotApply, apply
from trueup.tuning.tune import Tuning, tune

ENUM = """# Levels.
schema:
  type: object
  properties:
    level: {enum: [low, high]}   # two
    n: {type: number}
rules:
  - {name: even, expr: n % 2 == 0, when: "'n' in dir()"}
"""
ALIAS = [({"level": "very high"}, True)] * 12 + [({"level": "banana"}, False)] * 11
NUMBER = [({"n": "$1,234"}, True)] * 12
ODD = [({"n": 3}, True)] * 12


def is_clean(file: Path) -> bool:
    linted = lint_contract(file)
    return not linted.faults and not list(run_examples(linted))


def test_a_written_file_lints_clean_and_keeps_its_comments(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    file.chmod(0o640)
    found = tuned(file, ALIAS)
    done = apply(found, [1])
    text = file.read_text()
    assert text.startswith(ENUM)
    assert "aliases: {high: [very high]}" in text
    assert is_clean(file)
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["contract.yaml"], "nothing is left behind"
    assert done.examples == len(lint_contract(file).examples) == 2, "one that is read now, and one that stays refused"
    assert {example["ok"] for example in lint_contract(file).examples} == {True, False}


def test_the_owner_stays_if_the_system_has_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, ENUM)
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda _, user, group: given.append((user, group)))
    apply(tuned(file, ALIAS), [1])
    assert given == [(file.stat().st_uid, file.stat().st_gid)]
    file.write_text(ENUM)
    monkeypatch.delattr(os, "chown")
    apply(tuned(file, ALIAS), [1])
    assert "aliases" in file.read_text()


def test_several_suggestions_fit_together(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    found = tuned(file, [*ALIAS, *NUMBER, *ODD])
    assert sorted(kinds(found)) == ["alias", "coercion", "misfire"]
    done = apply(found, [1, 2, 3])
    contract = load_contract(file)
    assert [contract.check(json.dumps(reply)).ok for reply, _ in (ALIAS[0], ALIAS[-1], NUMBER[0], ODD[0])] == [
        True, False, True, True,
    ]  # fmt: skip
    assert done.examples <= 3 * MOST_EXAMPLES
    assert is_clean(file)
    again = tune(file, cases_of(file, [*ALIAS, *NUMBER, *ODD]), backtest=False)
    assert not again.suggestions, "what is mended is not found again"


def test_several_rules_can_go_at_once(tmp_path: Path) -> None:
    rules = "".join(f"  - {{name: r{n}, expr: n < {500 + n}}}\n" for n in range(4))
    file = write(tmp_path, f"schema: true\nrules:\n{rules}  - {{name: alive, expr: n < 90}}\n")
    found = tuned(file, [({"n": n % 100}, None) for n in range(900)])
    assert kinds(found) == ["dead"] * 4
    apply(found, [1, 3])
    assert [line.split(",")[0] for line in file.read_text().splitlines()[2:]] == [
        "  - {name: r1",
        "  - {name: r3",
        "  - {name: alive",
    ]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    found = tuned(file, ALIAS)
    file.write_text(ENUM + "# mine\n")
    with pytest.raises(CannotApply, match="has changed since"):
        apply(found, [1])
    assert file.read_text() == ENUM + "# mine\n"


def test_a_result_that_does_not_lint_clean_is_not_written(tmp_path: Path) -> None:
    text = ENUM + 'examples:\n  - {reply: \'{"level": "very high"}\', ok: false}\n'
    file = write(tmp_path, text)
    found = tuned(file, ALIAS)
    with pytest.raises(CannotApply, match=r"nothing was written.*N020"):
        apply(found, [1])
    assert file.read_text() == text
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("number", [0, 2, 99])
def test_a_number_that_is_not_there_is_refused(tmp_path: Path, number: int) -> None:
    found = tuned(write(tmp_path, ENUM), ALIAS)
    with pytest.raises(CannotApply, match=f"unknown suggestion {number}; the last suggestion is 1"):
        apply(found, [number])


def test_line_ends_and_a_byte_order_mark_stay(tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + ENUM.replace("\n", "\r\n").encode())
    apply(tuned(file, ALIAS), [1], examples=False)
    raw = file.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf# Levels.\r\n")
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert b"examples" not in raw


def test_mixed_line_ends_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_bytes(ENUM.replace("\n", "\r\n", 1).encode())
    with pytest.raises(CannotApply, match="two kinds of line ends"):
        apply(tuned(file, ALIAS), [1])


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = write(tmp_path, ENUM, "real.yaml")
    link = tmp_path / "link.yaml"
    link.symlink_to(real)
    apply(tuned(link, ALIAS), [1], examples=False)
    assert link.is_symlink()
    assert "very high" in real.read_text()


def test_a_json_contract_stays_json(tmp_path: Path) -> None:
    text = json.dumps({"schema": {"type": "object", "properties": {"level": {"enum": ["low", "high"]}}}}, indent=2)
    file = write(tmp_path, text, "contract.json")
    apply(tuned(file, ALIAS), [1])
    data = json.loads(file.read_text())
    assert data["coerce"] == {"aliases": {"high": ["very high"]}}
    assert len(data["examples"]) == 2
    assert is_clean(file)


def test_a_toml_contract_gets_numbers_and_a_clear_message_for_the_rest(tmp_path: Path) -> None:
    text = (
        '[reply]\nmin_text = 20 # few\n\n[schema]\ntype = "object"\n[schema.properties.level]\nenum = ["low", "high"]\n'
    )
    file = write(tmp_path, text, "contract.toml")
    found = tuned(file, ALIAS)
    assert "only single values in a TOML file" in found.suggestions[0].refusal
    with pytest.raises(CannotApply, match="TOML"):
        apply(found, [1])
    talk = write(tmp_path, "[reply]\nmin_text = 20 # few\n", "talk.toml")
    done = apply(tuned(talk, [("x" * n, n >= 6) for n in range(1, 40)]), [1])
    assert talk.read_text() == "[reply]\nmin_text = 6 # few\n"
    assert "No examples were added" in done.note


def family(folder: Path) -> tuple[Path, Path]:
    base = write(
        folder, "# base\nschema: {type: object}\nrules:\n  - {name: odd, expr: n % 2 == 0}  # base rule\n", "base.yaml"
    )
    child = write(folder, "extends: base.yaml\nrules:\n  - {name: few, expr: n < 500}  # own\n", "child.yaml")
    return base, child


def test_a_rule_is_edited_in_the_file_that_contains_it(tmp_path: Path) -> None:
    base, child = family(tmp_path)
    own = child.read_text()
    found = tuned(child, ODD)
    assert [change.file.name for change in found.suggestions[0].changes] == ["base.yaml"]
    done = apply(found, [1])
    assert "{name: odd, expr: n % 2 == 0, level: warning}  # base rule" in base.read_text()
    assert child.read_text().startswith(own)
    assert done.examples == len(lint_contract(child).examples)
    assert is_clean(child)


def test_an_own_rule_is_edited_in_the_own_file(tmp_path: Path) -> None:
    base, child = family(tmp_path)
    before = base.read_text()
    found = tuned(child, [({"n": n * 2 % 100}, None) for n in range(900)])
    dead = next(s for s in found.suggestions if "'few'" in s.proposal.title)
    assert [change.file.name for change in dead.changes] == ["child.yaml"]
    assert base.read_text() == before


def test_a_schema_in_a_file_of_its_own_is_edited_there(tmp_path: Path) -> None:
    schema = write(tmp_path, '{"type": "object", "properties": {"n": {"type": "integer", "maximum": 40}}}', "n.json")
    file = write(tmp_path, "schema: n.json\n")
    found = tuned(file, [({"n": n}, n <= 62) for n in range(20, 90, 2)])
    apply(found, [1])
    assert json.loads(schema.read_text())["properties"]["n"]["maximum"] == 63
    assert is_clean(file)


def test_long_replies_are_left_out_of_the_examples_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    found: Tuning = tuned(file, [({"level": "very high", "more": "x" * 3000}, True)] * 12)
    done = apply(found, [1])
    assert (done.examples, done.left_out) == (0, MOST_EXAMPLES)
    assert "examples" not in file.read_text()


def test_examples_go_into_an_empty_list(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM + "examples: []  # none yet\n")
    done = apply(tuned(file, ALIAS), [1])
    assert (done.examples, done.note) == (2, "")
    assert "# none yet" in file.read_text()


def test_a_file_that_is_read_only_stays(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    file.chmod(0o444)
    with pytest.raises(CannotApply, match="is read-only; nothing was written"):
        apply(tuned(file, ALIAS), [1])
    assert file.read_text() == ENUM
    assert [path.name for path in tmp_path.iterdir()] == ["contract.yaml"]


def test_edits_of_toml_by_hand_are_described(tmp_path: Path) -> None:
    text = '[schema]\ntype = "object"\n[schema.properties.level]\nenum = ["low", "high"]\n'
    found = tuned(write(tmp_path, text, "contract.toml"), ALIAS)
    assert 'by hand, add coerce = {"aliases": {"high": ["very high"]}} to $' in found.suggestions[0].refusal


@pytest.mark.parametrize("text", ["rules: [{name: odd, expr: n > 2}]\n", "rules: ["])
def test_a_file_that_the_contract_extends_may_not_change_meanwhile(tmp_path: Path, text: str) -> None:
    base = write(tmp_path, "rules: [{name: odd, expr: n > 1, when: \"'n' in dir()\"}]\n", "base.yaml")
    file = write(
        tmp_path, "extends: base.yaml\nschema:\n  properties:\n    level: {enum: [low, high]}\n    n: {type: number}\n"
    )
    found = tuned(file, ALIAS)
    base.write_text(text)
    with pytest.raises(
        CannotApply,
        match="or a file that it names has changed since the suggestions were made; run `trueup tune` again",
    ):
        apply(found, [1])
