"""Where in a text a call may stand: its signs, in order, each found once however often it is asked for.

A text and an offset enter; the next sign leaves. In a long text one pattern that can leap from letter to letter finds
the spots that are worth a look; what stands there is told by the patterns of `callmarks` alone.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial

from trueup.recover.calls.marks import WHOLE

_LONG = 2_000  # up to here leaping is not worth its pattern
_WORDS = (
    "(?i:tool|function|action|plugin|python|recipient|invoke|call|observation|th(?:ink|ought)|reasoning|reflection|scratch"
    "|analysis|monologue|arg_key)"
)
_TAG = rf"<(?:<function>>|[|｜‖\w▁:-]{{0,110}}?(?=[acfimoprstACFIMOPRSTıİ])(?:{_WORDS}|(?<=<[|｜])(?:start\||open\||channel|START_)))"
_LINE = (
    r"[ \t]*+(?:`{3,9}+(?:[\w-]++[ \t]*+|[ \t]*+)|json[ \t]++)?(?=[\w{\[<*>])(?:[{\[]|<[^\W\d][\w.\-]{0,119}[>\s/]|>>>(?![ \t])"
    r"|(?:\*\*)?(?:[Aa]ction(?: \d{1,3})?|Tool|Call|Observation(?: \d{1,3})?):"
    rf"|{WHOLE}(?:\s?\(|[ \t]*+\r?+\n?+[ \t]*+(?:\{{|`{{3,9}}\w{{0,9}}\s{{1,4}}tool_call\()"
    rf"|[ ](?:\w{{1,31}}+[ ])?=[ ](?:await[ ])?{WHOLE}\s?\(|(?<=await)[ ]{WHOLE}\s?\())"
)
_INLINE = r"[ \t]++[{\[]"


@cache
def spots() -> re.Pattern[str]:
    """What a sign begins with, or the letter before it, and some more; every branch starts with a letter of its own."""
    return re.compile(
        rf"\n{_LINE}|>(?:>>\w|(?<=[\w|｜]>){_LINE})|{_TAG}|\[(?:T(?:HINK\]|OOL_|ool call)|tool_call|ARGS\]|Calling )"
        r"|`(?<!``)`{2,8}+(?:tool_(?:code|call|use)|function_call)|◁think|✿(?:FUNCTION|RE)"
        rf"|:{_INLINE}|：{_INLINE}|\.{_INLINE}|!{_INLINE}|…{_INLINE}"
        r"|f(?:unctools\s?\[|unction(?:<|s\.\w| call))|to=\w|TOOL_CALL"
    )


def signs_of(text: str, pattern: re.Pattern[str]) -> Callable[[int], re.Match[str] | None]:
    """What finds the first sign at an offset of a text or behind it."""
    return partial(pattern.search, text) if len(text) <= _LONG else Signs(text, pattern).after


class Signs:
    """The signs of one text that a pattern finds."""

    __slots__ = ("_found", "_pattern", "_since", "_text")

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._text = text
        self._pattern = pattern
        self._since: list[int] = []  # where each search began, and what it found
        self._found: list[re.Match[str] | None] = []

    def after(self, at: int) -> re.Match[str] | None:
        """The first sign at an offset or behind it."""
        since = self._since
        if since and at <= since[-1]:
            index = bisect_right(since, at) - 1
            if index >= 0 and ((known := self._found[index]) is None or at <= known.start()):
                return known
            return self._search(at)
        found = self._search(at)
        since.append(at)
        self._found.append(found)
        return found

    def _search(self, at: int) -> re.Match[str] | None:
        text, match = self._text, self._pattern.match
        if text[max(at - 1, 0) : at] in ("", "\n", ">") and (found := match(text, at)):
            return found
        search = spots().search
        while spot := search(text, at):
            at = spot.start()
            if found := match(text, at):
                return found
            if text[at] in "\n>" and (found := match(text, at + 1)):
                return found
            at += 1
        return None
