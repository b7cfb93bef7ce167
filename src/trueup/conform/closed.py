"""Finds the possible names of an object at a place of a schema, if the schema limits them.

Takes a place; returns a set of names, or None if any name is possible. Rules that cannot be followed count as open, so a name
that is not in the set is certainly impossible. A Python type takes only its own fields, unless it says that it keeps others.
"""

from trueup.conform.document import SchemaPlace, facets
from trueup.conform.survey import MAX_UNION_DEPTH, types_at, unions

Names = frozenset[str] | None

_MAPS = ("patternProperties", "dependentSchemas", "if", "$dynamicRef", "$recursiveRef")


def closed_keys(place: SchemaPlace, *, of_type: bool = False) -> Names:
    """The names that the object at a place can have; None if it is open.

    >>> from trueup.conform.schema import compile_schema
    >>> sorted(closed_keys(compile_schema({"properties": {"a": {}, "b": {}}, "additionalProperties": False}).place))
    ['a', 'b']
    >>> closed_keys(compile_schema({"properties": {"a": {}}}).place) is None
    True
    """
    return _possible(place, 0, of_type=of_type)


def _possible(place: SchemaPlace, depth: int, *, of_type: bool) -> Names:
    """The names that all parts of a place allow together: through `$ref` and `allOf`, and one arm of each union."""
    if depth > MAX_UNION_DEPTH:
        return None
    parts = facets((place,))
    found: Names = None
    for here in parts:
        own = _own(here, of_type=of_type and sum("properties" in part.rules for part in parts) == 1)
        found = _both(found, own)
        for arms in unions(here):
            found = _both(found, _any(arms, depth, of_type=of_type))
    return found


def _own(place: SchemaPlace, *, of_type: bool) -> Names:
    """The names that a part of a place allows alone."""
    if place.schema is False:
        return frozenset()
    rules = place.rules
    names = frozenset(rules.get("properties") or ())
    shut = rules.get("additionalProperties", False if of_type and "properties" in rules else None) is False
    found = names if shut and not rules.get("patternProperties") else None
    return _both(found, _evaluated(place, 0)) if rules.get("unevaluatedProperties") is False else found


def _evaluated(place: SchemaPlace, depth: int) -> Names:
    """Every name that a place or one of its parts mentions; None if a part takes any name."""
    if depth > MAX_UNION_DEPTH:
        return None
    found: set[str] = set()
    for here in facets((place,)):
        rules = here.rules
        if any(rules.get(keyword) for keyword in _MAPS) or _opens(rules.get("additionalProperties")):
            return None
        if _opens(rules.get("unevaluatedProperties")):
            return None
        found.update(rules.get("properties") or ())
        for arm in (arm for arms in unions(here) for arm in arms):
            inside = _evaluated(arm, depth + 1)
            if inside is None:
                return None
            found |= inside
    return frozenset(found)


def _opens(rule: object) -> bool:
    return rule is not None and rule is not False


def _any(arms: list[SchemaPlace], depth: int, *, of_type: bool) -> Names:
    """The names that at least one arm of a union allows; an arm that is not an object adds nothing."""
    found: set[str] = set()
    for arm in arms:
        if "object" in types_at(arm):
            inside = _possible(arm, depth + 1, of_type=of_type)
            if inside is None:
                return None
            found |= inside
    return frozenset(found)


def _both(one: Names, other: Names) -> Names:
    if one is None or other is None:
        return one if other is None else other
    return one & other
