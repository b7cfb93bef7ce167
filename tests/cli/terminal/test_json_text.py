"""JSON values as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.cli.terminal.json_text import document, lines
from trueup.verdict.display import safe_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20)


def joined(value: Any) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines(value))


@given(VALUES)
def test_lines_are_the_usual_indented_json(value: Any) -> None:
    assert joined(value) == safe_json(json.dumps(value, indent=2, ensure_ascii=False))


@given(VALUES)
def test_documents_are_the_value(value: Any) -> None:
    for indented in (True, False):
        text = document(value, indented=indented)
        assert json.loads(text) == value
        assert ("\n" not in text) or indented


@pytest.mark.parametrize("indented", [True, False])
def test_a_deep_value_is_written(indented: bool) -> None:
    value: Any = 1
    for _ in range(2_000):
        value = {"a": [value]}
    text = document(value, indented=indented)
    assert text.count("{") == text.count("}") == 2_000
    if not indented:
        assert text.startswith('{"a":[{"a":[')


def test_only_requested_text_is_made() -> None:
    made = lines([0] * 10_000_000)
    item = [("  ", ""), ("0", "magenta"), (",", "dim")]
    assert [next(made) for _ in range(3)] == [[("[", "dim")], item, item]


def test_a_long_integer_is_exact() -> None:
    assert document([10**4_000], indented=False) == "[1" + "0" * 4_000 + "]"
