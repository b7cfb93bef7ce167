"""The work of one evaluation: a meter counts down the remaining units, and each guard charges it before it acts.

One unit is about one iteration of a loop. A charge that exceeds the remaining units raises `OverBudget`. Nothing here reads
a clock: the same expression on the same data always has the same result.
"""

from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from trueup.expressions.errors import ExpressionError, OverBudget

Meter = list[int]

BUDGET = 250_000
CREDIT = 2  # added to the budget for each item of data that is looped over
MAX_CREDIT = 1_000_000  # the most that one loop can add
MAX_BITS = 20_000  # bits of a computed number: about 6,000 digits, more than JSON readers accept
SMALL = 1 << 512
FILENAME = "<expression>"
ATOMS = frozenset({int, float, bool, type(None)})


def spend(meter: Meter, units: int) -> None:
    """Charge units to the meter."""
    left = meter[0] = meter[0] - units
    if left < 0:
        raise OverBudget


def weigh(value: Any, limit: int) -> int:
    """How many parts a value has, counting repeated parts each time; raises `OverBudget` above `limit`.

    >>> weigh({"a": [1, 2, 3], "b": "x" * 640}, 100)
    18
    """
    total = 0
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            total += 1 + (len(item) >> 6)
        elif kind in ATOMS:
            total += 1
        else:
            total += 1
            inner = _parts(item)
            if total + len(stack) + len(inner) > limit:
                raise OverBudget
            stack.extend(inner)
        if total > limit:
            raise OverBudget
    return total


def _parts(item: Any) -> Any:
    if isinstance(item, dict):
        return [*item, *item.values()]
    if isinstance(item, list | tuple | set | frozenset) or type(item) in VIEWS:
        return item
    return ()


VIEWS = frozenset({type({}.keys()), type({}.values()), type({}.items())})


def spend_weight(meter: Meter, value: Any) -> None:
    """Charge the weight of a value to the meter."""
    meter[0] -= weigh(value, meter[0])


def bulk(value: Any) -> int:
    """The cost of copying a value one level deep."""
    kind = type(value)
    if kind is int:
        return 0 if -SMALL < value < SMALL else value.bit_length() >> 7
    if kind is str:
        return len(value) >> 4
    if kind is float or kind is bool or value is None:
        return 0
    return len(value) if hasattr(kind, "__len__") else 0


def paid(meter: Meter, value: Any) -> Any:
    """A new value, after its bulk is charged to the meter."""
    spend(meter, bulk(value))
    return value


def loop(meter: Meter, items: Any) -> Any:
    """The items of an inner loop; each iteration is charged in advance."""
    if hasattr(type(items), "__len__"):
        spend(meter, len(items) + 1)
        return items
    return counted(meter, items)


def loop_data(meter: Meter, items: Any) -> Any:
    """The items of a loop over data; more data means a larger budget."""
    if hasattr(type(items), "__len__"):
        meter[0] += min(CREDIT * len(items), MAX_CREDIT)
    return items


def counted(meter: Meter, items: Iterable[Any]) -> Iterator[Any]:
    """The items of an iterable without a length, each charged as it is produced."""
    for item in items:
        spend(meter, 1)
        yield item


def gather(meter: Meter, items: Any) -> list[Any]:
    """All items as a list. A generator from the expression is not charged again: its loops already charge the meter."""
    if type(items) is GeneratorType and items.gi_code.co_filename == FILENAME:
        return list(items)
    return list(loop(meter, items))


def refuse_large(bits: int) -> None:
    """Refuse a number that would have too many bits."""
    if bits > MAX_BITS:
        raise ExpressionError(f"the number gets too large (over {MAX_BITS * 3 // 10:,} digits)")
