"""Calls of functions and methods in an expression.

Only the listed functions and methods can be called; any other call is refused. This module also decides whether a function
runs in its plain form or in the form that charges the meter.
"""

import ast
from typing import Any

from trueup.expressions import methods
from trueup.expressions.formats import fill
from trueup.expressions.functions import FUNCTIONS, TYPES, Function, in_order
from trueup.expressions.translate import Handler, Made, Translator, ValueKind


def call(to: Translator, node: ast.Call) -> Made:
    """A call of a function or a method."""
    dotted = _dotted_name(node.func)
    if dotted in to.functions:
        return _injected(to, node, dotted)
    if isinstance(node.func, ast.Attribute):
        return _method(to, node, node.func)
    if not isinstance(node.func, ast.Name):
        to.refuse("only the language's own functions and methods can be called", node)
    name = node.func.id
    if name == "dir":
        return _fields(to, node)
    if name == "isinstance":
        return _of_type(to, node)
    function = FUNCTIONS.get(name)
    if function is None:
        known = {*FUNCTIONS, *to.functions, "dir", "isinstance"}
        to.refuse(f"there is no function {name!r}", node.func, to.suggest(name, known))
    return _function(to, node, name, function)


def _dotted_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _injected(to: Translator, node: ast.Call, name: str) -> Made:
    """A call of a function that the caller provided."""
    args = [to.tree(arg) for arg in node.args]
    options = [ast.keyword(_option(to, node, one), to.tree(one.value)) for one in node.keywords]
    return Made(to.at(node, ast.Call(to.named(to.functions[name], "f_"), args, options)), ValueKind.OTHER)


def _option(to: Translator, node: ast.Call, keyword: ast.keyword) -> str:
    if keyword.arg is None:
        to.refuse("'**' before a value is not part of this language", node)
    return keyword.arg


def _fields(to: Translator, node: ast.Call) -> Made:
    """`dir()`: the names of the record's fields."""
    if node.args or node.keywords:
        to.refuse("dir() takes no arguments; it returns the names of the record's fields", node)
    record = to.at(node, ast.Name("record", ast.Load()))
    if to.tame:
        return Made(to.at(node, ast.Call(to.named(sorted), [record], [])), ValueKind.DATA)
    return Made(to.guard(node, in_order, record), ValueKind.OTHER)


def _of_type(to: Translator, node: ast.Call) -> Made:
    """`isinstance(x, str)`, the only place where an expression may name a type."""
    if len(node.args) != 2 or node.keywords:
        to.refuse("isinstance() takes a value and a type", node)
    wanted = node.args[1]
    named = wanted.elts if isinstance(wanted, ast.Tuple) else [wanted]
    types: list[ast.expr] = []
    for one in named:
        if not isinstance(one, ast.Name) or one.id not in TYPES:
            to.refuse(f"isinstance() supports the types {', '.join(TYPES)}", one)
        types.append(to.named(TYPES[one.id], "t_"))
    which = types[0] if len(types) == 1 else ast.Tuple(types, ast.Load())
    return Made(to.at(node, ast.Call(to.named(isinstance), [to.tree(node.args[0]), which], [])), ValueKind.NUMBER)


def _function(to: Translator, node: ast.Call, name: str, function: Function) -> Made:
    if not function.least <= len(node.args) <= function.most:
        to.refuse(f"{name}() takes {_count(function)}", node)
    for keyword in node.keywords:
        if keyword.arg not in function.options:
            to.refuse(f"{name}() has no option {keyword.arg!r}", node)
    lazy = [index for index, arg in enumerate(node.args) if isinstance(arg, ast.GeneratorExp)]
    made = [_argument(to, arg, takes_generator=function.takes_generator) for arg in node.args]
    options = {str(keyword.arg): to.translate(keyword.value) for keyword in node.keywords}
    args = [one.tree for one in made]
    kinds = [one.kind for one in (*made, *options.values())]
    if function.guarded is None or _is_plain(to, node, name, function, kinds, lazy=bool(lazy)):
        keywords = [ast.keyword(key, one.tree) for key, one in options.items()]
        assert function.plain is not None
        tree = to.at(node, ast.Call(to.named(function.plain), args, keywords))
    else:
        args = [to.data(arg, one) for arg, one in zip(node.args, made, strict=True)]
        tree = to.guard(node, function.guarded, *args, **{key: one.tree for key, one in options.items()})
    if function.gives == "number":
        return Made(tree, ValueKind.NUMBER)
    if function.gives == "other" or lazy or not to.tame:
        return Made(tree, ValueKind.OTHER)
    return Made(tree, max(ValueKind.DATA, *kinds) if kinds else ValueKind.FIXED)


def _is_plain(
    to: Translator, node: ast.Call, name: str, function: Function, kinds: list[ValueKind], *, lazy: bool
) -> bool:
    """Whether the plain function may be called, because its work is proportional to the size of the data."""
    if function.plain is None:
        return False
    if name in {"any", "all"} and lazy:
        return True  # the loops inside charge the meter themselves
    if not to.tame or lazy or max(kinds, default=ValueKind.NUMBER) > ValueKind.DATA:
        return False
    if name == "round":
        return len(node.args) + len(node.keywords) == 1 or _is_small(node)
    return name != "sum" or len(kinds) == 1


def _is_small(node: ast.Call) -> bool:
    digits = node.args[1] if len(node.args) == 2 else node.keywords[0].value
    return isinstance(digits, ast.Constant) and isinstance(digits.value, int) and 0 <= digits.value <= 20


def _count(function: Function) -> str:
    if function.least == function.most:
        return f"{function.least} argument{'s' * (function.least != 1)}"
    return f"{function.least} to {function.most} arguments"


def _argument(to: Translator, node: ast.expr, *, takes_generator: bool) -> Made:
    if not isinstance(node, ast.GeneratorExp):
        return to.translate(node)
    if not takes_generator:
        to.refuse("this function does not take a generator; write a list: [… for …]", node)
    (made,), generators = to.comprehended(node, [node.elt])
    return Made(to.at(node, ast.GeneratorExp(made, generators)), ValueKind.OTHER)


def _method(to: Translator, node: ast.Call, func: ast.Attribute) -> Made:
    name = func.attr
    if name == "format":
        return _format(to, node, func)
    if name not in methods.METHODS:
        to.refuse(f"there is no method {name!r}", func, to.suggest(name, {*methods.METHODS, "format"}))
    for keyword in node.keywords:
        to.refuse(f".{name}() takes its arguments by position, not by name", keyword.value)
    receiver = to.translate(func.value)
    made = [_argument(to, arg, takes_generator=name == "join") for arg in node.args]
    args = [one.tree for one in made]
    kinds = [receiver.kind, *(one.kind for one in made)]
    if name in methods.GROWING:
        args = [to.data(arg, one) for arg, one in zip(node.args, made, strict=True)]
        return Made(to.guard(node, methods.GROWING[name], to.data(func.value, receiver), *args), ValueKind.OTHER)
    kind = ValueKind.NUMBER if methods.gives_number(name) else max(*kinds, ValueKind.DATA)
    if name in methods.FREE:
        light = max(kinds[1:], default=ValueKind.NUMBER) <= (ValueKind.DATA if to.tame else ValueKind.FIXED)
        if light or name != "get":
            return Made(to.at(node, ast.Call(_bound(to, func, receiver.tree), args, [])), kind)
        return Made(to.guard(node, methods.find, receiver.tree, *args), ValueKind.OTHER)
    if to.tame and max(kinds) <= ValueKind.DATA and name not in methods.OF_SETS:
        return Made(to.at(node, ast.Call(_bound(to, func, receiver.tree), args, [])), kind)
    return Made(to.guard(node, methods.call, ast.Constant(name), receiver.tree, *args), max(kind, _made_here(kind)))


def _format(to: Translator, node: ast.Call, func: ast.Attribute) -> Made:
    """`.format()`, the only method that takes arguments by name."""
    args = [to.tree(arg) for arg in node.args]
    options = {_option(to, node, one): to.tree(one.value) for one in node.keywords}
    return Made(to.guard(node, fill, to.tree(func.value), *args, **options), ValueKind.OTHER)


def _made_here(kind: ValueKind) -> ValueKind:
    return ValueKind.NUMBER if kind == ValueKind.NUMBER else ValueKind.OTHER


def _bound(to: Translator, func: ast.Attribute, receiver: ast.expr) -> Any:
    return to.at(func, ast.Attribute(receiver, func.attr, ast.Load()))


CALLS: dict[type[ast.expr], Handler] = {ast.Call: call}
