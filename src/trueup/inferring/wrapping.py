"""Values that may only be wrapped: in an envelope such as `response`, or a list of one. Returns the values' wrappings.

A contract unwraps such values anyway, so a draft must not treat a wrapping as a different shape, unless most replies
have it.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

ONE = "[]"
_SELDOM = 1 / 3  # a more frequent wrapping is the shape of the replies


def wrapping(value: Any) -> str | None:
    """The possible wrapping of a value: the only key of an object, `[]` for a list of one object, or None.

    >>> wrapping({"response": {"n": 1}}), wrapping([{"n": 1}]), wrapping({"n": 1})
    ('response', '[]', None)
    """
    if isinstance(value, list):
        return ONE if len(value) == 1 and isinstance(value[0], dict) else None
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((key, inner),) = value.items()
    is_json = isinstance(inner, str) and inner.lstrip()[:1] in ("{", "[")
    return str(key) if isinstance(inner, dict | list) or is_json else None


def seldom(values: Iterable[Any], total: int) -> frozenset[str]:
    """The wrappings that are too rare to be the shape of all `total` replies."""
    counts = Counter(name for value in values if (name := wrapping(value)) is not None)
    rare = {name: times for name, times in counts.items() if times <= _SELDOM * total}
    return frozenset(rare) if sum(rare.values()) <= total / 2 else frozenset()


def unwrapped(value: Any, known: Collection[str]) -> Any:
    """The object inside a wrapping, if most of its keys are known; otherwise the value unchanged.

    >>> unwrapped({"response": {"n": 1}}, {"n", "m"}), unwrapped({"response": {"x": 1}}, {"n"})
    ({'n': 1}, {'response': {'x': 1}})
    """
    inner = value[0] if isinstance(value, list) else next(iter(value.values()))
    if not isinstance(inner, dict) or not inner:
        return value
    return inner if 2 * sum(key in known for key in inner) > len(inner) else value
