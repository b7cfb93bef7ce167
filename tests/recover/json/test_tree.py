"""The quick way to the path of a fix agrees with the slow one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.recover.json import tree
from trueup.recover.json.tree import MemberCache, ValueTree, json_spans, nodes_at, repaired_offsets
from trueup.verdict.paths import Parts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3), st.booleans())
def test_every_offset_of_a_json_text_has_the_path_that_a_full_reading_gives(value: Any, wide: bool) -> None:
    text = json.dumps(value, indent=1 if wide else None)
    places = ValueTree(text, 0, len(text), frozenset(), 100)
    offsets = range(len(text))
    # a key with the sign of a comment in it is more than a key only for the slow way
    if "//" in text or "/*" in text:
        return
    assert nodes_at(text, [(at, True) for at in offsets]) == [places.node_at("S001", at) for at in offsets]
    assert nodes_at(text, [(at, False) for at in offsets]) == [places.node_at("S018", at) for at in offsets]


def test_nested_edits_are_left_to_the_slow_path() -> None:
    assert repaired_offsets([(0, 5, "x", "S008"), (3, 4, "y", "S018")]) is None
    assert repaired_offsets([(7, 8, "", "S001"), (0, 4, "true", "S018")]) == [7, 0]


@given(values)
def test_many_paths_are_found_at_the_same_positions_as_each_alone(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cache: MemberCache = {}
    stack: list[tuple[Parts, Any]] = [((), value)]
    while stack:
        path, here = stack.pop()
        assert json_spans(text, 0, path, cache) == json_spans(text, 0, path)
        for part in (*path, "absent", 99):
            assert json_spans(text, 0, (*path, part), cache) == json_spans(text, 0, (*path, part))
        members = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        stack += [((*path, key), inner) for key, inner in members]


@given(st.dictionaries(st.text('ab_"\\é:,', max_size=3), values, max_size=4), st.booleans(), st.booleans())
def test_the_signs_next_to_an_offset_agree_with_a_walk(value: Any, wide: bool, plain: bool) -> None:
    text = json.dumps(value, indent=1 if wide else None, ensure_ascii=plain)
    for at in range(len(text)):
        for is_around in (False, True):
            near = tree._near_nodes(text, [(at, is_around)])
            assert near is None or at == 0 or near == tree._walked_nodes(text, [(at, is_around)])


@given(st.dictionaries(st.text('ab_"\\é:,', max_size=3), values, max_size=4), st.booleans())
def test_a_member_with_a_unique_key_is_where_a_walk_finds_it(value: Any, plain: bool) -> None:
    text = json.dumps(value, ensure_ascii=plain)
    stack: list[tuple[Parts, Any]] = [((), value)]
    while stack:
        path, here = stack.pop()
        if path and isinstance(path[-1], str):
            found = tree.only_member(text, 0, len(text), path[-1])
            assert found is None or found == json_spans(text, 0, path)
        inner = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        stack += [((*path, key), item) for key, item in inner]


def test_a_coerced_member_is_found_without_going_through_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    end_of = tree._end

    def counted(text: str, at: int) -> int:
        nonlocal steps
        steps += 1
        return end_of(text, at)

    monkeypatch.setattr(tree, "_end", counted)
    taken: dict[int, int] = {}
    for size in (10, 1000):
        names = [f"field_{number}" for number in range(size)]
        contract = Contract({"properties": {names[-1]: {"type": "integer"}}})
        steps = 0
        (fix,) = contract.check(json.dumps(dict.fromkeys(names, "7"))).fixes
        assert fix.code == "C001"
        taken[size] = steps
    assert taken[10] == taken[1000] <= 2
