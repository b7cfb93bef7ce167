"""Read and write JSON for the scripted server: exact for integers of any size, and for text that is not valid
Unicode.
"""

import json
from typing import Any

import msgspec
import orjson


def dump(value: Any) -> bytes:
    """The value as JSON.

    >>> dump({"ñ": 2**70}).decode()
    '{"ñ":1180591620717411303424}'
    """
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer over 64 bits, a lone surrogate
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def load(data: bytes | str) -> Any:
    """The value of JSON text; raises ValueError for other text."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
