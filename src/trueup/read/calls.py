"""A provider's tool call as a ToolCall: its arguments may be a JSON string, an object, or absent.

The string is kept verbatim, whatever it contains. Arguments that are not a JSON object give `args` None and a fault; nothing
is repaired here. An object with a duplicate key is a fault, because only the text has both values.
"""

import json
from typing import Any

import msgspec
import orjson

from trueup.verdict.reply import ToolCall

_decode = msgspec.json.Decoder().decode
_FAULTS = (msgspec.MsgspecError, RecursionError, UnicodeEncodeError)
MISSING: Any = object()


def function_call(name: str, arguments: Any, call_id: str = "", index: int = 0, *, answered: bool = False) -> ToolCall:
    """One native call; `arguments` as the provider sent them.

    >>> function_call("f", '{"a": 1}').args, function_call("f", {"a": 1}).raw_args
    ({'a': 1}, '{"a":1}')
    >>> function_call("f", "").args, function_call("f", "[1]").parse_error
    ({}, 'arguments are a list, not an object')
    """
    if type(arguments) is str:
        args, fault = read_arguments(arguments)
        return ToolCall(name, args, call_id, arguments, "native", fault, index, "function", answered)
    if arguments is MISSING:
        return ToolCall(name, {}, call_id, "", "native", "", index, "function", answered)
    raw = as_text(arguments)
    if type(arguments) is dict:
        return ToolCall(name, arguments, call_id, raw, "native", "", index, "function", answered)
    if hasattr(arguments, "items"):
        return ToolCall(name, dict(arguments), call_id, raw, "native", "", index, "function", answered)
    return ToolCall(name, None, call_id, raw, "native", _not_an_object(arguments), index, "function", answered)


def custom_call(name: str, text: Any, call_id: str = "", index: int = 0) -> ToolCall:
    """A call of a custom tool, whose input is plain text."""
    raw = text if isinstance(text, str) else "" if text is MISSING or text is None else as_text(text)
    return ToolCall(name, None, call_id, raw, "native", "", index, "custom")


def read_arguments(raw: str) -> tuple[dict[str, Any] | None, str]:
    """The arguments in a string, or None and the reason.

    >>> read_arguments('{"a": 1, "a": 2}')
    (None, "the key 'a' is given twice")
    """
    try:
        value = _decode(raw)
    except _FAULTS as error:
        if not raw or raw.isspace():
            return {}, ""
        return None, str(error) or type(error).__name__
    if type(value) is not dict:
        return None, _not_an_object(value)
    try:
        again = orjson.dumps(value)
    except TypeError:
        return _slow(raw, value)
    if raw.count('"') != again.count(b'"') or ("\\" in raw and "\\u0022" in raw):
        return _slow(raw, value)
    return value, ""


def _slow(raw: str, value: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Check every key: the text may have a duplicate."""
    twice: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in found:
            if key in seen:
                twice.append(key)
            seen.add(key)

    try:
        json.loads(raw, object_pairs_hook=pairs, parse_int=len)
    except (ValueError, RecursionError):
        return None, "arguments nest too deep"
    return (None, f"the key {twice[0]!r} is given twice") if twice else (value, "")


def _not_an_object(value: Any) -> str:
    kind = {"NoneType": "null", "str": "a string", "list": "a list", "bool": "a boolean"}.get(type(value).__name__)
    return f"arguments are {kind or 'a number'}, not an object"


def as_text(value: Any) -> str:
    """A value as JSON text; values that JSON lacks are written as their words."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return ""
