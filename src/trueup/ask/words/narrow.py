"""A schema narrowed to what a reply meant: each union becomes the arm that the value fits or comes closest to.

Takes a schema and a value; returns a schema, or the same one if no union can be decided. With it, a correction shows one form instead of
all alternatives. If nothing distinguishes the arms, all of them are kept.
"""

from typing import Any

from trueup.conform.arms import likely_arms
from trueup.conform.document import SchemaPlace, reference
from trueup.conform.schema import compile_schema
from trueup.conform.survey import root_keys, subschemas, types_at

_MOST_DEPTH = 12
_MOST_ITEMS = 100
_UNIONS = ("anyOf", "oneOf")


def narrowed(schema: Any, value: Any) -> Any:
    """The schema with only the arms that a value means.

    >>> cat = {"properties": {"kind": {"const": "cat"}}}
    >>> dog = {"properties": {"kind": {"const": "dog"}, "age": {"type": "integer"}}}
    >>> narrowed({"oneOf": [cat, dog]}, {"kind": "dog", "age": "x"})["anyOf"] == [dog]
    True
    """
    if not isinstance(schema, dict) or not any(
        len(here.get(word) or ()) > 1 for here in subschemas(schema) for word in _UNIONS
    ):
        return schema
    return _at(compile_schema(schema).place, value, 0)


def _at(place: SchemaPlace, value: Any, depth: int) -> Any:
    schema = place.schema
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return schema
    target = reference(place)
    if target is not None:
        inner = _at(target, value, depth + 1)
        rest = {word: said for word, said in schema.items() if word != "$ref"}
        return schema if inner is target.schema or not isinstance(inner, dict) else {**inner, **rest}
    changes: dict[str, Any] = {}
    for word in _UNIONS:
        arms = _arms(place, word, value, depth)
        if arms is not None:
            changes |= {word: None, "anyOf": arms}
    changes |= _properties(place, value, depth) if isinstance(value, dict) else {}
    changes |= _items(place, value, depth) if isinstance(value, list) else {}
    joined = {**schema, **changes}
    return (
        {word: said for word, said in joined.items() if said is not None or word not in changes} if changes else schema
    )


def _arms(place: SchemaPlace, word: str, value: Any, depth: int) -> list[Any] | None:
    """Only the arms that a value means; None if the union stays unchanged."""
    group = [place.child(word, index) for index in range(len(place.rules.get(word) or ()))]
    own = place.rules.get("properties")
    if isinstance(own, dict) and all(root_keys(arm) <= own.keys() for arm in group):
        return None  # they only define which fields an object needs
    real = [arm for arm in group if types_at(arm) != {"null"}]
    meant = _meant(real, value, only_one=word == "oneOf")
    if len(meant) > 1 or not meant:
        return [arm.schema for arm in meant] if len(meant) < len(real) and meant else None
    inner = _at(meant[0], value, depth + 1)
    if len(real) == 1 and inner is meant[0].schema:
        return None
    return [inner, *(arm.schema for arm in group if arm not in real)]


def _meant(group: list[SchemaPlace], value: Any, *, only_one: bool) -> list[SchemaPlace]:
    fitting = [arm for arm in group if arm.valid(value)]
    if fitting or len(group) < 2:
        return group if not fitting or (only_one and len(fitting) > 1) else fitting[:1]
    told = likely_arms(group, value, ())
    return told if isinstance(told, list) else group


def _properties(place: SchemaPlace, value: dict[str, Any], depth: int) -> dict[str, Any]:
    known = place.rules.get("properties")
    named = known if isinstance(known, dict) else {}
    inner = {name: _at(place.child("properties", name), value[name], depth + 1) for name in named if name in value}
    changed = {name: schema for name, schema in inner.items() if schema is not named[name]}
    return {"properties": {**named, **changed}} if changed else {}


def _items(place: SchemaPlace, value: list[Any], depth: int) -> dict[str, Any]:
    """The schema of a list's items, with the arms that any of the items means."""
    schema = place.rules.get("items")
    if not isinstance(schema, dict) or not value or len(value) > _MOST_ITEMS:
        return {}
    inner: list[Any] = []
    for item in value:
        here = _at(place.child("items"), item, depth + 1)
        if here is schema:
            return {}
        inner += [here] if here not in inner else []
    if len(inner) == 1:
        return {"items": inner[0]}
    unions = [here.get("anyOf") if isinstance(here, dict) else None for here in inner]
    if not all(isinstance(arms, list) for arms in unions):
        return {}
    arms = [arm for union in unions for arm in union or ()]
    return {"items": {**inner[0], "anyOf": [arm for index, arm in enumerate(arms) if arm not in arms[:index]]}}
