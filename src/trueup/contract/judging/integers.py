"""Where a schema asks for integers: found once, so that `5.0` in such a place is seen without walking every value.

A schema enters; a test for valid values leaves. JSON Schema calls 5.0 an integer, so only a float in one of these
places tells that the value still has to be brought to its type.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueup.conform.names import fold
from trueup.recover.json.clean import has_integral
from trueup.verdict.codec import written

# Words that send a value to another schema: beyond them places are not followed.
_ELSEWHERE = frozenset(
    ("$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "patternProperties", "prefixItems", "dependentSchemas")
)

Test = Callable[[Any], bool]


class _Place:
    """The integers at and below one place: keys that hold one, keys to look into, what every item is."""

    __slots__ = ("inside", "integers", "item", "items_are_integers")

    def __init__(self) -> None:
        self.integers: tuple[str, ...] = ()
        self.inside: tuple[tuple[str, _Place], ...] = ()
        self.item: _Place | None = None
        self.items_are_integers = False

    def holds_float(self, value: Any) -> bool:
        """Whether a float stands where an integer should. It is on the path of every clean check: loops, no generators."""
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
        """The same for every item of a list; flat objects are looked at here."""
        if self.inside or self.item is not None or self.items_are_integers:
            return any(self.holds_float(value) for value in values)
        for value in values:
            if type(value) is dict:
                for key in self.integers:
                    if type(value.get(key)) is float:
                        return True
        return False


def integral_test(source: Any, has_integer: bool) -> Test | None:
    """A test whether a valid value may hold `5.0` for an integer; None when the schema asks for none.

    >>> test = integral_test({"properties": {"n": {"type": "integer"}}}, True)
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
    """The test of an object with one integer, the most usual case: a look at one key."""
    (key,) = integers

    def holds_float(value: Any) -> bool:
        return type(value) is dict and type(value.get(key)) is float

    return holds_float


def alias_test(aliases: Mapping[str, Sequence[str]], keys: frozenset[str]) -> Test | None:
    """A test whether a valid value may hold a key under another name that was given for it; None when none was.

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
    """A test whether one of two applies."""
    if first is None or second is None:
        return first or second
    return lambda value: first(value) or second(value)


def _anywhere(value: Any) -> bool:
    return has_integral(written(value))


def _place(schema: Any) -> _Place | None:
    """The integers of a plain schema; None when it is not plain enough to tell."""
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
    """Whether a schema takes integers and nothing that is a float otherwise."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind == "integer" or (isinstance(kind, list) and "integer" in kind and "number" not in kind)
