"""A model that repeats itself without end: the same words, characters or blanks over and over, until the limit cuts it off.

Pieces of text enter; a finding leaves once the end of the text has repeated for so long that nobody can have meant it. Only exact
repetition counts, and much of it, since tables, refrains, zeros and pictures of characters repeat as well. The cost is linear: the end
of the text is looked at now and then, and what is kept of it is bounded.
"""

from typing import NamedTuple

from trueup.checks.repeats import PROBE, repeated
from trueup.verdict.facts import Finding, finding
from trueup.verdict.patterns import lazy_regex

_WORDED = lazy_regex(
    r"[^\W\d_]\S*\s|\s\S*[^\W\d_]|[\u2e80-\u9fff\uac00-\ud7af]"
)  # words with blanks, or of a script without
_MEANS = lazy_regex(r"[\w\s]")
_LETTER = lazy_regex(r"[^\W\d_]")
_ESCAPED = lazy_regex(r"[nrt]?(?:\\[nrt]|\s)+\\?")  # blanks as they are written in a string
EVERY = 2048  # characters after which the end is looked at again
_BLANKS, _BLANKS_IN_TEXT = 2_000, 4_000
_REPEATED = 6_000  # characters of words that repeat
_ALIKE = 20_000  # characters of members of a list that are alike, or of one sign
_RUN = 40_000  # characters of a run without blanks, as there are in encoded data
_SIGNS = 60_000  # characters of digits, or of signs in lines, as there are in lists of zeros and in pictures
_LEAST_TIMES = 10


class _Loop(NamedTuple):
    """What is repeated, and for how many characters at the least."""

    unit: str
    size: int


class Looping:
    """Watches one text; `is_data` says that it is JSON, in which blanks mean less.

    >>> looping = Looping()
    >>> [looping.feed("I am sorry. " * 100) is None for _ in range(4)], looping.feed("I am sorry. " * 200).code
    ([True, True, True, True], 'P013')
    """

    __slots__ = ("_blanks", "_end", "_fresh", "_length", "_size", "_unit")

    def __init__(self, *, is_data: bool = False) -> None:
        self._blanks = _BLANKS if is_data else _BLANKS_IN_TEXT
        self._end: list[str] = []
        self._length = 0  # of the pieces of the end
        self._fresh = 0  # characters since it was looked at
        self._unit = ""  # what repeats at the end, if something does
        self._size = 0  # for how many characters

    def feed(self, piece: str) -> Finding | None:
        """Take a piece; what is found where it has become certain that the text loops."""
        self._end.append(piece)
        self._length += len(piece)
        self._fresh += len(piece)
        if self._fresh < EVERY:
            return None
        text = "".join(self._end)
        loop = self._loop(text, self._fresh)
        self._fresh = 0
        kept = text[-_REPEATED:]
        self._end, self._length = [kept], len(kept)
        return None if loop is None else _said(loop)

    def _loop(self, text: str, fresh: int) -> _Loop | None:
        """The loop at the end of a text, of which so many characters are new."""
        blank = len(text) - len(text.rstrip())
        if blank == len(text) and self._unit.isspace():
            self._size += fresh
            blank = max(blank, self._size)
        if blank >= PROBE:
            self._unit, self._size = " ", blank
            return _Loop(" ", blank) if blank >= self._blanks else None
        unit, size = repeated(text)
        if not unit:
            self._unit, self._size = "", 0
            return None
        if size == len(text) and len(unit) == len(self._unit):
            size = max(size, self._size + fresh)  # the same goes on
        self._unit, self._size = unit, size
        least = self._blanks if _ESCAPED.fullmatch(unit * 2) else max(_least(unit), _LEAST_TIMES * len(unit))
        return _Loop(unit, size) if size >= least else None


def _least(unit: str) -> int:
    """For how many characters something may be repeated by a model that means it."""
    if '"' in unit or not _MEANS.search(unit):
        return _ALIKE
    if _WORDED.search(unit + unit):
        return _REPEATED
    return _RUN if _LETTER.search(unit) and not any(sign.isspace() for sign in unit) else _SIGNS


def _said(loop: _Loop) -> Finding:
    if loop.unit.isspace():
        message = f"The reply goes on with nothing but blanks, {loop.size:,} characters of them"
    else:
        message = f"The reply repeats the same {len(loop.unit):,} characters without end, {loop.size // len(loop.unit):,} times so far"
    data = {"period": len(loop.unit), "size": loop.size, "text": loop.unit.strip()[:80]}
    return finding("P013", "$", message, None, data, "Say everything once.")
