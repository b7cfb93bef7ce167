"""Results of tools that a text tells by itself: `<tool_response>…`, `Observation: …`, and every model's own marks.

A text and the sign of a result enter; where the result starts and ends leaves. Whatever stands inside is no call, and
what comes behind a result that nobody gave rests on an invention.
"""

import re

_WORD = r"(?:(?:tool|function|call|action)_?(?:response|result|output)s?|observation)"
# `result` is the element's own name: a tool may be named so.
TOLD = (
    rf"<(?P<result>(?i:{_WORD}))>|<[|｜](?i:(?:START_)?{_WORD.replace('_?', '[_▁]?')})(?:[_▁]begin)?[|｜]?>"
    r"|\[TOOL_RESULTS?\]|<start_function_response>|✿RE(?:SULT|TURN)✿:?"
    r"|<\|start\|>(?:functions\.)?[\w.\-]{1,120} to=assistant(?:<\|channel\|>commentary)?(?:<\|message\|>)?"
)
SEEN = r"(?:\*\*)?Observation(?: \d{1,3})?:(?:\*\*)?"
_EDGE = re.compile(
    r"\n[ \t]*\r?(?:\n|\Z)|\n[ \t]*(?:\*\*)?(?:Thought|Action|Final Answer|Answer|Question)\b|✿(?:FUNCTION|RETURN)✿"
    r"|<[|｜]?(?:tool[_▁]calls?|function[_▁]calls?|invoke\b|function=)|\[TOOL_CALLS?\]|<\|(?:im_end|eot_id|end|call)\|>"
)


def result_span(text: str, sign: str, at: int, missing: set[str]) -> tuple[int, int]:
    """Where the words of a told result end, and where to read on; `missing` remembers closings that do not follow.

    >>> result_span("<tool_response>3 C</tool_response> Fine.", "<tool_response>", 15, set())
    (18, 34)
    """
    closer = _closer(sign)
    if closer and closer not in missing:
        end = text.find(closer, at)
        if end >= 0:
            return end, end + len(closer)
        missing.add(closer)
    edge = _EDGE.search(text, at)
    end = edge.start() if edge else len(text)
    return end, end


def _closer(sign: str) -> str:
    if sign[:8] == "<|start|":
        return "<|end|>"
    for opening, closing in (("START_", "END_"), ("start_", "end_"), ("begin", "end"), ("[TOOL", "[/TOOL")):
        if opening in sign:
            return sign.replace(opening, closing)
    if sign[0] == "<" and sign[1].isalpha():
        return f"</{sign[1:]}"
    return f"<{sign[2:-1]}|>" if sign[:2] == "<|" and sign[-2] != "|" else ""
