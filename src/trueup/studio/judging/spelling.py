"""Values as text for the page: takes JSON data and returns indented JSON, and whether it was cut.

JavaScript loses long integers and has no NaN in JSON, so values never travel as JSON numbers: the page shows this text.
"""

import json
from typing import Any, NamedTuple

import msgspec

MOST = 400_000  # characters of a value that are shown


class Spelled(NamedTuple):
    """A value as text, and whether its end was cut off."""

    text: str
    cut: bool


def spell(value: Any, most: int = MOST) -> Spelled:
    r"""A value as indented JSON; integers of any length in full, NaN as NaN.

    >>> spell({"a": [10**20, float("nan")]}).text
    '{\n  "a": [\n    100000000000000000000,\n    NaN\n  ]\n}'
    >>> spell(list(range(100)), most=12)
    Spelled(text='[\n  0,\n  1,', cut=True)
    """
    text = _indented(value)
    if len(text) <= most:
        return Spelled(text, cut=False)
    line = text.rfind("\n", 0, most + 1)
    return Spelled(text[: line if line > 0 else most], cut=True)


def _indented(value: Any) -> str:
    try:
        compact = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
        return msgspec.json.format(compact, indent=2)
    except (ValueError, RecursionError):  # NaN, half a surrogate pair, or nested too deeply for the stack
        pass
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except RecursionError:
        return "nested too deeply to be shown"
    except ValueError:  # an integer with more digits than Python prints
        return "a number is too long to be shown"
