"""A view of a text: the same characters without a layer, with the way back to the offsets of the original.

A text and a pattern enter, or its pieces one by one; a View leaves. What was read in the view becomes a candidate of the
original text with `refold`. A view never adds characters that stand for nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Callable

from trueup.recover.candidate import Candidate
from trueup.recover.json.frames import Record


class View:
    """A text as it reads without a layer; `back` finds where a character came from.

    >>> without(re.compile("-"), "a-b", lambda _: "").back(1)
    2
    """

    __slots__ = ("_found", "_pieces", "text")

    def __init__(self, text: str, pieces: "Callable[[], Pieces]") -> None:
        self.text = text
        self._pieces = pieces  # worked out when somebody first asks where something came from
        self._found: Pieces | None = None

    def back(self, at: int) -> int:
        """The offset in the original text of an offset in this one."""
        pieces = self._found
        if pieces is None:
            pieces = self._found = self._pieces()
        at = min(at, len(self.text))
        piece = bisect_right(pieces.places, at) - 1
        return pieces.sources[piece] + (at - pieces.places[piece]) * pieces.steps[piece]


class Pieces:
    """What a view is put together from: where each piece begins in it, and where it came from."""

    __slots__ = ("length", "out", "places", "sources", "steps")

    def __init__(self) -> None:
        self.out: list[str] = []
        self.places: list[int] = []
        self.sources: list[int] = []
        self.steps: list[int] = []
        self.length = 0

    def add(self, piece: str, source: int, step: int) -> None:
        """A piece as it stands in the original (step 1), or one that stands for a single place there (step 0)."""
        self.out.append(piece)
        self.places.append(self.length)
        self.sources.append(source)
        self.steps.append(step)
        self.length += len(piece)

    def whole(self) -> View:
        """The text that they make."""
        return View("".join(self.out), lambda: self)


def without(layer: re.Pattern[str], text: str, meaning: Callable[[re.Match[str]], str]) -> View:
    """The text with each match of a layer replaced by what it means."""
    pieces = Pieces()
    at = 0
    for match in layer.finditer(text):
        plain = meaning(match)
        if plain == match[0]:
            continue
        pieces.add(text[at : match.start()], at, 1)
        pieces.add(plain, match.start(), 0)
        at = match.end()
    pieces.add(text[at:], at, 1)
    return pieces.whole()


def refold(inner: Candidate, view: View, code: str) -> Candidate:
    """A candidate of a view as one of the original text; `code` names the layer that was taken off."""
    back = view.back
    spans = [(back(a), back(b)) for a, b in inner.spans]
    records: list[Record] = [(c, back(a), back(b), after, node) for c, a, b, after, node in inner.records]
    records.append((code, spans[0][0], spans[-1][1], "", None))
    places = inner.places
    moved = None if places is None else {at: (back(start), back(stop)) for at, (start, stop) in places.items()}
    return Candidate(inner.value, spans, records, inner.form, places=moved)
