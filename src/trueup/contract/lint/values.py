"""Values that a field never has: compares the literals in expressions with the values that the schema allows.

Takes an expression and a schema; returns the comparisons with a value outside the field's enum, with their columns.
Only fields that are named directly are examined; loop variables are ignored.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from trueup.verdict.paths import Parts

_DEPTH = 16
_OF_TYPE: dict[str, list[Any]] = {"null": [None], "boolean": [True, False]}
Lookup = Callable[[Parts], list[Any] | None]


class ComparedValue(NamedTuple):
    """A field that an expression compares with a value; `column` counts the characters before the value, from 1."""

    path: Parts
    value: Any
    column: int


def compared(source: str) -> Iterator[ComparedValue]:
    """Every field that an expression compares with a literal.

    >>> [(one.path, one.value, one.column) for one in compared("tone == 'warm' and a.kind in ('x', 'y')")]
    [(('tone',), 'warm', 9), (('a', 'kind'), 'x', 31), (('a', 'kind'), 'y', 36)]
    """
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    before = len(source) - len(source.lstrip())
    loops = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        for left, sign, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            for field, value in _sides(left, sign, right):
                path = _path(field)
                if path and path[0] not in loops:
                    yield ComparedValue(path, value.value, before + _column(source.strip(), value))


def _sides(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Iterator[tuple[ast.expr, ast.Constant]]:
    """The field and the literal of a comparison; for `in`, each of the literals."""
    if isinstance(sign, ast.Eq | ast.NotEq):
        for field, value in ((left, right), (right, left)):
            if isinstance(value, ast.Constant):
                yield field, value
    elif isinstance(sign, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set):
        yield from ((left, value) for value in right.elts if isinstance(value, ast.Constant))


def _path(node: ast.expr) -> Parts:
    """The path of a field; empty if it is not one."""
    if isinstance(node, ast.Name):
        return (node.id,)
    inner = _path(node.value) if isinstance(node, ast.Attribute | ast.Subscript) else ()
    if not inner:
        return ()
    if isinstance(node, ast.Attribute):
        return (*inner, node.attr)
    assert isinstance(node, ast.Subscript)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return (*inner, key) if isinstance(key, str) or type(key) is int else ()


def _column(source: str, node: ast.expr) -> int:
    line = source.split("\n")[node.lineno - 1]
    return len(line.encode()[: node.col_offset].decode("utf-8", "replace")) + 1


def allowed(node: Any, root: Any, path: Parts, depth: int = 0) -> list[Any] | None:
    """The values that a schema lists for a field; None if it lists none.

    >>> tone = {"properties": {"tone": {"anyOf": [{"enum": ["warm", "cold"]}, {"type": "null"}]}}}
    >>> allowed(tone, tone, ("tone",)), allowed(tone, tone, ("other",))
    (['warm', 'cold', None], None)
    """
    if not isinstance(node, dict) or depth > _DEPTH:
        return None
    if isinstance(node.get("$ref"), str):
        return allowed(_resolved(node["$ref"], root), root, path, depth + 1)
    for part in node["allOf"] if isinstance(node.get("allOf"), list) else ():
        found = allowed(part, root, path, depth + 1)
        if found is not None:
            return found
    for word in ("anyOf", "oneOf"):
        arms = node.get(word)
        if isinstance(arms, list) and arms:
            return _union([allowed(arm, root, path, depth + 1) for arm in arms])
    if not path:
        return _listed(node)
    inner = node.get("properties") if isinstance(path[0], str) else node.get("items")
    if isinstance(path[0], str):
        inner = inner.get(path[0]) if isinstance(inner, dict) else None
    return allowed(inner, root, path[1:], depth + 1)


def _listed(node: dict[str, Any]) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    if isinstance(node.get("enum"), list):
        return list(node["enum"])
    return _OF_TYPE.get(str(node.get("type")))


def _union(arms: list[list[Any] | None]) -> list[Any] | None:
    values: list[Any] = []
    for arm in arms:
        if arm is None:
            return None
        values += arm
    return values


def _resolved(reference: str, root: Any) -> Any:
    node = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if isinstance(node, dict) else None
    return node


def never_given(source: str, lookup: Lookup) -> Iterator[tuple[ComparedValue, list[Any]]]:
    """The comparisons of an expression with values that the field never has, each with the values that it has."""
    for one in compared(source):
        values = lookup(one.path)
        if values is not None and not any(_is_same(one.value, value) for value in values):
            yield one, values


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal; a boolean is not a number."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def said(path: Parts, value: Any, values: list[Any]) -> str:
    """The sentence for a value that a field never has."""
    name = ".".join(map(str, path))
    return f"{name!r} is never {value!r}: the schema allows {', '.join(map(repr, values[:8]))}{' …' if len(values) > 8 else ''}"
