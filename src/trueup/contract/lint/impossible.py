"""Schemas that no value fits: takes a schema and returns its first contradiction, or None.

Only simple contradictions are found: `false`, bounds that cross, an empty enum, a required field that is not allowed. A
schema without one may still refuse everything.
"""

from typing import Any

from trueup.verdict.paths import Parts

_BOUNDS = (
    ("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties"),
)  # fmt: skip
_DEPTH = 16
Contradiction = tuple[Parts, str]


def impossible(schema: Any, path: Parts = (), depth: int = 0) -> Contradiction | None:
    """The place and the kind of a contradiction in a schema.

    >>> impossible({"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 5, "maximum": 1}}})
    (('properties', 'a', 'minimum'), 'minimum 5 is above maximum 1')
    >>> impossible({"properties": {"a": False}}) is None
    True
    """
    if schema is False:
        return path, "false refuses every value"
    if not isinstance(schema, dict) or depth > _DEPTH:
        return None
    return _itself(schema, path) or _required(schema, path, depth) or _parts(schema, path, depth)


def _itself(schema: dict[str, Any], path: Parts) -> Contradiction | None:
    if schema.get("enum") == []:
        return (*path, "enum"), "the enum is empty"
    if schema.get("not") in ({}, True) and "not" in schema:
        return (*path, "not"), "not: {} refuses every value"
    kind = schema.get("type")
    for low, high in _BOUNDS:
        least: Any = schema.get(low)
        most: Any = schema.get(high)
        if not _is_number(least) or not _is_number(most) or least <= most:
            continue
        if kind in _OF[low]:  # a value of another type would fit
            return (*path, low), f"{low} {least} is above {high} {most}"
    return None


_OF = {
    "minimum": ("integer", "number"), "minLength": ("string",), "minItems": ("array",), "minProperties": ("object",),
}  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _required(schema: dict[str, Any], path: Parts, depth: int) -> Contradiction | None:
    names, properties = schema.get("required"), schema.get("properties", {})
    if not isinstance(names, list) or not isinstance(properties, dict) or schema.get("type", "object") != "object":
        return None
    for index, name in enumerate(names):
        if not isinstance(name, str):
            continue
        if name in properties:
            found = impossible(properties[name], (*path, "properties", name), depth + 1)
            if found is not None:
                return found
        elif schema.get("additionalProperties") is False and not schema.get("patternProperties"):
            return (*path, "required", index), f"{name!r} is required, but no such property is allowed"
    return None


def _parts(schema: dict[str, Any], path: Parts, depth: int) -> Contradiction | None:
    """A contradiction in the further conditions: in one part of `allOf`, or in every part of `anyOf` or `oneOf`."""
    for index, part in enumerate(schema["allOf"] if isinstance(schema.get("allOf"), list) else ()):
        found = impossible(part, (*path, "allOf", index), depth + 1)
        if found is not None:
            return found
    for word in ("anyOf", "oneOf"):
        arms = schema.get(word)
        if isinstance(arms, list) and arms:
            refused = [impossible(arm, (*path, word, index), depth + 1) for index, arm in enumerate(arms)]
            if all(refused):
                return refused[0]
    return None
