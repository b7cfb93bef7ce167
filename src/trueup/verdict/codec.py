"""JSON text and values: the decoders and encoders that all rooms use.

msgspec refuses NaN, overflow and lone surrogates and keeps integers exact; orjson writes faster, but cannot write long integers.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import orjson

decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode
_AS_THEY_ARE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def written(value: Any) -> bytes:
    """The value as JSON text, with integers of any size and any depth that Python supports."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return encode(value)


def spelled(value: Any) -> bytes:
    r"""Like `written`, for any value that was read from JSON: half a surrogate pair is written as its escape.

    >>> spelled({"a": "\ud800"})
    b'{"a": "\\ud800"}'
    """
    try:
        return written(value)
    except (UnicodeEncodeError, RecursionError):  # half a surrogate pair, or nesting deeper than the stack allows
        return json.dumps(value, ensure_ascii=True).encode("ascii")


def as_json(value: Any) -> tuple[Any, bytes]:
    """The value as JSON data and as JSON text; models, dataclasses and dates take their JSON form.

    >>> import datetime
    >>> as_json({"day": datetime.date(2024, 2, 29)})
    ({'day': '2024-02-29'}, b'{"day":"2024-02-29"}')
    """
    try:
        return value, orjson.dumps(value, option=_AS_THEY_ARE)
    except TypeError:
        text = msgspec.json.encode(value, enc_hook=_by_alias)
        return decode(text), text


def plain(value: Any, *, by_alias: bool = False) -> Any:
    """A pydantic model or a mapping as plain data, at any depth of a value that is being written."""
    if isinstance(value, Mapping):
        return dict(value)
    if not hasattr(type(value), "model_dump"):
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return value.model_dump(mode="json", by_alias=by_alias)


_by_alias = partial(plain, by_alias=True)  # by alias: a model reads the names that it writes
