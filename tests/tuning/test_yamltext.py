"""Edits of files: only the edited lines change, comments stay, and the file has exactly the intended data."""

import difflib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tuning.planting import make
from trueup.contract.files.documents import parse_document
from trueup.tuning.edits import Add, Append, Edit, Put, Remove, changed
from trueup.tuning.tomltext import edited as edited_toml
from trueup.tuning.yamltext import CannotEdit, edited, scalar
from trueup.verdict.paths import Parts, value_at

CONTRACTS = sorted((Path(__file__).resolve().parents[2] / "examples" / "contracts").glob("*.yaml"))
COMMENT = re.compile(r"(?:^|\s)#.*$")


def paths_in(data: Any) -> list[Parts]:
    found: list[Parts] = []
    stack: list[tuple[Parts, Any]] = [((), data)]
    while stack:
        path, held = stack.pop()
        found.append(path)
        if isinstance(held, dict):
            stack += [((*path, key), part) for key, part in held.items()]
        elif isinstance(held, list):
            stack += [((*path, index), part) for index, part in enumerate(held)]
    return found


def edits_at(rng: random.Random, data: Any, path: Parts) -> list[Edit]:
    """Edits of every kind that are possible at a place."""
    held = value_at(data, path)
    if isinstance(held, dict):
        return [Add(path, "added", rng.choice([1, "a: b", {"x": ["y"]}])), *([Remove(path)] if path else [])]
    if isinstance(held, list):
        return [Append(path, rng.choice(["new", "it's", {"name": "x", "ok": True}])), Remove(path)]
    return [Put(path, rng.choice([5, 2.5, "plain", "x <= 3", "yes", "tab\tand 'quotes'", "a # b"])), Remove(path)]


def check_edit(text: str, edit: Edit, kind: str = ".yaml") -> None:
    data = parse_document(text, "x", kind).data
    try:
        new = edited(text, edit, kind)
    except CannotEdit:
        return
    again = parse_document(new, "x", kind)
    assert not again.faults
    assert again.data == changed(data, [edit]), edit
    old_lines, new_lines = text.splitlines(), new.splitlines()
    changes = [code for code in difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes() if code[0] != "equal"]  # fmt: skip
    assert len(changes) <= 1, "one place of the file changes"
    if not isinstance(edit, Remove):  # comments in a removed line are removed with it
        assert comments(text) == comments(new) or isinstance(getattr(edit, "value", None), str)
    else:
        gone = [line for code in changes for line in old_lines[code[1] : code[2]]]
        kept = [comment for comment in comments(text) if comment not in comments("\n".join(gone))]
        assert kept == [comment for comment in comments(new) if comment in kept]


def comments(text: str) -> list[str]:
    return [found[0].strip() for line in text.splitlines() if (found := COMMENT.search(line))]


@pytest.mark.parametrize("file", CONTRACTS, ids=lambda path: path.stem)
@settings(max_examples=20)  # a large file takes a while to read twice
@given(st.randoms(use_true_random=False))
def test_any_edit_of_an_example_contract_touches_its_lines_only(file: Path, rng: random.Random) -> None:
    text = file.read_text("utf-8")
    data = parse_document(text, "x").data
    path = rng.choice(paths_in(data))
    check_edit(text, rng.choice(edits_at(rng, data, path)))


@given(st.integers(0, 40), st.randoms(use_true_random=False))
def test_any_edit_of_a_generated_contract_touches_its_lines_only(seed: int, rng: random.Random) -> None:
    text = TEXTS[seed % len(TEXTS)]
    data = parse_document(text, "x").data
    check_edit(text, rng.choice(edits_at(rng, data, rng.choice(paths_in(data)))))


TEXTS = [make(seed, 1).text for seed in range(6)]


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
), st.sampled_from([None, 2, "\t"]), st.randoms(use_true_random=False))  # fmt: skip
def test_json_stays_json(data: Any, indent: Any, rng: random.Random) -> None:
    data = {"held": data}
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    path = rng.choice(paths_in(data))
    for edit in edits_at(rng, data, path):
        try:
            new = edited(text, edit, ".json")
        except CannotEdit:
            continue
        assert json.loads(new) == changed(data, [edit])


def test_a_number_changes_inside_its_line() -> None:
    text = "rules:\n  - {name: a, expr: 'x <= 3'}   # why\n  # next\n  - name: b\n    expr: y > 2.5  # too\n"
    assert edited(text, Put(("rules", 1, "expr"), "y > 3"), ".yaml") == text.replace("y > 2.5", "y > 3")
    assert edited(text, Put(("rules", 0, "expr"), "x <= 4"), ".yaml") == text.replace("x <= 3", "x <= 4")


def test_comments_above_a_removed_part_stay() -> None:
    text = "rules:\n  # first\n  - name: a\n    expr: x\n  # second\n  - name: b\n    expr: y\n# end\n"
    assert (
        edited(text, Remove(("rules", 0)), ".yaml")
        == "rules:\n  # first\n  # second\n  - name: b\n    expr: y\n# end\n"
    )


def test_a_new_part_is_placed_before_the_examples() -> None:
    text = "name: x\n\n# shown\nexamples:\n  - reply: a\n"
    new = edited(text, Add((), "coerce", {"aliases": {"high": ["alto"]}}, "examples"), ".yaml")
    assert new == "name: x\n\ncoerce:\n  aliases: {high: [alto]}\n\n# shown\nexamples:\n  - reply: a\n"


@pytest.mark.parametrize(
    ("text", "edit", "why"),
    [
        ("a: &x [1]\nb: *x\n", Append(("a",), 2), "anchor"),
        ("a: &x [1]\nb: *x\n", Append(("b",), 2), "anchor"),
        ("- a: 1\n  b: 2\n", Remove((0, "a")), "shares its line"),
        ("a: |\n  text\n", Put(("a",), "x"), "several lines"),
        ("a: 1\n", Put(("b",), 2), "there is no $.b"),
        ("a: [1,  # one\n    2]\n", Remove(("a", 1)), "comment"),
    ],
)
def test_edits_that_need_a_person_are_refused(text: str, edit: Edit, why: str) -> None:
    with pytest.raises(CannotEdit, match=re.escape(why)):
        edited(text, edit, ".yaml")


def test_toml_values_can_be_replaced_and_nothing_else() -> None:
    text = 'name = "x"\n[reply]\nmin_text = 10 # few\n[[rules]]\nname = "a"\nexpr = "x <= 3"\n'
    assert edited_toml(text, Put(("reply", "min_text"), 5)) == text.replace("10", "5")
    assert edited_toml(text, Put(("rules", 0, "expr"), "x <= 9")) == text.replace("<= 3", "<= 9")
    for edit in (Remove(("rules", 0)), Append(("rules",), {}), Put(("reply",), {"a": 1}), Put(("reply", "none"), 3)):
        with pytest.raises(CannotEdit, match="by hand"):
            edited_toml(text, edit)


@given(st.text(max_size=12))
def test_scalars_are_read_back(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return
    assert parse_document(f"a: [{scalar(value)}]", "x").data == {"a": [value]}
