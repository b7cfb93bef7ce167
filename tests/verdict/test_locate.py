"""The position of a field in the reply, if the verdict only names the field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_all_linear, each
from tests.shapes.shape import Shape
from tests.shapes.streams import SHOWN
from trueup.verdict.facts import Findings, finding, fix
from trueup.verdict.locate import locate
from trueup.verdict.paths import render
from trueup.verdict.verdict import Verdict


def place(text: str, code: str, path: str, data: Any = None, before: str = "") -> str | None:
    """The part of the text that a finding (or, with `before`, a fix) is placed at."""
    if before:
        verdict = Verdict(text, data, Findings(), (fix(code, path, None, before, "x"),))
        (fact,) = locate(verdict)[0]
    else:
        verdict = Verdict(text, data, Findings([finding(code, path, "wrong")]))
        (fact,) = locate(verdict)[1]
    return None if fact.span is None else text[slice(*fact.span)]


@pytest.mark.parametrize(
    ("text", "path", "data", "found"),
    [
        ('{"a": 1, "b": {"c": [5, "six"]}}', "$.b.c[1]", {"b": {"c": [5, "six"]}}, '"six"'),
        ('{"b": {"c": [5, "six"]}}', "$.b.c[0]", {"b": {"c": [5, "six"]}}, "5"),
        ('{"b": {"c": [5]}}', "$.b", {"b": {"c": [5]}}, '{"c": [5]}'),
        ("{'a': 'x y', b: z w}", "$.b", {"b": "z w"}, "z w"),
        ("[[1, 2], [3]]", "$[1][0]", [[1, 2], [3]], "3"),
        ('{"response": {"age": -4}}', "$.age", {"age": -4}, "-4"),
        ('see {x}: {"age": -4}', "$.age", {"age": -4}, "-4"),
        ('{"a": "it "is" so", "age": 5}', "$.age", {"age": 7}, None),
        ("{„role“: „Schreiber“, «age»: 5}", "$.role", {"role": "Schreiber"}, "„Schreiber“"),
        ("{„role“: „Schreiber“, «age»: 5}", "$.age", {"age": 5}, "5"),
        ('{"First Name": "Ada"}', "$.first_name", {"first_name": "Ada"}, '"Ada"'),
        ("no json", "$.a", {"a": 1}, None),
        ('{"a": 1}', "$", {"a": 1}, None),
        ('{"a": 1}', "not a path", {"a": 1}, None),
    ],
)
def test_a_value_is_found_only_where_it_is(text: str, path: str, data: Any, found: str | None) -> None:
    assert place(text, "V001", path, data) == found


def test_text_around_the_value_is_not_searched() -> None:
    text = 'not {"age": 1} but {"age": 2}'
    around = fix("W014", "$", (0, 19), text[:19], "")
    _, (found,) = locate(Verdict(text, {"age": 2}, Findings([finding("V004", "$.age", "bad")]), (around,)))
    assert found.span == (27, 28)


def test_an_unknown_key_is_marked_itself_and_a_missing_one_where_its_object_opens() -> None:
    text = '{"a": {"b": 1}}'
    assert place(text, "V003", "$.a.b", {"a": {"b": 1}}) == '"b"'
    assert place(text, "V002", "$.a.c", {"a": {"b": 1}}) == "{"
    _, (found,) = locate(Verdict(text, {}, Findings([finding("V002", "$.a.c", "missing")])))
    assert found.span == (6, 7)


def test_fixes_of_the_value_are_located_by_the_original_text() -> None:
    assert place('{"age": "36"}', "C001", "$.age", before='"36"') == '"36"'
    assert place("{'age': '36'}", "C001", "$.age", before='"36"') == "'36'"
    assert place('{"Name": "Ada"}', "C010", "$.name", before='"Name"') == '"Name"'
    assert place('{"age": "36"}', "C001", "$.age", before='"37"') is None
    assert place('{"nick": null}', "C009", "$.nick", before="null") is None


def test_a_finding_is_located_at_a_fix_of_the_same_field() -> None:
    text = "age: old"
    line = fix("F001", "$.age", (0, 8), text, "")
    _, (found,) = locate(Verdict(text, {"age": "old"}, Findings([finding("V001", "$.age", "bad")]), (line,)))
    assert found.span == (0, 8)


KEYS = st.text(st.sampled_from("abc_ -"), min_size=1, max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3),
    max_leaves=8,
)


def steps(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for part, child in children for inner in steps(child, (*path, part)))]


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3), st.sampled_from([None, 2]))
def test_locations_in_clean_json_are_right(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    for path in steps(value)[1:]:
        there: Any = value
        for part in path:
            there = there[part]
        found = place(text, "V001", render(path), value)
        if found is not None:
            assert json.loads(found) == there


@given(st.text(st.sampled_from("{}[](),:\"'`“”„«» ab1\n\\")))
def test_any_text_can_be_searched(text: str) -> None:
    place(text, "V001", "$.a[0].b", {"a": [{"b": 1}]})


def test_overlapping_stretches_around_the_value_keep_every_offset() -> None:
    text = 'abcdef {"n": 1} ghi'
    around = (fix("W002", "$", (0, 4), "", ""), fix("W002", "$", (2, 7), "", ""), fix("W001", "$", (3, 5), "", ""))
    _, (found,) = locate(Verdict(text, {"n": 1}, Findings([finding("V004", "$.n", "bad")]), around))
    assert found.span == (13, 14)


def test_a_string_fix_has_the_new_string() -> None:
    text = "{'it''s': 'a\"b'}"
    plain = Verdict(
        "{'a': 'x'}",
        {"a": "x"},
        Findings(),
        (fix("S008", "$.a", (1, 4), "'a'", ""), fix("S008", "$.a", (6, 9), "'x'", "")),
    )
    assert [fact.after for fact in locate(plain)[0]] == ['"a"', '"x"']
    odd = Verdict(text, {"it's": 'a"b'}, Findings(), (fix("S008", '$["it\'s"]', (10, 15), "'a\"b'", ""),))
    assert [fact.after for fact in locate(odd)[0]] == ['"a\\"b"']


@each(SHOWN)
def test_a_hostile_text_is_searched_in_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)
