"""Reads places of a schema together: everything that applies to one value through `$ref` and `allOf`.

Takes views of places; returns views, names and values. Nothing is changed or judged here.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from trueup.conform.document import SchemaPlace, reference

UNIONS = ("anyOf", "oneOf")
_REMARKS = frozenset(
    "title description default examples example $comment $schema $id $anchor $dynamicAnchor $defs definitions deprecated"
    " readOnly writeOnly $ref allOf discriminator $vocabulary".split()
)

JsonObject = dict[str, Any]


class SchemaView(NamedTuple):
    """A place, and those of its unions that are already resolved; `flat` if its references are separate views."""

    place: SchemaPlace
    without: tuple[str, ...] = ()
    flat: bool = False

    @property
    def unions(self) -> list[str]:
        return [word for word in UNIONS if word not in self.without and self.place.rules.get(word)]

    @property
    def says_something(self) -> bool:
        return self.place.schema is False or not self.place.rules.keys() <= _REMARKS.union(self.without)

    @property
    def key(self) -> tuple[int, tuple[str, ...]]:
        return id(self.place), self.without


Views = tuple[SchemaView, ...]


def expanded(views: Views) -> tuple[Views, bool]:
    """The places with rules, also through references and `allOf`, each once; and whether there was a reference."""
    found: dict[tuple[int, tuple[str, ...]], SchemaView] = {}
    by_reference = False
    seen: set[SchemaView] = set()
    stack = list(reversed(views))
    while stack:
        view = stack.pop()
        if view in seen:
            continue
        seen.add(view)
        if not view.flat:
            target = reference(view.place)
            if target is not None:
                by_reference = True
                stack.append(SchemaView(target))
                if not view.place.document.modern_refs:
                    continue
            count = len(view.place.rules.get("allOf") or ())
            stack.extend(SchemaView(view.place.child("allOf", index)) for index in reversed(range(count)))
        if view.says_something:
            found[view.key] = SchemaView(view.place, view.without, flat=True)
    return tuple(found.values()), by_reference


def notes_of(views: Iterable[SchemaView]) -> JsonObject:
    """The title and the description that are closest to a place."""
    notes: JsonObject = {}
    for view in views:
        for word in ("title", "description"):
            said = view.place.rules.get(word)
            if isinstance(said, str) and said:
                notes.setdefault(word, said)
    return notes


def values_of(meaning: Views) -> list[Any] | None:
    """The values that every enum and constant of a place allows; None if there are none."""
    lists = [
        [rules["const"]] if "const" in rules else rules["enum"]
        for rules in (view.place.rules for view in meaning)
        if "const" in rules or isinstance(rules.get("enum"), list)
    ]
    if not lists:
        return None
    texts = [{_text(value) for value in listed} for listed in lists[1:]]
    return [value for value in lists[0] if all(_text(value) in allowed for allowed in texts)]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return {str: "string", int: "integer", type(None): "null", dict: "object", list: "array"}[type(value)]


def views_of(name: str, meaning: Views) -> Views:
    """The places that describe one property of an object."""
    views = []
    for view in meaning:
        rules = view.place.rules
        if name in (rules.get("properties") or ()):
            views.append(SchemaView(view.place.child("properties", name)))
        elif rules.get("additionalProperties") is False:
            views.append(SchemaView(view.place.child("additionalProperties")))
    return tuple(views)


def shared_words(view: SchemaView) -> list[str]:
    """The keywords that define one schema for all keys that are not named."""
    rules = view.place.rules
    return [
        word
        for word in ("additionalProperties", "unevaluatedProperties")
        if isinstance(rules.get(word), dict) and rules[word]
    ]


def conditional_names(rules: JsonObject) -> set[str]:
    """The properties that the conditions of an object mention."""
    names: set[str] = set()
    depending = rules.get("dependentSchemas")
    arms = [rules.get("then"), rules.get("else"), *(depending.values() if isinstance(depending, dict) else ())]
    for arm in arms:
        if isinstance(arm, dict):
            names.update(arm.get("properties") or (), arm.get("required") or ())
    return names


def tuple_word(rules: JsonObject) -> str:
    if rules.get("prefixItems"):
        return "prefixItems"
    return "items" if isinstance(rules.get("items"), list) else ""
