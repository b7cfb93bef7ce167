"""The correction for a refused reply is the same as the one that `ask` sends."""

from typing import Any

import pytest

from trueup import Contract, Rejected
from trueup.ask.correction import correction, correction_text, purpose_of

PERSON = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
STATES = {"IDLE": {"forbid": [{"terms": ["booked"]}], "hint": "Do not say that it is booked."}}


@pytest.mark.parametrize(
    ("contract", "reply", "context"),
    [
        (Contract(PERSON), "{}", {}),
        (Contract(PERSON), "no value here", {}),
        (Contract(PERSON, language="es"), '{"name": [3, 4]}', {}),
        (Contract(states=STATES), "It is booked.", {"state": "IDLE"}),
        (Contract(PERSON, rules=["len(name) > 2"]), '{"name": "A"}', {}),
    ],
)
def test_it_equals_the_text_of_the_second_request(contract: Contract, reply: str, context: dict[str, Any]) -> None:
    asked: list[list[Any]] = []

    def model(messages: list[Any]) -> str:
        asked.append(messages)
        return reply

    contract.ask(model, "Go on.", context=context)
    told = correction(contract, contract.check(reply, context), context)
    assert told
    second = "\n".join(message["content"] for message in asked[1])
    lines = [
        line
        for line in "\n".join(message["content"] for message in told).split("\n")
        if "~~~" not in line and "tildes" not in line
    ]
    assert [line for line in lines if line not in second] == []


def test_there_is_no_correction_for_a_good_reply_or_a_failure() -> None:
    contract = Contract(PERSON)
    failed = {"error": {"message": "overloaded", "type": "overloaded_error"}}
    for reply in ('{"name": "Ada"}', failed, ""):
        verdict = contract.check(reply)
        assert correction(contract, verdict) == []
        assert purpose_of(verdict) == "ask"


def test_a_refused_call_is_answered() -> None:
    contract = Contract(tools=[{"name": "book", "parameters": {"type": "object"}}])
    call = {"id": "1", "type": "function", "function": {"name": "bok", "arguments": "{}"}}
    told = correction(contract, contract.check({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}))
    assert [message["role"] for message in told] == ["assistant", "tool"]


@pytest.mark.parametrize(("context", "code"), [({}, "D006"), ({"state": "BOOKED"}, "D004")])
def test_a_framework_does_not_ask_again_for_a_fault_of_the_program(context: dict[str, Any], code: str) -> None:
    contract = Contract(states=STATES)
    verdict = contract.check("The train leaves at 9:30.", context)
    with pytest.raises(RuntimeError, match=f"asking again would not help: reply refused: {code}") as caught:
        correction_text(contract, verdict, context)
    assert isinstance(caught.value.__cause__, Rejected)
    assert caught.value.__cause__.verdict is verdict
