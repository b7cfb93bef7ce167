"""Timings of business rules: one evaluation compared with Python and asteval, and the cost of compiling a rule."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from trueup.measure.timing import Call, race

Result = dict[str, Any]
RECORD: Result = {
    "hp": 3,
    "max_hp": 9,
    "wound_count": 2,
    "wounds": {"arm": 1, "leg": 0, "head": 2, "hand": 0},
    "total": 11,
    "items": [{"price": 2, "count": 3}, {"price": 5, "count": 1}],
}
RULES: dict[str, Callable[[Result], Any]] = {
    "hp <= max_hp": lambda r: r["hp"] <= r["max_hp"],
    "wound_count == len([v for v in wounds.values() if v > 0])": lambda r: (
        r["wound_count"] == len([v for v in r["wounds"].values() if v > 0])
    ),
    "'wounds' in dir() and 'wound_count' in dir()": lambda r: "wounds" in r and "wound_count" in r,
    "sum(i['price'] * i['count'] for i in items) == total": lambda r: (
        sum(i["price"] * i["count"] for i in r["items"]) == r["total"]
    ),
}
PEERS = ("trueup", "Python function", "eval() of a code object", "asteval", "asteval, from text")


def _asteval(source: str) -> dict[str, Call] | str:
    """asteval with its names set once: from a tree that is parsed once, and from text, the usual way."""
    try:
        asteval = import_module("asteval")
    except ImportError:
        return "not installed"
    other = asteval.Interpreter(use_numpy=False)
    other.symtable.update(RECORD)
    result = other.eval(source, show_errors=False)
    if other.error:
        return "fails"
    if result is not True:
        return "wrong"
    tree = other.parse(source)
    return {"asteval": partial(other.run, tree), "asteval, from text": partial(other.eval, source, show_errors=False)}


def rules(rounds: int) -> Result:
    """The CPU µs of evaluating each rule once, of compiling it, and of a whole contract with rules."""
    from trueup.contract.contract import Contract
    from trueup.expressions.language import compile_expression

    evaluated: dict[str, Any] = {}
    for source, function in RULES.items():
        rule = compile_expression(source)
        assert rule.evaluate(RECORD) is True
        names = {**RECORD, "dir": lambda: RECORD}
        calls: dict[str, Call] = {
            "trueup": partial(rule.evaluate, RECORD),
            "Python function": partial(function, RECORD),
            "eval() of a code object": partial(eval, compile(source, "rule", "eval"), names),  # noqa: S307 - its own table of rules
        }
        other = _asteval(source)
        if isinstance(other, dict):
            calls.update(other)
        evaluated[source] = race(calls, rounds)
        if isinstance(other, str):
            evaluated[source] |= dict.fromkeys(PEERS[3:], other)
    compiled = race({source: partial(compile_expression, source) for source in RULES}, rounds)
    text = '{"hp": 3, "max_hp": 9, "wound_count": 2, "wounds": {"arm": 1, "leg": 0, "head": 2, "hand": 0}}'
    schema = {"type": "object", "required": ["hp"], "properties": {"hp": {"type": "integer"}}}
    plain, ruled = Contract(schema), Contract(schema, rules=list(RULES)[:3])
    whole = race({"without rules": lambda: plain.check(text), "with three rules": lambda: ruled.check(text)}, rounds)
    return {"evaluated": evaluated, "compiled": compiled, "whole": whole}
