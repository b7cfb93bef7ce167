"""JSON text and values: the two decoders and encoders that everything uses.

msgspec refuses NaN, overflow and lone surrogates and keeps integers exact; orjson writes faster, but no long integers.
"""

from typing import Any

import msgspec
import orjson

decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode


def written(value: Any) -> bytes:
    """The value as JSON text; integers of any size, any depth Python can hold."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return encode(value)
