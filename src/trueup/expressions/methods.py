"""The methods of the language, for text, objects, lists and sets. No method changes the value that it is called on.

A method in `FREE` takes constant time. One in `LINEAR` takes time proportional to the size of its value. The result of one in
`GROWING` may be larger than its input, so its size is charged before it is built. `format` is in `formats.py`.
"""

from collections.abc import Callable
from typing import Any

from trueup.expressions.errors import ExpressionError
from trueup.expressions.guards import distinct
from trueup.expressions.work import Meter, gather, spend, spend_weight

FREE = frozenset({"get", "keys", "values", "items"})
_TESTS = frozenset(
    "startswith endswith find rfind index rindex count isalpha isdigit isdecimal isnumeric isalnum isspace islower"
    " isupper istitle isascii issubset issuperset isdisjoint".split()
)
_TRANSFORMS = frozenset(
    "lower upper strip lstrip rstrip title capitalize casefold swapcase split rsplit splitlines partition rpartition"
    " removeprefix removesuffix union intersection difference symmetric_difference".split()
)
OF_SETS = frozenset(
    "issubset issuperset isdisjoint union intersection difference symmetric_difference".split()
)  # these methods hash their arguments
LINEAR = _TESTS | _TRANSFORMS
_SETS = frozenset({set, frozenset})


def gives_number(method: str) -> bool:
    """Whether a method returns a number or a boolean, rather than a part of its value."""
    return method in _TESTS


def call(meter: Meter, method: str, receiver: Any, *args: Any) -> Any:
    """Call a listed method, after charging the meter for its work."""
    kind = type(receiver)
    if kind is str:
        spend(meter, len(receiver) >> (2 if "split" in method else 5))
        if args and type(args[0]) is tuple:
            spend(meter, len(args[0]))  # the tuple of startswith or endswith
    elif kind in _SETS:
        spend_weight(meter, receiver)
        args = tuple(_members(meter, arg) for arg in args)
    elif kind is list or kind is tuple:
        spend_weight(meter, receiver)
        for arg in args:
            spend_weight(meter, arg)  # the error shows an item that is not found
    return getattr(receiver, method)(*args)


def _members(meter: Meter, items: Any) -> Any:
    found = gather(meter, items)
    spend_weight(meter, found)
    distinct(meter, found)
    return items if type(items) in _SETS else found


def find(meter: Meter, receiver: Any, *args: Any) -> Any:
    """`get`, with a charge for its key, which may be a large tuple."""
    if args and type(args[0]) is tuple:
        spend_weight(meter, args[0])
    return receiver.get(*args)


def replace(meter: Meter, text: Any, old: Any, new: Any, *count: Any) -> str:
    _refuse_others(text, "replace")
    if isinstance(old, str) and isinstance(new, str):
        times = text.count(old)
        if count and isinstance(count[0], int) and count[0] >= 0:
            times = min(times, count[0])
        spend(meter, 1 + (len(text) >> 4) + (times * len(new) >> 4))
    return str(text.replace(old, new, *count))


def join(meter: Meter, text: Any, items: Any) -> str:
    _refuse_others(text, "join")
    found = gather(meter, items)
    long = sum(len(one) for one in found if isinstance(one, str)) + len(text) * len(found)
    spend(meter, len(found) + (long >> 4))
    return str(text.join(found))


def _widening(method: str) -> Callable[..., str]:
    def widen(meter: Meter, text: Any, width: Any, *fill: Any) -> str:
        _refuse_others(text, method)
        spend(meter, (max(width, 0) if isinstance(width, int) else 0) >> 4)
        return str(getattr(text, method)(width, *fill))

    return widen


def _refuse_others(value: Any, method: str) -> None:
    if type(value) is not str:
        raise ExpressionError(f".{method}() is a method of text")


GROWING: dict[str, Callable[..., str]] = {
    "replace": replace,
    "join": join,
    "zfill": _widening("zfill"),
    "ljust": _widening("ljust"),
    "rjust": _widening("rjust"),
    "center": _widening("center"),
}
METHODS = frozenset({*FREE, *LINEAR, *GROWING})
