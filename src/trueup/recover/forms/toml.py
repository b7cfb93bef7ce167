"""TOML with tables, `[address]` and `[[items]]`: fields under headlines, which no other form reads.

A text enters; candidates leave. Dates become text. What the standard library does not take for TOML is left to the other forms.
"""

import math
import re
from typing import Any

from trueup.recover.candidate import Candidate

_TABLE = re.compile(r"(?m)^[ \t]*\[\[?[\w.\"' -]{1,120}\]\]?[ \t]*(?:#[^\n]*)?$")
_FIELD = re.compile(r"(?m)^[ \t]*(?:\[\[?[\w.\"' -]{1,120}\]\]?|[\w.\"'-]{1,120}[ \t]*=)[^\n]*$")
_FENCED = re.compile(r"(?m)^[ \t]*(```+|~~~+)[ \t]*(?:toml|ini)?[ \t]*\n([\s\S]*?)\n[ \t]*\1[ \t]*$")
_MOST = 20_000


def documents(text: str, max_depth: int) -> list[Candidate]:
    r"""What stands in a fence, or all lines from the first field to the last, when that is TOML with tables.

    >>> documents("Here:\n\na = 1_000\n[b]\nc = 2024-05-01\n\nDone.", 9)[0].value
    {'a': 1000, 'b': {'c': '2024-05-01'}}
    """
    if "=" not in text or len(text) > _MOST or not _TABLE.search(text):
        return []
    spans = [found.span(2) for found in _FENCED.finditer(text)]
    if not spans:
        lines = [found.span() for found in _FIELD.finditer(text)]
        spans = [(lines[0][0], lines[-1][1])]
    found = [_read(text, start, stop, max_depth) for start, stop in spans if _TABLE.search(text, start, stop)]
    return [candidate for candidate in found if candidate is not None]


def _read(text: str, start: int, stop: int, max_depth: int) -> Candidate | None:
    import tomllib  # loaded when a reply first needs it

    try:
        value = tomllib.loads(text[start:stop])
    except (ValueError, RecursionError):
        return None
    if not _as_json(value, max_depth):
        return None
    return Candidate(value, [(start, stop)], [("F001", start, stop, "", None)], "lines")


def _as_json(value: dict[str, Any], max_depth: int) -> bool:
    """Turn dates into text, in place; False where a number is none of JSON or the nesting is too deep."""
    level: list[Any] = [value]
    for _ in range(max_depth):
        inner: list[Any] = []
        for holder in level:
            for slot, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                if isinstance(item, dict | list):
                    inner.append(item)
                elif isinstance(item, float) and not math.isfinite(item):
                    return False
                elif not isinstance(item, str | int | float):
                    holder[slot] = item.isoformat()
        level = inner
    return not level
