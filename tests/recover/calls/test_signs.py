"""Signs of calls: leaping from letter to letter finds what the patterns find one letter at a time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.calls.test_marks import PIECES
from trueup.recover.calls import marks as callmarks
from trueup.recover.calls.search import CallText, leaked_calls
from trueup.recover.calls.signs import Signs, spots

LONG = "-" * 3_000  # so long a text is leapt through
PATTERNS = (callmarks.ANY, callmarks.UNMARKED)
MORE = [
    "[TOOL_RESULTS]", "<tool_response>", "<observation>", "<|start|>f to=assistant", '<|open|>call tool="', "[Tool call: f(",
    "<|START_THINKING|>", "<|begin_of_thought|>", "<scratchpad>", "<inner_monologue>", "<｜DSML｜invoke name=f>", "<mm:think>",
    "f\n```py\ntool_call(", "const x = await f(", "json f(", "```json {", "```\t[", "✿RESULT✿", "functions.f:0 {", "CALL",
]  # fmt: skip
texts = st.lists(st.sampled_from([*PIECES, *MORE]), max_size=14).map("".join)


def walked(text: str, pattern: re.Pattern[str], steps: list[int], first: Signs | None = None) -> list[object]:
    """The signs that are met on a way through a text, each step some letters longer than it has to be."""
    signs = first or Signs(text, pattern)
    met: list[object] = []
    at = turn = 0
    while found := signs.after(at):
        met.append((found.span(), found.lastgroup))
        at = max(found.end(), found.start() + 1) + (steps[turn % len(steps)] if steps else 0)
        turn += 1
    return met


@given(texts, st.lists(st.integers(0, 9), max_size=5))
def test_leaping_loses_no_sign(text: str, steps: list[int]) -> None:
    for pattern in PATTERNS:
        for whole in (text + LONG, LONG + "\n" + text, f"{text}\n{LONG}>{text}"):
            plain: list[object] = []
            at = turn = 0
            while found := pattern.search(whole, at):
                plain.append((found.span(), found.lastgroup))
                at = max(found.end(), found.start() + 1) + (steps[turn % len(steps)] if steps else 0)
                turn += 1
            assert walked(whole, pattern, steps) == plain


@given(texts, st.lists(st.integers(0, 9), max_size=5), st.sampled_from(["", LONG]))
def test_signs_that_are_known_are_those_that_would_be_found(text: str, steps: list[int], tail: str) -> None:
    for pattern in PATTERNS:
        known = Signs(text + tail, pattern)
        walked(text + tail, pattern, steps, known)
        for other in ([], steps[1:], [1]):
            assert walked(text + tail, pattern, other, known) == walked(text + tail, pattern, other)


def test_every_branch_of_the_spots_starts_with_a_letter_of_its_own() -> None:
    import re._constants as codes  # type: ignore[import-not-found]
    import re._parser as parser  # type: ignore[import-not-found]

    (kind, (_, branches)) = parser.parse(spots().pattern)[0]
    assert kind is codes.BRANCH
    assert all(branch[0][0] is codes.LITERAL for branch in branches)


NAMES = ({"get_weather", "ping", "f"}.__contains__, str.isidentifier, {"f", "a", "name"}.__contains__)


@given(texts, st.sampled_from(["", LONG]), st.permutations(NAMES))
def test_a_text_that_was_searched_gives_for_other_names_what_it_would_have_given_first(text, tail, order) -> None:  # type: ignore[no-untyped-def]
    searched = CallText(text + tail)
    for offered in order:
        assert searched.calls(offered) == leaked_calls(text + tail, offered)


@pytest.mark.parametrize("text", ['[{"type": ["text"]}]', '[{"type": {"a": 1}}]', '<tool_call>[{"type": []}]'])
def test_a_type_that_is_no_word_is_no_fault_of_the_search(text: str) -> None:
    assert leaked_calls(text, {"f"}.__contains__) == []


def test_half_a_pair_is_no_fault_of_the_search() -> None:
    assert leaked_calls("\n[a b\ud800 c, {x", {"f"}.__contains__) == []
