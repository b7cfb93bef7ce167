"""Paths into a JSON value, written `$.a[0].b`.

This module converts a path between a tuple of keys and indexes and its text.
A key that is not a plain word is quoted: `$["unit price"]`.
"""

import json
from functools import lru_cache
from typing import Any

from trueup.verdict.patterns import lazy_regex

type_part = str | int
Parts = tuple[type_part, ...]

_WORD = lazy_regex(r"[^\W\d][\w-]*\Z")
_INDEX = lazy_regex(r'\[\d+\]|"(?:[^"\\]|\\.)*"')
_STEP = lazy_regex(r'\.([^\W\d][\w-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


def render(parts: Parts) -> str:
    """Write a path as text.

    >>> render(("items", 0, "unit price"))
    '$.items[0]["unit price"]'
    """
    if not parts:
        return "$"
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


def folded(path: str) -> str:
    """A path without the indexes of arrays: it means the same field of every element.

    >>> folded("$.lines[3].price"), folded('$["a[0]"][12]')
    ('$.lines[].price', '$["a[0]"][]')
    """
    if "[" not in path:
        return path
    return _folded(path) if len(path) <= _KEPT else _without_indexes(path)


def _without_indexes(path: str) -> str:
    return _INDEX.sub(lambda match: "[]" if match[0][0] == "[" else match[0], path)


_KEPT = 200  # characters of a path whose folded form is remembered
_folded = lru_cache(4096)(_without_indexes)


def value_at(value: Any, parts: Parts) -> Any:
    """The part of a value at a path; None if there is nothing."""
    for part in parts:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def with_value(value: Any, parts: Parts, new: Any) -> Any:
    """A copy of a value with a new value at a path; the containers on the way are copied, the original is unchanged.

    >>> with_value({"a": [1, 2]}, ("a", 0), 3)
    {'a': [3, 2]}
    """
    if not parts:
        return new
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[parts[0]] = with_value(value[parts[0]], parts[1:], new)
    return copied
