"""Convert an expression's value to plain JSON data, which can be stored and shown.

Sets become sorted lists; tuples and views become lists. A value that JSON cannot represent is refused, and so is one that is
larger than the limit when written out, because a value may contain the same part many times.
"""

import math
from typing import Any

from trueup.expressions.errors import ExpressionError, OverBudget
from trueup.expressions.work import VIEWS, weigh

LIMIT = 100_000


def as_data(value: Any, limit: int = LIMIT) -> Any:
    """A value as plain JSON data.

    >>> as_data({"a": (1, 2), "b": {"y", "x"}})
    {'a': [1, 2], 'b': ['x', 'y']}
    """
    try:
        weigh(value, limit)
    except OverBudget:
        raise ExpressionError(f"the value has more than {limit:,} parts") from None
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if depth > 200:
        raise ExpressionError("the value is nested too deeply")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExpressionError(f"{value} is not a JSON number")
        return value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ExpressionError(f"the keys of an object must be text, not {key!r}"[:200])
        return {key: _plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        return _plain(_sorted(value), depth)
    if isinstance(value, list | tuple | range) or type(value) in VIEWS:
        return [_plain(part, depth + 1) for part in value]
    raise ExpressionError(f"a value of type {type(value).__name__} is not JSON data")


def _sorted(value: Any) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)
