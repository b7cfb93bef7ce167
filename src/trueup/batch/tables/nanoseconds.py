"""Converts a polars column into values without losing digits of nanoseconds.

Python's own types end at microseconds. If a polars type has more digits, its values are taken as counts and written here.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from trueup.batch.tables.values import moment, seconds

_PER_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - counts of polars are in UTC, or in no zone at all

Convert = Callable[[Any], Any]


def values_of(series: Any) -> list[Any]:
    """The values of a column, with nanoseconds as JSON text."""
    target, convert = _exact(series.dtype)
    if convert is None:
        return list(series.to_list())
    return [None if value is None else convert(value) for value in series.cast(target).to_list()]


def instant(count: int, *, zoned: bool) -> str:
    """A point in time, given in nanoseconds since 1970.

    >>> instant(1714557600123456789, zoned=True), instant(-1, zoned=False)
    ('2024-05-01T10:00:00.123456789Z', '1969-12-31T23:59:59.999999999')
    """
    whole, rest = divmod(count, _PER_SECOND)
    return moment(f"{_EPOCH + timedelta(seconds=whole)}.{rest:09d}{'Z' if zoned else ''}")


def _exact(kind: Any) -> tuple[Any, Convert | None]:
    """The type to read a column as, and the conversion of its values; None if Python can represent the type."""
    import polars as pl

    if isinstance(kind, pl.Time):
        return pl.Int64, lambda count: instant(count, zoned=False).partition("T")[2]
    if getattr(kind, "time_unit", None) == "ns":
        if isinstance(kind, pl.Duration):
            return pl.Int64, lambda count: seconds(count, _PER_SECOND)
        zoned = kind.time_zone is not None
        return pl.Int64, lambda count: instant(count, zoned=zoned)
    if isinstance(kind, pl.List | pl.Array):
        return _in_list(kind, *_exact(kind.inner))
    return _in_struct(kind) if isinstance(kind, pl.Struct) else (kind, None)


def _in_list(kind: Any, inner: Any, convert: Convert | None) -> tuple[Any, Convert | None]:
    import polars as pl

    if convert is None:
        return kind, None
    target = pl.Array(inner, kind.size) if isinstance(kind, pl.Array) else pl.List(inner)
    return target, lambda items: [None if item is None else convert(item) for item in items]


def _in_struct(kind: Any) -> tuple[Any, Convert | None]:
    import polars as pl

    fields = {field.name: _exact(field.dtype) for field in kind.fields}
    converts = {name: convert for name, (_, convert) in fields.items() if convert is not None}
    if not converts:
        return kind, None

    def convert(row: dict[str, Any]) -> dict[str, Any]:
        return {
            name: converts[name](value) if name in converts and value is not None else value
            for name, value in row.items()
        }

    return pl.Struct({name: target for name, (target, _) in fields.items()}), convert
