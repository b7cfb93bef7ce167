"""Places in a JSON Schema: finds the schema of a value's path, and the bounds in a schema.

Follows properties, items, and references inside the document. Skips unions and everything else, because a place that
depends on the value cannot be edited.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trueup.verdict.paths import Parts, value_at

BOUNDS = {
    "minimum": (-1, "number"), "maximum": (1, "number"), "exclusiveMinimum": (-1, "number"), "exclusiveMaximum": (1, "number"),
    "minLength": (-1, "length"), "maxLength": (1, "length"), "minItems": (-1, "items"), "maxItems": (1, "items"),
}  # fmt: skip
_MOST = 2_000  # the maximum number of places in one schema


class Bound(NamedTuple):
    """A bound of a schema."""

    at: Parts
    """The place in the schema, including the keyword."""
    path: tuple[str | None, ...]
    """The path of the values that it applies to; None stands for every item of a list."""
    keyword: str
    limit: int | float


def schema_place(schema: Any, path: Parts) -> Parts | None:
    """The place of the schema for a path of the value; None if it is not clear.

    >>> schema_place({"properties": {"a": {"items": {"type": "string"}}}}, ("a", 3))
    ('properties', 'a', 'items')
    """
    at = _referred(schema, ())
    for part in path:
        held = None if at is None else value_at(schema, at)
        if at is None or not isinstance(held, dict):
            return None
        if isinstance(part, int):
            step: Parts | None = ("items",) if isinstance(held.get("items"), dict) else None
        elif part in (held.get("properties") or {}):
            step = ("properties", part)
        else:
            step = ("additionalProperties",) if isinstance(held.get("additionalProperties"), dict) else None
        at = None if step is None else _referred(schema, (*at, *step))
    return at


def _referred(schema: Any, at: Parts) -> Parts | None:
    """The place itself, or the place that its `$ref` names."""
    for _ in range(20):
        held = value_at(schema, at)
        target = held.get("$ref") if isinstance(held, dict) else None
        if target is None:
            return at
        if not isinstance(target, str) or not target.startswith("#/"):
            return None
        at = tuple(part.replace("~1", "/").replace("~0", "~") for part in target[2:].split("/"))
    return None


def bounds_in(schema: Any) -> Iterator[Bound]:
    """The bounds of a schema, with the values that each applies to."""
    stack: list[tuple[Parts, tuple[str | None, ...]]] = [((), ())]
    looked = 0
    while stack and looked < _MOST:
        at, path = stack.pop()
        looked += 1
        place = _referred(schema, at)
        held = None if place is None else value_at(schema, place)
        if place is None or not isinstance(held, dict) or len(path) > 20:
            continue
        for keyword in BOUNDS:
            limit = held.get(keyword)
            if isinstance(limit, int | float) and not isinstance(limit, bool):
                yield Bound((*place, keyword), path, keyword, limit)
        stack += [((*place, "properties", name), (*path, name)) for name in held.get("properties") or {}]
        if isinstance(held.get("items"), dict):
            stack.append(((*place, "items"), (*path, None)))


def values_at(data: Any, path: tuple[str | None, ...]) -> list[Any]:
    """All values at a path; None in the path stands for every item of a list."""
    held = [data]
    for part in path:
        if part is None:
            held = [item for one in held if isinstance(one, list) for item in one]
        else:
            held = [one[part] for one in held if isinstance(one, dict) and part in one]
    return held
