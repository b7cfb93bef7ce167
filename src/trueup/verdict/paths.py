"""Paths into a JSON value, written `$.a[0].b`.

A path enters as a tuple of keys and indexes and leaves as text, and back again.
Keys that are not plain words are quoted: `$["unit price"]`.
"""

import json
import re

type_part = str | int
Parts = tuple[type_part, ...]

_WORD = re.compile(r"[^\W\d][\w-]*\Z")
_STEP = re.compile(r'\.([^\W\d][\w-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


def render(parts: Parts) -> str:
    """Write a path as text.

    >>> render(("items", 0, "unit price"))
    '$.items[0]["unit price"]'
    """
    out = ["$"]
    for part in parts:
        if isinstance(part, int):
            out.append(f"[{part}]")
        elif _WORD.match(part):
            out.append(f".{part}")
        else:
            out.append(f"[{json.dumps(part, ensure_ascii=False)}]")
    return "".join(out)


def parse(path: str) -> Parts:
    """Read a path back from its text.

    >>> parse('$.items[0]["unit price"]')
    ('items', 0, 'unit price')
    """
    if not path.startswith("$"):
        raise ValueError(f"a path starts with '$', got {path!r}")
    parts: list[type_part] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"not a path: {path!r} (character {at})")
        word, index, quoted = step.groups()
        parts.append(word if word is not None else int(index) if index is not None else json.loads(quoted))
        at = step.end()
    return tuple(parts)
