"""A rule costs about what the same rule costs as a Python function: the language adds no interpreter of its own."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from trueup import Contract
from trueup.expressions.language import compile_expression

RECORD: dict[str, Any] = {"hp": 3, "max_hp": 9, "wound_count": 2, "wounds": {"arm": 1, "leg": 0, "head": 2, "hand": 0}}


def best(call: Callable[[Any], Any], argument: Any, loops: int = 5_000, rounds: int = 15) -> float:
    found = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(loops):
            call(argument)
        found = min(found, (time.process_time() - begun) / loops)
    return found


@pytest.mark.perf
@pytest.mark.parametrize(
    ("source", "function"),
    [
        ("hp <= max_hp", lambda r: r["hp"] <= r["max_hp"]),
        (
            "wound_count == len([v for v in wounds.values() if v > 0])",
            lambda r: r["wound_count"] == len([v for v in r["wounds"].values() if v > 0]),
        ),
        ("'hp' in dir() and hp > 0", lambda r: "hp" in r and r["hp"] > 0),
    ],
)
def test_a_rule_takes_less_than_twice_the_time_of_a_function(source: str, function: Callable[[Any], Any]) -> None:
    evaluate = compile_expression(source).evaluate
    ratios = [best(evaluate, RECORD) / best(function, RECORD) for _ in range(3)]
    assert min(ratios) < 2


@pytest.mark.perf
def test_compiling_takes_less_than_a_few_milliseconds() -> None:
    assert best(compile_expression, "wound_count == len([v for v in wounds.values() if v > 0])", 20) < 0.005


@pytest.mark.perf
def test_a_contract_without_rules_pays_nothing_for_those_with() -> None:
    schema = {"type": "object", "properties": {"hp": {"type": "integer"}}}
    text = '{"hp": 3, "max_hp": 9}'
    plain, ruled = Contract(schema), Contract(schema, rules=["hp <= max_hp"])
    times = [(best(plain.check, text), best(ruled.check, text)) for _ in range(3)]
    assert min(ruled_time / plain_time for plain_time, ruled_time in times) < 2.5
