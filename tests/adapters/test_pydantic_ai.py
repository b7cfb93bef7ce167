"""pydantic-ai: agents in every output mode, over the real client of OpenAI and a server on loopback."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, RunContext, StructuredDict, UnexpectedModelBehavior
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Rejected, Verdict
from trueup.adapters.pydantic_ai import ContractCapability, contract_text, contract_validator
from trueup.testing.script import Call, Say, Step
from trueup.testing.server import ScriptedServer


def ask(script: list[Any], output_type: Any, *, deps: Any = None, streams: bool = False, **options: Any) -> Any:
    """The output of an agent, and the requests that it sent; for a stream, all outputs."""
    validator = options.pop("validator", None)

    async def run(server: ScriptedServer) -> Any:
        provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key="none")
        async with provider.client:
            agent = Agent(OpenAIChatModel("m", provider=provider), output_type=output_type, deps_type=object, **options)
            if validator is not None:
                agent.output_validator(validator)
            if streams:
                async with agent.run_stream("Who is Ada?", deps=deps) as result:
                    return [part async for part in result.stream_output(debounce_by=None)]
            return (await agent.run("Who is Ada?", deps=deps)).output

    with ScriptedServer(script) as server:
        output = asyncio.run(run(server))
        return output, [request.messages for request in server.requests]


def tool(arguments: str | dict[str, Any]) -> Step:
    """A call to the output tool."""
    return Say(None, (Call("final_result", arguments),))


@pytest.mark.parametrize(
    ("output_type", "reply"),
    [(Person, tool(BROKEN)), (NativeOutput(Person), BROKEN), (PromptedOutput(Person), BROKEN)],
    ids=["tool", "native", "prompted"],
)
def test_a_broken_output_is_repaired_before_it_is_parsed(output_type: Any, reply: Any) -> None:
    verdicts: list[Verdict] = []
    capability = ContractCapability(CONTRACT, on_verdict=verdicts.append)
    output, sent = ask([reply], output_type, capabilities=[capability])
    assert output == ADA
    assert len(sent) == 1
    assert verdicts[0].fixes


@pytest.mark.parametrize(
    ("output_type", "replies"),
    [(Person, [tool(REFUSED), tool(GOOD)]), (NativeOutput(Person), [REFUSED, GOOD])],
    ids=["tool", "native"],
)
def test_a_refused_output_is_asked_for_again_with_the_correction(output_type: Any, replies: list[Any]) -> None:
    output, sent = ask(replies, output_type, capabilities=[ContractCapability(CONTRACT)], retries=2)
    assert output == ADA
    told = str(sent[1][-1])
    assert "Your reply was not valid. Correct it; this is correction 1 of 2." in told
    assert "age >= 0" in told


def test_the_verdict_is_the_cause_when_the_retries_are_used_up() -> None:
    with pytest.raises(UnexpectedModelBehavior) as caught:
        ask([tool(REFUSED)] * 2, Person, capabilities=[ContractCapability(CONTRACT)], retries=1)
    causes: list[BaseException] = []
    error: BaseException | None = caught.value
    while error is not None:
        causes.append(error)
        error = error.__cause__
    rejected = [cause for cause in causes if isinstance(cause, Rejected)]
    assert rejected
    assert rejected[0].verdict.data == {"name": "Ada", "age": -5}


def test_an_output_that_is_not_an_object_keeps_its_envelope() -> None:
    contract = Contract(list[int])
    output, _ = ask([tool('{"response": [1, "2",]}')], list[int], capabilities=[ContractCapability(contract)])
    assert output == [1, 2]


def test_a_text_is_judged_too() -> None:
    capability = ContractCapability(Contract(reply=True))
    output, sent = ask(["Yes", "Yes, I can help you with that."], str, capabilities=[capability])
    assert output == "Yes, I can help you with that."
    assert len(sent) == 2


def test_a_schema_leaves_the_text_of_another_output_alone() -> None:
    output, _ = ask(["I do not know her."], [Person, str], capabilities=[ContractCapability(CONTRACT)])
    assert output == "I do not know her."


def test_a_model_may_answer_in_a_text_where_a_tool_call_is_expected() -> None:
    verdicts: list[Verdict] = []
    text = contract_text(CONTRACT, on_verdict=verdicts.append)
    output, sent = ask([MISSING, BROKEN], [Person, text])
    assert output == ADA
    assert [verdict.ok for verdict in verdicts] == [False, True]
    assert "Required field is missing" in str(sent[1])


def test_a_parsed_output_is_validated() -> None:
    output, sent = ask([tool(REFUSED), tool(GOOD)], Person, validator=contract_validator(CONTRACT))
    assert output == ADA
    assert "age >= 0" in str(sent[1])


def test_a_validator_returns_the_type_that_the_agent_promises() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    output, _ = ask([tool(GOOD)], Person, validator=contract_validator(Contract(schema)))
    assert output == ADA


class Loose(BaseModel):
    age: int | str


@dataclass
class LooseData:
    age: int | str


@pytest.mark.parametrize(
    ("output_type", "arguments", "repaired"),
    [
        (Loose, {"age": "36"}, Loose(age=36)),
        (LooseData, {"age": "36"}, LooseData(age=36)),
        (list[LooseData], {"response": [{"age": "36"}]}, [LooseData(age=36)]),
        (dict[str, Loose], {"response": {"ada": {"age": "36"}}}, {"ada": Loose(age=36)}),
        (StructuredDict({"type": "object", "properties": {"age": {}}}, "Age"), {"age": "36"}, {"age": 36}),
    ],
)
def test_a_validator_repairs_values_inside_the_type(output_type: Any, arguments: Any, repaired: Any) -> None:
    age: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer"}}}
    contract = Contract({**age, "additionalProperties": age, "items": age, "type": ["array", "object"]})
    output, sent = ask([tool(arguments)], output_type, validator=contract_validator(contract))
    assert output == repaired
    assert len(sent) == 1


def test_a_validator_keeps_the_types_of_items_and_of_texts() -> None:
    contract = Contract({"type": "array", "items": {"type": "object"}})
    output, _ = ask([tool({"response": [{"age": 36}]})], list[Loose], validator=contract_validator(contract))
    assert output == [Loose(age=36)]
    assert ask(["Here: [{},]"], str, validator=contract_validator(contract))[0] == "[{}]"


class Unknown(BaseModel):
    why: str


def test_a_capability_judges_one_of_several_outputs() -> None:
    capability = ContractCapability(CONTRACT, output=Person)
    unknown = Say(None, (Call("final_result_Unknown", {"why": "I have never met her."}),))
    output, _ = ask([unknown], [Person, Unknown], capabilities=[capability])
    assert output == Unknown(why="I have never met her.")
    replies = [Say(None, (Call("final_result_Person", text),)) for text in (REFUSED, BROKEN)]
    output, sent = ask(replies, [Person, Unknown], capabilities=[capability])
    assert output == ADA
    assert len(sent) == 2


def test_a_text_under_reply_rules_is_judged_at_the_end_of_its_stream() -> None:
    verdicts: list[Verdict] = []
    text = contract_text(Contract(reply=True), on_verdict=verdicts.append)
    outputs, _ = ask([Say("Yes, I can help you with that.", piece=4)], text, streams=True)
    assert outputs[-1] == "Yes, I can help you with that."
    assert {verdict.reply.text for verdict in verdicts} == {outputs[-1]}


def test_the_context_may_come_from_the_run() -> None:
    contract = Contract(Person, rules=["age >= least"], input=["least"])

    def known(ctx: RunContext[Any]) -> dict[str, Any]:
        return {"input": {"least": ctx.deps}}

    for least, requests in ((30, 1), (40, 2)):
        replies = [tool(GOOD), tool({"name": "Ada", "age": 41})]
        capability = ContractCapability(contract, context=known)
        _, sent = ask(replies[:requests], Person, deps=least, capabilities=[capability])
        assert len(sent) == requests


@pytest.mark.parametrize("kind", ["capability", "validator", "text"])
def test_a_stream_is_judged_at_its_end(kind: str) -> None:
    verdicts: list[Verdict] = []
    keep: dict[str, Any] = {"on_verdict": verdicts.append}
    options: dict[str, Any] = {
        "capability": {"capabilities": [ContractCapability(CONTRACT, **keep)], "output_type": NativeOutput(Person)},
        "validator": {"validator": contract_validator(CONTRACT, **keep), "output_type": NativeOutput(Person)},
        "text": {"output_type": contract_text(CONTRACT, **keep)},
    }[kind]
    outputs, _ = ask([Say(GOOD, piece=4)], streams=True, **options)
    assert outputs[-1] == ADA
    assert verdicts
    assert all(verdict.reply.text.replace(" ", "") == GOOD.replace(" ", "") for verdict in verdicts)


class Team(BaseModel):
    people: list[Person]


def test_two_agents_share_a_capability() -> None:
    capability = ContractCapability(Contract(Team))
    reply = '{"people": [{"name": "Ada", "age": "36"}],}'
    for _ in range(2):
        output, _ = ask([reply], PromptedOutput(Team), capabilities=[capability])
        assert output == Team(people=[ADA])


@pytest.mark.parametrize("mode", [NativeOutput, PromptedOutput])
def test_a_capability_judges_one_of_several_outputs_of_one_schema(mode: Any) -> None:
    def reply(kind: str, data: str) -> str:
        return f'Sure: {{"result": {{"kind": "{kind}", "data": {data},}}}}'

    capabilities = [ContractCapability(CONTRACT, output=Person)]
    replies = [reply("Person", REFUSED), reply("Person", '{"name": "Ada", "age": "36",}')]
    output, sent = ask(replies, mode([Person, Unknown]), capabilities=capabilities)
    assert output == ADA
    assert "In `result.data`: Your reply was not valid." in str(sent[1])
    other = '{"result": {"kind": "Unknown", "data": {"why": "I have never met her."}}}'
    assert ask([other], mode([Person, Unknown]), capabilities=capabilities)[0] == Unknown(why="I have never met her.")


@pytest.mark.parametrize("reply", ["[1]", '{"name": "Ada"}', '{"result": 3}'])
def test_an_output_without_its_kind_is_left_to_pydantic_ai(reply: str) -> None:
    capability = ContractCapability(CONTRACT, output=Person)
    with pytest.raises(UnexpectedModelBehavior):
        ask([reply], NativeOutput([Person, Unknown]), capabilities=[capability], retries=0)


def test_a_list_among_several_outputs_keeps_its_envelope() -> None:
    capability = ContractCapability(Contract(list[int]), output=list)
    reply = '{"result": {"kind": "list", "data": {"response": [1, "2"]}}}'
    assert ask([reply], NativeOutput([list[int], Unknown]), capabilities=[capability])[0] == [1, 2]


def test_a_missing_state_ends_the_run() -> None:
    with pytest.raises(RuntimeError, match="asking again would not help: reply refused: D006"):
        ask([tool(GOOD)], Person, capabilities=[ContractCapability(Contract(Person, states={"IDLE": {}}))], retries=3)
