"""A model that repeats itself endlessly: the same words, characters or spaces over and over, until the limit stops it.

Takes pieces of text; returns a finding once the end of the text has repeated for so long that it cannot be intended.
Only exact and very long repetition counts, because tables, refrains, zeros and ASCII art repeat as well. The cost is
linear: the end of the text is examined now and then, and only a bounded part of it is kept.
"""

from typing import NamedTuple

from trueup.checks.repeats import PROBE, repeated
from trueup.verdict.facts import Finding, finding
from trueup.verdict.patterns import lazy_regex

_WORDED = lazy_regex(
    r"[^\W\d_]\S*\s|\s\S*[^\W\d_]|[\u2e80-\u9fff\uac00-\ud7af]"
)  # words with spaces, or in a script without spaces
_MEANS = lazy_regex(r"[\w\s]")
_LETTER = lazy_regex(r"[^\W\d_]")
_ESCAPED = lazy_regex(r"[nrt]?(?:\\[nrt]|\s)+\\?")  # spaces in their escaped form in a string
EVERY = 2048  # characters after which the end is examined again
_BLANKS, _BLANKS_IN_TEXT = 2_000, 4_000
_REPEATED = 6_000  # characters of repeated words
_ALIKE = 20_000  # characters of equal members of a list, or of one sign
_RUN = 40_000  # characters of a run without spaces, as in encoded data
_SIGNS = 60_000  # characters of digits, or of lines of signs, as in lists of zeros and in ASCII art
_LEAST_TIMES = 10


class _Loop(NamedTuple):
    """The repeated unit, and the least number of characters in the repetition."""

    unit: str
    size: int


class Looping:
    """Watches one text; `is_data` means that it is JSON, in which spaces matter less.

    >>> looping = Looping()
    >>> [looping.feed("I am sorry. " * 100) is None for _ in range(4)], looping.feed("I am sorry. " * 200).code
    ([True, True, True, True], 'P013')
    """

    __slots__ = ("_blanks", "_end", "_fresh", "_length", "_size", "_unit")

    def __init__(self, *, is_data: bool = False) -> None:
        self._blanks = _BLANKS if is_data else _BLANKS_IN_TEXT
        self._end: list[str] = []
        self._length = 0  # of the pieces at the end
        self._fresh = 0  # characters since it was last examined
        self._unit = ""  # the text that repeats at the end, if any
        self._size = 0  # for this many characters

    def feed(self, piece: str) -> Finding | None:
        """Take a piece; returns a finding once it is certain that the text loops."""
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
        """The loop at the end of a text; `new` of its characters are new."""
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
            size = max(size, self._size + fresh)  # the same loop continues
        self._unit, self._size = unit, size
        least = self._blanks if _ESCAPED.fullmatch(unit * 2) else max(_least(unit), _LEAST_TIMES * len(unit))
        return _Loop(unit, size) if size >= least else None


def _least(unit: str) -> int:
    """The number of characters for which a model may repeat something intentionally."""
    if '"' in unit or not _MEANS.search(unit):
        return _ALIKE
    if _WORDED.search(unit + unit):
        return _REPEATED
    return _RUN if _LETTER.search(unit) and not any(sign.isspace() for sign in unit) else _SIGNS


def _said(loop: _Loop) -> Finding:
    if loop.unit.isspace():
        message = f"The reply continues with {loop.size:,} blank characters"
    else:
        message = f"The reply repeats the same {len(loop.unit):,} characters without end, {loop.size // len(loop.unit):,} times so far"
    data = {"period": len(loop.unit), "size": loop.size, "text": loop.unit.strip()[:80]}
    return finding("P013", "$", message, None, data, "Say everything once.")
