"""One conforming of one value: what was worked out already, and how much work is left.

Judging a value against an arm costs as much as the value is large, so a run has fuel in proportion
to its value: however unions are nested, the whole stays linear. Out of fuel, nothing more fits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from trueup.conform.document import Place
from trueup.conform.nodes import Node

# Own notes are (code, before, after); what happened inside a key or index is (key, trail).
Trail = list[Any]


class Change(NamedTuple):
    """What a value becomes, what that costs, and the trail of notes that led there."""

    value: Any
    price: int
    trail: Trail


Walk = Callable[[Node, Any, "Run", int], Change | None]

_FLOOR = 100_000
_PER_ITEM = 20


class Fuel:
    """How much judging a value may still cost."""

    __slots__ = ("_left", "_root", "_sizes")

    def __init__(self, root: Any) -> None:
        self._root = root
        self._sizes: dict[int, int] | None = None
        self._left = _FLOOR

    def fits(self, place: Place, value: Any, origin: Any) -> bool:
        """True when a value made from `origin` is valid at a place, and there was fuel to find out."""
        if type(value) is dict or type(value) is list:
            if self._sizes is None:
                self._sizes = sizes(self._root)
                self._left += _PER_ITEM * self._sizes.get(id(self._root), 1)
            self._left -= self._sizes.get(id(origin), len(origin) if isinstance(origin, str) else 1)
        else:
            self._left -= 1
        return self._left >= 0 and place.valid(value)


class Run:
    """The state of one conforming."""

    __slots__ = ("_fuel", "eager", "memo", "walk", "wrapped")

    def __init__(self, root: Any, walk: Walk, eager: bool) -> None:
        self.walk = walk
        self.eager = eager
        # A union's answer for a value; the value is kept so that its id stays its own.
        self.memo: dict[tuple[int, int], tuple[Any, Change | None]] = {}
        self.wrapped: set[int] = set()
        self._fuel = Fuel(root)

    def fits(self, node: Node, value: Any, origin: Any, whole: bool = True) -> bool:
        """True when a value made from `origin` is valid at a node; `whole` asks the union's base too."""
        places = node.places + node.also if whole else node.places
        return all(self._fuel.fits(place, value, origin) for place in places)


def sizes(root: Any) -> dict[int, int]:
    """How many values each container holds, itself included, by the container's id."""
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
