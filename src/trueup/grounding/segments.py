"""Segments: a text as lines, sentences or paragraphs. Takes a position; returns the number and bounds of its segment.

Each division is computed once, in one pass.
"""

from bisect import bisect_right
from collections.abc import Sequence

from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_CUTS = {
    "line": lazy_regex(r"\n+"),
    "sentence": lazy_regex(r"[.!?][\"'”’)\]]*\s++(?=\S)|[。！？；]|\n+|;\s"),
    "paragraph": lazy_regex(r"\n[ \t]*(?:[-=*_]{3,}[ \t]*)?\n\s*"),
}
LEVELS = tuple(_CUTS)
_NUMBER = lazy_regex(r"[-+−]?\d[\d.,'’:/%-]*")
_WORDS = lazy_regex(r"[^\W\d_]+(?:[\s'’.&-]+[^\W\d_]+)*")
_SMALL = lazy_regex(r"(?<![^\W\d_])[a-zà-öø-ÿ][^\W\d_]*+")
_STOPS = (".", "!", "?")
_SPACE = lazy_regex(r"\s+")


class Segments:
    """A text in consecutive parts."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self._text = text
        self._starts = starts

    def at(self, position: int) -> int:
        """The number of the segment at a position."""
        return bisect_right(self._starts, position) - 1

    def bounds(self, number: int) -> Span:
        """The start and end of a segment."""
        start = self._starts[max(number, 0)]
        return start, self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)


def parted(text: str, level: str) -> Segments:
    """A text in lines, sentences or paragraphs.

    >>> found = parted("Ana is 30. Luis is 40.", "sentence")
    >>> found.at(3), found.at(12), found.bounds(1)
    (0, 1, (11, 22))
    """
    return Segments(text, [0, *(found.end() for found in _CUTS[level].finditer(text) if found.end())])


def shape(text: str) -> str:
    """The form of a line without its words and numbers: two rows of a table have the same shape.

    >>> shape("| Ana Ruiz | 30 |") == shape("| Luis | 4,000 |"), shape("Age: 30") == shape("Ana: Madrid")
    (True, False)

    Two sentences have the same shape if they also have equally many words that are not names.

    >>> shape("Ana is 30.") == shape("Ana Ruiz is 4."), shape("Ana is 30.") == shape("She was born in 1994.")
    (True, False)
    """
    signs = _SPACE.sub("", _WORDS.sub("w", _NUMBER.sub("0", text)))
    return signs if text.rstrip()[-1:] not in _STOPS else f"{signs} {sum(1 for _ in _SMALL.finditer(text))}"
