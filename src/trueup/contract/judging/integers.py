"""The places where a schema asks for integers: found once, so that `5.0` there is noticed without walking every value.

Takes a schema and returns a test for valid values. JSON Schema counts 5.0 as an integer, so only a float in one of
these places shows that the value still has to be converted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueup.conform.names import fold
from trueup.recover.json.clean import has_integral
from trueup.verdict.codec import written

# Keywords that refer to another schema; places are not followed beyond them.
_ELSEWHERE = frozenset(
    ("$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "patternProperties", "prefixItems", "dependentSchemas")
)

Test = Callable[[Any], bool]


class _Place:
    """The integers at and below one place: keys with an integer, keys to look into, and the items."""

    __slots__ = ("inside", "integers", "item", "items_are_integers")

    def __init__(self) -> None:
        self.integers: tuple[str, ...] = ()
        self.inside: tuple[tuple[str, _Place], ...] = ()
        self.item: _Place | None = None
        self.items_are_integers = False

    def holds_float(self, value: Any) -> bool:
        """Whether there is a float in place of an integer. Every clean check calls this: loops, no generators."""
        kind = type(value)
        if kind is dict:
            for key in self.integers:
                if type(value.get(key)) is float:
                    return True
            for key, place in self.inside:
                if key in value and place.holds_float(value[key]):
                    return True
        elif kind is list:
            if self.items_are_integers:
                return float in map(type, value)
            if self.item is not None:
                return self.item.any_holds_float(value)
        return False

    def any_holds_float(self, values: list[Any]) -> bool:
        """The same for every item of a list; flat objects are handled here."""
        if self.inside or self.item is not None or self.items_are_integers:
            return any(self.holds_float(value) for value in values)
        for value in values:
            if type(value) is dict:
                for key in self.integers:
                    if type(value.get(key)) is float:
                        return True
        return False


def integral_test(source: Any, *, has_integer: bool) -> Test | None:
    """A test for a valid value that may contain `5.0` for an integer; None if the schema asks for no integers.

    >>> test = integral_test({"properties": {"n": {"type": "integer"}}}, has_integer=True)
    >>> test({"n": 5.0}), test({"n": 5})
    (True, False)
    """
    if not has_integer:
        return None
    place = _place(source)
    if place is None:
        return _anywhere
    flat = not (place.inside or place.item or place.items_are_integers)
    return _flat_test(place.integers) if flat and len(place.integers) == 1 else place.holds_float


def _flat_test(integers: tuple[str, ...]) -> Test:
    """The test for an object with one integer, the most common case: it looks at one key."""
    (key,) = integers

    def holds_float(value: Any) -> bool:
        return type(value) is dict and type(value.get(key)) is float

    return holds_float


def alias_test(aliases: Mapping[str, Sequence[str]], keys: frozenset[str]) -> Test | None:
    """A test for a valid value that may have a key under one of its aliases; None if no aliases were given.

    >>> test = alias_test({"level": ["nivel"]}, frozenset({"level"}))
    >>> test({"a": [{"Nivel": 1}]}), test({"level": "nivel"})
    (True, False)
    """
    names = {fold(alias) for name, others in aliases.items() if name in keys for alias in others} - {""}
    if not names:
        return None

    def holds(value: Any) -> bool:
        stack = [value]
        while stack:
            here = stack.pop()
            if isinstance(here, dict):
                if any(key not in keys and fold(key) in names for key in here):
                    return True
                stack += here.values()
            elif isinstance(here, list):
                stack += here
        return False

    return holds


def either(first: Test | None, second: Test | None) -> Test | None:
    """A test that passes if one of two tests does."""
    if first is None or second is None:
        return first or second
    return lambda value: first(value) or second(value)


def _anywhere(value: Any) -> bool:
    return has_integral(written(value))


def _place(schema: Any) -> _Place | None:
    """The integers of a plain schema; None if it is too complex."""
    place = _Place()
    if isinstance(schema, bool):
        return place
    if not isinstance(schema, dict) or not _ELSEWHERE.isdisjoint(schema) or _is_integer(schema):
        return None
    integers: list[str] = []
    inside: list[tuple[str, _Place]] = []
    for key, member in (schema.get("properties") or {}).items():
        if _is_integer(member):
            integers.append(key)
            continue
        below = _place(member)
        if below is None:
            return None
        if below.integers or below.inside or below.item or below.items_are_integers:
            inside.append((key, below))
    items = schema.get("items", True)
    place.items_are_integers = _is_integer(items)
    if not place.items_are_integers:
        below = _place(items)
        if below is None or isinstance(schema.get("additionalProperties"), dict):
            return None
        place.item = below if below.integers or below.inside or below.item or below.items_are_integers else None
    place.integers, place.inside = tuple(integers), tuple(inside)
    return place


def _is_integer(schema: Any) -> bool:
    """Whether a schema allows integers and no other value that is a float."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind == "integer" or (isinstance(kind, list) and "integer" in kind and "number" not in kind)
