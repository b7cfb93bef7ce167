"""Reads the summary of a sift, and returns its content unchanged.

Bytes that are not a summary of a sift, because someone edited them or the disk damaged them, raise ValueError. Nothing after this
needs to check again.
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


class _Group(msgspec.Struct):
    units: int
    failed: int
    warned: int
    times: int
    codes: dict[str, int]


class _Fixed(msgspec.Struct):
    name: str
    grade: str
    units: int
    examples: list[str]


class _Timings(msgspec.Struct):
    seconds: float
    units_per_second: float


class _Rates(msgspec.Struct):
    values: int
    rate: float | None = None
    exact: int = 0
    normalized: int = 0
    fuzzy: int = 0
    computed: int = 0
    none: int = 0
    only_in_prompt: int = 0
    other_record: int = 0
    not_checkable: int = 0


class _OfModel(_Rates):
    fields: dict[str, _Rates] = {}


class _Grounded(_OfModel):
    models: dict[str, _OfModel] = {}


class _Summary(msgspec.Struct):
    counts: _Counts
    stages: dict[str, int]
    codes: dict[str, _Found]
    rules: dict[str, int]
    fixes: dict[str, _Fixed]
    timings: _Timings
    flips: dict[str, int] = {}
    by_path: dict[str, _Group] = {}
    by_rule: dict[str, _Group] = {}
    grounded: _Grounded | None = None


def read_summary(raw: bytes) -> dict[str, Any]:
    """The content of a summary. Raises ValueError if it is not one.

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


def levels_of(codes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of `codes` by level: `error` with the units that failed, and `warning` with the units that had warnings.

    A summary of an earlier version counts both together; there, the level of the code decides.

    >>> split = levels_of({"B005": {"level": "error", "units": 5, "failed": 2, "warned": 4, "examples": []}})
    >>> split["error"]["B005"]["units"], split["warning"]["B005"]["units"]
    (2, 4)
    """
    split: dict[str, dict[str, Any]] = {"error": {}, "warning": {}}
    for code, row in codes.items():
        for level, name in (("error", "failed"), ("warning", "warned")):
            units = row.get(name, row["units"] if row["level"] == level else 0)
            if units:
                examples = row.get(f"{name}_examples", row["examples"])
                split[level][code] = {**row, "level": level, "units": units, "examples": examples}
    return split
