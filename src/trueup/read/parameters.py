"""Converts schemas of arguments to plain JSON Schema: from Gemini's and OpenAPI's notation, and the simple list of
parameters.

Only places with schemas are read, so a property that is called `type` or `nullable`, and data under `default` and `enum`, are
unchanged.
"""

from collections.abc import Iterable
from typing import Any

_TYPES = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "decimal": "number", "bool": "boolean", "list": "array", "tuple": "array", "dict": "object", "map": "object",
    "none": "null", "nonetype": "null", "json": "object", "any": "", "type_unspecified": "",
}  # fmt: skip
_JSON_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
# Keywords whose value is a schema, a list of schemas, or schemas by name.
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
        "unevaluatedProperties", "additionalItems")  # fmt: skip
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_KEYWORDS = frozenset(
    {*_ONE, *_MANY, *_NAMED, *_COUNTS, "type", "required", "enum", "const", "$ref", "description", "title", "$schema",
     "default", "format", "pattern", "minimum", "maximum", "examples", "nullable", "$id", "strict"}
)  # fmt: skip
SNAKE = {
    "any_of": "anyOf", "one_of": "oneOf", "all_of": "allOf", "min_items": "minItems", "max_items": "maxItems",
    "min_length": "minLength", "max_length": "maxLength", "min_properties": "minProperties",
    "max_properties": "maxProperties", "additional_properties": "additionalProperties",
}  # fmt: skip
_HOLDING = frozenset({*_ONE, *_NAMED})
_MAX_DEPTH = 200
_MAY_BE_NULL = frozenset({"const", "default", "example"})


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in plain JSON Schema; a bare map of parameters by name becomes an object of them.

    >>> plain_schema({"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True}}})
    {'type': 'object', 'properties': {'city': {'type': ['string', 'null']}}}
    """
    listed = all(isinstance(value, dict) and value.keys() & _KEYWORDS for value in schema.values())
    if schema and listed and not schema.keys() & _HOLDING:
        return simple_schema({**value, "name": name} for name, value in schema.items())
    plain: dict[str, Any] = _plain(schema, 0)
    return plain


def simple_schema(parameters: Iterable[Any], *, required: bool = False) -> dict[str, Any]:
    """The simple list form: each parameter with its name, type, and whether it is required.

    >>> simple_schema([{"name": "city", "type": "string", "required": True}])["required"]
    ['city']
    """
    properties: dict[str, Any] = {}
    needed: list[str] = []
    for i, parameter in enumerate(parameters):
        if isinstance(parameter, str):
            parameter = {"name": parameter}
        named = isinstance(parameter, dict) and isinstance(parameter.get("name"), str)
        if not named:
            raise ValueError(f"[{i}]: a parameter needs a name")
        kind = parameter.get("type")
        if isinstance(kind, str) and _type(kind) not in _JSON_TYPES | {""}:
            known = ", ".join(sorted(_JSON_TYPES))
            raise ValueError(f"[{i}]: unknown type {kind!r}; the types are {known}")
        name = parameter["name"]
        inner = parameter.get("schema")
        schema: dict[str, Any] = inner if isinstance(inner, dict) else parameter
        properties[name] = _plain({k: v for k, v in schema.items() if k not in ("name", "required", "in")}, 0)
        if parameter.get("required") is True or (
            required and not parameter.get("nullable") and "required" not in parameter
        ):
            needed.append(name)
    return {"type": "object", "properties": properties, "required": needed}


def _type(word: str) -> str:
    """A type's name in JSON Schema; empty for any type.

    >>> _type("STRING"), _type("int"), _type("List[str]")
    ('string', 'integer', 'array')
    """
    low = word.lower().partition("[")[0].strip()
    return _TYPES.get(low, low)


def _plain(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return schema
    out: dict[str, Any] = {SNAKE.get(str(key), str(key)): value for key, value in schema.items()}
    for key in [key for key, value in out.items() if value is None and key in _KEYWORDS - _MAY_BE_NULL]:
        del out[key]  # a dump writes null for absent values
    for key in _ONE:
        if isinstance(out.get(key), dict):
            out[key] = _plain(out[key], depth + 1)
    for key in _MANY:
        if isinstance(out.get(key), list):
            out[key] = [_plain(item, depth + 1) for item in out[key]]
    for key in _NAMED:
        if isinstance(out.get(key), dict):
            out[key] = {name: _plain(inner, depth + 1) for name, inner in out[key].items()}
    for key in _COUNTS:
        if isinstance(out.get(key), str) and out[key].isdigit():
            out[key] = int(out[key])
    _with_type(out)
    _with_required(out, schema)
    return out


def _with_type(out: dict[str, Any]) -> None:
    """Write the type in JSON Schema's terms, and `nullable` as one of the types."""
    kind = out.get("type")
    if isinstance(kind, str):
        kind = out["type"] = _type(kind)
        if not kind:
            del out["type"]
    elif isinstance(kind, list):
        out["type"] = kind = [_type(item) if isinstance(item, str) else item for item in kind]
    if type(out.get("nullable")) is not bool:
        return
    if not out.pop("nullable"):
        return
    if isinstance(kind, str) and kind:
        out["type"] = [kind, "null"] if kind != "null" else kind
    elif isinstance(kind, list) and "null" not in kind:
        out["type"] = [*kind, "null"]
    for word in ("anyOf", "oneOf"):
        if isinstance(out.get(word), list) and not kind:
            out[word] = [*out[word], {"type": "null"}]
    if isinstance(out.get("enum"), list) and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]


def _with_required(out: dict[str, Any], schema: dict[str, Any]) -> None:
    """`"required": true` at a property is the old notation; the object's own list is the current one."""
    properties = out.get("properties")
    if isinstance(properties, dict):
        flagged = [
            name for name, inner in properties.items() if isinstance(inner, dict) and inner.get("required") is True
        ]
        given = out.get("required")
        if flagged:
            out["required"] = list(dict.fromkeys([*(given if isinstance(given, list) else []), *flagged]))
        for name, inner in properties.items():
            if isinstance(inner, dict) and isinstance(inner.get("required"), bool):
                properties[name] = {key: value for key, value in inner.items() if key != "required"}
    if schema.get("required") is None and "required" in out and not isinstance(out["required"], list | bool):
        del out["required"]
