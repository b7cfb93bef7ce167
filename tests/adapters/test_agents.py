"""OpenAI Agents SDK: real agents and runs, over the real client of OpenAI and a server on loopback."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agents import (
    Agent,
    ModelBehaviorError,
    OpenAIChatCompletionsModel,
    OutputGuardrailTripwireTriggered,
    RunContextWrapper,
    Runner,
    UserError,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Rejected, Verdict
from trueup.adapters.agents import ContractOutput, ask_again, contract_guardrail
from trueup.testing.script import Fail, Say
from trueup.testing.server import ScriptedServer


@pytest.fixture(autouse=True)
def _no_tracing() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


def ask(script: list[Any], *, streams: bool = False, options: dict[str, Any] | None = None, **agent: Any) -> Any:
    """The final output of an agent, and the messages that it sent."""

    async def run(server: ScriptedServer) -> Any:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
            asked = Agent(name="a", model=OpenAIChatCompletionsModel("m", client), **agent)
            if not streams:
                return (await Runner.run(asked, "Who is Ada?", **(options or {}))).final_output
            result = Runner.run_streamed(asked, "Who is Ada?", **(options or {}))
            pieces = [event async for event in result.stream_events()]
            assert len(pieces) > 2
            return result.final_output

    with ScriptedServer(script) as server:
        output = asyncio.run(run(server))
        return output, [request.messages for request in server.requests]


@pytest.mark.parametrize("streams", [False, True])
def test_a_broken_output_is_repaired(*, streams: bool) -> None:
    verdicts: list[Verdict] = []
    output, sent = ask(
        [Say(BROKEN, piece=4)], streams=streams, output_type=ContractOutput(CONTRACT, on_verdict=verdicts.append)
    )
    assert output == ADA
    assert len(sent) == 1
    assert verdicts[0].fixes


@pytest.mark.parametrize("reply", [REFUSED, MISSING, "I do not know."])
def test_a_refused_output_raises_with_the_verdict(reply: str) -> None:
    with pytest.raises(ModelBehaviorError, match="Your reply was not valid") as caught:
        ask([reply], output_type=ContractOutput(CONTRACT))
    cause = caught.value.__cause__
    assert isinstance(cause, Rejected)
    assert cause.verdict.reply.text == reply


@pytest.mark.parametrize("streams", [False, True])
def test_the_handler_of_the_run_asks_again_with_the_correction(*, streams: bool) -> None:
    options = {"error_handlers": {"invalid_final_output": ask_again()}}
    output, sent = ask(
        [REFUSED, MISSING, BROKEN], streams=streams, options=options, output_type=ContractOutput(CONTRACT)
    )
    assert output == ADA
    assert [message["role"] for message in sent[1]] == ["user", "assistant", "user"]
    assert "age >= 0" in str(sent[1][-1]["content"])
    assert len(sent[2]) == 5
    assert "Required field is missing" in str(sent[2][-1]["content"])


def test_the_error_is_raised_when_the_retries_are_used_up() -> None:
    options = {"error_handlers": {"invalid_final_output": ask_again(retries=1)}}
    with pytest.raises(ModelBehaviorError) as caught:
        ask([REFUSED, MISSING], options=options, output_type=ContractOutput(CONTRACT))
    assert isinstance(caught.value.__cause__, Rejected)
    assert caught.value.__cause__.verdict.reply.text == MISSING


def test_an_error_of_the_provider_is_noted_if_asking_again_fails() -> None:
    options = {"error_handlers": {"invalid_final_output": ask_again()}}
    with pytest.raises(ModelBehaviorError, match="age >= 0") as caught:
        ask([REFUSED, Fail(401)], options=options, output_type=ContractOutput(CONTRACT))
    assert "Asking again failed: AuthenticationError" in caught.value.__notes__[0]


def test_other_errors_are_left_to_the_sdk() -> None:
    options = {"error_handlers": {"invalid_final_output": ask_again()}}
    with pytest.raises(ModelBehaviorError):
        ask(["{}"], options=options, output_type=Person)


def test_an_output_that_is_not_an_object_is_sent_in_an_envelope() -> None:
    output_type = ContractOutput(Contract(list[Person]))
    schema = output_type.json_schema()
    assert schema["properties"]["response"]["type"] == "array"
    assert "Person" in schema["$defs"]
    output, _ = ask([f'{{"response": [{GOOD}],}}'], output_type=output_type)
    assert output == [ADA]


def test_a_strict_schema_is_made_as_the_sdk_makes_it() -> None:
    output_type = ContractOutput(CONTRACT, strict=True)
    assert output_type.is_strict_json_schema()
    assert output_type.json_schema()["additionalProperties"] is False
    with pytest.raises(UserError):
        ContractOutput(Contract({"type": "object", "additionalProperties": True}), strict=True)


def test_a_contract_without_a_schema_is_not_an_output_type() -> None:
    with pytest.raises(ValueError, match="use contract_guardrail"):
        ContractOutput(Contract(reply=True))


@pytest.mark.parametrize("streams", [False, True])
def test_a_guardrail_trips_on_a_refused_text(*, streams: bool) -> None:
    guardrail = contract_guardrail(Contract(reply=True))
    output, _ = ask(["Yes, I can help you with that."], streams=streams, output_guardrails=[guardrail])
    assert output == "Yes, I can help you with that."
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        ask(["Yes"], streams=streams, output_guardrails=[guardrail])
    verdict = caught.value.guardrail_result.output.output_info
    assert isinstance(verdict, Verdict)
    assert not verdict.ok


def test_a_guardrail_judges_an_output_that_the_sdk_has_parsed() -> None:
    verdicts: list[Verdict] = []
    guardrail = contract_guardrail(CONTRACT, on_verdict=verdicts.append)
    assert ask([GOOD], output_type=Person, output_guardrails=[guardrail])[0] == ADA
    with pytest.raises(OutputGuardrailTripwireTriggered):
        ask([REFUSED], output_type=Person, output_guardrails=[guardrail])
    assert [verdict.ok for verdict in verdicts] == [True, False]


def test_the_context_of_a_guardrail_may_come_from_the_run() -> None:
    def known(ctx: RunContextWrapper[Any]) -> dict[str, Any]:
        return {"input": {"least": ctx.context}}

    contract = Contract(Person, rules=["age >= least"], input=["least"])
    guardrail = contract_guardrail(contract, context=known)
    assert ask([GOOD], options={"context": 30}, output_type=Person, output_guardrails=[guardrail])[0] == ADA
    with pytest.raises(OutputGuardrailTripwireTriggered):
        ask([GOOD], options={"context": 40}, output_type=Person, output_guardrails=[guardrail])


def test_a_missing_state_and_a_context_that_is_not_a_dict_are_errors() -> None:
    contract = Contract(Person, states={"IDLE": {}})
    with pytest.raises(RuntimeError, match="asking again would not help: reply refused: D006"):
        ContractOutput(contract).validate_json(GOOD)
    with pytest.raises(TypeError, match=r"context must be a dict such as .*; got builtin_function_or_method"):
        ContractOutput(contract, context=len).validate_json(GOOD)  # type: ignore[arg-type]
