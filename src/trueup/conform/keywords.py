"""Single keywords of JSON Schema, each as a small check that takes a value and the schema and yields findings.

A keyword for other types than the value's has no findings. Patterns and formats run on the linear engine of
the compiled schema, never on Python's `re`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from trueup.conform import words
from trueup.conform.document import Members, SchemaPlace
from trueup.conform.survey import own_types, type_of
from trueup.conform.words import Parts
from trueup.verdict.facts import Finding

Check = Callable[[SchemaPlace, Any, Parts], Iterator[Finding]]


_ANNOTATIONS = frozenset({"type", "title", "description", "default", "examples"})
_OF_OBJECT = _ANNOTATIONS | {"properties", "required", "additionalProperties"}
_OF_ARRAY = _ANNOTATIONS | {"items"}
_NAMING = frozenset({"$schema", "$id", "$defs", "definitions", "$comment"})
_NOTHING: frozenset[type] = frozenset()
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def plainly_fits(place: SchemaPlace, value: Any) -> bool:
    """True if a place has only rules about scalar types, of the value or of its members, and they are fulfilled.

    False proves nothing. The test is one level deep, so that testing every level stays linear.
    """
    kind = type(value)
    if kind in (place.plain or _plain_kinds(place)):
        return True
    flat = place.flat
    if flat is None:
        flat = place.flat = _flat(place)
    if kind is dict and type(flat) is tuple:
        members, required = flat
        return required <= value.keys() and all(type(item) in members.get(key, _NOTHING) for key, item in value.items())
    return kind is list and type(flat) is frozenset and flat.issuperset(map(type, value))


def members(place: SchemaPlace) -> Members | None:
    """The places of an object's members, its required keys, and whether it takes no others; None if it has other rules."""
    if place.members is None:
        rules = place.rules
        named = rules.get("properties")
        simple = rules.get("type") == "object" and rules.keys() <= _OF_OBJECT | _NAMING and isinstance(named, dict)
        other = rules.get("additionalProperties", True)
        if simple and isinstance(named, dict) and isinstance(other, bool):
            below = {key: place.child("properties", key) for key in named}
            place.members = below, frozenset(rules.get("required") or ()), other is False
        else:
            place.members = False
    return place.members or None


def _plain_kinds(place: SchemaPlace) -> frozenset[type]:
    """The Python types of values that are certainly valid at a place."""
    if place.plain is None:
        names = place.rules.get("type", ()) if place.rules.keys() <= _ANNOTATIONS else ()
        listed = [names] if isinstance(names, str) else names
        place.plain = frozenset(kind for name in listed for kind in _KINDS.get(name, ()))
    return place.plain


def _flat(place: SchemaPlace) -> tuple[dict[str, frozenset[type]], frozenset[str]] | frozenset[type] | bool:
    """The types of members or items, if the place has no other rules about them."""
    rules = place.rules
    if rules.get("type") == "object" and rules.keys() <= _OF_OBJECT and isinstance(rules.get("properties"), dict):
        members = {key: _plain_kinds(place.child("properties", key)) for key in rules["properties"]}
        return members, frozenset(rules.get("required") or ())
    if rules.get("type") == "array" and rules.keys() <= _OF_ARRAY and isinstance(rules.get("items"), dict):
        return _plain_kinds(place.child("items"))
    return False


def wrong_type(place: SchemaPlace, value: Any) -> list[str] | None:
    """The types of a place if the value has none of them, otherwise None."""
    schema = place.rules
    named = schema.get("type")
    if named is None:
        return None
    kind = type_of(value)
    listed = [named] if isinstance(named, str) else named
    fits = kind in listed or (kind == "integer" and "number" in listed)
    whole = kind == "number" and "integer" in listed and value.is_integer()
    return None if fits or whole else listed


def enum(place: SchemaPlace, value: Any, path: Parts) -> Iterator[Finding]:
    schema = place.rules
    for keyword in ("enum", "const"):
        if keyword in schema and not place.document.word(keyword, schema[keyword])(value):
            allowed = schema[keyword] if keyword == "enum" else [schema[keyword]]
            if type_of(value) in own_types(place) or len(allowed) <= 20:
                yield words.not_in_enum(path, allowed, value)
            else:
                yield words.wrong_type(path, sorted({type_of(item) for item in allowed}), value)


def number(place: SchemaPlace, value: Any, path: Parts) -> Iterator[Finding]:
    schema = place.rules
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if keyword in schema and not place.document.word(keyword, schema[keyword])(value):
            yield words.out_of_bounds(path, keyword, schema[keyword], value)
    step = schema.get("multipleOf")
    if step is not None and not place.document.word("multipleOf", step)(value):
        message = f"Expected a multiple of {step}, got {words.quote(value)}"
        yield words.not_allowed(path, "multipleOf", message, limit=step)


def text(place: SchemaPlace, value: str, path: Parts) -> Iterator[Finding]:
    schema = place.rules
    yield from size(schema, "Length", len(value), path)
    expression = schema.get("pattern")
    if expression is not None and not place.document.word("pattern", expression)(value):
        yield words.pattern(path, expression, value)
    name = schema.get("format")
    if name is not None and not place.document.word("format", name)(value):
        yield words.wrong_format(path, name, value)


def size(schema: dict[str, Any], unit: str, found: int, path: Parts) -> Iterator[Finding]:
    least, most = schema.get(f"min{unit}"), schema.get(f"max{unit}")
    if least is not None and found < least:
        yield words.wrong_size(path, f"min{unit}", least, found)
    elif most is not None and found > most:
        yield words.wrong_size(path, f"max{unit}", most, found)


def array(place: SchemaPlace, value: list[Any], path: Parts) -> Iterator[Finding]:
    schema = place.rules
    yield from size(schema, "Items", len(value), path)
    if schema.get("uniqueItems") is True and not place.document.word("uniqueItems", schema["uniqueItems"])(value):
        yield words.not_unique(path, *_repeated(value))
    if "contains" in schema:
        judge = place.child("contains")
        found = sum(judge.valid(item) for item in value)
        wanted = {"minContains": schema.get("minContains", 1), "maxContains": schema.get("maxContains")}
        yield from size(wanted, "Contains", found, path)


def _repeated(items: list[Any]) -> tuple[int, int]:
    """The indexes of the first item that occurs twice, and of its repetition."""
    seen: dict[bytes, int] = {}
    for index, item in enumerate(items):
        whole = int(item) if isinstance(item, float) and item.is_integer() else item
        key = msgspec.json.encode(whole, order="deterministic")
        if key in seen:
            return seen[key], index
        seen[key] = index
    return 0, len(items) - 1


def keys(place: SchemaPlace, value: dict[str, Any], path: Parts) -> Iterator[Finding]:
    schema = place.rules
    unknown = unknown_keys(place, value)
    names = [*(schema.get("properties") or ())]
    spoken_for: set[str] = set()
    for name in schema.get("required") or ():
        if name not in value:
            similar = words.closest(name, [key for key in value if key not in names])
            spoken_for.update([similar] if similar else [])
            yield words.missing((*path, name), _expected(place, name), similar)
    for key in unknown:
        if key not in spoken_for:
            yield words.unknown_key((*path, key), [name for name in names if name not in value] or names)
    yield from size(schema, "Properties", len(value), path)
    yield from _dependents(place, value, path)
    if isinstance(schema.get("propertyNames"), dict):
        judge = place.child("propertyNames")
        for key in value:
            if not judge.valid(key):
                yield words.not_allowed((*path, key), "propertyNames", "This key is not allowed by its spelling")


def unknown_keys(place: SchemaPlace, value: dict[str, Any]) -> list[str]:
    """The keys that `additionalProperties: false` forbids."""
    schema = place.rules
    if schema.get("additionalProperties") is not False:
        return []
    known = schema.get("properties") or {}
    patterns = [place.document.word("pattern", expression) for expression in schema.get("patternProperties") or ()]
    return [key for key in value if key not in known and not any(check(key) for check in patterns)]


def _expected(place: SchemaPlace, name: str) -> str:
    """The type of a property in a word or two, if the place has it."""
    schema = place.rules
    prop = (schema.get("properties") or {}).get(name)
    named = prop.get("type") if isinstance(prop, dict) else None
    return " or ".join(named) if isinstance(named, list) else named or ""


def _dependents(place: SchemaPlace, value: dict[str, Any], path: Parts) -> Iterator[Finding]:
    schema = place.rules
    rules = {**(schema.get("dependencies") or {}), **(schema.get("dependentRequired") or {})}
    for key, names in rules.items():
        if key in value and isinstance(names, list):
            for name in names:
                if name not in value:
                    yield words.missing((*path, name), f"needed with {words.quote(key)}", None)


# The check for values of each JSON type.
BY_TYPE: dict[str, Check] = {
    "string": text,
    "number": number,
    "integer": number,
    "array": array,
    "object": keys,
}
