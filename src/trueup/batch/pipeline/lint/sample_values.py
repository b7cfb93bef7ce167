"""Makes up values that fit a schema, to try expressions before a model is asked.

Takes a compiled schema and returns fields with values of the right types. Nothing else is guaranteed.
"""

from typing import Any

from trueup.conform.schema import Schema

_DEPTH = 8


def mock_of(schema: Schema | None) -> dict[str, Any]:
    """The fields of an object that a schema describes.

    >>> from trueup.conform.schema import compile_schema
    >>> mock_of(
    ...     compile_schema(
    ...         {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}, "s": {"enum": ["x"]}}}
    ...     )
    ... )
    {'n': 3, 's': 'x'}
    """
    if schema is None or not isinstance(schema.source, dict):
        return {}
    made = _value(schema.source, schema.source, 0)
    return made if isinstance(made, dict) else {}


def _value(node: Any, root: dict[str, Any], depth: int) -> Any:
    if not isinstance(node, dict) or depth > _DEPTH:
        return None
    if "const" in node:
        return node["const"]
    for key in ("enum", "examples"):
        if isinstance(node.get(key), list) and node[key]:
            return node[key][0]
    if "default" in node:
        return node["default"]
    if isinstance(node.get("$ref"), str):
        return _value(_resolve(node["$ref"], root), root, depth + 1)
    if isinstance(node.get("allOf"), list):
        merged: dict[str, Any] = {}
        for part in node["allOf"]:
            made = _value(part, root, depth + 1)
            merged.update(made if isinstance(made, dict) else {})
        return merged
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list) and node[key]:
            return _value(node[key][0], root, depth + 1)
    return _typed(node, root, depth)


def _typed(node: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    kind = node.get("type")
    kind = next((k for k in kind if k != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object" or "properties" in node:
        inner = node.get("properties")
        return {name: _value(part, root, depth + 1) for name, part in inner.items()} if isinstance(inner, dict) else {}
    if kind == "array":
        least = node.get("minItems", 1)
        return [_value(node.get("items"), root, depth + 1)] * (min(max(least, 1), 10) if type(least) is int else 1)
    if kind in {"integer", "number"}:
        low = node.get("minimum", node.get("exclusiveMinimum", 0))
        high = node.get("maximum", low)
        return low if isinstance(low, int | float) and isinstance(high, int | float) and low <= high else 1
    if kind == "boolean":
        return True
    if kind == "string":
        return "text"
    return None


def _resolve(reference: str, root: dict[str, Any]) -> Any:
    node: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node
