"""Business rules and their messages: bombs, rules over ten megabytes, names as long as pages, long templates (B7)."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.shapes.shape import Shape
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression
from trueup.expressions.messages import compile_message

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
_BOMBS = [
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
    "f'{n:>1000000000}'",
    "f'{1.5:.1000000000f}'",
    "[f'{s}{s}' for x in xs]",
    "'{:>1000000000}'.format(1)",
    "'{:>{}}'.format(1, 10**9)",
    "('{0}' * 10**5).format(s)",
    "[s.format(x) for x in xs for y in xs]",
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
_PAIRING = (
    "".join(f"[(x{i}, x{i}) for x{i} in " for i in range(40)) + "[1]" + "]" * 40
)  # the same with tuples, which have hashes
_DOUBLING = "".join(f"[[x{i}, x{i}] for x{i} in " for i in range(40)) + "[[1]]" + "]" * 40
# Forty loops, each pairing an item with itself: 2**40 parts once written out.
_USES = [
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
]
_RULES = [
    "len(set(ids)) == len(ids)",
    "all(t not in allowed for t in tags)",
    "not any(a == b for a in tags for b in allowed)",
    "len([w for w in name.split() if w in allowed])",
    "name.replace('a', name)",
    "sorted(tags + tags)",
    "{t: ids for t in tags}",
]


def _record(size: int) -> dict[str, Any]:
    numbers = [(2**61 - 1) * k for k in range(1, size)]
    return {
        "ids": numbers,
        "tags": [f"q{i}" for i in range(size)],
        "allowed": ["z"] * 1000,
        "name": "ab " * (4 * size),
    }


def _long_names(size: int) -> dict[str, int]:
    return {"x" * 20_000 + str(i): 1 for i in range(size)}


def _evaluated(source: str) -> Callable[[Any], object]:
    rule = compile_expression(source)

    def run(record: Any) -> None:
        with suppress(ExpressionError):  # over budget, or there is no such field: both must come soon
            rule.evaluate(record)

    return run


def _rendered(template: str) -> object:
    return compile_message(template).render({"a": 1})


RULES = [Shape(source, _record, _evaluated(source), 150_000, 4.0) for source in _RULES]
NAMES = [
    Shape("a name of 5,000 letters", _long_names, _evaluated("y" * 5_000), 500, 0.5),
    Shape("a short name", _long_names, _evaluated("yyyy + 1"), 500, 0.5),
]
TEMPLATES = [
    Shape("open braces", lambda n: "{a[" * n, _rendered, 300_000, 2.0),
    Shape("a long path", lambda n: "{" + "a." * n + "}", _rendered, 300_000, 2.0),
]


def _bomb(source: str, record: dict[str, Any]) -> Shape:
    return Shape(source, lambda _: record, _evaluated(source), 1, 0.5)


BOMBS = [_bomb(source, RECORD) for source in _BOMBS]
THEMSELVES = [_bomb(use.format(value), {}) for use in _USES for value in (_DOUBLING, _PAIRING)]
SPENT = _bomb("sum(sum(sum(1 for c in xs) for b in xs) for a in xs)", RECORD)  # honest work until the budget is spent
