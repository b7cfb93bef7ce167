"""Reads TOML and INI with tables, `[address]` and `[[items]]`: fields under headers, which no other form reads.

Takes a text; returns candidates. Dates and unquoted words become text. If the standard library still refuses the text as
TOML, it is left to the other forms.
"""

import json
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.verdict.patterns import lazy_regex

_TABLE = lazy_regex(r"(?m)^[ \t]*\[\[?[\w.\"' -]{1,120}\]\]?[ \t]*(?:#[^\n]*)?$")
_FIELD = lazy_regex(r"(?m)^[ \t]*(?:\[\[?[\w.\"' -]{1,120}\]\]?|[\w.\"'-]{1,120}[ \t]*=)[^\n]*$")
_FENCED = lazy_regex(r"(?m)^[ \t]*(```+|~~~+)[ \t]*(?:(?:toml|ini)\b[^\n`]*)?\n([\s\S]*?)\n[ \t]*\1[ \t]*$")
# A value without quotes, as in an INI file.
_BARE = lazy_regex(r"(?m)^([ \t]*[\w.\"'-]{1,120}[ \t]*=[ \t]*)([^\W\d][^\n\"'#\[\]{}]*?)[ \t]*$")
_LITERALS = frozenset({"true", "false", "inf", "nan"})
_MOST = 20_000


def documents(text: str, max_depth: int) -> list[Candidate]:
    r"""The content of each fence, or all lines from the first field to the last, if that is TOML with tables.

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
    raw = text[start:stop]
    quoted = _BARE.sub(lambda bare: bare[0] if bare[2] in _LITERALS else f"{bare[1]}'{bare[2]}'", raw)
    value = _loaded(raw) or _loaded(quoted)
    level: list[Any] = [value]
    for _ in range(max_depth):
        inside = [held for holder in level for held in (holder.values() if isinstance(holder, dict) else holder)]
        level = [held for held in inside if isinstance(held, dict | list)]
    if not value or level:
        return None
    return Candidate(value, [(start, stop)], [("F001", start, stop, "", None)], "lines", None, {(): (start, stop)})


def _loaded(raw: str) -> dict[str, Any]:
    """The value of a TOML text, with dates as text; empty if it is not TOML, or has a number that JSON does not have."""
    import tomllib  # loaded when a reply first needs it

    try:
        read = json.dumps(tomllib.loads(raw), default=lambda date: date.isoformat(), allow_nan=False)
    except (ValueError, RecursionError):
        return {}
    return dict(json.loads(read))
