"""Flips: units whose outcome changed. `revalidate`, `compare` and sifts over earlier records all use this shape.

Takes a unit and its two outcomes, and returns the kind of change: `valid_to_failed`, `failed_to_valid`, `other_value` or `same`.
`Flips` counts them and keeps only the first of each kind, so memory does not grow with their number.
"""

from typing import Any, NamedTuple

Row = dict[str, Any]

WORDS = {
    "valid_to_failed": "valid → failed",
    "failed_to_valid": "failed → valid",
    "other_value": "valid, another value",
}


class Flip(NamedTuple):
    """A unit whose outcome changed. In a run, it also names the step and the chunk."""

    step: str
    """The step of a run; empty for a sift."""
    chunk: str
    """The chunk of a run; empty for a sift."""
    unit_id: str
    """The unit."""
    was: str
    """`valid` or `failed`, before."""
    now: str
    """`valid` or `failed`, now."""
    errors_before: tuple[Row, ...] = ()
    """The errors before: each with its code, path and message."""
    errors_now: tuple[Row, ...] = ()
    """The errors now."""
    data_before: Any = None
    """The value before, if the unit is valid both times."""
    data_now: Any = None
    """The value now, if the unit is valid both times."""

    @property
    def kind(self) -> str:
        """`valid_to_failed`, `failed_to_valid` or `other_value`.

        >>> Flip("", "", "u1", "valid", "failed").kind
        'valid_to_failed'
        """
        return flip_kind(self.was, self.now, same=False)

    def to_dict(self) -> Row:
        """The flip as a line of `flips.jsonl`.

        >>> Flip("", "", "u1", "failed", "valid", ({"code": "V002"},)).to_dict()
        {'unit_id': 'u1', 'was': 'failed', 'now': 'valid', 'errors_before': [{'code': 'V002'}], 'errors_now': []}
        """
        row: Row = {"step": self.step, "chunk": self.chunk} if self.step else {}
        row |= {"unit_id": self.unit_id, "was": self.was, "now": self.now}
        row |= {"errors_before": list(self.errors_before), "errors_now": list(self.errors_now)}
        if (self.data_before, self.data_now) != (None, None):
            row |= {"data_before": self.data_before, "data_now": self.data_now}
        return row


def flip_kind(was: str, now: str, *, same: bool) -> str:
    """The kind of change between two outcomes; `same` says whether the values of two valid units are equal.

    >>> flip_kind("valid", "valid", same=False), flip_kind("failed", "failed", same=False)
    ('other_value', 'same')
    """
    if was != now:
        return f"{was}_to_{now}"
    return "same" if same or now == "failed" else "other_value"


class Flips:
    """Counts flips by kind, and keeps the first ones."""

    def __init__(self, examples: int = 5) -> None:
        self._most = examples
        self.counts: dict[str, int] = dict.fromkeys(WORDS, 0)
        self.first: dict[str, list[Flip]] = {kind: [] for kind in WORDS}

    def wants(self, kind: str) -> bool:
        """Whether another flip of this kind would be kept."""
        return len(self.first[kind]) < self._most

    def add(self, flip: Flip) -> None:
        """Count a flip, and keep it if it is among the first."""
        self.counts[flip.kind] += 1
        if self.wants(flip.kind):
            self.first[flip.kind].append(flip)

    def to_dict(self) -> Row:
        """The counts and the examples, as JSON-able data."""
        return {
            kind: {"units": count, "examples": [flip.to_dict() for flip in self.first[kind]]}
            for kind, count in self.counts.items()
        }
