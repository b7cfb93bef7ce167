"""A view of a text: the same characters without a layer, and a map to the offsets of the original.

Takes a text and a pattern, or the pieces of a text; returns a View. `refold` turns a candidate of the view into a
candidate of the original text. A view never adds characters that represent nothing in the original.
"""

import re
from bisect import bisect_right
from collections.abc import Callable

from trueup.recover.candidate import Candidate
from trueup.recover.json.frames import Record


class LayerView:
    """A text without one of its layers; `back` maps an offset to the original.

    >>> without(re.compile("-"), "a-b", lambda _: "").back(1)
    2
    """

    __slots__ = ("_found", "_pieces", "text")

    def __init__(self, text: str, pieces: "Callable[[], ViewPieces]") -> None:
        self.text = text
        self._pieces = pieces  # computed when an offset is first mapped back
        self._found: ViewPieces | None = None

    def back(self, at: int) -> int:
        """The offset in the original text for an offset in this one."""
        pieces = self._found
        if pieces is None:
            pieces = self._found = self._pieces()
        at = min(at, len(self.text))
        piece = bisect_right(pieces.places, at) - 1
        return pieces.sources[piece] + (at - pieces.places[piece]) * pieces.steps[piece]


class ViewPieces:
    """The pieces of a view: where each begins in the view, and where it was in the original."""

    __slots__ = ("length", "out", "places", "sources", "steps")

    def __init__(self) -> None:
        self.out: list[str] = []
        self.places: list[int] = []
        self.sources: list[int] = []
        self.steps: list[int] = []
        self.length = 0

    def add(self, piece: str, source: int, step: int) -> None:
        """Add a piece that is unchanged from the original (step 1), or that represents a single place there (step 0)."""
        self.out.append(piece)
        self.places.append(self.length)
        self.sources.append(source)
        self.steps.append(step)
        self.length += len(piece)

    def whole(self) -> LayerView:
        """The view that the pieces make."""
        return LayerView("".join(self.out), lambda: self)


def without(layer: re.Pattern[str], text: str, meaning: Callable[[re.Match[str]], str]) -> LayerView:
    """A view of the text with each match of a layer replaced by its meaning."""
    pieces = ViewPieces()
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


def refold(inner: Candidate, view: LayerView, code: str) -> Candidate:
    """A candidate of a view, as a candidate of the original text; `code` names the layer that was removed."""
    back = view.back
    spans = [(back(a), back(b)) for a, b in inner.spans]
    records: list[Record] = [(c, back(a), back(b), after, node) for c, a, b, after, node in inner.records]
    records.append((code, spans[0][0], spans[-1][1], "", None))
    places = inner.places
    moved = None if places is None else {at: (back(start), back(stop)) for at, (start, stop) in places.items()}
    return Candidate(inner.value, spans, records, inner.form, places=moved)
