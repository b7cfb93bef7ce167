"""DSPy: real programs, over the client that DSPy uses and a server on loopback."""

import asyncio
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Rejected, Verdict
from trueup.adapters.dspy import ContractAdapter
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

SIGNATURE = "question -> name: str, age: int"


def ask(script: list[Any], adapter: Any, program: Any = None, *, awaited: bool = False, streams: bool = False) -> Any:
    """The prediction of a program, and the messages that DSPy sent."""
    program = program or dspy.Predict(SIGNATURE)

    async def stream() -> Any:
        return [part async for part in dspy.streamify(program)(question="Who is Ada?")]

    with ScriptedServer(script) as server:
        lm = dspy.LM("openai/m", api_base=f"{server.url}/v1", api_key="none", cache=False, num_retries=0)
        with dspy.context(lm=lm, adapter=adapter):
            if streams:
                prediction: Any = asyncio.run(stream())
            elif awaited:
                prediction = asyncio.run(program.acall(question="Who is Ada?"))
            else:
                prediction = program(question="Who is Ada?")
        return prediction, [request.messages for request in server.requests]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_broken_reply_is_repaired_before_it_is_parsed(*, awaited: bool) -> None:
    verdicts: list[Verdict] = []
    adapter = ContractAdapter(CONTRACT, on_verdict=verdicts.append)
    prediction, sent = ask([BROKEN], adapter, awaited=awaited)
    assert (prediction.name, prediction.age) == ("Ada", 36)
    assert len(sent) == 1
    assert verdicts[0].fixes


@pytest.mark.parametrize("awaited", [False, True])
def test_a_refused_reply_is_asked_for_again_with_the_correction(*, awaited: bool) -> None:
    prediction, sent = ask([REFUSED, MISSING, GOOD], ContractAdapter(CONTRACT), awaited=awaited)
    assert prediction.age == 36
    assert sent[1][-2] == {"role": "assistant", "content": REFUSED}
    assert "Correct it; this is correction 1 of 2." in sent[1][-1]["content"]
    assert "age >= 0" in sent[1][-1]["content"]
    assert len(sent[2]) == len(sent[0]) + 4
    assert "this is correction 2 of 2." in sent[2][-1]["content"]


@pytest.mark.parametrize("awaited", [False, True])
def test_the_verdict_is_the_cause_when_the_retries_are_used_up(*, awaited: bool) -> None:
    with pytest.raises(AdapterParseError, match="Your reply was not valid") as caught:
        ask([REFUSED, REFUSED], ContractAdapter(CONTRACT, retries=1), awaited=awaited)
    assert isinstance(caught.value.__cause__, Rejected)
    assert caught.value.__cause__.verdict.data == {"name": "Ada", "age": -5}


def test_fields_that_the_contract_does_not_name_stay() -> None:
    program = dspy.ChainOfThought(SIGNATURE)
    prediction, _ = ask(
        ['{"reasoning": "She lived.", "name": "Ada", "age": "36",}'], ContractAdapter(CONTRACT), program
    )
    assert (prediction.reasoning, prediction.age) == ("She lived.", 36)


class About(dspy.Signature):
    """Say who it is."""

    question: str = dspy.InputField()
    person: Person = dspy.OutputField()


@pytest.mark.parametrize("first", [f'{{"person": {REFUSED}}}', f'{{"someone": {GOOD}}}', "I do not know."])
def test_a_contract_may_judge_one_field(first: str) -> None:
    prediction, sent = ask([first, f'{{"person": {GOOD},}}'], ContractAdapter(CONTRACT, "person"), dspy.Predict(About))
    assert prediction.person == ADA
    assert "Output field `person`: " in sent[1][-1]["content"]


def test_a_contract_may_judge_a_field_that_is_text() -> None:
    adapter = ContractAdapter(Contract(reply=True), "answer")
    replies = ['{"answer": "Yes"}', '{"answer": "Yes, I can help you with that."}']
    prediction, sent = ask(replies, adapter, dspy.Predict("question -> answer"))
    assert prediction.answer == "Yes, I can help you with that."
    assert len(sent) == 2


def test_an_error_of_the_signature_is_corrected_too() -> None:
    contract = Contract({"type": "object"})
    prediction, sent = ask(['{"name": "Ada", "age": "old"}', GOOD], ContractAdapter(contract))
    assert prediction.age == 36
    assert "age" in sent[1][-1]["content"]


def test_a_stream_ends_with_the_judged_prediction() -> None:
    parts, _ = ask([Say(REFUSED, piece=4), Say(BROKEN, piece=4)], ContractAdapter(CONTRACT), streams=True)
    assert isinstance(parts[-1], dspy.Prediction)
    assert parts[-1].age == 36


def test_corrections_of_one_call_do_not_reach_the_next() -> None:
    adapter = ContractAdapter(CONTRACT)
    _, sent = ask([REFUSED, GOOD], adapter)
    _, later = ask([GOOD], adapter)
    assert later[0] == sent[0]


def test_the_context_reaches_the_contract() -> None:
    contract = Contract(Person, rules=["age >= least"], input=["least"])
    with pytest.raises(AdapterParseError):
        ask([GOOD], ContractAdapter(contract, retries=0, context={"input": {"least": 40}}))
    assert ask([GOOD], ContractAdapter(contract, context={"input": {"least": 30}}))[0].age == 36


def test_steps_of_a_module_that_do_not_have_the_field_are_not_judged() -> None:
    def search(query: str) -> str:
        """Search the encyclopedia."""
        return "Ada died at 36."

    steps = [
        '{"next_thought": "Search.", "next_tool_name": "search", "next_tool_args": {"query": "Ada"}}',
        '{"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": {}}',
        '{"reasoning": "She died at 36.", "age": -1}',
        '{"reasoning": "She died at 36.", "age": "36"}',
    ]
    contract = Contract({"type": "integer", "minimum": 0})
    with ScriptedServer(steps) as server:
        lm = dspy.LM("openai/m", api_base=f"{server.url}/v1", api_key="none", cache=False)
        with dspy.context(lm=lm, adapter=ContractAdapter(contract, "age")):
            assert dspy.ReAct("question -> age: int", tools=[search])(question="How old was Ada?").age == 36


def test_a_misspelled_field_is_an_error() -> None:
    with pytest.raises(ValueError, match="'agee' is not an output field of the signature; did you mean 'age'"):
        ContractAdapter(Contract(int), "agee").parse(dspy.Signature("question -> age: int"), '{"age": 36}')


def test_a_missing_state_is_not_asked_for_again() -> None:
    adapter = ContractAdapter(Contract(states={"IDLE": {}}), "answer", retries=2)
    with pytest.raises(RuntimeError, match="asking again would not help: reply refused: D006"):
        adapter.parse(dspy.Signature("question -> answer"), '{"answer": "Hello."}')
