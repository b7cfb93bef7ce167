"""Distinguishes the arms of a union by their types, fixed values, tags and unique names.

Takes arms and a value that fits none of them; returns one finding, or the arms that may be meant.
"""

from typing import Any

from trueup.conform import words
from trueup.conform.document import SchemaPlace, facets
from trueup.conform.survey import ALL_TYPES, root_keys, type_of, types_at
from trueup.conform.words import Parts
from trueup.verdict.facts import Finding

# How many arms are searched for the closest one, and how many levels of unions.
MAX_TRIED = 8
MAX_NESTING = 3

_ORDER = ("object", "array", "string", "number", "integer", "boolean", "null")
_WEIGHT = {"V001": 3, "V002": 2, "V003": 2, "V005": 3, "V008": 3}


def label(arm: SchemaPlace, index: int) -> str:
    """A name for an arm: its title, the name of its definition, its type, or its number."""
    schema = arm.rules
    for here in [schema, *(place.rules for place in facets((arm,)))]:
        if isinstance(here.get("title"), str):
            return words.quote_free(here["title"])
    ref = schema.get("$ref")
    if isinstance(ref, str) and "/" in ref:
        return words.quote_free(ref.rsplit("/", 1)[1])
    for keyword in ("const", "enum"):
        if keyword in schema:
            return words.quote(schema[keyword])
    if schema.get("required"):
        return "with " + " and ".join(map(words.quote, schema["required"][:4]))
    types = types_at(arm)
    return " or ".join(_ordered(types)) if types and types != ALL_TYPES and len(types) < 4 else f"#{index + 1}"


def likely_arms(group: list[SchemaPlace], value: Any, path: Parts) -> Finding | list[SchemaPlace]:
    """One finding if the types, the fixed values or a tag explain the fault; otherwise the arms that may be meant.

    A value with keys that only one arm has means that arm, even if it fits other arms better.
    """
    fixed = [_fixed(arm) for arm in group]
    if all(values is not None for values in fixed):
        return words.not_in_enum(path, [item for values in fixed for item in values or ()], value)
    kind = type_of(value)
    by_type = [arm for arm in group if kind in types_at(arm)]
    if not by_type:
        return words.wrong_type(path, _ordered(frozenset().union(*map(types_at, group))), value)
    if isinstance(value, dict) and len(by_type) > 1:
        likely = _by_tag(by_type, value, path)
        return _by_names(likely, value) if isinstance(likely, list) else likely
    return by_type


def _by_names(group: list[SchemaPlace], value: dict[str, Any]) -> list[SchemaPlace]:
    """The arms that share the most keys with the value, not counting names that every arm has."""
    names = [root_keys(arm) for arm in group]
    shared = frozenset.intersection(*names)
    counts = [len((own - shared) & value.keys()) for own in names]
    return [arm for arm, count in zip(group, counts, strict=True) if count == max(counts)]


def _by_tag(group: list[SchemaPlace], value: dict[str, Any], path: Parts) -> Finding | list[SchemaPlace]:
    tags = [_tags(arm) for arm in group]
    shared = set(tags[0]).intersection(*tags[1:])
    for key in sorted(shared):
        allowed = [item for arm_tags in tags for item in arm_tags[key]]
        if key not in value:
            continue
        meant = [arm for arm, arm_tags in zip(group, tags, strict=True) if value[key] in arm_tags[key]]
        if not meant:
            return words.not_in_enum((*path, key), allowed, value[key])
        if len(meant) < len(group):
            return meant
    for key in sorted(shared):
        allowed = [item for arm_tags in tags for item in arm_tags[key]]
        if key not in value and len(set(map(repr, allowed))) > 1:
            return words.missing((*path, key), f"one of {words.listing(allowed)}", None)
    return group


def _tags(arm: SchemaPlace) -> dict[str, list[Any]]:
    """The properties of an arm that can only have fixed values."""
    found: dict[str, list[Any]] = {}
    for here in facets((arm,)):
        for key in here.rules.get("properties") or ():
            values = _fixed(here.child("properties", key))
            if values is not None:
                found[key] = values
    return found


def _fixed(place: SchemaPlace) -> list[Any] | None:
    for here in facets((place,)):
        if "const" in here.rules:
            return [here.rules["const"]]
        if isinstance(here.rules.get("enum"), list):
            return list(here.rules["enum"])
    return None


def distance(faults: list[Finding], depth: int) -> int:
    """How far a value is from an arm; faults weigh more the closer they are to the union's own place."""
    return sum(_WEIGHT.get(fault.code, 1) * 4 - min(3, fault.path.count(".") - depth) for fault in faults)


def _ordered(types: frozenset[str]) -> list[str]:
    shown = types - {"integer"} if "number" in types else types
    return [name for name in _ORDER if name in shown]
