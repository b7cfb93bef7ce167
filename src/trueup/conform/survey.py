"""Facts about a schema: its keys, the types of its root, whether integers occur.

Takes a place of a document; returns plain sets of names. Recursive references are walked once.
"""

from collections.abc import Iterator
from typing import Any

from trueup.conform.document import JsonSchema, SchemaPlace, facets

ALL_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

# Unions nested deeper than this count as allowing anything.
MAX_UNION_DEPTH = 100

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SINGLE = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def subschemas(schema: JsonSchema) -> Iterator[dict[str, Any]]:
    """Every object schema in a schema, itself first; data (enum, default) is not walked."""
    stack: list[Any] = [schema]
    while stack:
        here = stack.pop()
        if not isinstance(here, dict):
            continue
        yield here
        for keyword in _MAPS:
            part = here.get(keyword)
            if isinstance(part, dict):
                stack.extend(part.values())
        for keyword in _LISTS:
            part = here.get(keyword)
            if isinstance(part, list):
                stack.extend(part)
        stack.extend(here.get(keyword) for keyword in _SINGLE)


def all_keys(schema: JsonSchema) -> frozenset[str]:
    """Every property name that occurs anywhere in a schema."""
    names: set[str] = set()
    for here in subschemas(schema):
        names.update(here.get("properties") or ())
        names.update(here.get("required") or ())
    return frozenset(names)


def asks_integer(schema: JsonSchema) -> bool:
    """True if some place of a schema names the type integer."""
    return any("integer" in _type_list(here) for here in subschemas(schema))


def has_keyword(schema: JsonSchema, keyword: str) -> bool:
    """True if some place of a schema has a keyword."""
    return any(keyword in here for here in subschemas(schema))


def root_keys(place: SchemaPlace) -> frozenset[str]:
    """The property names of the object at a place, through references and unions."""
    names: set[str] = set()
    for here in _alternatives(place):
        names.update(here.rules.get("properties") or ())
        names.update(here.rules.get("required") or ())
    return frozenset(names)


def types_at(place: SchemaPlace) -> frozenset[str]:
    """The JSON types that a value at a place may have; an integer counts as a number, not the reverse."""
    known = place.document.types
    if id(place) not in known:
        known[id(place)] = _types(place, {}, 0)
    return known[id(place)]


def item_place(place: SchemaPlace) -> SchemaPlace | None:
    """The place that describes the items of the array at a place; None if there are none or several."""
    found = [
        here.child("items")
        for here in _alternatives(place)
        if isinstance(here.rules.get("items"), dict) and not here.rules.get("prefixItems")
    ]
    return found[0] if len(found) == 1 else None


def type_of(value: Any) -> str:
    """The JSON type of a value; `integer` for a whole number that is written as one."""
    return _NAMES.get(type(value), "object")


_NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    tuple: "array",
}


def own_types(place: SchemaPlace) -> frozenset[str]:
    """The types that a place itself allows by `type`, `enum` and `const`, its references left aside."""
    if place.schema is False:
        return frozenset()
    schema, allowed = place.rules, ALL_TYPES
    if "type" in schema:
        listed = set(_type_list(schema))
        allowed = frozenset(listed | {"integer"} if "number" in listed else listed)
    values = schema.get("enum")
    if isinstance(values, list):
        allowed &= _value_types(values)
    if "const" in schema:
        allowed &= _value_types([schema["const"]])
    return allowed


def _value_types(values: list[Any]) -> frozenset[str]:
    found = {type_of(value) for value in values}
    # 1.0 and 1 are the same value in JSON Schema, so an enum with either allows both.
    return frozenset(found | {"integer", "number"} if found & {"integer", "number"} else found)


def _type_list(schema: dict[str, Any]) -> list[str]:
    listed = schema.get("type", [])
    return [listed] if isinstance(listed, str) else listed


def _types(place: SchemaPlace, memo: dict[int, frozenset[str]], depth: int) -> frozenset[str]:
    if depth > MAX_UNION_DEPTH:
        return ALL_TYPES
    known = memo.get(id(place))
    if known is not None:
        return known
    memo[id(place)] = frozenset()  # a union that leads back to itself adds no type
    allowed = ALL_TYPES
    for here in facets((place,)):
        allowed &= own_types(here)
        for arms in unions(here):
            allowed &= frozenset().union(*(_types(arm, memo, depth + 1) for arm in arms))
    memo[id(place)] = allowed
    return allowed


def unions(place: SchemaPlace) -> list[list[SchemaPlace]]:
    """The groups of alternatives in the `anyOf` and `oneOf` of a place."""
    schema = place.rules
    return [
        [place.child(keyword, index) for index in range(len(schema[keyword]))]
        for keyword in ("anyOf", "oneOf")
        if schema.get(keyword)
    ]


def _alternatives(place: SchemaPlace) -> list[SchemaPlace]:
    """Every place that may describe the value at this one: itself, its references, its arms."""
    found: list[SchemaPlace] = []
    seen: set[int] = set()
    stack = [place]
    while stack:
        for here in facets((stack.pop(),)):
            if id(here) in seen:
                continue
            seen.add(id(here))
            found.append(here)
            for arms in unions(here):
                stack.extend(arms)
    return found


def types_along(place: SchemaPlace, path: tuple[str | int, ...]) -> frozenset[str]:
    """The types that a schema allows at a path below a place, through every union; empty if it does not limit them."""
    typed = [here for here in places_along(place, path) if not _SAYS_TYPE.isdisjoint(here.rules)]
    return frozenset().union(*map(types_at, typed)) if typed else frozenset()


def places_along(place: SchemaPlace, path: tuple[str | int, ...], *, conditions: bool = False) -> list[SchemaPlace]:
    """The places that describe the value at a path below a place, through every union, and with `conditions` through `then` etc."""
    places = _branches([place], conditions=conditions)
    for part in path:
        below: list[SchemaPlace] = []
        for here in places:
            rules = here.rules
            if isinstance(part, str):
                below += _members(here, part)
            elif part < len(rules.get("prefixItems") or ()):
                below.append(here.child("prefixItems", part))
            elif isinstance(rules.get("items"), dict):
                below.append(here.child("items"))
        places = _branches(below, conditions=conditions)
    return places


def _members(place: SchemaPlace, name: str) -> list[SchemaPlace]:
    """The places that describe a member of an object."""
    rules = place.rules
    found = [place.child("properties", name)] if name in (rules.get("properties") or ()) else []
    found += [
        place.child("patternProperties", pattern)
        for pattern in rules.get("patternProperties") or ()
        if place.document.word("pattern", pattern)(name)
    ]
    if not found and isinstance(rules.get("additionalProperties"), dict):
        found.append(place.child("additionalProperties"))
    return found


_SAYS_TYPE = frozenset({"type", "enum", "const"})
_MOST_PLACES = 64


def _branches(places: list[SchemaPlace], *, conditions: bool = False) -> list[SchemaPlace]:
    """Every place that applies together with these, or may: through references, `allOf`, `anyOf`, `oneOf` and perhaps conditions."""
    found: list[SchemaPlace] = []
    stack = list(places)
    while stack and len(found) < _MOST_PLACES:
        for here in facets((stack.pop(),)):
            found.append(here)
            for union in ("anyOf", "oneOf"):
                stack += [here.child(union, index) for index in range(len(here.rules.get(union) or ()))]
            if conditions:
                stack += [here.child(word) for word in ("then", "else") if isinstance(here.rules.get(word), dict)]
                stack += [here.child("dependentSchemas", name) for name in here.rules.get("dependentSchemas") or ()]
    return found
