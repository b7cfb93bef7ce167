"""Judging takes time in proportion to the length of a text, whatever the text and the pattern."""

import pytest

from tests.growth import assert_all_linear, assert_at_most, assert_linear, each
from tests.shapes import checks
from tests.shapes.shape import Shape
from trueup.checks.reply import measure
from trueup.checks.state import compile_states
from trueup.measure.dialogue import PATTERNS, TEXT, make_states
from trueup.verdict.reply import Turn


@pytest.mark.spec("X11", "C12")
@each(checks.HOSTILE + checks.STALLING)
def test_no_pattern_hangs(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("C12")
@each([*checks.TEXTS, *checks.REPLIES, *checks.MENTIONS, *checks.REASONING])
def test_text_is_judged_in_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("C12")
def test_a_hundred_patterns_take_little_longer_than_one() -> None:
    """They are searched for in one pass; `make bench` prints the time per kilobyte."""
    many, one = make_states(), compile_states({"S": {"forbid": [{"pattern": PATTERNS[0]}]}})
    assert_at_most(10, lambda: many.judge_text(TEXT, "S"), lambda: one.judge_text(TEXT, "S"))


@pytest.mark.spec("Q7")
def test_calls_are_matched_with_their_outputs_in_linear_time() -> None:
    """All calls first, then all outputs: the worst case for finding the explanation of each call."""

    def turns(n: int) -> tuple[Turn, ...]:
        return (*(Turn(calls=2) for _ in range(n)), *(Turn("tool", outputs=1) for _ in range(n)), Turn(text="Done!"))

    assert_linear(measure, turns, 20_000)
