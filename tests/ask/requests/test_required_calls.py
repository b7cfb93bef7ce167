"""Required tool calls: the provider is asked to enforce them, a model that answers in prose gets a list of tools, and a call can be data."""

import json
from typing import Any

import pytest

from tests.ask.stage import Model, StageClock
from trueup import Contract
from trueup.ask.clients.anthropic import message_parameters
from trueup.ask.clients.gemini import content_parameters
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import CallFailure, Request
from trueup.ask.loop.loop import Loop, Traits
from trueup.ask.memory import Memory
from trueup.ask.policy import Policy
from trueup.ask.words.calls import calls_schema
from trueup.conform.schema import compile_schema
from trueup.conform.strict import strict_schema
from trueup.testing.script import Fail
from trueup.testing.server import ScriptedServer
from trueup.verdict.tool import Tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {"name": "weather", "description": "Tell the weather.", "parameters": CITY},
    {"name": "alarm", "parameters": {"type": "object", "properties": {"hour": {"type": "integer"}}}},
]
CONTRACT = Contract(tools=TOOLS, calls={"required": True})
PROSE = "It is sunny in Rome."
CALL = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}],
}
AS_DATA = '{"tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}}]}'


def ask(script: list[Any], contract: Contract = CONTRACT, **policy: Any) -> tuple[Any, Model]:
    clock = StageClock()
    model = Model(script, clock)
    answer = contract.ask(
        model, "Is it sunny in Rome?", Policy(**policy), clock=clock, wait=clock.wait, memory=Memory()
    )
    return answer, model


@pytest.mark.spec("A4", "A6")
@pytest.mark.parametrize(("language", "said"), [("en", "calls no tool"), ("es", "no llama a ninguna herramienta")])
def test_a_model_that_answers_in_prose_gets_a_list_of_tools(language: str, said: str) -> None:
    answer, model = ask([PROSE, CALL], modes=("text",), language=language)
    assert (answer.outcome, [call.name for call in answer.calls]) == ("repaired", ["weather"])
    told = model.seen[1]["messages"][-1]["content"]
    assert "T019" in told
    assert said in told
    assert 'weather {"city": ' in told
    assert "Tell the weather." in told
    assert [seen["tool_choice"] for seen in model.seen] == ["required", "required"]


def test_without_the_option_prose_is_an_answer() -> None:
    answer, model = ask([PROSE], Contract(tools=TOOLS))
    assert answer.outcome == "accepted"
    assert "tool_choice" not in model.seen[0]


@pytest.mark.spec("A9")
def test_the_correction_holds_the_provider_to_a_call_as_data() -> None:
    answer, model = ask([PROSE, AS_DATA])
    assert (answer.outcome, answer.calls[0].args) == ("repaired", {"city": "Rome"})
    assert "response_format" not in model.seen[0]
    held = model.seen[1]["response_format"]["json_schema"]["schema"]
    assert held == strict_schema(compile_schema(calls_schema(CONTRACT.tools)), "openai")
    assert model.seen[1]["tool_choice"] == "none"


@pytest.mark.spec("A9")
def test_a_provider_that_refuses_the_schema_is_asked_in_words() -> None:
    refused = CallFailure("response_format is not supported", "mode", 400)
    answer, model = ask([PROSE, refused, CALL])
    assert answer.outcome == "repaired"
    assert "response_format" not in model.seen[2]
    assert model.seen[2]["tool_choice"] == "required"


def test_a_call_as_data_is_not_asked_for_where_none_is_read_from_text() -> None:
    for contract in (
        Contract(tools=TOOLS, calls={"required": True, "from_text": False}),
        Contract(tools=TOOLS, calls={"required": True}, accept="lossless"),
    ):
        answer, model = ask([PROSE, CALL], contract)
        assert answer.outcome == "repaired"
        assert all("response_format" not in seen for seen in model.seen)


def test_arguments_that_stay_wrong_are_asked_for_as_data() -> None:
    wrong = json.loads(json.dumps(CALL).replace("Rome", "").replace("city", "town"))
    answer, model = ask([wrong, wrong, AS_DATA])
    assert (answer.outcome, answer.calls[0].args) == ("repaired", {"city": "Rome"})
    assert model.seen[1]["messages"][-1]["role"] == "tool", "the first correction answers the call"
    assert "response_format" in model.seen[2]


@pytest.mark.parametrize("message", ["tool_choice: required is not supported", "Thinking may not be enabled when tool_choice forces tool use"])  # fmt: skip
def test_a_provider_that_cannot_force_calls_is_asked_without_it(message: str) -> None:
    with ScriptedServer([Fail(400, message), "Let me see.", "Let me see."], then=PROSE) as server:
        answer = CONTRACT.ask(server.url, "Rome?", Policy(models=("m",), repairs=0, deadline=None))
    assert [request.fields.get("tool_choice") for request in server.requests] == ["required", None]
    assert not answer.ok


def test_a_choice_of_the_callers_own_that_is_refused_is_not_sent_again() -> None:
    with ScriptedServer(then=Fail(400, "tool_choice: no such tool")) as server:
        own = {"tool_choice": {"type": "function", "function": {"name": "x"}}}
        answer = Contract(tools=TOOLS).ask(server.url, "Rome?", Policy(models=("m",), parameters=own))
    assert (answer.reason, len(server.requests)) == ("rejected", 1)


def test_the_last_try_after_empty_replies_still_may_call() -> None:
    answer, model = ask(["", "", "", CALL])
    assert answer.ok
    assert model.seen[-1]["tool_choice"] == "required"


def test_a_refusal_is_not_corrected_but_taken_to_the_next_model() -> None:
    refusal = {
        "choices": [{"message": {"role": "assistant", "content": None, "refusal": "No."}, "finish_reason": "stop"}]
    }
    answer, model = ask([refusal, CALL], models=("small", "large"))
    assert [seen["model"] for seen in model.seen] == ["small", "large"]
    assert answer.ok


def test_each_provider_has_its_own_tool_choice() -> None:
    request = Request([{"role": "user", "content": "?"}], "m", tools=CONTRACT.tools, must_call=True)
    assert chat_parameters(request)["tool_choice"] == "required"
    assert message_parameters(request)["tool_choice"] == {"type": "any"}
    assert content_parameters(request)["config"]["tool_config"] == {"function_calling_config": {"mode": "ANY"}}


def test_arguments_that_refer_to_definitions_of_their_own_are_not_put_into_another_schema() -> None:
    inner = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    assert calls_schema([Tool("a", "", inner)]) is None
    assert calls_schema([]) is None


@pytest.mark.spec("A3")
@pytest.mark.parametrize("language", ["en", "es"])
def test_an_envelope_describes_tools_in_its_own_form(language: str) -> None:
    contract = Contract.envelope(TOOLS)
    loop = Loop(contract, Traits(modes=("json_schema", "text")), "Rome?", Policy(language=language))
    loop.start()
    request = loop.request()
    said = request.messages[0]["content"]
    assert '"toolCalls"' in said
    assert "weather" in said
    assert "<tool_call>" not in said
    assert request.tools == ()
    loop.replied('{"toolCalls": [{"name": "weather", "arguments": {"city": "Rome"}}]}')
    assert loop.answer().calls[0].name == "weather"


def test_an_envelope_with_a_required_call_says_so() -> None:
    contract = Contract.envelope(TOOLS, calls={"required": True})
    answer, model = ask(['{"content": "Sunny."}', '{"toolCalls": [{"name": "weather", "arguments": {"city": "Rome"}}]}'], contract)  # fmt: skip
    assert (answer.outcome, answer.calls[0].name) == ("repaired", "weather")
    assert "T019" in model.seen[1]["messages"][-1]["content"]
    assert all("tool_choice" not in seen for seen in model.seen)
