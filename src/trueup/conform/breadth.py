"""Computes an upper bound for how often a schema checks one place of a value.

If alternatives lead to the same definitions again and again, the checks double at every step, and the
validator would make them all. Recursion is different, because the validator remembers it.
"""

from typing import NamedTuple

from trueup.conform.document import SchemaPlace, reference

_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")
_MEMBER_MAPS = ("properties", "patternProperties", "dependentSchemas", "dependencies")
_MEMBERS = ("items", "additionalItems", "additionalProperties", "contains", "propertyNames")


class Span(NamedTuple):
    """How many checks one place of a value may get, and how deep they are nested."""

    looks: int
    depth: int


def breadth(root: SchemaPlace) -> Span:
    """An upper bound for the checks of one place of a value; each subschema is computed once."""
    known: dict[int, Span] = {}
    stack: list[tuple[SchemaPlace, tuple[list[SchemaPlace], list[SchemaPlace]] | None]] = [(root, None)]
    while stack:
        place, parts = stack.pop()
        if parts is not None:
            here = [known[id(part)] for part in parts[0]]
            inside = max((known[id(part)].looks for part in parts[1]), default=0)
            known[id(place)] = Span(
                1 + sum(span.looks for span in here) + inside, 1 + max((span.depth for span in here), default=0)
            )
        elif id(place) not in known:
            known[id(place)] = Span(1, 1)  # the value for a loop back to here
            parts = _in_place(place), _members(place)
            stack.append((place, parts))
            stack.extend((part, None) for part in (*parts[0], *parts[1]))
    return Span(known[id(root)].looks, max(span.depth for span in known.values()))


def _in_place(place: SchemaPlace) -> list[SchemaPlace]:
    """The subschemas that check the same value."""
    rules = place.rules
    found = [place.child(word, index) for word in _IN_PLACE_LISTS for index in range(len(rules.get(word) or ()))]
    found += [place.child(word) for word in _IN_PLACE if word in rules]
    target = reference(place)
    return found if target is None else [*found, target]


def _members(place: SchemaPlace) -> list[SchemaPlace]:
    """The subschemas that check members of the value."""
    rules = place.rules
    found = [
        place.child(word, key)
        for word in _MEMBER_MAPS
        for key, part in (rules.get(word) or {}).items()
        if isinstance(part, dict)
    ]
    for word in ("prefixItems", "items"):
        listed = rules.get(word)
        if isinstance(listed, list):
            found += [place.child(word, index) for index in range(len(listed))]
    return found + [place.child(word) for word in _MEMBERS if isinstance(rules.get(word), dict)]
