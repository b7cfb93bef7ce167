"""Reads bodies of requests to the gateway's own paths: an object with known keys, or a refusal that says what to send."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from trueup.contract.judging.incoming import without_surrogates
from trueup.gateway.errors import RefusedRequest, not_json
from trueup.verdict.likeness import nearest

_object = msgspec.json.Decoder(dict[str, Any])


def object_in(raw: bytes, keys: Sequence[str]) -> dict[str, Any]:
    """The object in a body; one that is not JSON, or has a key that is not in `keys`, is refused.

    >>> object_in(b'{"reply": "Hi"}', ("reply", "context"))
    {'reply': 'Hi'}
    """
    try:
        body = _decoded(raw)
    except (ValueError, RecursionError) as error:
        raise not_json(error) from None
    for name in body:
        if name not in keys:
            near = nearest(name, keys)
            known = f"did you mean {near!r}?" if near else f"known keys: {', '.join(keys)}"
            raise RefusedRequest(400, f"unknown key {name[:100]!r}; {known}", code="unknown_key")
    return body


def _decoded(raw: bytes) -> dict[str, Any]:
    """JavaScript may send half a surrogate pair, for example from a stream that was cut inside an emoji."""
    try:
        return _object.decode(raw)
    except msgspec.DecodeError:
        if b"\\u" not in raw:
            raise
        text, _ = without_surrogates(json.dumps(json.loads(raw), ensure_ascii=False))
        return _object.decode(text)
