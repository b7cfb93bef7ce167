"""Operators with guards: an operation that would take too much time or memory is refused.

Each guard takes the meter as its first argument. For two ordinary numbers, a guard costs only a type test.
"""

import operator
from collections.abc import Callable
from typing import Any

from trueup.expressions.errors import ExpressionError
from trueup.expressions.work import (
    ATOMS,
    SMALL,
    VIEWS,
    Meter,
    bulk,
    paid,
    refuse_large,
    spend,
    spend_weight,
)

_TEXTUAL = frozenset({str, bytes, bytearray})
_HASHED = frozenset({dict, set, frozenset, type({}.keys()), type({}.items())})


def add(meter: Meter, a: Any, b: Any) -> Any:
    if type(a) is not float and type(b) is not float:
        spend(meter, bulk(a) + bulk(b))
    return a + b


def subtract(meter: Meter, a: Any, b: Any) -> Any:
    return a - b if type(a) is float or type(b) is float else _between(meter, operator.sub, a, b)


def multiply(meter: Meter, a: Any, b: Any) -> Any:
    one, other = type(a), type(b)
    if one is int and other is int:
        if not (-SMALL < a < SMALL and -SMALL < b < SMALL):
            refuse_large(a.bit_length() + b.bit_length())
            spend(meter, ((a.bit_length() >> 6) * (b.bit_length() >> 6) >> 5) + bulk(a) + bulk(b))
        return a * b
    if one is float or other is float or (one in ATOMS and other in ATOMS):
        return a * b
    times, what = (a, b) if one in ATOMS else (b, a)
    if isinstance(times, int) and times > 0 and isinstance(what, str | list | tuple):
        spend(meter, len(what) * times >> 4 if type(what) is str else len(what) * times)
    return a * b


def power(meter: Meter, a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        refuse_large(a.bit_length() * b if not -2 < a < 2 else 1)
        spend(meter, 1 + (b.bit_length() >> 2))
    result = a**b
    if isinstance(result, complex):
        raise ExpressionError("the root of a negative number is not a real number")
    return result


def modulo(meter: Meter, a: Any, b: Any) -> Any:
    if type(a) in _TEXTUAL:
        raise ExpressionError("'%' works only on numbers; it does not format text")
    return _divided(meter, operator.mod, a, b)


def floor_divide(meter: Meter, a: Any, b: Any) -> Any:
    return _divided(meter, operator.floordiv, a, b)


def divide(meter: Meter, a: Any, b: Any) -> Any:
    return _divided(meter, operator.truediv, a, b)


def _divided(meter: Meter, act: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if type(a) is int and not -SMALL < a < SMALL:
        refuse_large(a.bit_length())
        spend(meter, (a.bit_length() >> 6) * (bulk(b) + 1) >> 3)
    return act(a, b)


def shift_left(meter: Meter, a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        refuse_large(a.bit_length() + b)
    return paid(meter, a << b)


def shift_right(meter: Meter, a: Any, b: Any) -> Any:
    return paid(meter, a >> b)


def both(meter: Meter, a: Any, b: Any) -> Any:
    return _between(meter, operator.and_, a, b)


def either(meter: Meter, a: Any, b: Any) -> Any:
    return _between(meter, operator.or_, a, b)


def differing(meter: Meter, a: Any, b: Any) -> Any:
    return _between(meter, operator.xor, a, b)


def _between(meter: Meter, act: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """An operation on numbers or sets, whose work is proportional to the size of both."""
    if type(a) in ATOMS:
        spend(meter, bulk(a) + bulk(b))
    else:
        for one in (a, b):
            spend_weight(meter, one)
            if isinstance(one, list | tuple) or type(one) in VIEWS:
                distinct(meter, list(one))
    return act(a, b)


def negate(meter: Meter, a: Any) -> Any:
    return paid(meter, -a)


def keep_sign(meter: Meter, a: Any) -> Any:
    return paid(meter, +a)


def invert(meter: Meter, a: Any) -> Any:
    return paid(meter, ~a)


def _comparing(act: Callable[[Any, Any], Any]) -> Callable[[Meter, Any, Any], Any]:
    def compare(meter: Meter, a: Any, b: Any) -> Any:
        kind = type(a)
        if kind in ATOMS or type(b) in ATOMS:
            return act(a, b)
        if kind is str:
            spend(meter, min(len(a), len(b)) >> 8 if type(b) is str else 1)
        elif type(b) is not str:
            spend_weight(meter, a if len(a) <= len(b) else b)
        return act(a, b)

    return compare


def contains(meter: Meter, a: Any, b: Any) -> bool:
    kind = type(b)
    if kind is str:
        spend(meter, len(b) >> 6)
    elif kind in _HASHED:
        if type(a) is tuple:
            spend_weight(meter, a)
    elif kind is range and type(a) is int:
        pass
    elif type(a) in ATOMS:
        spend(meter, len(b))
    else:
        spend_weight(meter, b)
    return a in b


def lacks(meter: Meter, a: Any, b: Any) -> bool:
    return not contains(meter, a, b)


def chain(meter: Meter, compares: tuple[Callable[..., Any], ...], first: Any, *rest: Callable[[], Any]) -> Any:
    """`a < b < c`, where an operand is evaluated only if all comparisons before it are true."""
    left = first
    result: Any = True
    for compare, following in zip(compares, rest, strict=True):
        right = following()
        result = compare(meter, left, right)
        if not result:
            return result
        left = right
    return result


def item(meter: Meter, container: Any, key: Any) -> Any:
    if type(key) is tuple:
        spend_weight(meter, key)
    return container[key]


def part(meter: Meter, container: Any, start: Any, stop: Any, step: Any) -> Any:
    return paid(meter, container[start:stop:step])


def distinct(meter: Meter, items: list[Any]) -> None:
    """Charge for hashing items: an attacker can give large integers and tuples the same hash, and such collisions take time."""
    chains: dict[int, list[Any]] = {}
    for one in items:
        kind = type(one)
        if kind is tuple:
            spend_weight(meter, one)
        elif kind is not int or -(1 << 60) < one < 1 << 60:
            continue
        else:
            spend(meter, bulk(one))
        same = chains.setdefault(hash(one), [])
        spend(meter, len(same))
        if one not in same:
            same.append(one)


COMPARE = {
    "Eq": _comparing(operator.eq),
    "NotEq": _comparing(operator.ne),
    "Lt": _comparing(operator.lt),
    "LtE": _comparing(operator.le),
    "Gt": _comparing(operator.gt),
    "GtE": _comparing(operator.ge),
    "In": contains,
    "NotIn": lacks,
}
BINARY = {
    "Add": add,
    "Sub": subtract,
    "Mult": multiply,
    "Pow": power,
    "Mod": modulo,
    "FloorDiv": floor_divide,
    "Div": divide,
    "LShift": shift_left,
    "RShift": shift_right,
    "BitAnd": both,
    "BitOr": either,
    "BitXor": differing,
}
UNARY = {"USub": negate, "UAdd": keep_sign, "Invert": invert}
