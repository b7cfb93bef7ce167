"""Compares a drafted schema with the original schema of the replies, place by place."""

from collections.abc import Iterator
from typing import Any

from tests.inferring.generated import Part


def places(
    part: Part, schema: Any, path: str = "$", *, required: bool | None = None
) -> Iterator[tuple[str, bool, str]]:
    """Every place of a schema: its path, whether the draft is correct there, and the difference."""
    yield path, *_right(part, schema, path, required=required)
    below = schema if isinstance(schema, dict) else {}
    asked = below.get("required", [])
    for key, (inner, needed) in part.members.items():
        wrong = (key in asked) is not needed
        for where, right, why in places(inner, below.get("properties", {}).get(key), f"{path}.{key}", required=None):
            is_here = where == f"{path}.{key}"
            said = f"{'' if needed else 'not '}required" if is_here and wrong else ""
            yield where, right and not said, "; ".join(filter(None, (why, said)))
    if part.item is not None:
        yield from places(part.item, below.get("items"), f"{path}[]", required=None)
    if part.value is not None:
        yield from places(part.value, below.get("additionalProperties"), f"{path}{{}}", required=None)


def _right(part: Part, schema: Any, path: str, *, required: bool | None) -> tuple[bool, str]:
    if not isinstance(schema, dict):
        return False, "missing"
    named = schema.get("type", [])
    types = frozenset([named] if isinstance(named, str) else named)
    if types != part.types:
        return False, f"is {sorted(part.types)}, drafted {sorted(types)}"
    if part.value is not None and schema.get("properties"):
        return False, "is a map, drafted with names"
    return True, ""
