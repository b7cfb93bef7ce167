"""A schema as types in the style of TypeScript, with comments for what a type cannot express: descriptions, limits, defaults.

Takes places of a schema; returns declarations. Every place is written once: referenced and deeply nested places become types
with a name. So the text grows with the schema and not with its references, and a schema that refers to itself ends.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from trueup.ask.words.shape import Types, limits
from trueup.conform.document import SchemaPlace, reference
from trueup.verdict.codec import written
from trueup.verdict.likeness import name_words

_MOST_DEPTH = 8  # deeper places become separate types
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_WORDS = re.compile(r"[\w.]+", re.ASCII)
_KINDS = {"integer": "number", "object": "object", "array": "array"}
_OBJECT = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
_ARRAY = frozenset({"items", "prefixItems"})
_ONLY_A_REFERENCE = frozenset({"$ref", "$defs", "definitions", "$schema"})
# Keywords that a type cannot express are written as JSON.
_BEYOND = (
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "minProperties",
    "maxProperties", "contains", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip


class Declarations:
    """The types of one or several schemas, each with its own name.

    >>> from trueup.conform.schema import compile_schema
    >>> schema = compile_schema({"properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]})
    >>> print(Declarations({}).declare(schema.place, "Person"))
    type Person = {
      // integer, ≥ 0
      age: number;
    };
    """

    def __init__(self, types: Types) -> None:
        self._types = types
        self._names: dict[int, str] = {}
        self._kept: list[SchemaPlace] = []  # so that no other object gets the id of a place
        self._taken: set[str] = set()
        self._waiting: deque[SchemaPlace] = deque()

    def declare(self, place: SchemaPlace, name: str) -> str:
        """The type of a place and of everything that it refers to, as declarations."""
        self._name(place, name)
        return self.rest()

    def inline(self, place: SchemaPlace) -> str:
        """The type of a place; `rest` declares the types that it refers to."""
        note = self._note(place)
        text = self._type(place, 0, 0)
        return f"{text} /* {_inside(note)} */" if note else text

    def rest(self) -> str:
        """The declarations of all types that have a name and are not written yet."""
        written_out = []
        while self._waiting:
            place = self._waiting.popleft()
            note = self._note(place)
            comment = f"// {note}\n" if note else ""
            written_out.append(f"{comment}type {self._names[id(place)]} = {self._type(place, 0, 0)};")
        return "\n".join(written_out)

    def _name(self, place: SchemaPlace, wanted: str) -> str:
        name = self._names.get(id(place))
        if name is None:
            name = re.sub(r"\W", "_", wanted, flags=re.ASCII).lstrip("_0123456789") or "Part"
            if name in self._taken:
                number = len(self._names) + 1
                while f"{name}{number}" in self._taken:
                    number += 1
                name = f"{name}{number}"
            self._names[id(place)] = name
            self._kept.append(place)
            self._taken.add(name)
            self._waiting.append(place)
        return name

    def _at(self, place: SchemaPlace, depth: int, level: int) -> str:
        """The type at a place inside another type, with its comment."""
        if depth > _MOST_DEPTH and isinstance(place.schema, dict):
            return self._name(place, "Part")
        text, note = self._type(place, depth, level), self._note(place)
        return f"{text} /* {_inside(note)} */" if note else text

    def _type(self, place: SchemaPlace, depth: int, level: int) -> str:
        if not place.rules:
            return "never" if place.schema is False else "any"
        all_of = [*self._parts(place, depth, level)]
        several = len(all_of) > 1
        return (
            " & ".join(f"({' | '.join(arms)})" if several and len(arms) > 1 else " | ".join(arms) for arms in all_of)
            or "any"
        )

    def _parts(self, place: SchemaPlace, depth: int, level: int) -> Iterator[list[str]]:
        """The types that all apply to a place, each as its alternatives."""
        rules = place.rules
        target = reference(place)
        if target is not None:
            yield [self._name(target, _last(target))]
            if not place.document.modern_refs:
                return
        if "const" in rules:
            yield [_literal(rules["const"])]
        elif isinstance(rules.get("enum"), list):
            yield [*map(_literal, rules["enum"])] or ["never"]
        elif kinds := _kinds(rules):
            yield [self._kind(place, kind, depth, level) for kind in kinds]
        for index in range(len(rules.get("allOf") or ())):
            yield [self._at(place.child("allOf", index), depth + 1, level)]
        for word in ("anyOf", "oneOf"):
            arms = [self._at(place.child(word, index), depth + 1, level) for index in range(len(rules.get(word) or ()))]
            if arms:
                yield [*dict.fromkeys(arms)]

    def _kind(self, place: SchemaPlace, kind: str, depth: int, level: int) -> str:
        if kind == "object":
            return self._object(place, depth, level)
        if kind == "array":
            return self._array(place, depth, level)
        return _KINDS.get(kind, kind)

    def _array(self, place: SchemaPlace, depth: int, level: int) -> str:
        rules = place.rules
        word = "prefixItems" if rules.get("prefixItems") else "items"
        first = rules.get(word)
        more = "items" if word == "prefixItems" else "additionalItems"
        if isinstance(first, list):
            shown = [self._at(place.child(word, index), depth + 1, level) for index in range(len(first))]
            if more in rules and rules[more] is not False:
                shown.append(f"...{_many(self._at(place.child(more), depth + 1, level))}")
            return f"[{', '.join(shown)}]"
        return _many("any" if first is None else self._at(place.child("items"), depth + 1, level))

    def _object(self, place: SchemaPlace, depth: int, level: int) -> str:
        rules = place.rules
        properties = rules.get("properties") or {}
        required = rules.get("required") or ()
        indent = "  " * (level + 1)
        lines = []
        for name in properties:
            inner = place.child("properties", name)
            note = self._note(inner, name)
            if note:
                lines.append(f"{indent}// {note}")
            mark = "" if name in required else "?"
            lines.append(f"{indent}{_key(name)}{mark}: {self._member(inner, depth + 1, level + 1)};")
        lines += [f"{indent}{_key(name)}: any;" for name in required if name not in properties]
        for pattern in rules.get("patternProperties") or {}:
            inner = place.child("patternProperties", pattern)
            lines.append(f"{indent}// {self._types.get('matches', 'matches')} {_line(pattern)}")
            lines.append(f"{indent}[key: string]: {self._at(inner, depth + 1, level + 1)};")
        more = rules.get("additionalProperties")
        if isinstance(more, dict) and more:
            inner = place.child("additionalProperties")
            lines.append(f"{indent}[key: string]: {self._at(inner, depth + 1, level + 1)};")
        if not lines:
            return "{}" if more is False else "{ [key: string]: any }"
        return "\n".join(["{", *lines, "  " * level + "}"])

    def _member(self, place: SchemaPlace, depth: int, level: int) -> str:
        """The type of a property, with its comment above it."""
        if depth > _MOST_DEPTH and isinstance(place.schema, dict):
            return self._name(place, "Part")
        return self._type(place, depth, level)

    def _note(self, place: SchemaPlace, name: str = "") -> str:
        """The comment of a place: its limits, its default and its description, on one line."""
        rules, types = place.rules, self._types
        said = [types.get("integer", "integer")] if "integer" in _listed(rules) else []
        said += [*limits(rules, types, examples=False)]
        beyond = {word: rules[word] for word in _BEYOND if word in rules}
        if beyond:
            said.append(written(beyond).decode())
        if "default" in rules:
            said.append(f"{types.get('default', 'default')}: {_literal(rules['default'])}")
        about = rules.get("description")
        if not isinstance(about, str):
            about = _title(rules, name or _last(place))
        return _line(". ".join(part for part in (", ".join(said), about) if part))


def root_type(place: SchemaPlace) -> tuple[SchemaPlace, str]:
    """The place with the type of a whole schema, and the name to declare it with: its title, if that is a name.

    A schema that is only a reference, such as the schema of a model that contains itself, does not need its own name.
    """
    target = reference(place)
    if target is not None and place.rules.keys() <= _ONLY_A_REFERENCE:
        place = target
    title = place.rules.get("title")
    return place, title if isinstance(title, str) and _PLAIN.fullmatch(title) else "Reply"


def _kinds(rules: dict[str, Any]) -> list[str]:
    """The types that a place lists, or the type that its other keywords apply to."""
    listed = _listed(rules)
    if listed:
        return list(listed)
    if not _OBJECT.isdisjoint(rules):
        return ["object"]
    return ["array"] if not _ARRAY.isdisjoint(rules) else []


def _listed(rules: dict[str, Any]) -> list[str]:
    kind = rules.get("type")
    return kind if isinstance(kind, list) else [] if kind is None else [kind]


def _title(rules: dict[str, Any], name: str) -> str:
    """The title of a place, unless it only repeats its name, like titles that a library makes."""
    title = rules.get("title")
    if not isinstance(title, str) or "".join(name_words(title)) == "".join(name_words(name)):
        return ""
    return "" if _PLAIN.fullmatch(title) else title


def _last(place: SchemaPlace) -> str:
    return place.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _many(item: str) -> str:
    return f"{item}[]" if _WORDS.fullmatch(item) else f"Array<{item}>"


def _line(text: str) -> str:
    return " ".join(text.split())


def _inside(note: str) -> str:
    """A comment without `*/`, which would end it early."""
    return note.replace("*/", "*\\/")
