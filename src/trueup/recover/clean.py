"""The fast lane: text that is JSON already is decoded once, and guarded against what decoders pass over.

msgspec refuses NaN, overflow and lone surrogates and keeps integers exact; what it does not tell is a duplicate
key. The value is written again and the quotes counted: a key that vanished took its quotes along.
"""

import json
from typing import Any

import msgspec
import orjson

decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode


# orjson writes no value nested deeper than this, so a value it wrote is not.
WRITABLE_DEPTH = 254


def written(value: Any) -> bytes:
    """The value as JSON text; integers of any size, any depth Python can hold."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return encode(value)


def repeats_a_key(text: str) -> bool:
    """Whether valid JSON gives a key twice in one object; slow and sure.

    >>> repeats_a_key('{"a": 1, "a": 2}'), repeats_a_key('{"a": "\\u0022"}')
    (True, False)
    """
    found = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        value = dict(members)
        found = found or len(value) != len(members)
        return value

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return False
    return found


def keeps_all_keys(text: str, again: bytes) -> bool:
    """Whether no key of the text was lost on the way: the value written again has as many quotes.

    >>> keeps_all_keys('{"a": 1, "a": 2}', b'{"a":2}')
    False
    """
    return text.count('"') == again.count(b'"') and not ("\\" in text and "\\u0022" in text)


def has_integral(again: bytes) -> bool:
    """Whether a value that was written holds a number with a zero fraction, such as `5.0`.

    >>> has_integral(b'{"a":5.0}'), has_integral(b'{"a":0.07}')
    (True, False)
    """
    return b".0," in again or b".0}" in again or b".0]" in again or again.endswith(b".0")
