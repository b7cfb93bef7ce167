"""Reads JSON written inside a string: takes a text, and returns the object or array that it spells, or None.

Python's notation for lists and dicts is read too. Reading is strict: a text that would have a finding in a reply (a duplicate
key, NaN, a number that is too large) is not read.
"""

import json
from typing import Any

import msgspec

from trueup.verdict.patterns import lazy_regex

MAX_DEPTH = 200
_TOKEN = lazy_regex(r"""\s*(?:'([^'\\\n]*)'|(True|False|None)|("[^"\\\n]*"|[\[\]{},:]|-?[0-9][0-9.eE+-]*))""")
_WORDS = {"True": "true", "False": "false", "None": "null"}


class _Doubtful(ValueError):
    pass


def read_json(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or array that a text spells, if it spells exactly one.

    >>> read_json(" [1, 2, 3] "), read_json("foo"), read_json('{"a": 1, "a": 2}')
    ([1, 2, 3], None, None)
    """
    bare = text.strip()
    if not bare or (bare[0], bare[-1]) not in {("{", "}"), ("[", "]")}:
        return None
    try:
        found: dict[str, Any] | list[Any] = msgspec.json.decode(bare)
        if bare.count("{") + bare.count("[") > MAX_DEPTH and _too_deep(found):
            return None
        if '"' in bare and "{" in bare:
            json.loads(bare, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        again = _as_json(bare) if "'" in bare else ""
        return read_json(again) if again else None
    return found


def _as_json(text: str) -> str:
    """A Python list or dict with the words and quotes of JSON; empty if the text has anything else."""
    out: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return ""
        quoted, word, plain = token.groups()
        out.append(json.dumps(quoted) if quoted is not None else _WORDS[word] if word else plain)
        at = token.end()
    return " ".join(out)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Doubtful
    return found


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return True
