"""Matching: which of many expressions occur in a folded text, and where, in time linear in the text.

Takes sources made by `patterns`; returns indexes and positions. One pass over all sources says which to look for. That
pass returns nothing if its tables outgrow their memory, so it includes an expression that always matches. If even that
one is missing, or the pass cannot be prepared at all, each source is tried separately.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import re2

from trueup.checks.patterns import options

_WARMING = b"warm 12:30, as any reply may be.\nnothing of this is meant"
_WORK = 40_000_000  # bytes that the search for all positions of one source may scan


class Matcher:
    """Many expressions, searched for at once.

    >>> Matcher([r"\\bana\\b", r"[0-9]{1,2}:[0-9]{2}"]).which(b"at 10:30")
    [1]
    """

    __slots__ = ("__dict__", "_set", "sources")

    def __init__(self, sources: Sequence[str], max_mem: int = 64 << 20) -> None:
        self.sources = tuple(sources)
        chosen = options()
        chosen.max_mem = max_mem
        self._set: Any = re2.Set.SearchSet(chosen)
        for source in (*self.sources, ""):
            self._set.Add(source.encode())
        try:
            self._set.Compile()
        except re2.error:  # too large for its memory
            self._set = None
        self.which(_WARMING)

    def which(self, data: bytes) -> list[int]:
        """The indexes of the sources that occur."""
        if not self.sources:
            return []
        found: list[int] = [] if self._set is None else self._set.Match(data)
        canary = len(self.sources)
        if found == [canary]:
            return []
        if canary in found:
            return sorted(index for index in found if index != canary)
        return [index for index, one in enumerate(self._each) if one.search(data)]

    def places(self, index: int, data: bytes) -> Iterator[tuple[int, int] | None]:
        """The positions of a source, from left to right. None at the end means that there may be more."""
        bound = max(10, min(2_000, _WORK // (len(data) + 1)))
        for count, found in enumerate(self._each[index].finditer(data)):
            if count == bound:
                yield None
                return
            yield found.span()

    def occurs(self, data: bytes) -> bool:
        """Whether any of the sources occurs."""
        return bool(self.which(data))

    def covers(self, data: bytes, start: int, end: int) -> bool:
        """Whether a match of one of the sources covers a position."""
        return any(
            place is not None and place[0] <= start and end <= place[1]
            for index in self.which(data)
            for place in self.places(index, data)
        )

    @cached_property
    def _each(self) -> "list[re2._Regexp]":
        return [re2.compile(source.encode(), options()) for source in self.sources]
