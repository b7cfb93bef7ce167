"""Lists, tuples, objects and sets that are written in an expression, and comprehensions.

A computed set or object is built from a list by a guard, because an attacker can make hashes collide.
"""

import ast

from trueup.expressions.functions import as_dict, as_set
from trueup.expressions.translate import Handler, Made, Translator, ValueKind


def sequence(to: Translator, node: ast.List | ast.Tuple) -> Made:
    made = [to.translate(one) for one in node.elts]
    kind = max((one.kind for one in made), default=ValueKind.FIXED)
    trees = [one.tree for one in made]
    load = ast.Load()
    tree = ast.List(trees, load) if isinstance(node, ast.List) else ast.Tuple(trees, load)
    return Made(to.at(node, tree), _kind(to, kind))


def members(to: Translator, node: ast.Set) -> Made:
    made = [to.translate(one) for one in node.elts]
    trees = [one.tree for one in made]
    if all(isinstance(one, ast.Constant) for one in node.elts):
        return Made(to.at(node, ast.Set(trees)), ValueKind.DATA)
    return Made(to.guard(node, as_set, to.at(node, ast.List(trees, ast.Load()))), ValueKind.OTHER)


def mapping(to: Translator, node: ast.Dict) -> Made:
    keys: list[ast.expr | None] = []
    for key in node.keys:
        if not isinstance(key, ast.Constant):
            to.refuse("the keys of an object must be constants", node if key is None else key)
        keys.append(to.tree(key))
    made = [to.translate(one) for one in node.values]
    kind = max((one.kind for one in made), default=ValueKind.DATA)
    kind = max(kind, ValueKind.DATA)  # at least DATA: a lookup hashes the key
    return Made(to.at(node, ast.Dict(keys, [one.tree for one in made])), _kind(to, kind))


def _kind(to: Translator, kind: ValueKind) -> ValueKind:
    """The kind of a written collection, from the least predictable of its parts."""
    if kind <= ValueKind.FIXED:
        return ValueKind.FIXED
    return kind if to.tame else ValueKind.OTHER


def listed(to: Translator, node: ast.ListComp) -> Made:
    (made,), generators = to.comprehended(node, [node.elt])
    return Made(to.at(node, ast.ListComp(made, generators)), ValueKind.OTHER)


def collected(to: Translator, node: ast.SetComp) -> Made:
    (made,), generators = to.comprehended(node, [node.elt])
    return Made(to.guard(node, as_set, to.at(node, ast.ListComp(made, generators))), ValueKind.OTHER)


def mapped(to: Translator, node: ast.DictComp) -> Made:
    (key, value), generators = to.comprehended(node, [node.key, node.value])
    pair = to.at(node, ast.Tuple([key, value], ast.Load()))
    return Made(to.guard(node, as_dict, to.at(node, ast.ListComp(pair, generators))), ValueKind.OTHER)


def generated(to: Translator, node: ast.GeneratorExp) -> Made:
    to.refuse("a generator is allowed only inside a call of a function such as sum(); write a list: [… for …]", node)


DISPLAYS: dict[type[ast.expr], Handler] = {
    ast.List: sequence,
    ast.Tuple: sequence,
    ast.Set: members,
    ast.Dict: mapping,
    ast.ListComp: listed,
    ast.SetComp: collected,
    ast.DictComp: mapped,
    ast.GeneratorExp: generated,
}
