"""Work and memory are bounded for any expression and any data: excessive work soon raises an error."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

from tests.expressions.grammar import EXPRESSIONS
from tests.growth import assert_at_most, each
from tests.shapes.expressions import BIG, BOMBS, RECORD, SPENT, THEMSELVES
from tests.shapes.shape import Shape
from trueup.expressions.errors import ExpressionError, OverBudget
from trueup.expressions.language import compile_expression
from trueup.expressions.work import BUDGET


@pytest.mark.spec("B7")
@each(BOMBS + THEMSELVES)
def test_a_bomb_ends_in_an_error_that_costs_no_more_than_honest_work(shapes: list[Shape]) -> None:
    """Ordinary work is three loops over a list, stopped by the budget; a bomb is charged as it runs."""
    for shape in shapes:
        record = shape.make(1)
        with pytest.raises(ExpressionError):
            compile_expression(shape.name).evaluate(record)
        assert_at_most(10, lambda: shape.run(record), lambda: SPENT.run(SPENT.make(1)))  # noqa: B023 - run right here


HEAVY: dict[str, Any] = {
    "a": int("9" * 4000), "b": BIG, "t": "a,b" * 20_000, "xs": list(range(10_000)), "ts": ["q" * 1000 + str(i) for i in range(200)],
    "d": {str(i): i for i in range(2000)}, "rows": [{"p": i, "q": i, "n": str(i)} for i in range(1000)],
    "max": 10**12, "len": [[[[1] * 10] * 10] * 10] * 5, "_x": RECORD["same"][:5000],
}  # fmt: skip


@pytest.mark.spec("B7")
@given(EXPRESSIONS)
def test_any_expression_on_heavy_data_ends_soon(source: str) -> None:
    expression = compile_expression(source)
    try:
        expression.evaluate(HEAVY)
    except ExpressionError as error:
        assert len(str(error)) < 1000  # noqa: PT017 - both ends are good ones


@pytest.mark.spec("B7")
def test_memory_is_bounded_too() -> None:
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression
record = {{"s": "z" * 100_000, "n": int("9" * 4000), "xs": list(range(2000)), "rows": [], "text": "a", "format": "",
          "same": [1]}}
for source in {[shape.name for shape in BOMBS]!r}:
    try:
        compile_expression(source).evaluate(record)
    except ExpressionError as error:
        assert "value is too large" not in str(error), source
print("done")
"""
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False, timeout=50)
    assert (done.stdout.strip(), done.stderr) == ("done", "")


LONG = 9_000
HOSTILE_TEXTS = [
    "(" * LONG, "-" * LONG + "1", "not " * (LONG // 4) + "1", "[" * LONG, "a" + ".a" * (LONG // 2), "1" + "+1" * (LONG // 2),
    "1" + "**1" * (LONG // 3), "len(" * (LONG // 4), "a" + "[0]" * (LONG // 3), "[x for x in " * (LONG // 12),
    "lambda:" * (LONG // 7), "1 if 1 else " * (LONG // 12) + "1", "'" * LONG, "\\" * LONG, "1" * LONG, "{" * LONG,
    "a\x00b", "'\ud800'", "é" * LONG, "f'{f'{1}'}'", "\ufeffhp", "hp\u2028+1", "a" * 20_000, "~" * LONG, "#" * LONG, "(#\n" * 3000,
]  # fmt: skip


@pytest.mark.spec("B7")
def test_no_text_crashes_the_compiler() -> None:
    code = f"""
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression
for text in {HOSTILE_TEXTS!r}:
    try:
        compile_expression(text)
    except ExpressionError as error:
        str(error)
print("done")
"""
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False, timeout=50)
    assert (done.stdout.strip(), done.stderr) == ("done", "")


ESCAPES = [
    "().__class__.__bases__[0].__subclasses__()",
    "[].__class__",
    "(1).__class__",
    "record.__class__",
    "record['__class__'].mro()",
    "name.__init__.__globals__",
    "__builtins__['open']('x')",
    "dir.__self__",
    "len.__self__",
    "[x.__class__ for x in [1]]",
    "getattr(name, 'x')",
    "type(name)",
    "eval('1')",
    "exec('1')",
    "globals()",
    "vars()",
    "locals()",
    "meter[0]",
    "g_0(1)",
    "str.mro()",
    "name.join.__self__",
    "(x for x in [1]).gi_frame",
    "name.format_map({})",
    "name.translate({})",
    "breakpoint()",
    "hash(name)",
    "id(name)",
    "object()",
    "super()",
    "help()",
    "input()",
    "print(1)",
    "compile('1', '', 'eval')",
]


@pytest.mark.spec("B7")
@pytest.mark.parametrize("source", ESCAPES)
def test_nothing_else_of_python_is_reached(source: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(source).evaluate({"name": "x"})


def test_the_budget_is_the_caller_s_to_set() -> None:
    rule = compile_expression("sum(x * y for x in xs for y in range(100))")
    record = {"xs": list(range(100))}
    assert rule.evaluate(record) == 4950 * 4950
    with pytest.raises(OverBudget):
        rule.evaluate(record, 50)


def test_large_data_is_not_refused() -> None:
    items = [{"price": i % 7, "name": f"n{i}"} for i in range(300_000)]
    record = {"items": items, "ids": list(range(400_000)), "allowed": ["a"]}
    assert len(items) > BUDGET
    for source in (
        "all(i.price < 7 for i in items)",
        "len([i for i in items if i.name == 'n5']) == 1",
        "len(set(ids)) == len(ids)",
        "sum(ids) == 79999800000",
        "sum(i.price for i in items) > 0",
        "sorted(ids) == ids and max(ids) == 399999",
        "len({i.name for i in items}) == 300000",
        "all(i.name.startswith('n') for i in items)",
    ):
        assert compile_expression(source).evaluate(record) is True, source
