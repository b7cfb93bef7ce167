"""Compares the size of a strict schema with a provider's limits: depth, properties, values, unions and recursion.

Takes a strict schema and a dialect; returns a sentence about the first limit that is exceeded, or nothing.
"""

from collections.abc import Iterator
from typing import Any

from trueup.conform.dialects import SchemaDialect

_INSIDE = ("items", "prefixItems", "anyOf", "additionalProperties")


def fault_in(schema: dict[str, Any], dialect: SchemaDialect) -> str:
    """A sentence about the first limit that is exceeded; empty if there is none.

    >>> fault_in({"type": "object", "properties": {"a": {}, "b": {}}}, SchemaDialect(most_properties=1))
    'it has 2 properties, and the limit is 1; split it into several requests'
    """
    schemas = [schema, *schema.get("$defs", {}).values()]
    inner = [here for each in schemas for here in _walk(each)]
    values = [value for here in inner for value in here.get("enum", [here["const"]] if "const" in here else [])]
    names = [name for here in inner for name in here.get("properties", ())]
    letters = sum(len(str(word)) for word in (*names, *values, *schema.get("$defs", ())))
    optional = sum(len(here.get("properties", ())) - len(here.get("required", ())) for here in inner)
    unions = sum("anyOf" in here or isinstance(here.get("type"), list) for here in inner)
    for count, most, what in (
        (len(names), dialect.most_properties, "properties"),
        (sum(len(here.get("enum", ())) for here in inner), dialect.most_values, "values in its enums"),
        (letters, dialect.most_letters, "letters in its names and values"),
        (unions, dialect.most_unions, "fields that may be null or of several types"),
        (optional, dialect.most_optional, "optional fields"),
        (_depth(schema), dialect.most_depth, "levels of nested objects"),
    ):
        if most is not None and count > most:
            return f"it has {count:,} {what}, and the limit is {most:,}; split it into several requests"
    return _loop_in(schema, dialect)


def refs_in(schema: Any, *, needed_only: bool = False) -> Iterator[str]:
    """The definitions that a strict schema refers to; with `needed_only`, not those in optional fields."""
    for here in _walk(schema, needed_only=needed_only):
        if "$ref" in here:
            yield here["$ref"].rpartition("/")[2]


def looping(schema: dict[str, Any], *, needed_only: bool = False) -> set[str]:
    """The definitions that lead back to themselves."""
    refs = {name: set(refs_in(inner, needed_only=needed_only)) for name, inner in schema.get("$defs", {}).items()}
    # A definition without references to remaining ones, or without references from them, cannot be part of a loop.
    for _ in range(2):
        waiting = [name for name in refs if not refs[name]]
        back: dict[str, list[str]] = {}
        for name, targets in refs.items():
            for target in targets:
                back.setdefault(target, []).append(name)
        while waiting:
            gone = waiting.pop()
            for name in back.get(gone, ()):
                refs[name].discard(gone)
                if not refs[name]:
                    waiting.append(name)
            refs.pop(gone, None)
        refs = _reversed(refs)
    return set(refs)


def _reversed(refs: dict[str, set[str]]) -> dict[str, set[str]]:
    back: dict[str, set[str]] = {name: set() for name in refs}
    for name, targets in refs.items():
        for target in targets:
            back[target].add(name)
    return back


def _loop_in(schema: dict[str, Any], dialect: SchemaDialect) -> str:
    if dialect.recursion == "yes":
        return ""
    names = sorted(looping(schema, needed_only=dialect.recursion == "optional"))
    if not names:
        return ""
    instead = "make the field optional" if dialect.recursion == "optional" else "write out as many levels as needed"
    return f"its definition {names[0]!r} refers to itself; {instead}, or ask without a strict schema"


def _walk(schema: Any, *, needed_only: bool = False) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema, itself first, without definitions."""
    stack = [schema]
    while stack:
        here = stack.pop()
        if isinstance(here, list):
            stack += here
        elif isinstance(here, dict):
            yield here
            properties = here.get("properties", {})
            stack += [properties[name] for name in (here.get("required", ()) if needed_only else properties)]
            stack += [here[word] for word in _INSIDE if word in here]


def _depth(schema: dict[str, Any]) -> int:
    """The depth of nested objects, following definitions until they lead back."""
    defs = schema.get("$defs", {})
    refs = {name: dict.fromkeys(refs_in(inner)) for name, inner in (("", schema), *defs.items())}
    depths: dict[str, int] = {}
    under_way: set[str] = set()
    stack = [""]
    while stack:
        name = stack.pop()
        if name in depths:
            continue
        waiting = [] if name in under_way else [ref for ref in refs[name] if ref not in depths and ref not in under_way]
        if waiting:
            under_way.add(name)
            stack += [name, *waiting]
        else:
            depths[name] = _own_depth(defs[name] if name else schema, depths)
    return depths[""]


def _own_depth(schema: dict[str, Any], depths: dict[str, int]) -> int:
    deepest = 0
    stack: list[tuple[Any, int]] = [(schema, 0)]
    while stack:
        here, depth = stack.pop()
        if isinstance(here, list):
            stack += [(each, depth) for each in here]
        elif isinstance(here, dict):
            depth += here.get("type") == "object"
            deepest = max(deepest, depth + depths.get(here.get("$ref", "").rpartition("/")[2], 0))
            stack += [(inner, depth) for inner in here.get("properties", {}).values()]
            stack += [(here[word], depth) for word in _INSIDE if word in here]
    return deepest
