"""The functions of the language, in a plain form and in a form that charges the meter.

`FUNCTIONS` lists the arguments of each function, its two forms, and the kind of value that it returns.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from trueup.expressions.errors import ExpressionError
from trueup.expressions.guards import distinct, power
from trueup.expressions.work import MAX_BITS, SMALL, Meter, bulk, gather, loop, paid, spend, spend_weight

_MAX_DIGITS = 4_300


def total(meter: Meter, items: Any, start: Any = 0) -> Any:
    if type(start) not in (int, float, bool):
        raise ExpressionError("sum() adds numbers; its start must be a number too")
    found = gather(meter, items)
    large = [one for one in found if type(one) is int and not -SMALL < one < SMALL]
    if large:
        spend(meter, len(found) * (max(map(bulk, large)) + 1))
    return sum(found, start)


def least(meter: Meter, *args: Any, **options: Any) -> Any:
    return min(_candidates(meter, args), **options)


def greatest(meter: Meter, *args: Any, **options: Any) -> Any:
    return max(_candidates(meter, args), **options)


def _candidates(meter: Meter, args: tuple[Any, ...]) -> list[Any]:
    found = gather(meter, args[0]) if len(args) == 1 else list(args)
    spend_weight(meter, found)
    return found


def in_order(meter: Meter, items: Any, reverse: Any = False) -> list[Any]:  # noqa: FBT002 - expressions pass it by position
    found = gather(meter, items)
    before = meter[0]
    spend_weight(meter, found)
    spend(meter, (before - meter[0]) * len(found).bit_length() >> 3)
    return sorted(found, reverse=bool(reverse))


def holds_any(meter: Meter, items: Any) -> bool:
    return any(gather(meter, items))


def holds_all(meter: Meter, items: Any) -> bool:
    return all(gather(meter, items))


def as_list(meter: Meter, items: Any = ()) -> list[Any]:
    return gather(meter, items)


def as_tuple(meter: Meter, items: Any = ()) -> tuple[Any, ...]:
    return tuple(gather(meter, items))


def as_set(meter: Meter, items: Any = ()) -> set[Any]:
    found = gather(meter, items)
    distinct(meter, found)
    return set(found)


def as_dict(meter: Meter, items: Any = ()) -> dict[Any, Any]:
    if isinstance(items, dict):
        spend(meter, len(items))
        return dict(items)
    found = gather(meter, items)
    pairs = [(key, value) for key, value in found]
    distinct(meter, [key for key, _ in pairs])
    return dict(pairs)


def as_text(meter: Meter, value: Any = "") -> str:
    if type(value) is int and not -SMALL < value < SMALL:
        _refuse_digits(value.bit_length() * 3 // 10)
        spend(meter, value.bit_length() >> 3)
    elif not isinstance(value, str):
        spend_weight(meter, value)
    made = str(value)
    spend(meter, bulk(made))
    return made


def as_integer(meter: Meter, value: Any = 0, *base: Any) -> int:
    if isinstance(value, str):
        _refuse_digits(len(value.strip()))
        spend(meter, len(value) >> 3)
    made = int(value, *base)
    spend(meter, bulk(made))
    return made


def as_float(meter: Meter, value: Any = 0.0) -> float:
    spend(meter, bulk(value))
    return float(value)


def _refuse_digits(digits: int) -> None:
    if digits > _MAX_DIGITS:
        raise ExpressionError(f"a number of more than {_MAX_DIGITS:,} digits cannot be read or written")


def size(meter: Meter, value: Any) -> Any:
    return paid(meter, abs(value))


def rounded(meter: Meter, value: Any, ndigits: Any = None) -> Any:
    if isinstance(ndigits, int) and not -MAX_BITS < ndigits < MAX_BITS:
        raise ExpressionError("the number of digits for round() is too large")
    spend(meter, 1 - ndigits if isinstance(ndigits, int) and ndigits < 0 and isinstance(value, int) else 0)
    return paid(meter, round(value, ndigits))


def numbers(meter: Meter, *bounds: Any) -> range:
    made = range(*bounds)
    try:
        spend(meter, len(made))
    except OverflowError:
        raise ExpressionError("range() produces too many numbers") from None
    return made


def numbered(meter: Meter, items: Any, start: Any = 0) -> list[tuple[Any, Any]]:
    return list(enumerate(gather(meter, items), start))


def side_by_side(meter: Meter, *several: Iterable[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(gather(meter, items) for items in several), strict=False))


def backwards(meter: Meter, items: Any) -> list[Any]:
    return list(reversed(loop(meter, items)))


class Function(NamedTuple):
    """One function: its two forms, and how many arguments it takes.

    `plain` is called if the work is proportional to the size of the data, `guarded` otherwise. `gives` is the kind of the
    value: a number, the kind of the arguments, or anything else.
    """

    plain: Callable[..., Any] | None
    guarded: Callable[..., Any] | None
    least: int
    most: int
    gives: str = "number"
    options: frozenset[str] = frozenset()
    takes_generator: bool = False


_MANY = 50


FUNCTIONS: dict[str, Function] = {
    "len": Function(len, None, 1, 1),
    "bool": Function(bool, None, 0, 1),
    "abs": Function(abs, size, 1, 1),
    "int": Function(None, as_integer, 0, 2),
    "float": Function(float, as_float, 0, 1),
    "str": Function(str, as_text, 0, 1, "same"),
    "round": Function(round, rounded, 1, 2, options=frozenset({"ndigits"})),
    "pow": Function(None, power, 2, 2),
    "sum": Function(sum, total, 1, 2, options=frozenset({"start"}), takes_generator=True),
    "any": Function(any, holds_any, 1, 1, takes_generator=True),
    "all": Function(all, holds_all, 1, 1, takes_generator=True),
    "min": Function(min, least, 1, _MANY, "same", frozenset({"default"}), takes_generator=True),
    "max": Function(max, greatest, 1, _MANY, "same", frozenset({"default"}), takes_generator=True),
    "sorted": Function(sorted, in_order, 1, 1, "same", frozenset({"reverse"}), takes_generator=True),
    "list": Function(list, as_list, 0, 1, "same", takes_generator=True),
    "tuple": Function(tuple, as_tuple, 0, 1, "same", takes_generator=True),
    "set": Function(None, as_set, 0, 1, "same", takes_generator=True),
    "dict": Function(None, as_dict, 0, 1, "other", takes_generator=True),
    "range": Function(None, numbers, 1, 3, "other"),
    "enumerate": Function(None, numbered, 1, 2, "other", frozenset({"start"}), takes_generator=True),
    "zip": Function(None, side_by_side, 1, _MANY, "other", takes_generator=True),
    "reversed": Function(None, backwards, 1, 1, "other"),
    "floor": Function(math.floor, None, 1, 1),
    "ceil": Function(math.ceil, None, 1, 1),
    "sqrt": Function(math.sqrt, None, 1, 1),
    "log": Function(math.log, None, 1, 2),
    "exp": Function(math.exp, None, 1, 1),
}
TYPES: dict[str, type] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "tuple": tuple, "set": set,
}  # fmt: skip
