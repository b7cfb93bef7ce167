"""Names: the names that a contract defines (fields, tools, states, groups, codes, checks), and the places that can use
them.

It takes the data of a contract, as far as its text can be read, and returns names, each with a sentence about it.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from trueup.contract.codes import ALL, own_kinds
from trueup.contract.plugins import installed
from trueup.grounding.settings import BadGrounding, as_written, read_field
from trueup.shelf.table import SHELF
from trueup.studio.judging.shapes import Shape
from trueup.studio.judging.vocabulary import CHECK_OPTIONS, CODE_LANGUAGES
from trueup.verdict.paths import Parts

Names = dict[str, str]  # a name, and a sentence about it
_EXCUSES: Names = {
    "negated": "With a negation: we do not book.",
    "question": "In a question.",
    "conditional": "Under a condition.",
    "quoted": "In quotation marks.",
    "addressed": "Addressed to somebody: thank you, Ana.",
}
_TOOL: Names = {
    "name": "The name by which a model calls it.",
    "description": "What the tool does, and when to call it. Models see this text.",
    "parameters": "The arguments: a JSON Schema, or a list of them with `name`, `type` and `required`.",
}
_PARAMETER: Names = {
    "name": "The name of the argument.",
    "type": "Its type, such as string or integer.",
    "required": "Whether every call must give it.",
    "description": "Its meaning. Models see this text.",
    "enum": "The values that are allowed.",
}
_NOT_STATES = frozenset({"start", "names", "correction", "groups", "always", "claims", "machine"})
_WORD = re.compile(r"[^\W\d][\w-]*\Z")
_DEEPEST = 8  # steps of an offered field
_MOST_SCHEMAS = 300  # schemas from which members are collected; each may be inside the previous one
_ANY = "*"


class NamesInContract:
    """The names in the data of a contract."""

    def __init__(self, data: Any) -> None:
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}

    def at(self, path: Parts) -> Any:
        """The data at a path; None if there are none."""
        here: Any = self.data
        for part in path:
            if isinstance(here, dict):
                here = here.get(part)
            elif isinstance(here, list) and isinstance(part, int) and part < len(here):
                here = here[part]
            else:
                return None
        return here

    def tools(self) -> Names:
        return dict(_tools(self.data.get("tools")))

    def states(self) -> Names:
        states = self.data.get("states")
        return {
            str(name): _about(body, "hint", "note") or "A state of this contract."
            for name, body in (states.items() if isinstance(states, dict) else ())
            if name not in _NOT_STATES
        }

    def groups(self) -> Names:
        groups = self.at(("states", "groups"))
        return {
            str(name): _about(body, "why", "note") or _listed(body)
            for name, body in (groups.items() if isinstance(groups, dict) else ())
        }

    def excuses(self) -> Names:
        return {**_EXCUSES, **self.groups()}

    def codes(self) -> Names:
        return {kind.code: f"{kind.name}: {kind.title}" for kind in (*ALL, *own_kinds())}

    def checks(self) -> Names:
        ready = {name: row.about for name, row in SHELF.items()}
        return {**{name: check.kind.title for name, check in installed().items()}, **ready}

    def languages(self) -> Names:
        return {"en": "English", "es": "Spanish"}

    def fields(self, inside: Parts = ()) -> Names:
        """The fields of the value, or of one of its members, as rules name them."""
        schema = self.data.get("schema")
        node = member(schema, schema, inside)
        names = {name: about_schema(inner, schema) for name, inner in properties(node, schema).items()}
        given = self.data.get("input")
        if not inside and isinstance(given, list):
            names |= {str(name): "A field of the unit's input." for name in given}
        return names

    def places(self) -> Names:
        """The fields of the value at any depth, as `grounded` names them: `lines[].price`."""
        schema = self.data.get("schema")
        found: Names = {}
        waiting: list[tuple[str, Any]] = [("", schema)]
        for _ in range(_MOST_SCHEMAS):
            if not waiting:
                break
            before, node = waiting.pop(0)
            items = member(node, schema, (0,))
            if isinstance(items, dict) and before.count("[") <= _DEEPEST:
                waiting.append((f"{before}[]", items))
            for name, inner in properties(node, schema).items():
                word = name if _WORD.match(name) else f"[{json.dumps(name, ensure_ascii=False)}]"
                place = f"{before}.{word}" if before and word == name else before + word
                if place.count(".") + place.count("[") <= _DEEPEST:
                    found[place] = about_schema(inner, schema)
                    waiting.append((place, inner))
        return found

    def values(self, place: str) -> Names:
        """The possible values of a field, if the schema lists them: an enum's values, or true and false."""
        schema = self.data.get("schema")
        try:
            path = tuple(0 if step == "[]" else step for step in read_field(place))
        except BadGrounding:
            return {}
        node = member(schema, schema, path)
        if not isinstance(node, dict):
            return {}
        listed = (
            node["enum"]
            if isinstance(node.get("enum"), list)
            else [True, False]
            if node.get("type") == "boolean"
            else []
        )
        return {as_written(value): "" for value in listed if value is None or isinstance(value, str | int | float)}

    def field(self, path: Parts) -> str:
        """The schema's description of a field; empty if there is none."""
        schema = self.data.get("schema")
        node = member(schema, schema, path)
        return about_schema(node, schema) if isinstance(node, dict) else ""


def properties(node: Any, root: Any) -> dict[str, Any]:
    """The members that a schema names, also through references and unions.

    Each schema is visited once, no matter how many references it has.
    """
    return _members(node, root, set())


def _members(node: Any, root: Any, seen: set[int]) -> dict[str, Any]:
    if not isinstance(node, dict) or id(node) in seen or len(seen) > _MOST_SCHEMAS:
        return {}
    seen.add(id(node))
    found: dict[str, Any] = {}
    if isinstance(node.get("$ref"), str):
        found |= _members(_referred(node["$ref"], root), root, seen)
    for word in ("allOf", "anyOf", "oneOf"):
        for arm in node[word] if isinstance(node.get(word), list) else ():
            found |= _members(arm, root, seen)
    own = node.get("properties")
    return {**found, **({str(name): inner for name, inner in own.items()} if isinstance(own, dict) else {})}


def member(node: Any, root: Any, path: Parts) -> Any:
    """The schema of a member; a number or `[]` stands for an item."""
    for part in path:
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            node = _referred(node["$ref"], root)
        if isinstance(part, int):
            node = node.get("items") if isinstance(node, dict) else None
        else:
            node = properties(node, root).get(part)
    return node


def about_schema(node: Any, root: Any) -> str:
    """A schema in a few words.

    >>> about_schema({"type": "integer", "minimum": 0, "description": "The age."}, {})
    'integer, at least 0. The age.'
    """
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        node = {**(_referred(node["$ref"], root) or {}), **{key: part for key, part in node.items() if key != "$ref"}}
    if not isinstance(node, dict):
        return ""
    kinds = node.get("type")
    parts = [kinds if isinstance(kinds, str) else " or ".join(map(str, kinds))] if kinds else []
    if isinstance(node.get("enum"), list):
        parts.append(f"one of {', '.join(map(str, node['enum'][:10]))}{' …' if len(node['enum']) > 10 else ''}")
    parts += [f"{words} {node[word]}" for word, words in _BOUNDS.items() if word in node]
    said = node.get("description") or node.get("title") or ""
    return " ".join(part for part in (f"{', '.join(parts)}." if parts else "", str(said)) if part)


_BOUNDS = {
    "const": "always", "format": "format", "minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than", "minLength": "characters at least", "maxLength": "characters at most", "minItems": "items at least",
    "maxItems": "items at most", "pattern": "pattern",
}  # fmt: skip


def _referred(reference: str, root: Any) -> Any:
    node = root
    for part in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node


def _tools(given: Any) -> Iterator[tuple[str, str]]:
    """The tools that have names, in any provider's format."""
    for item in given if isinstance(given, list) else [given]:
        held = item.get("function", item) if isinstance(item, dict) else None
        if isinstance(held, dict) and isinstance(held.get("name"), str):
            yield held["name"], str(held.get("description") or "A tool of this contract.")
        elif isinstance(item, dict) and isinstance(item.get("functionDeclarations"), list):
            yield from _tools(item["functionDeclarations"])


def _about(body: Any, *keys: str) -> str:
    return next((str(body[key]) for key in keys if isinstance(body, dict) and body.get(key)), "")


def _listed(body: Any) -> str:
    if isinstance(body, dict):
        body = body.get("terms") or body.get("patterns")
    words = [str(word) for word in body[:8]] if isinstance(body, list) else [str(body)]
    return ", ".join(words)


Source = Callable[[NamesInContract], Names]
_FIELDS: Source = lambda known: known.fields()  # noqa: E731 - one of the table below
# Places of names: a path, with * for any part, and whether names are keys of the mapping there or values.
PLACES: tuple[tuple[str, tuple[str, ...], Source], ...] = (
    ("key", ("tools", _ANY), lambda _: _TOOL),
    ("key", ("tools", _ANY, "function"), lambda _: _TOOL),
    ("key", ("tools", _ANY, "parameters", _ANY), lambda _: _PARAMETER),
    ("value", ("order", _ANY), NamesInContract.tools),
    ("value", ("order", "sequence", _ANY), NamesInContract.tools),
    ("value", ("order", "expected_sequence", _ANY), NamesInContract.tools),
    ("value", ("order", "only_once", _ANY), NamesInContract.tools),
    ("key", ("order", "requires"), NamesInContract.tools),
    ("value", ("order", "requires", _ANY, _ANY), NamesInContract.tools),
    ("key", ("order", "at_most"), NamesInContract.tools),
    ("key", ("order", "never_with"), NamesInContract.tools),
    ("value", ("order", "never_with", _ANY, _ANY), NamesInContract.tools),
    ("key", ("calls", "claims"), NamesInContract.tools),
    ("key", ("states", "claims"), NamesInContract.tools),
    ("value", ("states", _ANY, "tools"), NamesInContract.tools),
    ("value", ("states", _ANY, "tools", _ANY), NamesInContract.tools),
    ("value", ("states", "start"), NamesInContract.states),
    ("value", ("states", _ANY, "next"), NamesInContract.states),
    ("value", ("states", _ANY, "next", _ANY), NamesInContract.states),
    ("key", ("fallbacks",), NamesInContract.states),
    ("value", ("examples", _ANY, "state"), NamesInContract.states),
    ("value", ("examples", _ANY, "context", "state"), NamesInContract.states),
    ("value", ("examples", _ANY, "gives", _ANY), NamesInContract.codes),
    ("value", ("states", _ANY, "forbid"), NamesInContract.groups),
    ("value", ("states", _ANY, "forbid", _ANY), NamesInContract.groups),
    ("value", ("states", _ANY, "forbid", _ANY, "group"), NamesInContract.groups),
    ("value", ("states", _ANY, "forbid", _ANY, "groups", _ANY), NamesInContract.groups),
    ("value", ("states", _ANY, "forbid", _ANY, "except", _ANY), NamesInContract.excuses),
    ("value", ("states", _ANY, "allow", _ANY), NamesInContract.excuses),
    ("value", ("states", "groups", _ANY, "except", _ANY), NamesInContract.excuses),
    ("value", ("checks", _ANY), NamesInContract.checks),
    ("key", ("checks", _ANY), NamesInContract.checks),
    *(("key", ("checks", _ANY, check), lambda _, known=known: known) for check, known in CHECK_OPTIONS.items()),
    ("value", ("checks", _ANY, _ANY, "level"), lambda _: dict.fromkeys(("error", "warning"), "")),
    ("value", ("checks", _ANY, "code"), lambda _: CODE_LANGUAGES),
    ("value", ("checks", _ANY, "code", _ANY), lambda _: CODE_LANGUAGES),
    ("value", ("checks", _ANY, "code", "code", _ANY), lambda _: CODE_LANGUAGES),
    *(("value", ("grounded", key, _ANY), NamesInContract.places) for key in ("fields", "except", "quotations")),
    ("key", ("grounded", "patterns"), NamesInContract.places),
    ("value", ("language",), NamesInContract.languages),
    ("value", ("rules", "required", _ANY), _FIELDS),
    ("key", ("rules", "types"), _FIELDS),
    ("key", ("rules", "ranges"), _FIELDS),
    ("key", ("rules", "enums"), _FIELDS),
)  # fmt: skip


def names_at(known: NamesInContract, path: Parts, role: str) -> Names:
    """The names that can be used at a path, as keys or as values."""
    found: Names = {}
    for wanted, pattern, source in PLACES:
        fits = len(pattern) == len(path) and all(want in (_ANY, part) for want, part in zip(pattern, path, strict=True))
        if wanted == role and fits:
            found |= source(known)
    match role, path:
        case "value", ("grounded", int()):
            found |= known.places()
        case "key", ("grounded", "patterns", place):
            found |= known.values(str(place))
    return found


def is_expression(path: Parts, shapes: list[Shape]) -> str:
    """Whether a value is an expression: about the `value`, about the `reply`, or '' if it is not."""
    if path[:1] == ("rules",) and (path[-1:] in (("expr",), ("when",)) or isinstance(path[-1], int)):
        return "value" if any(shape.get("type") == "string" for shape in shapes) else ""
    return "reply" if path[:2] == ("reply", "rules") and path[-1:] == ("expr",) else ""
