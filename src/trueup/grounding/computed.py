"""Computed values: a rule such as `total == sum(lines[].price)` computes a value, so no source has to contain it.

Takes rules; returns the fields that each of them determines. A rule determines a field that is alone on one side of
`==`, or that is a term of a difference that the rule keeps small. Inside `all(… for line in lines)`, it determines the
field of every item.
"""

import ast
from collections.abc import Iterator
from typing import Any, TypeGuard

from trueup.expressions.syntax import ExpressionText, parse
from trueup.grounding.settings import FieldPattern


def determined(source: str) -> tuple[FieldPattern, ...]:
    """The fields whose value a rule determines.

    >>> determined("total == sum(lines[].price)"), determined("abs(total - net - tax) < 0.01"), determined("a > b")
    ((('total',),), (('total',), ('net',), ('tax',)), ())
    >>> determined("0 <= total - net <= 0.01"), determined("total == total * 1")
    ((('total',), ('net',)), ())
    >>> determined("all(line.total == line.count * line.price for line in lines)")
    (('lines', '[]', 'total'),)
    """
    return tuple(dict.fromkeys(_fields(parse(ExpressionText(source)), {})))


def _fields(tree: ast.expr, items: dict[str, FieldPattern]) -> Iterator[FieldPattern]:
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from _fields(part, items)
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        yield from _compared(tree, items)
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 2 and isinstance(tree.comparators[0], ast.BinOp):
        yield from _between(tree, items)
    elif _is_call(tree, "all") and isinstance(tree.args[0], ast.GeneratorExp | ast.ListComp):
        inner = tree.args[0]
        known = dict(items)
        for loop in inner.generators:
            over = _path(loop.iter, known)
            if over is not None and isinstance(loop.target, ast.Name):
                known[loop.target.id] = (*over, "[]")
        yield from _fields(inner.elt, known)


def _compared(tree: ast.Compare, items: dict[str, FieldPattern]) -> Iterator[FieldPattern]:
    left, right, operator = tree.left, tree.comparators[0], tree.ops[0]
    if isinstance(operator, ast.Gt | ast.GtE):
        left, right, operator = right, left, ast.LtE()
    if isinstance(operator, ast.Eq):
        for one, other in ((left, right), (right, left)):
            path = _path(_inside_round(one), items)
            if path is not None and not isinstance(other, ast.Constant) and path not in _paths(other, items):
                yield path
            if isinstance(other, ast.Constant) and other.value == 0:  # a difference of zero
                yield from _terms(one, items)
    elif isinstance(operator, ast.Lt | ast.LtE) and _is_call(left, "abs"):
        yield from _terms(left.args[0], items)


def _between(tree: ast.Compare, items: dict[str, FieldPattern]) -> Iterator[FieldPattern]:
    """The fields of a difference that is between two small numbers: `-0.01 <= total - net <= 0.01`."""
    ends = (tree.left, tree.comparators[1])
    if all(isinstance(one, ast.Constant | ast.UnaryOp) for one in ends) and not any(
        isinstance(one, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for one in tree.ops
    ):
        yield from _terms(tree.comparators[0], items)


def _paths(tree: ast.expr, items: dict[str, FieldPattern]) -> set[FieldPattern]:
    """The fields that an expression names."""
    found = (_path(part, items) for part in ast.walk(tree) if isinstance(part, ast.Name | ast.Attribute))
    return {path for path in found if path is not None}


def _terms(tree: ast.expr, items: dict[str, FieldPattern]) -> Iterator[FieldPattern]:
    """The fields that are terms of a sum or a difference."""
    tree = _inside_round(tree)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub):
        yield from _terms(tree.left, items)
        yield from _terms(tree.right, items)
    elif (path := _path(tree, items)) is not None:
        yield path


def _inside_round(tree: ast.expr) -> ast.expr:
    return tree.args[0] if _is_call(tree, "round") else tree


def _is_call(tree: Any, name: str) -> TypeGuard[ast.Call]:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == name and bool(tree.args)


def _path(tree: ast.expr, items: dict[str, FieldPattern]) -> FieldPattern | None:
    """The field that an expression names, if it does nothing else."""
    steps: list[str] = []
    while isinstance(tree, ast.Attribute):
        steps.append(tree.attr)
        tree = tree.value
    if not isinstance(tree, ast.Name):
        return None
    return (*items.get(tree.id, (tree.id,)), *reversed(steps))
