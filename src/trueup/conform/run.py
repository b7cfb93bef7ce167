"""The state of conforming one value: the results so far, and how much work is left.

The cost of judging a value against an arm grows with the value, so a run has fuel in proportion to its
value. The total stays linear for any nesting of unions. Without fuel, nothing else fits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from trueup.conform.document import SchemaPlace
from trueup.conform.nodes import Node

# Notes about the value itself are (code, before, after); notes about a member are (key, trail).
Trail = list[Any]


class Coercion(NamedTuple):
    """The new value, its price, and the trail of notes that led to it."""

    value: Any
    price: int
    trail: Trail


Walk = Callable[[Node, Any, "CoercionRun", int], Coercion | None]

_FLOOR = 100_000
_PER_ITEM = 20


class Fuel:
    """How much judging a value may still cost."""

    __slots__ = ("_left", "_root", "_sizes")

    def __init__(self, root: Any) -> None:
        self._root = root
        self._sizes: dict[int, int] | None = None
        self._left = _FLOOR

    def fits(self, place: SchemaPlace, value: Any, origin: Any) -> bool:
        """True if a value made from `origin` is valid at a place, and there was enough fuel to check."""
        if type(value) is dict or type(value) is list:
            if self._sizes is None:
                self._sizes = sizes(self._root)
                self._left += _PER_ITEM * self._sizes.get(id(self._root), 1)
            self._left -= self._sizes.get(id(origin), len(origin) if isinstance(origin, str) else 1)
        else:
            self._left -= 1
        return self._left >= 0 and place.valid(value)


class CoercionRun:
    """The state of one conforming."""

    __slots__ = ("_fuel", "eager", "memo", "walk", "wrapped")

    def __init__(self, root: Any, walk: Walk, *, eager: bool) -> None:
        self.walk = walk
        self.eager = eager
        # A union's answer for a value; the value is kept so that its id is not reused.
        self.memo: dict[tuple[int, int], tuple[Any, Coercion | None]] = {}
        self.wrapped: set[int] = set()
        self._fuel = Fuel(root)

    def fits(self, node: Node, value: Any, origin: Any, *, whole: bool = True) -> bool:
        """True if a value made from `origin` is valid at a node; `whole` includes the union's base."""
        places = node.places + node.also if whole else node.places
        return all(self._fuel.fits(place, value, origin) for place in places)


def sizes(root: Any) -> dict[int, int]:
    """The number of values in each container, including itself, by the container's id."""
    found: dict[int, int] = {}
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        value, ready = stack.pop()
        inner = value.values() if type(value) is dict else value if type(value) is list else ()
        if ready:
            found[id(value)] = 1 + sum(found.get(id(item), 1) for item in inner)
        elif type(value) is dict or type(value) is list:
            stack.append((value, True))
            stack.extend((item, False) for item in inner if type(item) is dict or type(item) is list)
    return found
