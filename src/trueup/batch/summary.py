"""The summary of a sift, read back: its bytes enter, what stands in them leaves as it is.

What is no summary of a sift, because a hand or a disk has changed it, raises ValueError; nobody after this has to look again.
"""

from typing import Any

import msgspec


class _Counts(msgspec.Struct):
    units: int
    valid: int
    failed: int
    fixed: int


class _Found(msgspec.Struct):
    name: str
    level: str
    units: int
    examples: list[str]


class _Fixed(msgspec.Struct):
    name: str
    grade: str
    units: int
    examples: list[str]


class _Timings(msgspec.Struct):
    seconds: float
    units_per_second: float


class _Summary(msgspec.Struct):
    counts: _Counts
    stages: dict[str, int]
    codes: dict[str, _Found]
    rules: dict[str, int]
    fixes: dict[str, _Fixed]
    timings: _Timings
    flips: dict[str, int] = {}


def read_summary(raw: bytes) -> dict[str, Any]:
    """What a summary says; ValueError where it is none.

    >>> read_summary(b"[]")
    Traceback (most recent call last):
    ...
    ValueError: Expected `object`, got `array`
    """
    try:
        found: Any = msgspec.json.decode(raw)
        msgspec.convert(found, _Summary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return dict(found)
