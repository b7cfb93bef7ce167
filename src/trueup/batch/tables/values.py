"""Converts the values of cells into values that JSON can represent.

Times become ISO 8601 text, and binary becomes base64. A decimal is a number if that keeps all its digits, else text. NaN is null,
and infinity is text. A map with text keys is an object. Integers of any size stay exact.
"""

import math
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

Convert = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Any Python value for JSON. Raises `TypeError` for values without a form in JSON.

    >>> from decimal import Decimal
    >>> plain({"a": (1, Decimal("2.50")), "b": float("nan"), "c": b"hi"})
    {'a': [1, 2.5], 'b': None, 'c': 'aGk='}
    """
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool:
        return value
    if convert := _BY_TYPE.get(kind):
        return convert(value)
    if kind.__name__ in _MISSING:
        return None
    for base, convert in _BY_TYPE.items():
        if isinstance(value, base):
            return convert(value)
    return _foreign(value)


def number(value: float) -> float | str | None:
    """A float for JSON: frames use NaN for missing values.

    >>> number(1.5), number(float("nan")), number(float("-inf"))
    (1.5, None, '-Infinity')
    """
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def decimal(value: Decimal) -> float | int | str | None:
    """A decimal as a number if that is exact, else as text.

    >>> decimal(Decimal("12.50")), decimal(Decimal("3.00")), decimal(Decimal("0.1234567890123456789"))
    (12.5, 3, '0.1234567890123456789')
    """
    if not value.is_finite():
        return number(float(value))
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def moment(text: str) -> str:
    """A point in time in ISO 8601 as Arrow writes it, without zeros at the end of its seconds.

    >>> moment("2024-05-01 12:00:00.120000Z"), moment("12:00:00.000")
    ('2024-05-01T12:00:00.12Z', '12:00:00')
    """
    if text.startswith("<"):  # Arrow writes this for a year that it cannot represent
        raise ValueError("one of its points in time is out of range")
    text = text.replace(" ", "T", 1)
    head, dot, rest = text.partition(".")
    if not dot:
        return text
    digits = rest.rstrip("Z")
    kept = digits.rstrip("0")
    return f"{head}{'.' + kept if kept else ''}{rest[len(digits) :]}"


def seconds(count: int, per: int) -> int | float:
    """A duration in seconds, from a count of fractions of a second.

    >>> seconds(90_000, 1000), seconds(1, 1_000_000_000)
    (90, 1e-09)
    """
    return count // per if count % per == 0 else count / per


def encoded(value: bytes) -> str:
    """Bytes as base64."""
    return b64encode(value).decode("ascii")


def pairs(items: list[tuple[Any, Any]]) -> Any:
    """A map: an object if its keys are distinct texts, else a list of pairs.

    >>> pairs([("a", 1)]), pairs([(1, "x")])
    ({'a': 1}, [[1, 'x']])
    """
    made = dict(items)
    if len(made) == len(items) and all(type(key) is str for key in made):
        return made
    return [list(item) for item in items]


def _datetime(value: datetime) -> str:
    if value.tzinfo is None:
        return moment(value.isoformat(sep=" "))
    return moment(value.astimezone(UTC).isoformat(sep=" ").replace("+00:00", "Z"))


def _timedelta(value: timedelta) -> int | float:
    total = value.total_seconds()  # a pandas type with nanoseconds
    return int(total) if total.is_integer() else total


def _mapping(value: dict[Any, Any]) -> Any:
    return pairs([(plain(key), plain(item)) for key, item in value.items()])


def _sequence(value: Any) -> Any:
    items = [plain(item) for item in value]
    if items and type(value) is list and all(type(item) is tuple and len(item) == 2 for item in value):
        return pairs([tuple(item) for item in items])  # how Arrow returns a map
    return items


_MISSING = frozenset({"NAType", "NaTType"})  # pandas types; the second is a datetime too
_BY_TYPE: dict[type, Convert] = {
    str: str, bool: bool, int: int, float: number, Decimal: decimal, datetime: _datetime, date: date.isoformat,
    time: lambda value: moment(value.isoformat()), timedelta: _timedelta, UUID: str, bytes: encoded,
    bytearray: encoded, memoryview: lambda value: encoded(bytes(value)), dict: _mapping, list: _sequence, tuple: _sequence,
    set: lambda value: _sequence(sorted(value, key=repr)),
}  # fmt: skip


def _foreign(value: Any) -> Any:
    """A value of numpy or pandas, which convert their own types to Python's."""
    if type(value).__name__ == "datetime64":  # nanoseconds would become a bare number
        text = str(value)
        return None if text == "NaT" else moment(text)
    for name in ("tolist", "item", "to_pylist", "as_py", "to_list"):
        if callable(give := getattr(value, name, None)):
            return plain(give())
    if type(value).__module__.partition(".")[0] == "pandas":  # a period or an interval
        return str(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")
