"""Work and memory are bounded on any expression and any data: what is too much is an error, soon."""

import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given

from tests.expressions.grammar import EXPRESSIONS
from trueup.expressions.errors import ExpressionError, OverBudget
from trueup.expressions.language import compile_expression
from trueup.expressions.work import BUDGET

BIG = "z" * 100_000
RECORD: dict[str, Any] = {
    "s": BIG,
    "n": int("9" * 4000),
    "xs": list(range(2000)),
    "rows": [{"p": i, "n": str(i)} for i in range(1000)],
    "same": [(2**61 - 1) * k for k in range(20_000)],  # all of these have the hash 0
    "text": "a," * 20_000,
    "format": "%1000000000d",
}
BOMBS = [
    "9**9**9",
    "9**9**9**9",
    "2**n",
    "n**n",
    "'a'*10**10",
    "10**10*'a'",
    "[0]*10**10",
    "(0,)*10**10",
    "[[0]*10**5]*10**5 == [[1]*10**5]*10**5",
    "1 << 10**10",
    "1 << n",
    "sum(range(10**10))",
    "len(range(10**30))",
    "list(range(10**9))",
    "[1 for a in range(10**4) for b in range(10**4)]",
    "[[1 for b in range(10**4)] for a in range(10**4)]",
    "sum(sum(sum(1 for c in xs) for b in xs) for a in xs)",
    "any(x == y for x in xs for y in range(10**9))",
    "all(all(x in xs for x in xs) for y in xs)",
    "[x for x in range(10**7) if x in xs]",
    "sorted([s + str(x) for x in xs])",
    "max(s + str(x) for x in xs)",
    "min([s * 2 for x in range(10**6)])",
    "','.join([s for x in xs])",
    "s.join(s)",
    "s.replace('z', s)",
    "s.replace('', s)",
    "[s.replace('z', 'zz') for x in xs]",
    "'x'.zfill(10**9)",
    "'x'.ljust(10**9)",
    "'x'.rjust(10**9, 'y')",
    "'x'.center(10**9)",
    "'%1000000000d' % 1",
    "format % 1",
    "round(5, -10**9)",
    "round(n, -10**9)",
    "int('9' * 10**6)",
    "str(10**6000)",
    "[str(n) for x in range(10**5)]",
    "[s.lower() for x in s]",
    "[s[1:] for x in s]",
    "[s + s for x in xs]",
    "[n + x for x in range(10**6)]",
    "[n * n for x in range(10**6)]",
    "[n // 3 for x in range(10**6)]",
    "[-n for x in range(10**6)]",
    "[text.split(',') for x in xs]",
    "[text.count('a') for x in range(10**5)]",
    "[rows == rows for x in range(10**5)]",
    "[sorted(xs) for x in xs]",
    "[set(xs) for x in xs]",
    "[list(xs) for x in xs]",
    "[sum(xs) for x in xs]",
    "[dir() for x in range(10**6)]",
    "len(set(same))",
    "{x for x in same}",
    "{x: 1 for x in same}",
    "set().union(same)",
    "set().issubset(same)",
    "{1}.symmetric_difference(same)",
    "record.keys() | same",
    "record.keys() - same",
    "same & record.keys()",
    "set([(x, x) for x in same])",
    "str([[[[s]*1000]*1000]*1000])",
    "[[[xs]*1000]*1000]*1000 == 3 or [[[xs]*1000]*1000]*1000 == [[[xs]*1000]*1000]*1000",
    "[[1]*1000 for x in range(10**5)].index([[[[s]*1000]*1000]*1000])",
    "zip(range(10**9), range(10**9))",
    "enumerate(range(10**9))",
    "reversed(range(10**9))",
    "pow(9, 9**9)",
    "[s.startswith(tuple([str(y) for y in xs])) for x in s]",
    "[x for x in xs if x in [y for y in xs]]",
    "[(1 << 15000) ** 1 for x in range(10**6)]",
    "[1 ** n for x in range(10**6)]",
]
PAIRING = (
    "".join(f"[(x{i}, x{i}) for x{i} in " for i in range(40)) + "[1]" + "]" * 40
)  # the same with tuples, which have hashes
DOUBLING = "".join(f"[[x{i}, x{i}] for x{i} in " for i in range(40)) + "[[1]]" + "]" * 40


@pytest.mark.perf
@pytest.mark.spec("B7")
@pytest.mark.parametrize("source", BOMBS)
def test_a_bomb_ends_in_an_error_within_milliseconds(source: str) -> None:
    expression = compile_expression(source)
    begun = time.process_time()
    with pytest.raises(ExpressionError):
        expression.evaluate(RECORD)
    assert time.process_time() - begun < 0.5  # tens of milliseconds; the rest is for a busy machine


@pytest.mark.perf
@pytest.mark.spec("B7")
@pytest.mark.parametrize(
    "use",
    [
        "{0} == {0}",
        "str({0})",
        "sorted({0} + {0})",
        "{{'a': 1}}.get(tuple({0}))",
        "{{'a': 1}}[{0}[0]]",
        "set({0})",
        "{{y: 1 for y in {0}}}",
        "{0}[0] in {{'a': 1}}",
        "{0}[0] in record",
        "{0}[0] in dir()",
        "({0}[0], 1) in record.items()",
        "record.keys() & {0}",
        "{{1}}.union({0})",
        "['a'].index({0})",
        "max({0} + {0})",
        "{0} in [{0}]",
    ],
)
def test_values_that_hold_themselves_many_times_over_are_not_walked(use: str) -> None:
    # Forty loops, each pairing an item with itself: 2**40 parts once written out.
    for value in (DOUBLING, PAIRING):
        expression = compile_expression(use.format(value))
        begun = time.process_time()
        with pytest.raises(ExpressionError):
            expression.evaluate({})
        assert time.process_time() - begun < 1.0


HEAVY: dict[str, Any] = {
    "a": int("9" * 4000), "b": BIG, "t": "a,b" * 20_000, "xs": list(range(10_000)), "ts": ["q" * 1000 + str(i) for i in range(200)],
    "d": {str(i): i for i in range(2000)}, "rows": [{"p": i, "q": i, "n": str(i)} for i in range(1000)],
    "max": 10**12, "len": [[[[1] * 10] * 10] * 10] * 5, "_x": RECORD["same"][:5000],
}  # fmt: skip


@pytest.mark.spec("B7")
@given(EXPRESSIONS)
def test_any_expression_on_heavy_data_ends_soon(source: str) -> None:
    expression = compile_expression(source)
    begun = time.process_time()
    try:
        expression.evaluate(HEAVY)
    except ExpressionError as error:
        assert len(str(error)) < 1000  # noqa: PT017 - both ends are good ones
    assert time.process_time() - begun < 2.0


@pytest.mark.spec("B7")
def test_memory_is_bounded_too() -> None:
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression
record = {{"s": "z" * 100_000, "n": int("9" * 4000), "xs": list(range(2000)), "rows": [], "text": "a", "format": "",
          "same": [1]}}
for source in {BOMBS!r}:
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


def test_large_data_is_no_reason_to_refuse() -> None:
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


@pytest.mark.perf
def test_long_names_in_the_data_do_not_slow_an_error_down() -> None:
    record = {"x" * 20_000 + str(i): 1 for i in range(500)}
    rules = [compile_expression("y" * 5_000), compile_expression("yyyy + 1")]
    begun = time.process_time()
    for rule in rules:
        with pytest.raises(ExpressionError, match="there is no field"):
            rule.evaluate(record)
    assert time.process_time() - begun < 0.5


@pytest.mark.perf
@pytest.mark.spec("B7")
def test_rules_over_ten_megabytes_end_in_time() -> None:
    numbers = [(2**61 - 1) * k for k in range(1, 150_000)]
    record = {
        "ids": numbers,
        "tags": [f"q{i}" for i in range(150_000)],
        "allowed": ["z"] * 1000,
        "name": "ab " * 600_000,
    }
    begun = time.process_time()
    for source in (
        "len(set(ids)) == len(ids)",
        "all(t not in allowed for t in tags)",
        "not any(a == b for a in tags for b in allowed)",
        "len([w for w in name.split() if w in allowed])",
        "name.replace('a', name)",
        "sorted(tags + tags)",
        "{t: ids for t in tags}",
    ):
        try:
            compile_expression(source).evaluate(record)
        except OverBudget:
            continue
    assert time.process_time() - begun < 4.0
    assert compile_expression("all(c.isalpha() or c == ' ' for c in name)").evaluate(record) is True
