"""A call does not replace the value of a schema, and a call that was not offered is a finding."""

import asyncio
import json

import pytest

from trueup import Contract
from trueup.verdict.reply import Reply, ToolCall

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PAY = {"name": "pay", "parameters": {"type": "object"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}


def completion(text, calls=(CALL,)):
    message = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    return {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "tool_calls"}]}


def chunks(text):
    for delta in ({"role": "assistant", "content": text}, {"tool_calls": [{"index": 0, **CALL}]}):
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    yield {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
    }


def codes(verdict):
    return [found.code for found in verdict.errors]


def streamed(contract, text):
    stream = contract.stream(list(chunks(text)))
    list(stream)
    return stream.verdict


WAYS = {
    "check": lambda contract, text: contract.check(completion(text)),
    "reply": lambda contract, text: contract.check(Reply(text, (ToolCall("pay", {}),))),
    "json": lambda contract, text: contract.check("data: " + "\n\ndata: ".join(map(json.dumps, chunks(text))) + "\n\n"),
    "acheck": lambda contract, text: asyncio.run(contract.acheck(completion(text))),
    "stream": streamed,
    "ask": lambda contract, text: contract.ask(lambda _: completion(text), "?").verdict,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_call_is_not_the_value_of_a_schema(way):
    verdict = WAYS[way](Contract(NUMBER), "no json here")
    assert not verdict.ok
    assert {"T001", "P001"} <= set(codes(verdict))
    assert not verdict.calls


@pytest.mark.parametrize("way", WAYS)
def test_a_value_next_to_a_call_that_was_not_offered_is_refused(way):
    assert codes(WAYS[way](Contract(NUMBER), '{"n": 1}')) == ["T001"]


def test_the_refused_call_can_be_answered():
    verdict = Contract(NUMBER).check(completion("no json here"))
    assert [refusal.call.name for refusal in verdict.refused] == ["pay"]
    assert verdict.refused[0].findings[0].path == "$.calls[0]"


def test_a_judged_call_is_an_outcome_where_the_contract_has_tools():
    verdict = Contract(NUMBER, tools=[PAY]).check(completion("One moment."))
    assert verdict.ok
    assert [call.name for call in verdict.calls] == ["pay"]
    assert codes(Contract(NUMBER, tools=[{"name": "ping"}]).check(completion("One moment."))) == ["T001"]


@pytest.mark.parametrize("contract", [Contract(NUMBER), Contract(NUMBER, tools=[PAY])], ids=["no tools", "tools"])
def test_a_call_that_was_answered_does_not_excuse_the_reply_after_it(contract):
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    said = {"role": "assistant", "content": "no json here"}
    assert codes(contract.check([*messages, said])) == ["P001"]
    assert contract.check([*messages, {**said, "content": '{"n": 1}'}]).data == {"n": 1}


def test_the_request_may_offer_tools_that_the_contract_does_not_know():
    quality = Contract(reply=True)
    reply = completion("I am going to pay the bill for you now, one moment please.")
    assert quality.check(reply).ok  # cannot offer tools that are unknown here
    assert quality.check(reply, {"offered": ["pay"]}).ok
    assert codes(quality.check(reply, {"offered": []})) == ["T001"]
    assert codes(quality.check(reply, {"offered": ["ping"]})) == ["T001"]
    assert codes(Contract(NUMBER).check(completion("no json here"), {"offered": ["pay"]})) == ["P001"]
    assert Contract(NUMBER).check(completion('{"n": 1}'), {"offered": ["pay"]}).ok
