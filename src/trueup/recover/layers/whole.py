"""Finds the text inside its wrappers: a fence, answer tags, special tokens, CDATA, spaces."""

from trueup.recover import marks
from trueup.verdict.patterns import lazy_regex

_FENCE_OPEN = lazy_regex(r"(```+|~~~+)[^\n`]{0,60}\n")
_TOKEN = lazy_regex(marks.SPECIAL_TOKEN)
_TOKEN_LENGTH = 70
_ANSWER_TAG = lazy_regex(r"<([A-Za-z_]{4,14})>")
_MAX_LAYERS = 6


def unwrapped(text: str) -> tuple[int, int]:
    r"""The start and the end of the text inside its wrappers.

    >>> unwrapped("```json\n5\n```")
    (8, 9)
    """
    start, stop = _trimmed(text, 0, len(text))
    for _ in range(_MAX_LAYERS):
        before = (start, stop)
        token = _TOKEN.match(text, start, stop)
        if token:
            start = token.end()
        for token in _TOKEN.finditer(text, max(start, stop - _TOKEN_LENGTH), stop):
            stop = token.start() if token.end() == stop else stop
        fence = _FENCE_OPEN.match(text, start, stop)
        if (
            fence
            and text.endswith(fence[1], fence.end(), stop)
            and text.find("\n" + fence[1], start, stop) == stop - len(fence[1]) - 1
        ):
            start, stop = fence.end(), stop - len(fence[1]) - 1
            return start, max(start, stop)
        if fence and text.find(fence[1], fence.end(), stop) < 0:
            start = fence.end()  # it was never closed
        tag = _ANSWER_TAG.match(text, start, stop)
        if tag and tag[1].lower() in marks.ANSWER_TAGS and text.endswith(f"</{tag[1]}>", tag.end(), stop):
            start, stop = tag.end(), stop - len(tag[1]) - 3
        elif text.startswith("<![CDATA[", start, stop) and text.endswith("]]>", start, stop):
            start, stop = start + 9, stop - 3
        start, stop = _trimmed(text, start, stop)
        if (start, stop) == before:
            break
    return start, stop


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    raw = text[start:stop]
    return start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())
