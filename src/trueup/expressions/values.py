"""From what an expression gave to plain JSON data: what leaves an evaluation can be stored and shown.

Sets become sorted lists, tuples and views lists. What JSON cannot hold, and what is larger than the limit once
written out, is refused: a value may hold the same part many times over.
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
        raise ExpressionError("the value is nested too deep")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExpressionError(f"{value} is not a JSON number")
        return value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ExpressionError(f"the keys of an object are text, not {key!r}"[:200])
        return {key: _plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        return _plain(_sorted(value), depth)
    if isinstance(value, list | tuple | range) or type(value) in VIEWS:
        return [_plain(part, depth + 1) for part in value]
    raise ExpressionError(f"a value of type {type(value).__name__} is no JSON data")


def _sorted(value: Any) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)
