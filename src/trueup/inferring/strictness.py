"""How much evidence a line of a draft needs: `loose`, `standard` or `tight`."""

from typing import Literal, NamedTuple

Strictness = Literal["loose", "standard", "tight"]


class Needs(NamedTuple):
    """The evidence that each kind of line needs."""

    missing: float
    """The share of objects that may lack a required field: a field is optional if its absence is clearly more than that."""
    unseen: float
    """The upper limit of the share of new values, for an enum to be made."""
    once: float
    """The estimated share of new values, for an enum to be made."""
    numbers: int
    """How many numbers must be seen before a bound is set."""
    texts: int
    """How many texts must be seen before they are said to be never empty."""
    lists: int
    """How many lists must be seen before something is said of their length."""
    formats: int
    """How many texts of a format must be seen."""
    calls: int
    """How many conversations must show that one tool comes before another."""
    closed: bool
    """Whether keys that were never seen are refused."""
    single: bool
    """Whether a text that is always the same becomes an enum of one."""


NEEDS: dict[Strictness, Needs] = {
    "loose": Needs(0.0, 0.02, 0.001, 300, 300, 300, 30, 50, closed=False, single=False),
    "standard": Needs(0.01, 0.05, 0.005, 30, 30, 60, 8, 10, closed=False, single=False),
    "tight": Needs(0.02, 0.10, 0.01, 15, 15, 20, 4, 5, closed=True, single=True),
}

_NEVER = 1 << 60
SHAPE = Needs(0.01, 0.0, 0.0, _NEVER, _NEVER, _NEVER, _NEVER, _NEVER, closed=False, single=False)
"""Types and required fields alone: what broken replies are read again under, so that a value that is new is not refused."""
