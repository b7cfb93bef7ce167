"""Fingerprints: equal for equal rules, different if a verdict could differ, the same in every process."""

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, field_validator

from trueup import Contract, Reply
from trueup.contract.plugins import check


@dataclass
class Person:
    name: str
    age: int


def polite(reply: Reply, context: Any) -> bool:
    return "please" in reply.text


def kind(reply: Reply, context: Any) -> bool:
    return "thank" in reply.text


def at_most(most: int, verdict: Any, context: Any) -> None: ...


def look(city: str, days: int = 3) -> str:
    """Look at the weather."""
    return city


def longer_than(least: int) -> Any:
    return lambda reply, context: len(reply.text) > least


def at_least(default: int) -> Any:
    def rule(reply: Reply, context: Any, least: int = default) -> bool:
        return len(reply.text) >= least

    return rule


def recursive() -> Any:
    def even(reply: Any, context: Any) -> Any:
        return odd(reply, context)

    def odd(reply: Any, context: Any) -> Any:
        return even(reply, context)

    return even


class Scorer:
    """A rule with its own settings; its counter and its client are not part of the rules."""

    def __init__(self, least: float) -> None:
        self.least = least
        self.client = object()
        self._asked = 0

    def __call__(self, reply: Reply, context: Any) -> bool:
        self._asked += 1
        return len(reply.text) > self.least

    def judge(self, reply: Reply, context: Any) -> bool:
        return self(reply, context)


def rule(function: Any) -> dict[str, Any]:
    return {"reply": {"rules": [{"name": "own", "check": function}]}}


@check("FNG001", "own", "Own.")
def own(verdict: Any, context: Any, most: int = 0) -> Any:
    return []


OPTIONS: list[dict[str, Any]] = [
    {},
    {"schema": True},
    {"schema": {"type": "object"}},
    {"schema": {"type": "object", "required": ["a"]}},
    {"schema": Person},
    {"schema": Person, "rules": ["age > 3"]},
    {"schema": Person, "rules": ["age > 4"]},
    {"schema": Person, "strict": True},
    {"schema": Person, "accept": "lossy"},
    {"schema": Person, "coerce": "off"},
    {"reply": True},
    {"reply": False},
    {"reply": {"min_text": 12}},
    {"reply": {"rules": [polite]}},
    {"reply": {"rules": [kind]}},
    {"reply": {"rules": [{"name": "polite", "check": polite, "reason": "Rude"}]}},
    {"reply": {"rules": [{"name": "a", "expr": "length > 3"}]}},
    {"reply": {"rules": [{"name": "a", "expr": "length > 4"}]}},
    {"states": {"A": {"forbid": [{"terms": ["Ana"]}]}}},
    {"states": {"A": {"forbid": [{"terms": ["Eva"]}]}}},
    {"fallbacks": {"default": "Sorry."}},
    {"tools": [look]},
    {"tools": [{"name": "look"}]},
    {"tools": [{"name": "look"}], "order": {"requires": {"look": []}}},
    {"checks": [own]},
    {"checks": [own.using({"most": 3})]},
    {"checks": [partial(at_most, 3)]},
    {"checks": [partial(at_most, 4)]},
    {"version": "2"},
    *(rule(longer_than(least)) for least in (5, 50)),
    *(rule(at_least(least)) for least in (5, 50)),
    *(rule(Scorer(least)) for least in (5, 50)),
    *(rule(Scorer(least).judge) for least in (5, 50)),
    rule(recursive()),
]


def test_every_change_of_a_rule_gives_another_and_the_same_rules_the_same() -> None:
    made = [Contract(**options).fingerprint for options in OPTIONS]
    assert len(set(made)) == len(OPTIONS)
    assert [Contract(**options).fingerprint for options in OPTIONS] == made
    assert all(len(mark) == 16 and int(mark, 16) >= 0 for mark in made)


def test_a_function_made_again_or_asked_before_is_the_same() -> None:
    asked = Contract(**rule(Scorer(5)))
    asked.check("A fine and full answer.")
    assert asked.fingerprint == Contract(**rule(Scorer(5))).fingerprint
    assert Contract(**rule(longer_than(5))).fingerprint == Contract(**rule(longer_than(5))).fingerprint


def test_neither_the_order_of_keys_nor_the_name_nor_the_spelling_of_a_default_counts() -> None:
    one = Contract({"type": "object", "required": ["a"]}, reply={"min_text": 5, "no_empty": True}, name="one")
    two = Contract({"required": ["a"], "type": "object"}, reply={"no_empty": True, "min_text": 5})
    assert one.fingerprint == two.fingerprint
    assert (
        Contract(reply=True).fingerprint
        == Contract(reply={}).fingerprint
        == Contract(reply={"min_text": 10}).fingerprint
    )


def test_a_file_and_python_give_the_same(tmp_path: Path) -> None:
    rules = "reply:\n  min_text: 5\n  rules:\n    - {name: a, expr: length > 3, reason: Short}\n"
    (tmp_path / "c.yaml").write_text(f"name: c\n{rules}")
    (tmp_path / "d.json").write_text(
        '{"reply": {"rules": [{"reason": "Short", "expr": "length > 3", "name": "a"}], "min_text": 5}}'
    )
    rule = {"name": "a", "expr": "length > 3", "reason": "Short"}
    made = Contract(reply={"min_text": 5, "rules": [rule]}).fingerprint
    assert Contract.load(tmp_path / "c.yaml").fingerprint == Contract.load(tmp_path / "d.json").fingerprint == made


def test_switches_of_the_environment_count_by_their_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Contract(reply=True)
    plain, watching = before.fingerprint, Contract(reply={"environment": "check"})
    assert watching.fingerprint == plain
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "15")
    assert before.fingerprint == plain, "what was read once stays"
    expected = Contract(reply={"min_text": 15}).fingerprint
    assert Contract(reply=True).fingerprint == watching.fingerprint == expected != plain
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "many")
    assert watching.fingerprint not in (plain, expected)
    monkeypatch.delenv("MIN_VALIDATION_TEXT_LENGTH")
    assert watching.fingerprint == plain


PROGRAM = """
from trueup import Contract
rules = [{"name": "a", "expr": "length > 3"}]
print(Contract({"enum": [1, 2]}, reply={"rules": rules}, states={"A": {}, "B": {}}, coerce="eager").fingerprint)
"""


def test_every_process_gives_the_same() -> None:
    def run(seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        return done.stdout

    assert run("1") == run("2") != ""


def test_a_function_without_source_counts_by_its_name() -> None:
    made: dict[str, Any] = {}
    exec("def typed(reply, context):\n    return True", made)
    typed = Contract(reply={"rules": [made["typed"]]})
    assert typed.fingerprint != Contract(reply={"rules": [polite]}).fingerprint
    assert typed.fingerprint == Contract(reply={"rules": [made["typed"]]}).fingerprint


def test_the_validators_of_a_type_count() -> None:
    def model(limit: int) -> type:
        class Order(BaseModel):
            amount: Annotated[int, AfterValidator(lambda amount: min(amount, limit))]

        return Order

    class Cheap(BaseModel):
        amount: int

        @field_validator("amount")
        @classmethod
        def small(cls, amount: int) -> int:
            assert amount < 10
            return amount

    assert Contract(model(1)).fingerprint == Contract(model(1)).fingerprint != Contract(model(2)).fingerprint
    plain = {"type": "object", "title": "Cheap", "properties": {"amount": {"type": "integer", "title": "Amount"}}}
    assert Contract(Cheap).fingerprint != Contract({**plain, "required": ["amount"]}).fingerprint
