"""The form of a value, as plain JSON made from a schema: what a model is shown in place of rules.

A JSON Schema enters; an example-like value leaves, in which every place says what belongs there. Bounded in depth and
size, whatever the schema refers to.
"""

from typing import Any

from trueup.recover.clean import written

_MOST_DEPTH = 6
_MOST_PLACES = 150
_MOST_SCHEMA = 4000
_FORMATS = {
    "date": "2024-05-31",
    "date-time": "2024-05-31T09:30:00Z",
    "time": "09:30:00Z",
    "email": "name@example.org",
    "uri": "https://example.org",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_PLAIN: dict[str, Any] = {"string": "text", "integer": 0, "number": 0.5, "boolean": True, "null": None}
_WORDS = ("title", "$schema", "$id", "examples", "default", "$comment")


def shape(schema: Any) -> str:
    """The form as JSON text.

    >>> shape({"properties": {"name": {"type": "string"}, "level": {"enum": ["low", "high"]}}})
    '{"name": "text", "level": "low | high"}'
    """
    found = _Shape(schema).at(schema, 0)
    return _spaced(found)


def schema_text(schema: Any) -> str:
    """A schema as JSON text without its titles and remarks; the form alone where it is very long."""
    text = written(_slim(schema, 0)).decode()
    return text if len(text) <= _MOST_SCHEMA else shape(schema)


def follow(root: Any, schema: Any) -> Any:
    """A schema behind its local references; what cannot be found is anything."""
    for _ in range(20):
        ref = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(ref, str):
            return schema
        here: Any = root if ref.startswith("#") else True
        for raw in ref[1:].split("/")[1:] if ref.startswith("#") else ():
            part = raw.replace("~1", "/").replace("~0", "~")
            if isinstance(here, list) and part.isdigit() and int(part) < len(here):
                here = here[int(part)]
            else:
                here = here.get(part, True) if isinstance(here, dict) else True
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**here, **rest} if isinstance(here, dict) and "properties" not in rest else here
    return True


def _spaced(value: Any) -> str:
    import json  # the standard library writes a space after each comma: what models have seen most

    return json.dumps(value, ensure_ascii=False)


def _slim(schema: Any, depth: int) -> Any:
    if isinstance(schema, list) and depth < 100:
        return [_slim(item, depth + 1) for item in schema]
    if not isinstance(schema, dict) or depth >= 100:
        return schema
    named = {"properties", "$defs", "definitions", "patternProperties"}
    return {
        key: {name: _slim(inner, depth + 1) for name, inner in value.items()}
        if key in named and isinstance(value, dict)
        else value
        if key in {"enum", "const", "required"}
        else _slim(value, depth + 1)
        for key, value in schema.items()
        if not (key in _WORDS and not isinstance(value, dict))
    }


class _Shape:
    """One walk through a schema."""

    __slots__ = ("places", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.places = 0

    def at(self, schema: Any, depth: int) -> Any:
        self.places += 1
        schema = follow(self.root, schema)
        if not isinstance(schema, dict) or depth > _MOST_DEPTH or self.places > _MOST_PLACES:
            return "…"
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return _choice(schema["enum"])
        for word in ("anyOf", "oneOf"):
            arms = [follow(self.root, arm) for arm in schema.get(word) or ()]
            real = [arm for arm in arms if not (isinstance(arm, dict) and arm.get("type") == "null")]
            if real:
                return self.at(real[0], depth + 1)
        if isinstance(schema.get("allOf"), list):
            schema = self._joined(schema)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((name for name in kind if name != "null"), "null")
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array" or (kind is None and "items" in schema):
            return [self.at(schema.get("items", True), depth + 1)]
        if kind == "string":
            return _FORMATS.get(str(schema.get("format")), "text")
        return _PLAIN.get(kind, "…") if isinstance(kind, str) else "…"

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            return {"…": "…"}
        return {str(name): self.at(inner, depth + 1) for name, inner in properties.items()}

    def _joined(self, schema: dict[str, Any]) -> dict[str, Any]:
        joined: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
        for arm in schema["allOf"]:
            found = follow(self.root, arm)
            if isinstance(found, dict):
                properties = {**joined.get("properties", {}), **found.get("properties", {})}
                joined = {**found, **joined, **({"properties": properties} if properties else {})}
        return joined


def _choice(allowed: list[Any]) -> Any:
    if len(allowed) == 1 or not all(isinstance(value, str) for value in allowed):
        return allowed[0]
    return " | ".join(allowed[:20])
