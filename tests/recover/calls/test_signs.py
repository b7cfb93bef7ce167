"""Signs of calls: jumping from character to character finds them all, and each is searched only once."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trueup.recover.calls.search import CallText, leaked_calls
from trueup.recover.calls.signs import _LINE, LEAP, Sign, Signs

PIECES = [
    "<think>", "</think>", "◁think▷", "[THINK]", "<|channel|>analysis<|message|>", '<invoke name="f">', "<function=f>",
    "<function=f{", "<tool_call>", "<|tool_call|>", "[TOOL_CALLS]", "functools[", "<<function>>", "✿FUNCTION✿:", ">>>f\n{",
    "function<|tool_sep|>", "TOOL_CALLS [{", "functions.f:0 {", "[ARGS] {", "<arg_key>", "[Calling tool: f(",
    "function call{", "```tool_code", "`", "``", "```json ", "to=functions.f", "to=f", "Action: ", "action 1:", "Tool:",
    "**Action:**", "Call:", "Observation:", "{", "[", "f(", "```f(", "x = f(", "print(", "await f(", " name {", "json {",
    "<a>", "<a b", "<", "<<", "[[", ">>", "\n", " ", "\t", ":", ". {", "! [", "…  {", "：{", "a", "_", "1", "|>", "x>", "｜>", "f", "t", "T",
    "[TOOL_RESULTS]", "<tool_response>", "<observation>", "<|start|>f to=assistant", '<|open|>call tool="', "[Tool call: f(",
    "<|START_THINKING|>", "<scratchpad>", "<inner_monologue>", "<｜DSML｜invoke name=f>", "<mm:think>", "\r\n", "é",
    "f\n```py\ntool_call(", "const x = await f(", "json f(", "```json {", "```\t[", "✿RESULT✿", "CALL", "['f(", "('f', {",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
steps = st.lists(st.integers(0, 9), max_size=5)


def walked(signs: Signs, steps: list[int]) -> list[Sign]:
    """The signs on the way through a text, with each step some characters longer than necessary."""
    found: list[Sign] = []
    at = turn = 0
    while sign := signs.after(at):
        found.append(sign)
        at = max(sign.stop, sign.start + 1) + (steps[turn % len(steps)] if steps else 0)
        turn += 1
    return found


@given(texts)
def test_skipping_ahead_misses_no_sign(text: str) -> None:
    tried = [at for at in range(len(text)) if LEAP.match(text, at) or (at == 0 and _LINE.compiled.match(text))]
    signs = Signs(text)
    for at in tried:
        sign = signs.after(at)
        assert sign is not None
        assert at <= sign.start <= max(sign.stop, sign.start)


@given(texts, steps)
@example("<|channel|>analysis<|message|>```f(", [])
def test_the_known_signs_are_the_ones_that_a_search_finds(text: str, steps: list[int]) -> None:
    known = Signs(text)
    walked(known, steps)
    for other in ([], steps[1:], [1]):
        assert walked(known, other) == walked(Signs(text), other)


def test_every_branch_starts_with_a_letter() -> None:
    import re._constants as codes  # type: ignore[import-not-found]
    import re._parser as parser  # type: ignore[import-not-found]

    (kind, (_, branches)) = parser.parse(LEAP.pattern)[0]
    assert kind is codes.BRANCH
    assert all(branch[0][0] is codes.LITERAL for branch in branches)


NAMES = ({"get_weather", "ping", "f"}.__contains__, str.isidentifier, {"f", "a", "name"}.__contains__)


@given(texts, st.sampled_from(["", "-" * 3000]), st.permutations(NAMES))
def test_a_searched_text_gives_the_same_calls_for_other_names(text, tail, order) -> None:  # type: ignore[no-untyped-def]
    searched = CallText(text + tail)
    for offered in order:
        assert searched.calls(offered) == leaked_calls(text + tail, offered)


@pytest.mark.parametrize("text", ['[{"type": ["text"]}]', '[{"type": {"a": 1}}]', '<tool_call>[{"type": []}]'])
def test_a_type_that_is_not_a_word_does_not_break_the_search(text: str) -> None:
    assert leaked_calls(text, {"f"}.__contains__) == []


def test_half_a_surrogate_pair_does_not_break_the_search() -> None:
    assert leaked_calls("\n[a b\ud800 c, {x", {"f"}.__contains__) == []


def test_a_call_right_after_a_fence_has_its_full_name() -> None:
    assert [leak.name for leak in leaked_calls('```book(day="Mon")\n```', {"book"}.__contains__)] == ["book"]
