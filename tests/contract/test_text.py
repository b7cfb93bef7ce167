"""The text of a contract: the same contract can be made from it, or it lists the options that could not be written."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from trueup import Contract, Reply
from trueup.checks.order import Order
from trueup.checks.rules import compile_rules
from trueup.conform.options import Options
from trueup.contract.calls import CallOptions
from trueup.contract.text import rebuilt, text_of

NAMES = st.sampled_from(["book", "look", "pay"])
TOOLS = st.lists(
    st.builds(lambda name, some: {"name": name, "parameters": {"type": "object", **some}}, NAMES, st.sampled_from([{}, {"required": ["day"]}])),
    min_size=1, unique_by=lambda tool: tool["name"],
)  # fmt: skip
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.sampled_from([True, {"type": "object", "required": ["b", "a"]}, {"type": "object", "properties": {"é": {"enum": [1.5, None]}}}]),
        "rules": st.sampled_from([["n < 3"], {"required": ["n"], "ranges": {"n": [1, 2**60]}}, ({"name": "x", "expr": "n"},)]),
        "input": st.sampled_from([True, ["text"], ("a", "b")]),
        "reply": st.sampled_from([True, {"min_text": 5}, {"rules": [{"name": "calm", "expr": "'!' not in text"}]}]),
        "states": st.sampled_from([{"B": {"forbid": [{"terms": ["bye"]}]}, "A": {"forbid": [{"terms": ["hello"]}]}}]),
        "fallbacks": st.just({"default": "Sorry."}),
        "accept": st.sampled_from(["none", "lossless", "guess", "lossy"]),
        "coerce": st.sampled_from(["off", "eager", {"aliases": {"n": ["number"]}}, Options(enum_prefixes=("x-",))]),
        "strict": st.booleans(),
        "max_size": st.integers(1, 10**7),
        "max_depth": st.integers(1, 500),
        "name": st.text(max_size=5),
        "language": st.sampled_from(["", "en", "es"]),
        "version": st.sampled_from(["", "2", "2026-01"]),
    },
)  # fmt: skip


class Person(BaseModel):
    name: str


def book(day: int) -> str:
    return f"booked {day}"


def polite(reply: Reply, context: Any) -> bool:
    return "please" in reply.text


def test_every_example_contract_can_be_made_from_its_text(root: Path) -> None:
    for path in sorted((root / "examples" / "contracts").glob("*.yaml")):
        contract = Contract.load(path)
        again = rebuilt(text_of(contract))
        assert (again.fingerprint, again.name) == (contract.fingerprint, contract.name), path.name
        assert text_of(again) == text_of(contract)


@given(OPTIONS, st.none() | TOOLS, st.booleans())
def test_any_contract_of_data_can_be_made_from_its_text(options: dict[str, Any], tools: Any, ordered: bool) -> None:
    if options.keys() & {"rules", "input"}:
        options = {"rules": ["n < 3"], "schema": True, **options}
    if tools is not None:
        options = {**options, "tools": tools}
        if ordered:
            options |= {"order": Order(only_once=(tools[0]["name"],)), "calls": CallOptions(parallel=False)}
    contract = Contract(**options)
    text = text_of(contract)
    assert json.loads(text)["portable"], text
    again = rebuilt(text)
    assert again.fingerprint == contract.fingerprint
    assert text_of(again) == text


@pytest.mark.parametrize(
    ("contract", "lost"),
    [
        (Contract(Person), "schema: the Python type Person"),
        (Contract(tools=[book]), "tools: the Python function book"),
        (Contract(checks=[polite]), "checks: the Python object polite"),
        (Contract(True, rules=compile_rules(["n < 3"])), "rules: the Python object Rules"),
    ],
)
def test_parts_that_cannot_be_written_are_named_and_the_rest_is_there(contract: Contract, lost: str) -> None:
    found = json.loads(text_of(contract))
    assert (found["portable"], found["lost"]) == (False, [lost])
    with pytest.raises(ValueError, match=r"cannot be made from its text: .*Python"):
        rebuilt(text_of(contract))
    if contract.schema is not None:
        assert found["options"]["schema"] == contract.schema.source
    if contract.tools:
        assert found["options"]["tools"][0]["parameters"]["required"] == ["day"]


def test_a_key_in_a_contract_is_not_written_and_a_huge_contract_neither() -> None:
    contract = Contract({"const": "secret"}, name="with a secret")
    found = json.loads(text_of(contract, lambda data: json.loads(json.dumps(data).replace("secret", "[redacted]"))))
    assert found == {
        "portable": False,
        "lost": ["something was redacted"],
        "options": {"schema": {"const": "[redacted]"}, "name": "with a [redacted]"},
    }
    found = json.loads(text_of(Contract({"enum": ["x" * 1_000_001]})))
    assert (found["portable"], found["options"]) == (False, {})
