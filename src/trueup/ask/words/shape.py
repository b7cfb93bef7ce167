"""The form of a value, which a model is shown instead of a schema, and the rules that a form cannot show.

Takes a JSON Schema; returns a form, in which every place describes its value in `<…>`, and a list of rules. A form does not contain
examples, because a model might return them as its answer. Its depth and size are bounded, even if the schema contains references to itself:
a first request needs all of it (`whole_form`), a reminder in a repair only a part.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from trueup.verdict.codec import written


class Bounds(NamedTuple):
    """How much of a schema is written out."""

    depth: int
    places: int
    rules: int
    said: int  # characters of one description or pattern


_REMINDER = Bounds(depth=6, places=150, rules=40, said=160)
_WHOLE = Bounds(depth=20, places=1000, rules=1000, said=10_000)
_MOST_CHOICES = 200
_MOST_SCHEMA = 100_000
FORMATS = {
    "date": "2024-05-31",
    "date-time": "2024-05-31T09:30:00Z",
    "time": "09:30:00Z",
    "email": "name@example.org",
    "uri": "https://example.org",
}
_NAMES = {"string": "text", "boolean": "true or false", "any": "…"}
_REMARKS = ("title", "$schema", "$id", "examples", "default", "$comment")
# Keywords that a form and its rules cannot express: then the schema itself is shown.
_BEYOND = frozenset(
    "oneOf allOf if not patternProperties dependentSchemas dependentRequired dependencies propertyNames minProperties"
    " maxProperties contains prefixItems unevaluatedProperties unevaluatedItems $dynamicRef".split()
)
_RULES = {
    "minimum": "≥ {}", "maximum": "≤ {}", "exclusiveMinimum": "> {}", "exclusiveMaximum": "< {}",
    "minLength": "{length} ≥ {}", "maxLength": "{length} ≤ {}", "minItems": "{items} ≥ {}", "maxItems": "{items} ≤ {}",
    "pattern": "{matches} {}", "multipleOf": "{multiple} {}",
}  # fmt: skip
Types = Mapping[str, str]


def shape(schema: Any, types: Types = _NAMES, *, every: bool = True) -> str:
    """The form as text, which is JSON except for the places; for a union, `every` arm or only the first.

    >>> shape(
    ...     {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "level": {"enum": ["low", "high"]}}}
    ... )
    '{"name": "<text>", "age": <integer>, "level": "<one of low, high>"}'
    """
    return _Shape(schema, types, _REMINDER, every=every).at(schema, 0)


def whole_form(schema: Any, types: Types = _NAMES, *, unions: bool = False) -> tuple[str, str] | None:
    """The form and its rules if they express the whole schema, otherwise None.

    With `unions`, alternatives are written next to each other, if their rules do not contradict.

    >>> whole_form({"properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]})
    ('{"age": <integer>}', '- age: ≥ 0')
    >>> whole_form({"properties": {"next": {"$ref": "#"}}}) is None  # it has no end
    True
    """
    if not is_plain(schema, unions=unions):
        return None
    walk = _Shape(schema, types, _WHOLE)
    form = walk.at(schema, 0)
    if walk.is_cut or (unions and any(len(said) > 1 for said in _said_at(schema, types, _WHOLE).values())):
        return None
    return form, rules(schema, types, _WHOLE)


def rules(schema: Any, types: Types = _NAMES, bounds: Bounds = _REMINDER) -> str:
    """The rules that the form does not show, one line per field: limits, patterns, and whether it may be left out.

    >>> rules({"properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]})
    '- age: ≥ 0'
    """
    said = {place: next(iter(each)) for place, each in _said_at(schema, types, bounds).items() if len(each) == 1}
    lines = [f"- {place}: {about}" if place else f"- {about}" for place, about in said.items() if about]
    return "\n".join([*lines[: bounds.rules], "- …"] if len(lines) > bounds.rules else lines)


def _said_at(schema: Any, types: Types, bounds: Bounds) -> dict[str, set[str]]:
    """The rules of each place, in order; several if the arms of a union differ."""
    found: dict[str, set[str]] = {}
    for place, about in _rule_lines(schema, types, bounds):
        found.setdefault(place, set()).add(about)
    return found


def schema_text(schema: Any) -> str:
    """A schema as JSON text without its titles and comments; empty if it is too long to send."""
    text = written(_slim(schema, 0)).decode()
    return text if len(text) <= _MOST_SCHEMA else ""


def is_plain(schema: Any, *, unions: bool = False) -> bool:
    """Whether a form and its rules express the whole schema; with `unions`, a form can also express alternatives.

    >>> (
    ...     is_plain({"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}),
    ...     is_plain({"oneOf": [{}, {}]}),
    ... )
    (True, False)
    """
    stack, seen = [schema], 0
    beyond = _BEYOND - {"oneOf"} if unions else _BEYOND
    while stack:
        here = stack.pop()
        seen += 1
        if isinstance(here, list):
            stack += here
        elif isinstance(here, dict):
            arms = [arm for arm in here.get("anyOf") or () if not _is_null(arm)]
            if (
                seen > 5000
                or (not unions and (len(arms) > 1 or len(_kinds(here)) > 1))
                or not beyond.isdisjoint(here)
                or _is_open(here.get("additionalProperties"))
            ):
                return False
            stack += [value for key, value in here.items() if key not in {"enum", "const", "default", "examples"}]
    return True


def follow(root: Any, schema: Any) -> Any:
    """A schema with its local references followed; a reference that cannot be resolved allows anything."""
    for _ in range(20):
        ref = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(ref, str):
            return schema
        here: Any = root if ref.startswith("#") else True
        for raw in unquote(ref[1:]).split("/")[1:] if ref.startswith("#") else ():
            part = raw.replace("~1", "/").replace("~0", "~")
            if isinstance(here, list) and part.isdigit() and int(part) < len(here):
                here = here[int(part)]
            else:
                here = here.get(part, True) if isinstance(here, dict) else True
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**here, **rest} if isinstance(here, dict) and "properties" not in rest else here
    return True


def _kinds(schema: dict[str, Any]) -> list[Any]:
    kind = schema.get("type")
    return [name for name in kind if name != "null"] if isinstance(kind, list) else [kind]


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _is_open(more: Any) -> bool:
    return isinstance(more, dict) and bool(more)


def _slim(schema: Any, depth: int) -> Any:
    if isinstance(schema, list) and depth < 100:
        return [_slim(item, depth + 1) for item in schema]
    if not isinstance(schema, dict) or depth >= 100:
        return schema
    named = {"properties", "$defs", "definitions", "patternProperties"}
    return {
        key: {name: _slim(inner, depth + 1) for name, inner in value.items()}
        if key in named and isinstance(value, dict)
        else value
        if key in {"enum", "const", "required"}
        else _slim(value, depth + 1)
        for key, value in schema.items()
        if not (key in _REMARKS and not isinstance(value, dict))
    }


def _rule_lines(root: Any, types: Types, bounds: Bounds) -> Iterator[tuple[str, str]]:
    """Each place with its rules, parents first; stops at schemas that refer to themselves."""
    stack: list[tuple[Any, str, int]] = [(root, "", 0)]
    places = 0
    yield "", _said_of(_real(root, root), root, types, bounds.said, optional=False)
    while stack and places < bounds.places:
        schema, path, depth = stack.pop()
        places += 1
        schema = _real(root, schema)
        if not isinstance(schema, dict) or depth > bounds.depth:
            continue
        below: list[tuple[Any, str, int]] = [(arm, path, depth + 1) for arm in _alternatives(root, schema)]
        properties = schema.get("properties")
        needed = schema.get("required") or ()
        for name, inner in properties.items() if isinstance(properties, dict) and not below else ():
            shown = _on_one_line(str(name))
            place = f"{path}.{shown}" if path else shown
            below.append((inner, place, depth + 1))
            yield place, _said_of(_real(root, inner), inner, types, bounds.said, optional=name not in needed)
        either = _either(schema)
        if either:
            named = " | ".join(f"{path}.{names}" if path else names for names in either)
            yield named, types.get("either", "at least one")
        if schema.get("items") is not None:
            items = schema["items"]
            below.append((items, f"{path}[]", depth + 1))
            yield f"{path}[]", _said_of(_real(root, items), items, types, bounds.said, optional=False)
        stack += reversed(below)


def _alternatives(root: Any, schema: dict[str, Any]) -> list[Any]:
    """The arms of a union with several arms that are not null, each with the keywords that apply to all arms."""
    for word in ("anyOf", "oneOf"):
        arms = [follow(root, arm) for arm in schema.get(word) or ()]
        real = [arm for arm in arms if not _is_null(arm)]
        if len(real) > 1 and not _either(schema):
            return [_with_arm(schema, word, arm) for arm in real]
    return []


def _said_of(schema: Any, inner: Any, types: Types, most: int, *, optional: bool) -> str:
    """The limits of a field, whether it may be left out, and its description."""
    said = [*limits(schema, types, most)]
    if optional:
        said.append(types.get("optional", "optional"))
    about = next(
        (each["description"] for each in (inner, schema) if isinstance(each, dict) and "description" in each), ""
    )
    described = " ".join(about.split())[:most] if isinstance(about, str) else ""
    return ". ".join(part for part in (", ".join(said), described) if part)


def _either(schema: dict[str, Any]) -> list[str]:
    """The fields of which an object needs at least one, if its alternatives require different fields."""
    arms = schema.get("anyOf")
    if not isinstance(arms, list) or len(arms) < 2 or not isinstance(schema.get("properties"), dict):
        return []
    needed = [arm.get("required") if isinstance(arm, dict) else None for arm in arms]
    return [" + ".join(map(str, names)) for names in needed if names] if all(needed) else []


def limits(schema: Any, types: Types, most: int = _WHOLE.said, *, examples: bool = True) -> Iterator[str]:
    """The limits of one value, in a few words each; without `examples`, formats have only their name.

    >>> [*limits({"minimum": 1, "format": "date"}, _NAMES)]
    ['≥ 1', 'date (2024-05-31)']
    """
    if not isinstance(schema, dict):
        return
    names = {name: types.get(name, name) for name in ("length", "items", "matches", "multiple")}
    for word, template in _RULES.items():
        if word in schema:
            for name, said in names.items():
                template = template.replace(f"{{{name}}}", said)  # first, because a pattern may also contain braces
            yield template.replace("{}", _on_one_line(str(schema[word])[:most]))
    form = schema.get("format")
    if form is not None:
        yield f"{form} ({FORMATS[form]})" if examples and form in FORMATS else str(form)
    if schema.get("uniqueItems") is True:
        yield types.get("unique", "no duplicates")


def _on_one_line(text: str) -> str:
    r"""A name or a pattern with `\n` for line breaks, which means the same in a pattern and does not begin a new rule."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _real(root: Any, schema: Any) -> Any:
    """A schema with references followed, and without the alternative null."""
    schema = follow(root, schema)
    arms = schema.get("anyOf") if isinstance(schema, dict) else None
    real = [arm for arm in arms if not _is_null(follow(root, arm))] if isinstance(arms, list) else []
    return follow(root, real[0]) if len(real) == 1 else schema


def _with_arm(schema: dict[str, Any], word: str, arm: Any) -> Any:
    """One alternative of an object, together with the keywords that apply to all of them, such as shared fields."""
    own = schema.get("properties")
    if not isinstance(own, dict) or not isinstance(arm, dict):
        return arm
    more = arm.get("properties")
    properties = dict(own)
    for name, inner in more.items() if isinstance(more, dict) else ():
        both = isinstance(inner, dict) and isinstance(own.get(name), dict)
        properties[name] = {**own[name], **inner} if both else inner
    return {**{key: value for key, value in schema.items() if key != word}, **arm, "properties": properties}


class _Shape:
    """One walk through a schema."""

    __slots__ = ("bounds", "every", "is_cut", "places", "root", "types")

    def __init__(self, root: Any, types: Types, bounds: Bounds, *, every: bool = True) -> None:
        self.root = root
        self.every = every  # show every arm of a union, not only the first
        self.types = types
        self.bounds = bounds
        self.places = 0
        self.is_cut = False

    def at(self, schema: Any, depth: int) -> str:
        self.places += 1
        if depth > self.bounds.depth or self.places > self.bounds.places:
            self.is_cut = True
            return self._place("any")
        schema = follow(self.root, schema)
        if not isinstance(schema, dict):
            return self._place("any")
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False)
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._choice(schema["enum"])
        for word in ("anyOf", "oneOf"):
            arms = [follow(self.root, arm) for arm in schema.get(word) or ()]
            real = [arm for arm in arms if not _is_null(arm)]
            if real:
                meant = real if self.every and not _either(schema) else real[:1]
                shown = [self.at(_with_arm(schema, word, arm), depth + 1) for arm in meant]
                return " | ".join(dict.fromkeys([*shown, "null"] if len(real) < len(arms) else shown))
        if isinstance(schema.get("allOf"), list):
            schema = self._joined(schema)
        return self._typed(schema, depth)

    def _typed(self, schema: dict[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            real = [name for name in kind if name != "null"]
            meant = (real if self.every else real[:1]) or ["null"]
            shown = [self._typed({**schema, "type": name}, depth) for name in meant]
            return " | ".join(dict.fromkeys([*shown, "null"] if len(real) < len(kind) else shown))
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array" or (kind is None and "items" in schema):
            return f"[{self.at(schema.get('items', True), depth + 1)}, …]"
        if kind == "null":
            return "null"
        return self._place(kind if isinstance(kind, str) else "any")

    def _place(self, kind: str) -> str:
        said = f"<{self.types.get(kind) or _NAMES.get(kind, kind)}>"
        return f'"{said}"' if kind == "string" else said

    def _object(self, schema: dict[str, Any], depth: int) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            return "{…}"
        members = (
            f"{json.dumps(str(n), ensure_ascii=False)}: {self.at(inner, depth + 1)}" for n, inner in properties.items()
        )
        return "{" + ", ".join(members) + "}"

    def _joined(self, schema: dict[str, Any]) -> dict[str, Any]:
        joined: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
        for arm in schema["allOf"]:
            found = follow(self.root, arm)
            if isinstance(found, dict):
                properties = {**joined.get("properties", {}), **found.get("properties", {})}
                joined = {**found, **joined, **({"properties": properties} if properties else {})}
        return joined

    def _choice(self, allowed: list[Any]) -> str:
        if len(allowed) == 1:
            return json.dumps(allowed[0], ensure_ascii=False)
        one_of = self.types.get("one_of", "one of")
        listed, more = allowed[:_MOST_CHOICES], ""
        if len(listed) < len(allowed):
            self.is_cut, more = True, ", …"
        if all(isinstance(value, str) and value.strip() == value and value and "," not in value for value in listed):
            return json.dumps(f"<{one_of} {', '.join(listed)}{more}>", ensure_ascii=False)
        return f"<{one_of} {', '.join(json.dumps(value, ensure_ascii=False) for value in listed)}{more}>"
