"""Translate the tree of an expression into the tree that runs: an allow-list, and guards where work could grow.

Only the syntax named here is allowed; everything else is an `ExpressionError` with its column. A free name becomes a lookup
in the record, and a called name becomes one of the listed functions. An operation stays unchanged if its work is always
proportional to the size of the data; otherwise it becomes a call of a guard.
"""

import ast
from collections.abc import Callable, Collection, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn

from trueup.expressions.errors import ExpressionError, nearest
from trueup.expressions.guards import BINARY, COMPARE, UNARY, chain, item, part
from trueup.expressions.work import loop, loop_data


class ValueKind(IntEnum):
    """The known nature of a value before evaluation; a later kind is less predictable."""

    NUMBER = 0  # a number, a boolean or null, of small size
    FIXED = 1  # written in the expression
    DATA = 2  # a part of the record, or a copy of one
    OTHER = 3  # made by the expression, or an item of a loop


class Made(NamedTuple):
    """A translated part and its kind."""

    tree: ast.expr
    kind: ValueKind


class MentionedField(NamedTuple):
    """A field that an expression mentions: its path and its column."""

    path: tuple[str, ...]
    column: int


_REFUSED = {
    ast.Lambda: "lambda",
    ast.NamedExpr: "':='",
    ast.Starred: "'*' before a value",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}
_GUARDED_ALWAYS = (ast.Mult, ast.Pow, ast.Mod, ast.FloorDiv, ast.LShift)
_OF_SETS = (ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor)
_NUMERIC = (ast.Pow, ast.Mod, ast.FloorDiv, ast.Div, ast.LShift, ast.RShift)


class Translator:
    """Translates one expression; `names` collects the guards that it needs, `fields` the fields that it mentions."""

    def __init__(
        self,
        handlers: Mapping[type[ast.expr], "Handler"],
        column: Callable[[int], int],
        functions: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.functions = functions
        self.names: dict[str, Any] = {}
        self._handlers = handlers
        self._names: dict[int, str] = {}
        self._data_loops: list[tuple[ast.comprehension, ast.AST]] = []
        self.fields: list[MentionedField] = []
        self.tested: list[MentionedField] = []
        self.metered = False
        self.column = column
        self.loops = 0
        self._scopes: list[set[str]] = []

    # -- helpers -------------------------------------------------------------------------------

    def refuse(self, message: str, node: ast.AST, suggestion: str = "") -> NoReturn:
        raise ExpressionError(message, self.column(getattr(node, "col_offset", -1)), suggestion)

    def suggest(self, word: str, words: Collection[str]) -> str:
        return nearest(word, sorted(words))

    def guard(self, node: ast.AST, act: Callable[..., Any], *args: ast.expr, **options: ast.expr) -> ast.expr:
        """A call of a guard, at the position of a node."""
        self.metered = True
        keywords = [ast.keyword(name, value) for name, value in options.items()]
        return self.at(node, ast.Call(self.named(act), [ast.Name("meter", ast.Load()), *args], keywords))

    def named(self, act: Callable[..., Any], prefix: str = "g_") -> ast.Name:
        """A name in the expression's namespace for a function that it calls."""
        name = self._names.setdefault(id(act), f"{prefix}{len(self._names)}")
        self.names[name] = act
        return ast.Name(name, ast.Load())

    def at(self, node: ast.AST, made: ast.expr) -> ast.expr:
        return ast.copy_location(made, node)

    @property
    def tame(self) -> bool:
        """Whether this place is outside all loops, so that it runs at most once in an evaluation."""
        return self.loops == 0

    def is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def whole(self, node: ast.expr) -> ast.expr:
        """The translation of a whole expression; if its work is metered, loops over data add to the budget."""
        made = self.translate(node).tree
        if self.metered:
            for generator, place in self._data_loops:
                generator.iter = self.guard(place, loop_data, generator.iter)
        return made

    def data(self, node: ast.AST, made: Made) -> ast.expr:
        """A value that a guard iterates over; if it is data, its size adds to the budget."""
        if not self.tame or made.kind != ValueKind.DATA:
            return made.tree
        return self.guard(node, loop_data, made.tree)

    # -- nodes ---------------------------------------------------------------------------------

    def translate(self, node: ast.expr) -> Made:
        handler = self._handlers.get(type(node))
        if handler is None:
            what = _REFUSED.get(type(node), f"{type(node).__name__}")
            self.refuse(f"{what} is not part of this language", node)
        return handler(self, node)

    def tree(self, node: ast.expr) -> ast.expr:
        return self.translate(node).tree

    def constant(self, node: ast.Constant) -> Made:
        if type(node.value) not in (str, int, float, bool, type(None)):
            self.refuse(f"{type(node.value).__name__} values are not part of this language", node)
        return Made(node, ValueKind.FIXED if isinstance(node.value, str) else ValueKind.NUMBER)

    def name(self, node: ast.Name) -> Made:
        if self.is_local(node.id):
            return Made(self.at(node, ast.Name("v_" + node.id, ast.Load())), ValueKind.OTHER)
        if node.id == "record":
            return Made(self.at(node, ast.Name("record", ast.Load())), ValueKind.DATA)
        self._refuse_dunder(node.id, node)
        self.fields.append(MentionedField((node.id,), self.column(node.col_offset)))
        return Made(self._looked_up(node, ast.Name("record", ast.Load()), node.id), ValueKind.DATA)

    def attribute(self, node: ast.Attribute) -> Made:
        """`a.b` is the key `b` of `a`."""
        self._refuse_dunder(node.attr, node)
        path = self._dotted(node)
        if path is None:
            inner = self.translate(node.value)
            return Made(self._looked_up(node, inner.tree, node.attr), inner.kind)
        made: ast.expr = ast.Name("record", ast.Load())
        for key, place in path:
            made = self._looked_up(place, made, key)
        self.fields.append(MentionedField(tuple(key for key, _ in path), self.column(node.col_offset)))
        return Made(made, ValueKind.DATA)

    def _dotted(self, node: ast.expr) -> list[tuple[str, ast.expr]] | None:
        """The keys of a path that starts with a field; None if it starts with anything else."""
        keys: list[tuple[str, ast.expr]] = []
        while isinstance(node, ast.Attribute):
            self._refuse_dunder(node.attr, node)
            keys.append((node.attr, node))
            node = node.value
        if not isinstance(node, ast.Name) or self.is_local(node.id):
            return None
        self._refuse_dunder(node.id, node)
        if node.id != "record":
            keys.append((node.id, node))
        return keys[::-1]

    def _looked_up(self, node: ast.AST, container: ast.expr, key: str) -> ast.expr:
        return self.at(node, ast.Subscript(container, ast.Constant(key), ast.Load()))

    def _refuse_dunder(self, name: str, node: ast.AST) -> None:
        if name.startswith("__"):
            self.refuse(f"names like {name!r} are not part of this language", node)

    def subscript(self, node: ast.Subscript) -> Made:
        if isinstance(node.value, ast.Name) and node.value.id == "record" and not self.is_local("record"):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(key, str):
                self.fields.append(MentionedField((key,), self.column(node.col_offset)))
        container = self.translate(node.value)
        if isinstance(node.slice, ast.Slice):
            nothing = ast.Constant(None)
            bounds = [
                self.tree(one) if one else nothing for one in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            if self.tame:
                inner = ast.Slice(bounds[0], bounds[1], bounds[2])
                return Made(self.at(node, ast.Subscript(container.tree, inner, ast.Load())), container.kind)
            return Made(self.guard(node, part, container.tree, *bounds), ValueKind.OTHER)
        key_made = self.translate(node.slice)
        if key_made.kind <= (ValueKind.DATA if self.tame else ValueKind.FIXED):
            return Made(self.at(node, ast.Subscript(container.tree, key_made.tree, ast.Load())), container.kind)
        return Made(self.guard(node, item, container.tree, key_made.tree), ValueKind.OTHER)

    def boolean(self, node: ast.BoolOp) -> Made:
        made = [self.translate(value) for value in node.values]
        kind = max(one.kind for one in made)
        return Made(self.at(node, ast.BoolOp(node.op, [one.tree for one in made])), kind)

    def condition(self, node: ast.IfExp) -> Made:
        test, one, other = self.tree(node.test), self.translate(node.body), self.translate(node.orelse)
        return Made(self.at(node, ast.IfExp(test, one.tree, other.tree)), max(one.kind, other.kind))

    def unary(self, node: ast.UnaryOp) -> Made:
        inner = self.translate(node.operand)
        plain = self.at(node, ast.UnaryOp(node.op, inner.tree))
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant) or self.tame:
            return Made(plain, ValueKind.NUMBER)
        return Made(self.guard(node, UNARY[type(node.op).__name__], inner.tree), ValueKind.NUMBER)

    def binary(self, node: ast.BinOp) -> Made:
        act = BINARY.get(type(node.op).__name__)
        if act is None:
            self.refuse("'@' is not part of this language", node)
        a, b = self.translate(node.left), self.translate(node.right)
        if isinstance(node.op, _NUMERIC) or (
            ValueKind.NUMBER in (a.kind, b.kind) and not isinstance(node.op, ast.Mult)
        ):
            kind = ValueKind.NUMBER
        else:
            kind = (
                max(a.kind, b.kind, ValueKind.DATA)
                if self.tame and not isinstance(node.op, ast.Mult)
                else ValueKind.OTHER
            )
        if self.tame and (not isinstance(node.op, _GUARDED_ALWAYS) or _is_float(node)):
            if isinstance(node.op, _OF_SETS) and ValueKind.NUMBER not in (a.kind, b.kind):
                return Made(self.guard(node, act, a.tree, b.tree), kind)
            return Made(self.at(node, ast.BinOp(a.tree, node.op, b.tree)), kind)
        return Made(self.guard(node, act, a.tree, b.tree), kind)

    def compare(self, node: ast.Compare) -> Made:
        special = self._tests_a_field(node)
        if special is not None:
            return special
        made = [self.translate(one) for one in (node.left, *node.comparators)]
        self._refuse_odd_is(node)
        pairs = zip(made, made[1:], node.ops, strict=False)
        trees = [one.tree for one in made]
        if all(self._is_light(a.kind, b.kind, op) for a, b, op in pairs):
            return Made(self.at(node, ast.Compare(trees[0], node.ops, trees[1:])), ValueKind.NUMBER)
        acts = [COMPARE.get(type(op).__name__) for op in node.ops]
        if len(acts) == 1 and acts[0] is not None:
            return Made(self.guard(node, acts[0], *trees), ValueKind.NUMBER)
        if None in acts:
            self.refuse("'is' cannot be part of a chain of comparisons", node)
        nobody = ast.arguments([], [], None, [], [], None, [])
        later = [self.at(tree, ast.Lambda(nobody, tree)) for tree in trees[1:]]
        which = ast.Tuple([self.named(act) for act in acts if act is not None], ast.Load())
        return Made(self.guard(node, chain, which, trees[0], *later), ValueKind.NUMBER)

    def _is_light(self, a: ValueKind, b: ValueKind, op: ast.cmpop) -> bool:
        """Whether the work of comparing is proportional to the size of the data, over all iterations of all loops."""
        if isinstance(op, ast.Is | ast.IsNot):
            return True
        if isinstance(op, ast.In | ast.NotIn):
            return b <= ValueKind.FIXED or (self.tame and max(a, b) <= ValueKind.DATA)
        return min(a, b) <= ValueKind.FIXED or (self.tame and max(a, b) <= ValueKind.DATA)

    def _refuse_odd_is(self, node: ast.Compare) -> None:
        for op, right in zip(node.ops, node.comparators, strict=True):
            named = isinstance(right, ast.Constant) and (right.value is None or isinstance(right.value, bool))
            if isinstance(op, ast.Is | ast.IsNot) and not named:
                self.refuse("'is' works only with None, True or False; compare values with '=='", node)

    def _tests_a_field(self, node: ast.Compare) -> Made | None:
        """`'x' in dir()` asks whether the record has a field."""
        right = node.comparators[-1]
        asks = len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn) and is_dir(right)
        if not asks:
            return None
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            self.tested.append(MentionedField((node.left.value,), self.column(node.left.col_offset)))
        left = self.translate(node.left)
        record = self.at(right, ast.Name("record", ast.Load()))
        if left.kind > (ValueKind.DATA if self.tame else ValueKind.FIXED):
            return Made(self.guard(node, COMPARE[type(node.ops[0]).__name__], left.tree, record), ValueKind.NUMBER)
        return Made(self.at(node, ast.Compare(left.tree, node.ops, [record])), ValueKind.NUMBER)

    # -- loops ---------------------------------------------------------------------------------

    def comprehended(self, node: Any, parts: list[ast.expr]) -> tuple[list[ast.expr], list[ast.comprehension]]:
        """The loops of a comprehension, and the values that it makes in each iteration."""
        first = self.translate(node.generators[0].iter)
        outer_tame = self.tame
        self._scopes.append(set())
        self.loops += 1
        generators = []
        for index, generator in enumerate(node.generators):
            if generator.is_async:
                self.refuse("async is not part of this language", node)
            items = first.tree if index == 0 else self.tree(generator.iter)
            if index or not outer_tame:
                items = self.guard(generator.iter, loop, items)
            target = self._target(generator.target)
            generators.append(ast.comprehension(target, items, [self.tree(test) for test in generator.ifs], 0))
        made = [self.tree(one) for one in parts]
        self.loops -= 1
        self._scopes.pop()
        if outer_tame and first.kind == ValueKind.DATA:
            self._data_loops.append((generators[0], node.generators[0].iter))
        return made, generators

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple | ast.List):
            return self.at(node, ast.Tuple([self._target(one) for one in node.elts], ast.Store()))
        if not isinstance(node, ast.Name):
            self.refuse("a loop can only assign to names", node)
        self._refuse_dunder(node.id, node)
        self._scopes[-1].add(node.id)
        return self.at(node, ast.Name("v_" + node.id, ast.Store()))


def is_dir(node: ast.expr) -> bool:
    """Whether a node is the call `dir()`."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dir"
    return is_call and not node.args and not node.keywords  # type: ignore[attr-defined]


def _is_float(node: ast.BinOp) -> bool:
    """Whether a product contains a float literal, so that its result is small."""
    sides = (node.left, node.right)
    written = any(isinstance(side, ast.Constant) and isinstance(side.value, float) for side in sides)
    return isinstance(node.op, ast.Mult) and written


Handler = Callable[[Translator, Any], Made]
NODES: dict[type[ast.expr], Handler] = {
    ast.Constant: Translator.constant,
    ast.Name: Translator.name,
    ast.Attribute: Translator.attribute,
    ast.Subscript: Translator.subscript,
    ast.BoolOp: Translator.boolean,
    ast.IfExp: Translator.condition,
    ast.UnaryOp: Translator.unary,
    ast.BinOp: Translator.binary,
    ast.Compare: Translator.compare,
}
