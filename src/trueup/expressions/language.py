"""The expression language: a subset of Python's expressions over the fields of a record.

This module turns text into an `Expression`, which takes a record and returns a value or raises an `ExpressionError` with
a column. An expression can use only the record and the listed functions and methods. It changes nothing, and its work and
memory are bounded for any record.
"""

import ast
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from trueup.expressions.calls import CALLS
from trueup.expressions.displays import DISPLAYS
from trueup.expressions.errors import ExpressionError
from trueup.expressions.explain import explainer
from trueup.expressions.formats import FORMATS
from trueup.expressions.reads import always_read, has_branches
from trueup.expressions.syntax import ExpressionText, parse
from trueup.expressions.translate import NODES, MentionedField, Translator, is_dir
from trueup.expressions.work import BUDGET, FILENAME

Functions = Mapping[str, Callable[..., Any]]
Evaluate = Callable[..., Any]

_HANDLERS = {**NODES, **CALLS, **DISPLAYS, **FORMATS}
_SHELL = """
def evaluate(record, budget=0):
    try:
        meter = [budget]
        return 0
    except g_exceptions as error:
        raise g_explain(error, record) from None
"""


class Expression:
    """A compiled expression; `compile_expression` makes it from its `source` and the `functions` that it may call.

    `evaluate(record, budget=…)` returns its value. `names` are the fields that it uses, `fields` the same fields with their
    full paths and columns, and `tested` the fields that it tests for with `'x' in dir()`.
    """

    __slots__ = ("_functions", "_left", "_tree", "evaluate", "fields", "names", "source", "tested")

    def __init__(self, source: str, functions: Functions) -> None:
        text = ExpressionText(source)
        self.source = source
        self._tree = parse(text)
        self._functions = functions
        self._left: Evaluate | None = None
        translator = Translator(_HANDLERS, text.column, functions)
        self.evaluate: Evaluate = _runnable(self._tree, translator, text)
        self.fields: tuple[MentionedField, ...] = tuple(translator.fields)
        self.tested: tuple[MentionedField, ...] = tuple(translator.tested)
        self.names: frozenset[str] = frozenset(field.path[0] for field in self.fields if field.path)

    def left(self, record: Mapping[str, Any], budget: int = BUDGET) -> Any:
        """The value of the left side of the first comparison, or of the whole expression if it has no comparison.

        >>> compile_expression("hp + shield <= max_hp").left({"hp": 3, "shield": 4, "max_hp": 5})
        7
        """
        if self._left is None:
            text = ExpressionText(self.source)
            self._left = _runnable(_left_side(self._tree), Translator(_HANDLERS, text.column, self._functions), text)
        return self._left(record, budget)

    @property
    def always(self) -> frozenset[str]:
        """The fields that every evaluation reads, for any values.

        >>> sorted(compile_expression("hp > 0 or shield > 0").always)
        ['hp']
        """
        return always_read(self._tree) & self.names

    @property
    def has_branches(self) -> bool:
        """Whether some part is not always evaluated, such as the right side of `or`."""
        return has_branches(self._tree)

    def __repr__(self) -> str:
        return f"<Expression {self.source!r}>"


def compile_expression(source: str, *, functions: Functions | None = None) -> Expression:
    """Compile an expression from its `source`.

    `functions` can be called by name, in addition to the language's own functions; None: no others.

    >>> rule = compile_expression("wound_count == len([v for v in wounds.values() if v > 0])")
    >>> rule.evaluate({"wound_count": 1, "wounds": {"arm": 2, "leg": 0}}), sorted(rule.names)
    (True, ['wound_count', 'wounds'])
    """
    if not isinstance(source, str):
        raise ExpressionError(f"an expression must be text, not {type(source).__name__}; put it in quotes")
    try:
        return Expression(source, functions or {})
    except RecursionError:
        raise ExpressionError("the expression cannot be read: it is nested too deeply") from None


def _runnable(tree: ast.expr, translator: Translator, source: ExpressionText) -> Evaluate:
    """The function that evaluates a tree."""
    made = translator.whole(tree)
    module = ast.parse(_SHELL)
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    guarded = function.body[0]
    assert isinstance(guarded, ast.Try)
    guarded.body = [*guarded.body[: 1 if translator.metered else 0], ast.Return(made)]
    function.args.defaults = [ast.Constant(BUDGET)]
    ast.fix_missing_locations(module)
    names: dict[str, Any] = {"__builtins__": {}, "g_exceptions": Exception, "g_explain": explainer(source)}
    names.update(translator.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `1[0]` raises during evaluation; compiling it prints nothing to stderr
        code = compile(module, FILENAME, "exec")
    exec(code, names)  # noqa: S102 - the translator made every node of it
    evaluate: Evaluate = names["evaluate"]
    return evaluate


def _asks_for_a_field(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and is_dir(node.comparators[-1])


def _left_side(tree: ast.expr) -> ast.expr:
    """The left side of the first comparison that is not `'x' in dir()`; without a comparison, the node in its place."""
    node = tree
    while True:
        if isinstance(node, ast.Compare):
            return node.left
        if isinstance(node, ast.BoolOp):
            node = next((value for value in node.values if not _asks_for_a_field(value)), node.values[0])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node = node.operand
        else:
            return node
