"""Shapes: takes a path in a contract file and returns the parts of the contracts' JSON Schema for that place.

Below `schema` and in the parameters of tools, users write JSON Schema itself; `zone` recognizes these places.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trueup.contract.files.shape import file_schema
from trueup.contract.lint.words import LISTS, NAMED, ONE
from trueup.verdict.paths import Parts

Shape = dict[str, Any]
_PARAMETERS = frozenset({"parameters", "input_schema", "inputSchema"})


class Zone(NamedTuple):
    """A place in a JSON Schema: the start of the schema, and what is expected at the path below it.

    `what` is `schema` for the keywords of a schema, `names` for the names of members or definitions, and otherwise the
    keyword whose value is expected.
    """

    start: Parts
    what: str


def zone(path: Parts) -> Zone | None:
    """The place in a JSON Schema that a path leads to; None if it is not in one.

    >>> zone(("schema", "properties", "age")), zone(("schema", "required", 0)).what, zone(("order", "level"))
    (Zone(start=('schema',), what='schema'), 'required', None)
    """
    size = 0
    if path[:1] == ("schema",):
        size = 1
    elif path[:1] == ("tools",):
        size = next((at + 1 for at, part in enumerate(path) if part in _PARAMETERS), 0)
    if not size:
        return None
    what, at = "schema", size
    while at < len(path):
        part, at = str(path[at]), at + 1
        if what == "names":
            what = "schema"
        elif part in NAMED:
            what = "names"
        elif part in LISTS and at < len(path) and isinstance(path[at], int):
            at += 1
        elif part not in ONE:
            return Zone(path[:size], part)
    return Zone(path[:size], what)


def shapes(path: Parts) -> list[Shape]:
    """Every shape that the value at a path may have.

    >>> [shape.get("enum") for shape in shapes(("accept",))]
    [['none', 'lossless', 'guess', 'lossy']]
    """
    found = [file_schema()]
    for part in path:
        found = [inner for shape in _arms(found) for inner in _inside(shape, part)]
    return list(_arms(found))


def keys(path: Parts) -> dict[str, Shape]:
    """The keys of the mapping at a path, with the shape of each."""
    return {name: inner for shape in shapes(path) for name, inner in shape.get("properties", {}).items()}


def describes(shape: Shape) -> str:
    """The description of a shape."""
    own = shape.get("description") or next((arm["description"] for arm in _arms([shape]) if arm.get("description")), "")
    default = shape.get("default")
    return f"{own} Default: {_spelled(default)}." if default not in (None, [], {}) else str(own)


def kind_of(shape: Shape) -> str:
    """The values of a shape, in a few words.

    >>> kind_of({"enum": ["error", "warning"]}), kind_of({"anyOf": [{"type": "string"}, {"type": "array"}]})
    ('error | warning', 'text or list')
    """
    words: list[str] = []
    for arm in _arms([shape]):
        if "enum" in arm:
            words.append(" | ".join(map(str, arm["enum"][:8])))
        else:
            named = arm.get("type", [])
            words += [_WORDS.get(name, name) for name in ([named] if isinstance(named, str) else named)]
    return " or ".join(dict.fromkeys(words))


_WORDS = {"string": "text", "array": "list", "object": "mapping", "boolean": "true or false", "integer": "whole number"}


def _spelled(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _arms(found: Iterable[Shape]) -> Iterator[Shape]:
    """Shapes with their references followed and their unions split."""
    for shape in found:
        if "$ref" in shape:
            yield from _arms([file_schema()["$defs"][shape["$ref"].rsplit("/", 1)[1]]])
        elif "anyOf" in shape:
            yield from _arms(shape["anyOf"])
        else:
            yield shape


def _inside(shape: Shape, part: str | int) -> Iterator[Shape]:
    if isinstance(part, int):
        if isinstance(shape.get("items"), dict):
            yield shape["items"]
    elif part in shape.get("properties", {}):
        yield shape["properties"][part]
    elif isinstance(shape.get("additionalProperties"), dict):
        yield shape["additionalProperties"]
