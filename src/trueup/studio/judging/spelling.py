"""Values as text for the page: JSON data enters, indented JSON leaves, and whether it was cut.

JavaScript loses long integers and has no NaN in JSON, so values never travel as JSON numbers: the page shows this text.
"""

import json
from typing import Any, NamedTuple

import msgspec

MOST = 400_000  # characters of a value that are shown


class Spelled(NamedTuple):
    """A value as text, and whether its end is missing."""

    text: str
    cut: bool


def spell(value: Any, most: int = MOST) -> Spelled:
    r"""A value as indented JSON; integers of any length as they are, NaN as NaN.

    >>> spell({"a": [10**20, float("nan")]}).text
    '{\n  "a": [\n    100000000000000000000,\n    NaN\n  ]\n}'
    >>> spell(list(range(100)), most=12)
    Spelled(text='[\n  0,\n  1,', cut=True)
    """
    text = _indented(value)
    if len(text) <= most:
        return Spelled(text, False)
    line = text.rfind("\n", 0, most + 1)
    return Spelled(text[: line if line > 0 else most], True)


def _indented(value: Any) -> str:
    try:
        compact = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
        return msgspec.json.format(compact, indent=2)
    except (ValueError, RecursionError):  # NaN, half a surrogate pair, or nested as deep as the stack
        pass
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except RecursionError:
        return "nested too deeply to be shown"
    except ValueError:  # an integer of more digits than Python writes
        return "a number is too long to be shown"
