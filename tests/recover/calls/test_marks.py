"""Marks of calls: the look at the first letter, which makes the search quick, loses none of them."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from trueup.recover.calls import marks as callmarks
from trueup.recover.calls.search import leaked_calls

PIECES = [
    "<think>", "</think>", "◁think▷", "[THINK]", "<|channel|>analysis<|message|>", '<invoke name="f">', "<function=f>",
    "<function=f{", "<tool_call>", "<|tool_call|>", "[TOOL_CALLS]", "functools[", "<<function>>", "✿FUNCTION✿:", ">>>f\n{",
    "function<|tool_sep|>", "TOOL_CALLS [{", "functions.f:0 {", "[ARGS] {", "<arg_key>", "[Calling tool: f(",
    "function call{", "```tool_code", "`", "``", "```json ", "to=functions.f", "to=f", "Action: ", "action 1:", "Tool:",
    "**Action:**", "Call:", "Observation:", "{", "[", "f(", "```f(", "x = f(", "print(", "await f(", " name {", "json {",
    "<a>", "<a b", "<", "<<", "[[", ">>", "\n", " ", "\t", ":", ". {", "! [", "…  {", "：{", "a", "_", "1", "|>", "x>", "｜>", "f", "t", "T", "\r\n", "é",
]  # fmt: skip
ALL = re.compile(rf"{callmarks._MARKED}|(?P<line>{callmarks.LINE})|(?P<inline>{callmarks.INLINE})", re.MULTILINE)
LINES = re.compile(rf"(?P<line>{callmarks.LINE})|(?P<inline>{callmarks.INLINE})", re.MULTILINE)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_look_at_the_first_letter_loses_no_mark(text: str) -> None:
    assume("`" * 10 not in text)  # of a longer row only the start counts
    for quick, plain in ((callmarks.ANY, ALL), (callmarks.UNMARKED, LINES)):
        assert [(m.span(), m.lastgroup) for m in quick.finditer(text)] == [
            (m.span(), m.lastgroup) for m in plain.finditer(text)
        ]


def test_a_call_right_behind_a_fence_has_its_whole_name() -> None:
    assert [leak.name for leak in leaked_calls('```book(day="Mon")\n```', {"book"}.__contains__)] == ["book"]
