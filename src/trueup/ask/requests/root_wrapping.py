"""Wraps roots that are not objects, for providers that enforce only objects, and unwraps them before the reply is judged.

Takes a schema; returns the schema of `{"value": …}` if its root is a list, a scalar or a union. A root that only refers to an object
becomes that object. Takes a text; returns it without the wrapper, or unchanged if the model ignored the wrapper.
"""

from collections import OrderedDict
from typing import Any

import msgspec

from trueup.verdict.patterns import lazy_regex

KEY = "value"
_OPENING = lazy_regex(r'\s*(?:```[a-zA-Z]*\s*)?\{\s*"value"\s*:\s*')
_BEGINNING = lazy_regex(r'\s*(?:`(?:`(?:`[a-zA-Z]*\s*)?)?)?(?:\{\s*(?:"(?:v(?:a(?:l(?:u(?:e(?:"\s*)?)?)?)?)?)?)?)?\Z')
_LONGEST = 200  # the most characters before the value that may belong to the wrapper
_AFTER = " \t\r\n`"  # characters that may follow the wrapper: whitespace, and the end of a fence
_SAYING = frozenset({"type", "properties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})
_DEFINITIONS = ("$defs", "definitions")
_BESIDE = frozenset(
    {"$ref", "$schema", "$id", "title", "description", *_DEFINITIONS}
)  # keywords that may be next to a reference
_OUTSIDE = ("$schema", "$id")  # they stay at the root, because references are resolved against it
_MOST = 256
_known: OrderedDict[int, tuple[Any, dict[str, Any]]] = OrderedDict()


def is_described(schema: Any) -> bool:
    """Whether a schema describes its value; a schema that allows anything does not.

    >>> is_described({"type": "array"}), is_described({}), is_described(True)
    (True, False, False)
    """
    return isinstance(schema, dict) and not _SAYING.isdisjoint(schema)


def is_object(schema: dict[str, Any]) -> bool:
    """Whether the root is one object, and not a union of several; a union next to properties only limits them.

    >>> is_object({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object"}}}), is_object({"type": "array"})
    (True, False)
    """
    schema = _followed(schema)
    if "properties" in schema:
        return bool(schema.get("type", "object") == "object")
    return schema.get("type") == "object" and not {"anyOf", "oneOf", "$ref", "enum", "const"} & schema.keys()


def _followed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the referenced object as its root, as in a model that contains itself; unchanged if the root is not a reference."""
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not schema.keys() <= _BESIDE:
        return schema
    for word in _DEFINITIONS:
        target = (schema.get(word) or {}).get(ref.removeprefix(f"#/{word}/"))
        if isinstance(target, dict) and "$ref" not in target:
            return {**target, **{name: part for name, part in schema.items() if name != "$ref"}}
    return schema


def wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of `{"value": …}`, or the schema itself if its root is an object; made once for each schema.

    >>> wrapped({"type": "array", "items": {"type": "string"}})["required"]
    ['value']
    """
    known = _known.get(id(schema))
    if known is None:
        known = _known[id(schema)] = schema, _followed(schema) if is_object(schema) else _wrapped(schema)
        while len(_known) > _MOST:
            _known.popitem(last=False)
    return known[1]


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    inner = {name: part for name, part in schema.items() if name not in (*_OUTSIDE, *_DEFINITIONS)}
    whole = {
        "type": "object", "properties": {KEY: _moved(inner)}, "required": [KEY], "additionalProperties": False,
    }  # fmt: skip
    kept = {name: _moved(schema[name]) for name in _DEFINITIONS if name in schema}
    return {**{name: schema[name] for name in _OUTSIDE if name in schema}, **whole, **kept}


def _moved(part: Any) -> Any:
    """A part of a schema in its new place, with references to the root and to places below it adjusted."""
    if isinstance(part, list):
        return [_moved(item) for item in part]
    if not isinstance(part, dict):
        return part
    moved = {name: inner if name in ("enum", "const") else _moved(inner) for name, inner in part.items()}
    ref = moved.get("$ref")
    inside = tuple(f"#/{word}/" for word in _DEFINITIONS)
    if isinstance(ref, str) and (ref == "#" or ref.startswith("#/")) and not ref.startswith(inside):
        moved["$ref"] = f"#/properties/{KEY}{ref[1:]}"
    return moved


def unwrapped(text: str) -> str:
    """A text without the wrapper; unchanged if there is no wrapper.

    >>> unwrapped('{"value": [1, 2]}'), unwrapped("[1, 2]"), unwrapped('{"value": 1, "more": 2}')
    ('[1, 2]', '[1, 2]', '{"value": 1, "more": 2}')
    """
    opening = _OPENING.match(text)
    if opening is None:
        return text
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        whole = None  # fenced or cut off
    if isinstance(whole, dict) and whole.keys() != {KEY}:
        return text
    return text[opening.end() : _end(text)]


def _end(text: str) -> int:
    """The position at which the wrapper closes; the end of the text if it does not close."""
    body = text.rstrip(_AFTER)
    return len(body) - 1 if body.endswith("}") else len(text)


class Unwrapping:
    """The same while the text arrives: takes pieces, and returns them without the wrapper.

    >>> unwrapping = Unwrapping()
    >>> [unwrapping.feed(piece) for piece in ('{"val', 'ue": [1', ", 2]", "}")]
    ['', '[1', ', 2]', '']
    """

    __slots__ = ("_begun", "_held", "_inside")

    def __init__(self) -> None:
        self._begun: str | None = ""  # the text so far, until it shows whether there is a wrapper
        self._held: list[str] = []  # text that may be the end of the wrapper
        self._inside = False

    def feed(self, piece: str) -> str:
        """Take a piece; return what it adds to the value."""
        if self._begun is not None:
            self._begun += piece
            opening = _OPENING.match(self._begun)
            if opening is None:
                if len(self._begun) < _LONGEST and _BEGINNING.match(self._begun):
                    return ""
                piece, self._begun = self._begun, None
            elif opening.end() == len(self._begun):
                return ""
            else:
                piece, self._begun, self._inside = self._begun[opening.end() :], None, True
        return self._without_end(piece) if self._inside else piece

    def _without_end(self, piece: str) -> str:
        if self._held and not piece.strip(_AFTER):
            self._held.append(piece)
            return ""
        text = "".join((*self._held, piece))
        at = _end(text)
        self._held = [text[at:]] if at < len(text) else []
        return text[:at]
