"""Places in a text, windows on long lines, small diffs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from trueup.cli.terminal.excerpt import (
    CUT,
    GONE,
    NEW,
    SAME,
    DiffRow,
    NumberedText,
    TextChange,
    diff,
    fit,
    merge,
    underline,
)

TEXT = st.text(st.sampled_from(["a", "b", " ", "\n", "\t", "\r", "漢", "\x1b", "é", "\u0301", "\u202e"]))


def flat(pieces: list[tuple[str, str]]) -> str:
    return "".join(text for text, _ in pieces)


@given(TEXT, st.integers(0, 60))
def test_a_place_leads_back_to_its_offset(text: str, at: int) -> None:
    at = min(at, len(text))
    line, column = NumberedText(text).place(at)
    start = sum(len(part) for part in text.split("\n")[: line - 1]) + line - 1
    assert start + column - 1 == at


def test_lines_end_before_their_break() -> None:
    source = NumberedText("one\r\ntwo\n\nlast")
    assert [source.text[slice(*source.bounds(n))] for n in (1, 2, 3, 4)] == ["one", "two", "", "last"]


@given(st.lists(st.tuples(TEXT, st.sampled_from([SAME, GONE, NEW])), max_size=8), st.integers(8, 100))
def test_a_line_never_gets_wider_than_asked(pieces: list[tuple[str, str]], width: int) -> None:
    assert cell_len(flat(fit(pieces, width))) <= width


def test_unchanged_text_is_cut_first() -> None:
    shown = fit([("x" * 500, SAME), ("gone", GONE), ("y" * 500, SAME)], 40)
    assert shown == [("…", CUT), ("x" * 17, SAME), ("gone", GONE), ("y" * 17, SAME), ("…", CUT)]


def test_long_lines_cost_nothing() -> None:
    huge = NumberedText("x" * 5_000_000)
    window, left, right = underline(huge, 4_000_000, 4_000_003, 60)
    assert cell_len(flat(window)) <= 60
    assert flat(window)[left:right] == "xxx"


@pytest.mark.parametrize(
    ("text", "span", "caret"),
    [
        ('{"a": 1}', (6, 7), "      ^"),
        ("漢漢x", (2, 3), "    ^"),
        ("\tx", (1, 2), "  ^"),
        ("a\x1bb", (2, 3), "     ^"),
        ("ab", (1, 1), " ^"),
        ("ab", (2, 2), "  ^"),
        ("", (0, 0), "^"),
        ("ab\ncd", (1, 5), " ^"),
        ("ab\ncd", (4, 5), " ^"),
    ],
)
def test_carets_are_below_their_span(text: str, span: tuple[int, int], caret: str) -> None:
    _, left, right = underline(NumberedText(text), *span, 60)
    assert " " * left + "^" * (right - left) == caret


@given(TEXT, st.integers(0, 40), st.integers(0, 40), st.integers(8, 80))
def test_carets_stay_on_the_screen(text: str, start: int, length: int, width: int) -> None:
    start = min(start, len(text))
    window, left, right = underline(NumberedText(text), start, min(start + length, len(text)), width)
    assert cell_len(flat(window)) <= width
    assert 0 <= left < right <= width + 1


def test_changes_on_the_same_span_are_one() -> None:
    assert merge([TextChange(5, 9, '"36"'), TextChange(5, 9, "36"), TextChange(1, 2, "")]) == [
        TextChange(1, 2, ""),
        TextChange(5, 9, "36"),
    ]
    assert merge([TextChange(0, 9, "a"), TextChange(2, 3, "b")]) == [TextChange(0, 9, "a")]
    assert merge([TextChange(0, 4, "a"), TextChange(2, 6, "b")]) == [TextChange(0, 6, "b")]
    assert merge([TextChange(4, 4, ","), TextChange(4, 5, "")]) == [TextChange(4, 4, ","), TextChange(4, 5, "")]


def test_a_diff_shows_both_lines() -> None:
    rows = diff(NumberedText("{'a': 1,}"), [TextChange(1, 4, '"a"'), TextChange(7, 8, "")], 40)
    assert [(row.number, row.sign, flat(row.pieces)) for row in rows] == [(1, "-", "{'a': 1,}"), (0, "+", '{"a": 1}')]


def test_a_dropped_text_does_not_have_a_second_line() -> None:
    assert [row.sign for row in diff(NumberedText("```json\n{}"), [TextChange(0, 7, "")], 40)] == ["-"]


def test_long_runs_of_lines_are_left_out() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 31))
    rows = diff(NumberedText(text), [TextChange(0, len(text), "")], 40)
    assert [flat(row.pieces) for row in rows] == ["line 1", "line 2", "… 27 more lines", "line 30"]


@given(TEXT, st.data())
def test_any_changes_can_be_drawn(text: str, data: st.DataObject) -> None:
    spans = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted)
    changes = merge(
        TextChange(a, b, after) for a, b in data.draw(st.lists(spans, min_size=1)) for after in ("", "x\ny")
    )
    rows: list[DiffRow] = diff(NumberedText(text), changes, 30)
    assert all(cell_len(flat(row.pieces)) <= 30 for row in rows)
