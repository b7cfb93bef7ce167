"""Aliases: replaces the model in the body of a request; every other byte is unchanged where possible.

The name is replaced in the bytes. If that may be wrong, as in a body that names two models, the body is encoded again.
"""

from typing import Any

import msgspec

_KEY = b'"model"'
_SPACE = b" \t\r\n"


class _Named(msgspec.Struct):
    model: Any = None


_named = msgspec.json.Decoder(_Named).decode
_whole = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


def renamed(raw: bytes, model: str) -> bytes:
    """A body that requests `model`.

    >>> renamed(b'{"seed" : 1.0, "model": "small"}', "large")
    b'{"seed" : 1.0, "model": "large"}'
    """
    found = _replaced(raw, model)
    if found is not None and _named(found).model == model:
        return found
    return _encode({**_whole(raw), "model": model})


def _replaced(raw: bytes, model: str) -> bytes | None:
    """The body with the string after its only `"model"` replaced; None if there are several, or no string follows."""
    at = raw.find(_KEY)
    if at < 0 or raw.find(_KEY, at + 1) >= 0:
        return None
    at = _past(raw, at + len(_KEY), b":")
    start = _past(raw, at, b'"')
    end = raw.find(b'"', start)
    if start < 0 or end < 0 or raw.find(b"\\", start, end) >= 0:
        return None
    return b"%s%s%s" % (raw[: start - 1], _encode(model), raw[end + 1 :])


def _past(raw: bytes, at: int, sign: bytes) -> int:
    """The place after a character that only spaces may precede; -1 if it is not there."""
    while 0 <= at < len(raw) and raw[at] in _SPACE:
        at += 1
    return at + 1 if at >= 0 and raw[at : at + 1] == sign else -1
