"""Strings in other marks than plain quotes: triple quotes, doubled quotes, blocks of code.

A text and the place of the opening mark enter; the string leaves, or None when there is no such string here.
"""

import re

from trueup.recover.json.escapes import unescape
from trueup.recover.json.strings import Read

_DOUBLED = re.compile(r"""(["'`])\1((?!\1)[^,:}\]\s\\](?:(?!\1)[^\\]|\\[\s\S])*)\1\1(?=\s*(?:[,:}\]]|\Z))""")
_BLOCK = re.compile(r"```[\w+.-]{0,20}[ \t]*\n((?:(?!```)[\s\S])*?)\n?[ \t]*```(?=\s*[,}\]])")


def fenced(text: str, start: int, end: int) -> Read | None:
    """Read a code block that stands where a value should, on the line of its key; None when there is none here."""
    line = text.rfind("\n", 0, start) + 1
    found = _BLOCK.match(text, start, end) if text[line:start].strip() else None
    if found is None:
        return None
    return Read(found[1], found.end(), found.end(1), ("S011",))


def triple(text: str, start: int, end: int) -> Read | None:
    """Read a string in triple quotes; None when there is none here."""
    mark = text[start] * 3
    if text[start] not in "\"'`" or not text.startswith(mark, start):
        return None
    stop = text.find(mark, start + 3, end)
    if stop < 0:
        return None
    while text.startswith(text[start], stop + 3) and stop + 3 < end:
        stop += 1
    value, codes = unescape(text[start + 3 : stop])
    return Read(value, stop + 3, stop, ("S011", *(c for c in codes if c != "S016")))


def doubled(text: str, start: int, end: int) -> Read | None:
    """Read a string in doubled quotes, `""x""`; None when there is none here."""
    found = _DOUBLED.match(text, start, end)
    if found is None:
        return None
    value, codes = unescape(found[2])
    return Read(value, found.end(), found.end(2), ("S040", *codes))
