"""Evidence: where in its sources a value was found, and how well it agrees with the text there.

If a contract has `grounded`, its verdict contains one `Evidence` for each value that was looked up. Spans are character offsets into the document.
"""

from typing import Any, Literal

import msgspec

from trueup.verdict.facts import Span

Evident = Literal["exact", "normalized", "fuzzy", "computed", "none", "not checkable"]
_SHOWN = 120  # characters of a place
FOUND = frozenset({"exact", "normalized", "fuzzy", "computed"})


class Place(msgspec.Struct, frozen=True):
    """One place in a source."""

    document: str
    """The name of the document; `source` if there is only one without a name."""
    span: Span
    """Start and end of the place in the document, in characters."""
    text: str
    """The text at this place, shortened if it is long; empty in a stored verdict whose context was not kept."""


class Evidence(msgspec.Struct, frozen=True):
    """Where one value is in the sources, and how well it agrees with them."""

    grade: Evident
    """`exact` (as written), `normalized` (the same number, date or words in another form), `fuzzy` (nearly the same words), `computed` (by a rule that
    is true), `none`, or `not checkable` (a boolean, null, or an enum without evidence patterns)."""
    places: tuple[Place, ...] = ()
    """Where the value was found, the best place first; empty if it was not found."""
    nearest: Place | None = None
    """The nearest text in the sources, if the value is not there."""

    @property
    def found(self) -> bool:
        """Whether the value is grounded.

        >>> Evidence("fuzzy").found, Evidence("none").found
        (True, False)
        """
        return self.grade in FOUND

    def to_dict(self) -> dict[str, Any]:
        """The evidence as JSON-able data, without empty parts.

        >>> Evidence("exact", (Place("mail", (3, 6), "Ana"),)).to_dict()
        {'grade': 'exact', 'places': [{'document': 'mail', 'span': [3, 6], 'text': 'Ana'}]}
        """
        shown: dict[str, Any] = {"grade": self.grade}
        if self.places:
            shown["places"] = [_plain(place) for place in self.places]
        if self.nearest is not None:
            shown["nearest"] = _plain(self.nearest)
        return shown


def shortened(text: str) -> str:
    """The text at a place, shortened for display.

    >>> shortened("Ana"), len(shortened("a" * 1000))
    ('Ana', 120)
    """
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _plain(place: Place) -> dict[str, Any]:
    return {"document": place.document, "span": [*place.span], "text": place.text}
