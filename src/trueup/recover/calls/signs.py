"""Finds the places where a call may be: the signs of the dialects, in order, each searched only once.

Takes a text and an offset; returns the next sign with its reader, its start and its end. Every branch of the pattern
begins with a fixed character, so a search jumps from one such character to the next.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from trueup.recover.calls.dialects import DIALECTS, FENCED, INLINE, LINES
from trueup.recover.marks import OPENS_REASONING
from trueup.verdict.patterns import lazy_regex

STARTS = tuple(dict.fromkeys(row.starts for row in DIALECTS))
# By a character that is rare in prose: if it is missing, these are not searched.
_BY_LETTER: dict[str, list[str]] = {}
for _start in STARTS:
    _BY_LETTER.setdefault("=" if _start == "to=" else _start[0], []).append(_start)
_LINES = frozenset(row.reader for row in LINES)


class Sign(NamedTuple):
    """A sign of a call: the reader of its body, its start, its end, and the last offset from which a search finds it."""

    reader: str
    start: int
    stop: int
    found: int


class _Pattern:
    """A pattern whose branches each have an empty group that identifies their row of the table."""

    def __init__(self, build: Callable[["_Pattern"], str]) -> None:
        self.readers = [""]
        self.compiled = lazy_regex(lambda: build(self))

    def of(self, reader: str) -> str:
        self.readers.append(reader)
        return "()"

    def line(self) -> str:
        return FENCED + "(?:" + "|".join(self.of(row.reader) + row.rest for row in LINES) + ")"

    def leaps(self) -> str:
        """Every mark, every line that may contain a call, and every end of words before one, by its beginning."""
        rows = {start: [row for row in DIALECTS if row.starts == start] for start in STARTS}
        branches = [f"\n{self.line()}", rf">(?<=[\w|｜]>){self.line()}"]
        for start, those in rows.items():
            marks = "|".join(f"(?:{row.rest}){self.of(row.reader)}" for row in those)
            guard = "(?!<(?!f))" if start == "<" else ""  # so that a run of them does not try every mark
            branches.append(f"{re.escape(start)}{guard}(?:{marks})")
        branches += [re.escape(end) + INLINE + self.of("inline") for end in ":：.!…"]
        return "|".join(branches)

    def sign(self, found: re.Match[str] | None) -> Sign | None:
        if found is None:
            return None
        group = found.lastindex or 0
        reader = self.readers[group]
        start = found.start(group) if reader in _LINES else found.start()
        opened = OPENS_REASONING.match(found.string, start) if reader == "think" else None
        before = self is _ANY and reader in _LINES  # the sign was found by the character before its line
        return Sign(reader, start, opened.end() if opened else found.end(), found.start() + before)


_ANY = _Pattern(_Pattern.leaps)
_LINE = _Pattern(lambda pattern: r"(?:(?<![\s\S])|(?<=\n)|(?<=[\w|｜]>))" + pattern.line())
LEAP = _ANY.compiled


def may_mark(text: str) -> bool:
    """Whether a text may contain a mark; a quick test that is True in case of doubt."""
    return any(letter in text and any(start in text for start in starts) for letter, starts in _BY_LETTER.items())


def mark_at(text: str, at: int) -> Sign | None:
    """The mark at this offset."""
    sign = _ANY.sign(LEAP.match(text, at))
    return sign if sign and sign.reader not in _LINES and sign.reader != "inline" else None


class Signs:
    """The signs of one text."""

    __slots__ = ("_known", "_since", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._since: list[int] = []  # the start of each search; its result is in `_known`
        self._known: list[Sign | None] = []

    def after(self, at: int) -> Sign | None:
        """The first sign at or after an offset."""
        since = self._since
        if since and at <= since[-1]:
            index = bisect_right(since, at) - 1
            if index >= 0 and ((known := self._known[index]) is None or at <= known.found):
                return known
            return self._search(at)
        sign = self._search(at)
        since.append(at)
        self._known.append(sign)
        return sign

    def _search(self, at: int) -> Sign | None:
        first = self._text[max(at - 1, 0) : at] in ("", "\n", ">")
        sign = _LINE.sign(_LINE.compiled.match(self._text, at)) if first else None
        return sign or _ANY.sign(LEAP.search(self._text, at))
