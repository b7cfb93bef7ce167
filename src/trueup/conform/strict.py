"""Converts a schema to the strict form that providers enforce: objects closed, every property required, null for optional fields.

Takes a compiled schema and the name of a provider; returns a new schema, or raises a `SchemaError` that says what cannot be
strict, where, and what to do. Limits that the provider does not support are left out and noted in the description; the contract
still checks them. A valid value of the strict schema may have nulls that the contract's own schema does not allow; coercion
removes them.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from trueup.conform.dialects import DIALECTS, Provider, SchemaDialect
from trueup.conform.document import SchemaPlace
from trueup.conform.refusals import SchemaError
from trueup.conform.schema import Schema, compile_schema
from trueup.conform.sizes import fault_in, looping, refs_in
from trueup.conform.survey import ALL_TYPES, own_types
from trueup.conform.views import (
    JsonObject,
    SchemaView,
    Views,
    conditional_names,
    expanded,
    kind_of,
    notes_of,
    shared_words,
    tuple_word,
    values_of,
    views_of,
)
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex

_MOST_DEPTH = 20  # deeper schemas become definitions, so that no schema is too deep to walk
_MOST_WORK = 200_000  # views of places; unions next to unions multiply

_OBJECT = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
_ARRAY = frozenset({"items", "prefixItems"})
_SCALARS = ("string", "number", "integer", "boolean", "null")
# Keywords of union arms that describe a value; an arm without any only limits what the schema around it describes.
_DESCRIBING = (_OBJECT | _ARRAY | {"type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"}) - {"required"}
_TIGHTER: dict[str, Callable[[Any, Any], Any]] = {
    "minimum": max, "exclusiveMinimum": max, "minLength": max, "minItems": max,
    "maximum": min, "exclusiveMaximum": min, "maxLength": min, "maxItems": min,
}  # fmt: skip
_LIMITS = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
_DEFINED = lazy_regex(r".*/(?:\$defs|definitions)/[^/]+\Z")
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_STRICT_WORDS = frozenset(
    "type properties required additionalProperties items anyOf $ref $defs definitions enum const title description format"
    " $schema".split()
)
_TYPED = frozenset({"type", "properties", "anyOf", "$ref", "enum", "const"})


def strict_schema(schema: Schema, provider: Provider) -> JsonObject:
    """The strict form of a schema for a provider.

    >>> from trueup.conform.schema import compile_schema
    >>> schema = compile_schema({"properties": {"n": {"type": "integer"}}})
    >>> strict_schema(schema, "openai")["properties"], strict_schema(schema, "openai")["required"]
    ({'n': {'type': ['integer', 'null']}}, ['n'])
    """
    return strict_form(schema, provider).schema


class StrictForm(NamedTuple):
    """A strict schema, and the optional fields with an added null: an object's properties, by identity, and a name."""

    schema: JsonObject
    nulls: frozenset[tuple[int, str]]


def strict_form(schema: Schema, provider: Provider) -> StrictForm:
    """The strict form of a schema for a provider, with the places to which null was added."""
    dialect = DIALECTS.get(provider)
    if dialect is None:
        near = nearest(str(provider), DIALECTS)
        meant = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"provider must be one of {', '.join(DIALECTS)}; got {provider!r}{meant}")
    strict = _Strict(provider, dialect, absent=False)
    whole = strict.whole(schema.place)
    return StrictForm(whole, frozenset(strict.nulls))


def narrowed_schema(source: JsonObject, provider: Provider) -> JsonObject:
    """The same with optional fields, for a provider that enforces such a schema too: no null is added.

    A schema that cannot be strict is returned unchanged; the provider refuses it.

    >>> narrowed_schema({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}, "anthropic")[
    ...     "required"
    ... ]
    []
    """
    try:
        return narrowed_form(source, provider).schema
    except SchemaError:
        return source


def narrowed_form(source: JsonObject, provider: Provider) -> StrictForm:
    """The same as a form; raises `SchemaError` for a schema that cannot be narrowed."""
    return StrictForm(
        _Strict(provider, DIALECTS[provider], absent=True).whole(compile_schema(source).place), frozenset()
    )


def is_strict(source: Any, provider: Provider) -> bool:
    """Whether a schema is already strict: closed, everything required, with only keywords that the provider supports.

    >>> closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    >>> is_strict({**closed, "required": ["a"]}, "openai"), is_strict(closed, "openai")
    (True, False)
    """
    dialect = DIALECTS[provider]
    words = _STRICT_WORDS | dialect.limits
    if dialect.root_object and (not isinstance(source, dict) or source.get("type") != "object"):
        return False
    stack = [source]
    while stack:
        here = stack.pop()
        if not isinstance(here, dict) or not here.keys() <= words or not here.keys() & _TYPED:
            return False
        if ("format" in here and here["format"] not in dialect.formats) or not _is_closed(here):
            return False
        if "$ref" in here and len(here) > 1:
            return False
        for word in ("properties", "$defs", "definitions"):
            stack += (here.get(word) or {}).values()
        stack += here.get("anyOf") or ()
        stack += [here["items"]] if "items" in here else []
    return True


def _is_closed(schema: JsonObject) -> bool:
    """Whether a schema does not describe an object, or describes one whose properties are all named and required."""
    properties = schema.get("properties") or {}
    if not properties and schema.get("type") != "object":
        return True
    return schema.get("additionalProperties") is False and set(schema.get("required") or ()) == set(properties)


class _Never(Exception):
    """No value fits here."""


class _Strict:
    """One schema on its way to its strict form."""

    def __init__(self, provider: Provider, dialect: SchemaDialect, *, absent: bool) -> None:
        self._provider = provider
        self._dialect = dialect
        self._absent = absent
        self._names: dict[tuple[Any, ...], str] = {}
        self._taken: set[str] = set()
        self._waiting: deque[tuple[str, Views, str]] = deque()
        self._optional: list[tuple[JsonObject, str, JsonObject]] = []
        self.nulls: list[tuple[int, str]] = []
        self._work = 0

    def whole(self, root: SchemaPlace) -> JsonObject:
        views, _ = expanded((SchemaView(root),))
        defs: JsonObject = {}
        where = "$"
        try:
            found = self._described(self._inline(views, where, 0), (SchemaView(root), *views))
            while self._waiting:
                name, views, where = self._waiting.popleft()
                defs[name] = self._described(self._inline(views, where, 0), views)
        except _Never:
            self._refuse(where, "no value can be valid there", "look for contradictions in the schema")
        if self._dialect.root_object and found.get("type") != "object":
            self._refuse("$", "it is not a single object", "put it into a property of an object, such as {'answer': …}")
        whole = {**found, "$defs": defs} if defs else found
        if self._dialect.recursion == "optional" and not self._absent:
            self._loosen(whole)
        fault = fault_in(whole, self._dialect)
        if fault:
            raise SchemaError(f"{self._provider} cannot enforce this schema: {fault}")
        return whole

    def _refuse(self, where: str, what: str, do: str) -> NoReturn:
        raise SchemaError(
            f"{self._provider} cannot enforce this schema: {where}: {what}; {do}, or ask without a strict schema"
        )

    def _at(self, views: Views, where: str, depth: int) -> JsonObject:
        """The strict schema of a value that all these places describe."""
        meaning, by_reference = expanded(views)
        if not by_reference and depth <= _MOST_DEPTH:
            return self._described(self._inline(meaning, where, depth), (*views, *meaning))
        if any(view.place.schema is False for view in meaning):
            raise _Never
        if not meaning:
            self._refuse(where, "any JSON value is allowed", "give it a type")
        return self._described({"$ref": f"#/$defs/{self._name(meaning, where)}"}, views)

    def _name(self, meaning: Views, where: str) -> str:
        key = tuple(view.key for view in meaning)
        name = self._names.get(key)
        if name is None:
            pointers = [view.place.pointer for view in meaning]
            chosen = next((pointer for pointer in pointers if _DEFINED.match(pointer)), "/root")
            name = re.sub(r"[^A-Za-z0-9_-]", "_", chosen.rpartition("/")[2])[:60]
            number, plain = len(self._taken), name
            while name in self._taken:
                number += 1
                name = f"{plain}_{number}"
            self._names[key] = name
            self._taken.add(name)
            self._waiting.append((name, meaning, where))
        return name

    def _inline(self, meaning: Views, where: str, depth: int) -> JsonObject:
        self._work += 1 + len(meaning)
        if self._work > _MOST_WORK:
            self._refuse("$", "it is too large, or its unions multiply", "simplify it")
        if any(view.place.schema is False for view in meaning):
            raise _Never
        if not meaning:
            self._refuse(where, "any JSON value is allowed", "give it a type")
        for view in meaning:
            for word in view.unions:
                bare = SchemaView(view.place, (*view.without, word), flat=True)
                rest = tuple(bare if other is view else other for other in meaning)
                return self._union(bare, word, tuple(v for v in rest if v.says_something), where, depth)
        return self._concrete(meaning, where, depth)

    def _union(self, view: SchemaView, word: str, rest: Views, where: str, depth: int) -> JsonObject:
        listed = view.place.rules[word]
        if rest and all(isinstance(arm, dict) and _DESCRIBING.isdisjoint(arm) for arm in listed):
            return self._inline(rest, where, depth)  # only limits, such as which fields are needed
        arms: list[JsonObject] = []
        for index in range(len(listed)):
            try:
                arm = self._at((*rest, SchemaView(view.place.child(word, index))), where, depth + 1)
            except _Never:
                continue
            inner = arm["anyOf"] if arm.keys() == {"anyOf"} else [arm]
            arms += [one for one in inner if one not in arms]
        if not arms:
            raise _Never
        return arms[0] if len(arms) == 1 else {"anyOf": arms}

    def _concrete(self, meaning: Views, where: str, depth: int) -> JsonObject:
        """The strict schema of places without unions."""
        values = values_of(meaning)
        kinds = ALL_TYPES.intersection(*(own_types(view.place) for view in meaning))
        if values is not None:
            return self._enum(values, kinds, where)
        if not any("type" in view.place.rules for view in meaning):
            words = frozenset().union(*(view.place.rules for view in meaning))
            kinds = frozenset(kind for kind, about in (("object", _OBJECT), ("array", _ARRAY)) if words & about)
            if not kinds:
                self._refuse(where, "it has no type", "give it a type")
        parts: list[JsonObject] = []
        scalars = [kind for kind in _SCALARS if kind in kinds and not (kind == "integer" and "number" in kinds)]
        if self._dialect.type_lists and len(scalars) > 1:
            parts.append({"type": scalars, **self._limits(scalars, meaning)})
        else:
            parts += [{"type": kind, **self._limits([kind], meaning)} for kind in scalars]
        if "object" in kinds:
            parts.append(self._object(meaning, where, depth))
        if "array" in kinds:
            parts.append(self._array(meaning, where, depth))
        if not parts:
            raise _Never
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def _enum(self, values: list[Any], kinds: frozenset[str], where: str) -> JsonObject:
        if any(isinstance(value, dict | list) for value in values):
            self._refuse(where, "an enum lists objects or arrays", "describe them by their properties")
        kept = [value for value in values if kind_of(value) in kinds]
        real = [value for value in kept if value is not None]
        if not kept:
            raise _Never
        names = list(dict.fromkeys(map(kind_of, real)))
        together = [names] if self._dialect.type_lists or not names else [[name] for name in names]
        arms = [self._listed(some, [value for value in real if kind_of(value) in some]) for some in together if some]
        if len(real) < len(kept):
            arms.append({"type": "null"})
        return arms[0] if len(arms) == 1 else {"anyOf": arms}

    def _listed(self, names: list[str], values: list[Any]) -> JsonObject:
        """An enum of values of these types, or a constant."""
        found: JsonObject = {"type": names[0] if len(names) == 1 else names}
        if self._dialect.const:
            return {**found, "const": values[0]} if len(values) == 1 else {**found, "enum": values}
        return found if "boolean" in names else {**found, "enum": values}  # only enums of texts and numbers

    def _object(self, meaning: Views, where: str, depth: int) -> JsonObject:
        names = dict.fromkeys(name for view in meaning for name in view.place.rules.get("properties") or ())
        required = {name for view in meaning for name in view.place.rules.get("required") or ()}
        self._refuse_open(meaning, names, required, where)
        shared = tuple(SchemaView(view.place.child(word)) for view in meaning for word in shared_words(view))
        if shared and not names:
            inner = self._at(shared, f"{where}.*", depth + 1)
            return {"type": "object", "additionalProperties": inner}
        found: JsonObject = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        for name in names:
            here = f"{where}.{name}"
            try:
                inner = self._at(views_of(name, meaning), here, depth + 1)
            except _Never:
                if name in required:
                    raise
                continue
            optional = name not in required
            if optional and not self._absent:
                self._optional.append((found, name, inner))
                plain, inner = inner, self._nullable(inner)
                if inner is not plain:
                    self.nulls.append((id(found["properties"]), name))
            found["properties"][name] = inner
            if not optional or not self._absent:
                found["required"].append(name)
        return found

    def _nullable(self, schema: JsonObject) -> JsonObject:
        """A schema that also takes null."""
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "null" in kinds:
            return schema
        if self._dialect.type_lists and set(kinds) <= set(_SCALARS) and not schema.keys() & {"enum", "const"}:
            return {**schema, "type": [*kinds, "null"]}
        notes: JsonObject = {word: schema[word] for word in ("title", "description") if word in schema}
        bare = {word: value for word, value in schema.items() if word not in notes}
        arms = bare["anyOf"] if bare.keys() == {"anyOf"} else [bare]
        nulls = any("null" in (arm.get("type") or ()) for arm in arms)
        return schema if nulls else {**notes, "anyOf": [*arms, {"type": "null"}]}

    def _refuse_open(self, meaning: Views, names: Iterable[str], required: set[str], where: str) -> None:
        """Refuse an object whose keys are not all known."""
        known = set(names)
        for view in meaning:
            rules = view.place.rules
            if rules.get("patternProperties"):
                self._refuse(where, "patternProperties leave its keys open", "name its properties")
            if shared_words(view) and (known or not self._dialect.maps):
                self._refuse(
                    where, "it takes any keys (additionalProperties)", "name its properties, or make it a list of pairs"
                )
            beside = sorted(conditional_names(rules) - known)
            if beside:
                self._refuse(
                    where, f"a condition mentions {beside[0]!r}, which is not one of its properties", "name it there"
                )
        nameless = sorted(required - known)
        if nameless:
            self._refuse(where, f"{nameless[0]!r} is required and has no schema", "name it under properties")
        closed = any(_names_all(view.place.rules) for view in meaning)
        if not known and not closed and not any(map(shared_words, meaning)):
            self._refuse(where, "it takes any keys", "name its properties")

    def _array(self, meaning: Views, where: str, depth: int) -> JsonObject:
        tuples = [view for view in meaning if tuple_word(view.place.rules)]
        limits = self._limits(["array"], meaning)
        items = tuple(
            SchemaView(view.place.child("items"))
            for view in meaning
            if isinstance(view.place.rules.get("items"), dict | bool)
        )
        if tuples:
            return {"type": "array", **self._tuple(tuples, where, depth), **limits}
        if not items:
            self._refuse(where, "its items may be anything", "give items a type")
        return {"type": "array", "items": self._at(items, f"{where}[]", depth + 1), **limits}

    def _tuple(self, tuples: list[SchemaView], where: str, depth: int) -> JsonObject:
        place = tuples[0].place
        word = tuple_word(place.rules)
        count = len(place.rules[word])
        more = place.rules.get("items" if word == "prefixItems" else "additionalItems")
        fixed = more is False or place.rules.get("maxItems", count + 1) <= count
        if not self._dialect.tuples or len(tuples) > 1 or not fixed:
            self._refuse(
                where,
                "it has a type for each position (prefixItems)",
                "make it an object with a name for each position",
            )
        found = [self._at((SchemaView(place.child(word, n)),), f"{where}[{n}]", depth + 1) for n in range(count)]
        return {"prefixItems": found, "minItems": place.rules.get("minItems", 0), "maxItems": count}

    def _limits(self, kinds: list[str], meaning: Views) -> JsonObject:
        """The limits that the provider supports; the others are noted in the description."""
        kept: JsonObject = {}
        left: list[str] = []
        words = [word for kind in kinds for word in _LIMITS.get("number" if kind == "integer" else kind, ())]
        for view in meaning:
            for word in words:
                value = view.place.rules.get(word)
                if value is None or value is False:
                    continue
                if not self._takes(word, value, kinds) or (word in kept and word not in _TIGHTER):
                    left.append(f"{word}: {json.dumps(value, ensure_ascii=False)}")
                else:
                    kept[word] = _TIGHTER[word](kept[word], value) if word in kept else value
        return {"description": f"({', '.join(dict.fromkeys(left))})", **kept} if left else kept

    def _takes(self, word: str, value: Any, kinds: list[str]) -> bool:
        dialect = self._dialect
        if word == "format":
            return value in dialect.formats
        if word not in dialect.limits or value is True:  # in Draft 4, exclusiveMinimum is true or false
            return False
        if word == "pattern" and dialect.whole_patterns_only:
            return str(value).startswith("^") and str(value).endswith("$")
        if word in _BOUNDS and dialect.integer_bounds_only:
            return "number" not in kinds
        return word != "minItems" or not dialect.short_lists_only or value <= 1

    def _described(self, found: JsonObject, views: Iterable[SchemaView]) -> JsonObject:
        """A schema with its title and its description, followed by the limits that were left out."""
        notes = notes_of(views)
        if "$ref" in found:
            about = notes.get("description")
            return {"description": about, "anyOf": [found]} if about and self._dialect.notes_on_refs else found
        parts = dict.fromkeys(part for part in (notes.get("description"), found.pop("description", "")) if part)
        return {**notes, **({"description": " ".join(parts)} if parts else {}), **found}

    def _loosen(self, whole: JsonObject) -> None:
        """Make recursive fields optional, because the provider follows references only there."""
        loop = looping(whole)
        for owner, name, inner in self._optional:
            if not loop.isdisjoint(refs_in(inner)):
                owner["properties"][name] = inner
                owner["required"].remove(name)


def _names_all(rules: JsonObject) -> bool:
    """Whether an object without properties is meant to be empty, like a model without fields."""
    more = rules.get("additionalProperties")
    return more is False or (more is None and "properties" in rules)
