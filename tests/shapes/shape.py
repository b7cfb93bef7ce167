"""A shape: an input of any size, and the work on it whose cost must grow with that size and no faster.

`tests/` compares how the cost grows, `bench/growth.py` prints the cost. Both walk over the same shapes (`tests/shapes/`), so
that every tested shape is also measured.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from trueup import Contract


class Shape(NamedTuple):
    name: str
    make: Callable[[int], Any]  # an input of about this many characters, or this many items
    run: Callable[[Any], object]
    size: int  # the size that the bench prints, and up to which the tests compare
    goal: float | None = None  # CPU seconds at that size, where a requirement or a page of the docs names them
    variant: str = ""  # which of several contracts, or the text before it; the bench prints the slowest


def repeated(unit: str, start: str = "", end: str = "") -> Callable[[int], str]:
    """Makes texts that repeat a unit between a start and an end: whole units, for a cut one would be another text."""
    return lambda size: start + unit * max(1, size // len(unit)) + end


def checked(contract: Contract, context: dict[str, Any] | None = None) -> Callable[[Any], object]:
    """The work of judging a reply, with its fixes and findings written out."""
    return lambda text: contract.check(text, context).to_dict()
