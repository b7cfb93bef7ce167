"""The names that an expression reads for any values, and whether it has branches.

This module takes a parsed expression and returns some of its names. The right side of `and`, `or` and a chained comparison, both sides
of `if … else`, and the inside of a comprehension are branches: they are not always evaluated.
"""

import ast
from collections.abc import Iterator

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def always_read(tree: ast.expr) -> frozenset[str]:
    """The names that every evaluation reads.

    >>> sorted(always_read(ast.parse("len(a) > b and c < 1", mode="eval").body))
    ['a', 'b', 'len']
    """
    return frozenset(node.id for node in _always(tree) if isinstance(node, ast.Name))


def has_branches(tree: ast.expr) -> bool:
    """Whether some part of an expression is not always evaluated."""
    return any(_branched(node) is not None for node in ast.walk(tree))


def _always(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    parts = _branched(node)
    for part in ast.iter_child_nodes(node) if parts is None else parts:
        yield from _always(part)


def _branched(node: ast.AST) -> list[ast.expr] | None:
    """The parts of a node with branches that are always evaluated; None if the node has no branches."""
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    if isinstance(node, ast.IfExp):
        return [node.test]
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, _COMPREHENSIONS):
        return [node.generators[0].iter]
    return None
