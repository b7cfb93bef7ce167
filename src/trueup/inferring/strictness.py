"""How much evidence a line of a draft needs: `loose`, `standard` or `tight`."""

from typing import Literal, NamedTuple

Strictness = Literal["loose", "standard", "tight"]


class Needs(NamedTuple):
    """The evidence that each kind of line needs."""

    missing: float
    """The share of objects that may lack a required field. A field is optional if it is clearly missing more often."""
    unseen: float
    """The upper limit of the share of new values that allows an enum."""
    once: float
    """The estimated share of new values that allows an enum."""
    numbers: int
    """How many numbers are needed for a bound."""
    texts: int
    """How many texts are needed to rule out empty ones."""
    lists: int
    """How many lists are needed for a rule on their length."""
    formats: int
    """How many texts of a format are needed."""
    calls: int
    """How many conversations must show that one tool comes before another."""
    closed: bool
    """Whether unknown keys are refused."""
    single: bool
    """Whether a text that is always the same becomes an enum with one value."""


NEEDS: dict[Strictness, Needs] = {
    "loose": Needs(0.0, 0.02, 0.001, 300, 300, 300, 30, 50, closed=False, single=False),
    "standard": Needs(0.01, 0.05, 0.005, 30, 30, 60, 8, 10, closed=False, single=False),
    "tight": Needs(0.02, 0.10, 0.01, 15, 15, 20, 4, 5, closed=True, single=True),
}

_NEVER = 1 << 60
SHAPE = Needs(0.01, 0.0, 0.0, _NEVER, _NEVER, _NEVER, _NEVER, _NEVER, closed=False, single=False)
"""Only types and required fields: broken replies are read again under this, so that new values are not refused."""
