"""A verdict as data for the page: the text of every mark equals its span, for any characters in the reply."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.studio.judging.drawing import MOST_FACTS, drawn
from trueup.studio.judging.spelling import spell
from trueup.studio.judging.units import OffsetUnits
from trueup.verdict.facts import Finding, Findings, Fix
from trueup.verdict.verdict import Verdict

ODD = [
    "😀",
    "e\u0301",
    "\u0627\u0644",
    "\u202e",
    "👩\u200d👩\u200d👧",
    "\ud83d",
    "\ude00",
    "\U0010ffff",
    "\n",
    "a",
    '"',
    ",",
    "é",
]
TEXTS = st.one_of(st.lists(st.sampled_from(ODD), max_size=40).map("".join), st.text(max_size=60))


def in_units(text: str) -> bytes:
    """A text as in JavaScript: UTF-16, including halves of surrogate pairs."""
    return text.encode("utf-16-le", "surrogatepass")


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """A verdict with facts at any places of any text, even impossible ones."""
    text = draw(TEXTS)
    places = st.one_of(
        st.none(),
        st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(lambda p: (min(p), max(p))),
        st.tuples(st.integers(-3, 90), st.integers(-3, 90)),
    )
    fixes = [Fix("S001", "lossless", "$", span, ",", "") for span in draw(st.lists(places, max_size=8))]
    findings = [
        Finding("V001", "$", "no", span, level=draw(st.sampled_from(["error", "warning"])))
        for span in draw(st.lists(places, max_size=8))
    ]
    return Verdict(text, None, Findings(findings), tuple(fixes))


@given(verdicts())
def test_the_text_of_every_mark_equals_its_span(verdict: Verdict) -> None:
    page = json.loads(json.dumps(drawn(verdict)))
    raw = in_units(page["text"])
    for start, end, number in page["marks"]:
        first, last = page["facts"][number]["span"]
        assert raw[2 * start : 2 * end] == in_units(page["text"][first:last])


@given(verdicts())
def test_every_fact_with_a_position_has_one_mark_and_the_others_are_counted(verdict: Verdict) -> None:
    page = drawn(verdict)
    marked = [number for _, _, number in page["marks"]]
    placed = [number for number, fact in enumerate(page["facts"]) if fact["span"] is not None]
    assert sorted(marked) == placed
    assert page["unmarked"] == len(page["facts"]) - len(placed)
    assert page["marks"] == sorted(page["marks"], key=lambda mark: (mark[0], -mark[1], mark[2]))
    size = len(verdict.reply.text)
    inside = [fix.span for fix in verdict.fixes if fix.span is not None and 0 <= fix.span[0] <= fix.span[1] <= size]
    assert len(inside) == sum(fact["kind"] == "fix" and fact["span"] is not None for fact in page["facts"])


@given(verdicts())
def test_facts_are_in_reading_order(verdict: Verdict) -> None:
    facts = drawn(verdict)["facts"]
    order = [{"error": 0, "warning": 1, None: 2}[fact["level"]] for fact in facts]
    assert order == sorted(order)
    places = [fact["span"] for fact in facts if fact["kind"] == "fix" and fact["span"] is not None]
    assert places == sorted(places)


@given(TEXTS)
def test_utf16_units_and_code_points_can_be_converted(text: str) -> None:
    units = OffsetUnits(text)
    for point in range(len(text) + 1):
        assert units.of(point) == len(in_units(text[:point])) // 2
        assert units.points(units.of(point)) == point
    whole = len(in_units(text)) // 2
    counted = [units.points(unit) for unit in range(-2, whole + 3)]
    assert counted == sorted(counted)
    assert (counted[0], counted[-1]) == (0, len(text))


def test_calls_have_their_arguments_and_findings() -> None:
    tools = [
        {
            "name": "book",
            "parameters": {"type": "object", "required": ["day"], "properties": {"day": {"type": "string"}}},
        }
    ]
    reply = (
        '<tool_call>{"name": "book", "arguments": {"day": "Monday"}}</tool_call>'
        '<tool_call>{"name": "book", "arguments": {"number": 12345678901234567890}}</tool_call>'
    )
    page = drawn(Contract(tools=tools).check(reply))
    assert [(call["name"], call["ok"]) for call in page["calls"]] == [("book", True), ("book", False)]
    assert '"number": 12345678901234567890' in page["calls"][1]["arguments"]
    about = [page["facts"][number] for number in page["calls"][1]["facts"]]
    assert "V002" in {fact["code"] for fact in about}


def test_facts_about_native_calls_have_no_position_in_the_text() -> None:
    response = {"choices": [{"message": {"content": "I book.", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "bok", "arguments": "{}"}},
    ]}}]}  # fmt: skip
    page = drawn(Contract(tools=[{"name": "book", "parameters": {"type": "object"}}]).check(response))
    assert page["text"] == "I book."
    assert page["facts"]
    assert page["marks"] == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**30, str(10**30)),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        ("\ud800", '"\ud800"'),
        ("</script>", '"</script>"'),
        (1e16, "1e+16"),
        (1.0, "1.0"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": {}}, '{\n  "a": {}\n}'),
    ],
)
def test_values_are_shown_unchanged(value: Any, text: str) -> None:
    assert spell(value) == (text, False)


def test_a_value_that_cannot_be_written_is_reported() -> None:
    assert "too long" in spell([10**5000]).text


def test_a_deep_value_is_shown() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert spell(value).text.count("[") == 500


def test_a_long_value_is_visibly_truncated_at_a_line() -> None:
    text, cut = spell(list(range(1000)), most=100)
    assert cut
    assert text == "[\n" + "\n".join(f"  {n}," for n in range(text.count(",")))
    assert spell("x" * 1000, most=100) == ('"' + "x" * 99, True)


def test_facts_beyond_the_limit_are_counted_and_not_sent() -> None:
    reply = "[" + ",".join("'a'" for _ in range(MOST_FACTS + 10)) + "]"
    page = drawn(Contract(schema=True).check(reply))
    assert (len(page["facts"]), page["omitted"]) == (MOST_FACTS, 10)
    assert sum(page["counts"].values()) == MOST_FACTS + 10


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ('{"a": 1}', "ok"),
        ("none", "refused"),
        ({"error": {"message": "overloaded", "type": "overloaded_error"}}, "no reply"),
        ('data: {"choices": [{"delta": {"content": "{"}}]}\n\n', "cut off"),
    ],
)
def test_the_outcome_of_a_reply_is_shown(source: Any, state: str) -> None:
    assert drawn(Contract(schema=True).check(source))["state"] == state
