"""Writes a changed row with the source text of every value that did not change.

Takes the text of an object, its value and the changed value, and returns the changed value as JSON. So `0.1000000000000000055`
keeps its digits when another field of the unit is coerced.
"""

import json
from typing import Any

import msgspec

from trueup.batch.judging.records import line_of

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def respelled(text: bytes, value: Any, changed: Any) -> bytes:
    """The changed value as JSON, with the spelling of `text` wherever the two values are equal.

    >>> respelled(b'{"a": "5", "b": 0.1000000000000000055}', {"a": "5", "b": 0.1}, {"a": 5, "b": 0.1})
    b'{"a":5,"b":0.1000000000000000055}'
    """
    try:
        return _spelled(text, value, changed)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        # a lone surrogate, or nesting as deep as the stack
        return line_of(changed).rstrip()


def _spelled(text: bytes, value: Any, changed: Any) -> bytes:
    if isinstance(value, dict) and isinstance(changed, dict):
        source = _members(text)
        parts = [
            json.dumps(name).encode() + b":" + _member(source, value, name, part) for name, part in changed.items()
        ]
        return b"{" + b",".join(parts) + b"}"
    if isinstance(value, list) and isinstance(changed, list) and len(value) == len(changed):
        return b"[" + b",".join(map(_spelled, map(bytes, _items(text)), value, changed)) + b"]"
    return text.strip() if type(value) is type(changed) and value == changed else line_of(changed).rstrip()


def _member(source: dict[str, msgspec.Raw], value: dict[str, Any], name: str, changed: Any) -> bytes:
    if name not in value or name not in source:
        return line_of(changed).rstrip()
    return _spelled(bytes(source[name]), value[name], changed)
