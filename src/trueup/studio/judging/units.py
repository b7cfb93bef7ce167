"""Offsets for the page: converts code points of a text to UTF-16 units, as JavaScript counts them, and back.

A character beyond U+FFFF is one code point and two units; half a surrogate pair is one of each. The text is searched
once, by a regular expression; then each offset takes one binary search.
"""

import re
from bisect import bisect_left, bisect_right

_WIDE = re.compile(r"[\U00010000-\U0010ffff]")


class OffsetUnits:
    """The two ways to count one text.

    >>> units = OffsetUnits("a😀b")
    >>> units.of(2), units.points(3), units.points(2)
    (3, 2, 1)
    """

    __slots__ = ("_points", "_size", "_units")

    def __init__(self, text: str) -> None:
        self._size = len(text)
        self._points: list[int] = [] if text.isascii() else [wide.start() for wide in _WIDE.finditer(text)]
        self._units = [at + before for before, at in enumerate(self._points)]  # where each wide character starts

    def of(self, point: int) -> int:
        """The units before a code point."""
        return point + bisect_left(self._points, point)

    def points(self, unit: int) -> int:
        """The code points before a unit; in the middle of a character, those before that character."""
        wide = bisect_right(self._units, unit - 1)
        inside = wide > 0 and self._units[wide - 1] + 1 == unit
        return max(0, min(unit - wide, self._size)) if not inside else self._points[wide - 1]
