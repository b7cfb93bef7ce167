"""Replies that a person reads without doubt, or would not dare to read; each came from a table of replies written by hand."""

from typing import Any

import pytest

from tests.recover.laws import reads_as as check
from trueup import Contract

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def an(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


PAIR = an(a=TEXT, b=TEXT)
ROWS = {"type": "array", "items": {"type": "array", "items": NUMBER}}


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(
            PAIR,
            '{"input": {"a": "1", "b": "2"}, "output": {"a": "x", "b": "y"}}',
            {"a": "x", "b": "y"},
            id="input-and-output",
        ),
        pytest.param(PAIR, '{"input": {"a": "x", "b": "y"}}', {"a": "x", "b": "y"}, id="input-alone"),
        pytest.param(
            PAIR, '{"a": "\\u{1F600}", "b": "\\u{e9}t\\u{E9}",}', {"a": "😀", "b": "été"}, id="escapes-of-javascript"
        ),
        pytest.param(
            PAIR,
            '{"a": "x", "b": "Il a dit : "Bonjour", puis : "Au revoir"."}',
            {"a": "x", "b": 'Il a dit : "Bonjour", puis : "Au revoir".'},
            id="a-blank-before-the-colon",
        ),
        pytest.param(ROWS, "[1, 2]\n[3, 4]", [[1, 2], [3, 4]], id="rows-on-lines"),
        pytest.param(ROWS, "[1, 2], [3, 4]", [[1, 2], [3, 4]], id="rows-with-commas"),
    ],
)
def test_what_a_person_reads_without_doubt(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


def test_lists_that_are_whole_answers_are_not_made_rows() -> None:
    assert Contract({"type": "array", "items": NUMBER}).check("[1, 2]\n[3, 4]").data == [3, 4]
    assert Contract(ROWS).check("[[1], [2]]\n[[3], [4]]").data in ([[1], [2], [3], [4]], [[3], [4]])


@pytest.mark.parametrize(
    "reply", ['{"a": "x" (a guess), "b": "y"}', '{"a": "x" <- here, "b": "y"}', '{"a": "x" as given, "b": "y", "c": 1}']
)
def test_a_member_is_not_swallowed_by_words_before_it(reply: str) -> None:
    verdict = Contract(True).check(reply)
    assert not verdict.ok or verdict.data["b"] == "y"


def test_an_escape_that_lacks_digits_is_a_guess() -> None:
    grades = {fix.grade for fix in Contract(True).check('{"a": "caf\\u00e", "b": 1}').fixes}
    assert "guess" in grades
