"""The language compared with two others: Python itself, and asteval, which earlier versions of rules used."""

import ast
import copy
import math
import warnings
from typing import Any

import pytest
from asteval import Interpreter  # type: ignore[import-untyped]
from hypothesis import given, settings

from tests.expressions.grammar import EXPRESSIONS, RECORDS, plain
from trueup.expressions.errors import ExpressionError
from trueup.expressions.functions import FUNCTIONS
from trueup.expressions.language import compile_expression

BUILTINS: dict[str, Any] = {
    "enumerate": lambda *args: list(enumerate(*args)),  # lazy in Python, lists in the language
    "zip": lambda *args: list(zip(*args, strict=False)),
    "reversed": lambda items: [*reversed(items)],
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
}
NAMES = {name: BUILTINS.get(name) or __builtins__[name] for name in FUNCTIONS}  # type: ignore[index]

# Expressions that the language refuses on purpose although Python has an answer.
ON_PURPOSE = (
    "'%' works only on numbers",
    "the root of a negative number",
    "too much work",
    "too large",
    "sum() adds numbers",
    "does not take a generator",
    "is a method of text",
)


def by_python(source: str, record: dict[str, Any]) -> Any:
    """Python's own result: fields and called functions are available under their names."""

    class Functions(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.Call:
            self.generic_visit(node)
            if isinstance(node.func, ast.Name):
                node.func.id = f"call_{node.func.id}"
            return node

    tree = Functions().visit(ast.parse(source, mode="eval"))
    names = {"__builtins__": {}, **record, **{f"call_{name}": function for name, function in NAMES.items()}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(eval(compile(tree, "oracle", "eval"), names))


def by_us(source: str, record: dict[str, Any]) -> tuple[Any, ExpressionError | None]:
    try:
        return plain(compile_expression(source).evaluate(record)), None
    except ExpressionError as error:
        return None, error


@pytest.mark.spec("B7")
@given(EXPRESSIONS, RECORDS)
def test_it_agrees_with_python_or_explains_the_refusal(source: str, record: dict[str, Any]) -> None:
    before = copy.deepcopy(record)
    ours, error = by_us(source, record)
    assert record == before
    if error is None:
        assert ours == by_python(source, record)
        return
    assert 0 <= error.column <= len(source) + 1
    if not any(reason in error.message for reason in ON_PURPOSE):
        with pytest.raises(Exception):  # noqa: B017 - whatever it is, Python has no answer either
            by_python(source, record)


RULES = [
    "wound_count == len([v for v in wounds.values() if v > 0])",
    "hp <= max_hp and hp >= 0",
    "sum([row['p'] * row['q'] for row in rows]) == 8",
    "all([row['p'] > 0 for row in rows]) or not rows",
    "name.strip().lower().startswith('a') and len(name) > 2",
    "round(hp / max_hp, 2) < 0.5",
    "sorted(set([row['n'] for row in rows])) == ['a', 'b']",
    "'arm' in wounds and wounds.get('leg', 0) == 0",
    "min([1, 2]) + max([hp, 4]) - abs(-3)",
    "str(hp) + '/' + str(max_hp)",
    "1 < hp < max_hp",
    "[k for k, v in wounds.items() if v]",
    "name[::-1] if hp else name[:2]",
]
RECORD: dict[str, Any] = {
    "hp": 3, "max_hp": 9, "name": " Ada ", "wound_count": 1, "wounds": {"arm": 2, "leg": 0},
    "rows": [{"p": 1, "q": 2, "n": "a"}, {"p": 3, "q": 2, "n": "b"}],
}  # fmt: skip


@pytest.mark.spec("B7")
@pytest.mark.parametrize("source", RULES)
def test_rules_written_for_asteval_give_the_same(source: str) -> None:
    other = Interpreter(use_numpy=False)
    other.symtable.update(copy.deepcopy(RECORD))
    theirs = other.eval(source, show_errors=False)
    assert not other.error
    assert compile_expression(source).evaluate(RECORD) == theirs


@pytest.mark.spec("B7")
@given(EXPRESSIONS, RECORDS)
@settings(max_examples=40)
def test_it_agrees_with_asteval_if_both_have_an_answer(source: str, record: dict[str, Any]) -> None:
    try:
        ours = plain(compile_expression(source).evaluate(record))
    except ExpressionError:
        return
    other = Interpreter(use_numpy=False, minimal=False, builtins_readonly=False)
    fields = {name: value for name, value in record.items() if name not in ("max", "len")}  # these would hide functions
    other.symtable.update(copy.deepcopy(fields))
    theirs = other.eval(source, show_errors=False)
    if other.error or "max" in source or "len" in source:
        return
    assert ours == plain(theirs)
