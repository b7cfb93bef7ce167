"""LangChain: the parser and the runnable in real chains, over a real client and a server on loopback."""

import asyncio
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr, ValidationError

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Policy, Rejected, Verdict
from trueup.adapters.langchain import ContractOutputParser, ContractRunnable
from trueup.testing.script import Call, Fail, Say
from trueup.testing.server import ScriptedServer

PROMPT = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "Who is {who}?")])


def model_of(server: ScriptedServer) -> ChatOpenAI:
    return ChatOpenAI(base_url=f"{server.url}/v1", api_key=SecretStr("none"), model="m", max_retries=0)


@asynccontextmanager
async def awaited_model(server: ScriptedServer) -> AsyncIterator[ChatOpenAI]:
    """A model whose asynchronous connections are closed in the event loop that opened them."""
    model = model_of(server)
    try:
        yield model
    finally:
        await model.root_async_client.close()


@pytest.fixture
def verdicts() -> list[Verdict]:
    return []


def test_a_chain_gives_the_repaired_value(verdicts: list[Verdict]) -> None:
    parser = ContractOutputParser(contract=CONTRACT, on_verdict=verdicts.append)
    with ScriptedServer([BROKEN]) as server:
        assert (PROMPT | model_of(server) | parser).invoke({"who": "Ada"}) == ADA
    assert {fix.code for fix in verdicts[0].fixes} >= {"W001", "S001"}
    assert verdicts[0].reply.text == BROKEN


def test_a_chain_can_be_awaited() -> None:
    parser = ContractOutputParser(contract=CONTRACT)

    async def ask(server: ScriptedServer) -> Any:
        async with awaited_model(server) as model:
            return await (PROMPT | model | parser).ainvoke({"who": "Ada"})

    with ScriptedServer([BROKEN]) as server:
        assert asyncio.run(ask(server)) == ADA


@pytest.mark.parametrize("reply", [REFUSED, MISSING, "I do not know.", ""])
def test_a_refused_reply_raises_what_langchain_expects(reply: str) -> None:
    parser = ContractOutputParser(contract=CONTRACT)
    with pytest.raises(OutputParserException) as caught:
        parser.invoke(AIMessage(reply))
    error = caught.value
    assert isinstance(error.__cause__, Rejected)
    assert error.llm_output == reply
    assert error.send_to_llm
    assert error.observation
    assert not reply or reply in error.observation, "the correction quotes the reply"


def test_langchains_own_retry_sees_a_refused_reply() -> None:
    chain = ContractOutputParser(contract=CONTRACT)
    with ScriptedServer([MISSING, GOOD]) as server:
        again = (model_of(server) | chain).with_retry(
            retry_if_exception_type=(OutputParserException,), wait_exponential_jitter=False, stop_after_attempt=2
        )
        assert again.invoke("Who is Ada?") == ADA


def test_a_stream_yields_the_value_so_far_and_then_the_judged_one() -> None:
    parser = ContractOutputParser(contract=CONTRACT)
    with ScriptedServer([Say(GOOD, piece=4)]) as server:
        parts = list((model_of(server) | parser).stream("Who is Ada?"))
    assert len(parts) > 2
    assert parts[0].data != ADA.model_dump()
    assert parts[-1] == ADA


def test_an_asynchronous_stream_ends_in_the_exception() -> None:
    parser = ContractOutputParser(contract=CONTRACT)
    parts: list[Any] = []

    async def read(server: ScriptedServer) -> None:
        async with awaited_model(server) as model:
            async for part in (model | parser).astream("Who is Ada?"):
                parts.append(part)  # noqa: PERF401 - they are looked at after the exception

    with ScriptedServer([Say(REFUSED, piece=4)]) as server, pytest.raises(OutputParserException):
        asyncio.run(read(server))
    assert parts[-1].data == {"name": "Ada", "age": -5}


def test_a_text_under_reply_rules_comes_back_as_text() -> None:
    parser = ContractOutputParser(contract=Contract(reply=True))
    assert parser.invoke("Yes, I can help you with that.") == "Yes, I can help you with that."
    assert list(parser.transform(iter(["Yes, I can help ", "you with that."])))[-1] == "Yes, I can help you with that."
    with pytest.raises(OutputParserException):
        parser.invoke("Yes")


def test_tool_calls_of_a_message_are_judged() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    message = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": "x"}, "id": "1"}])
    with pytest.raises(OutputParserException, match=r"\$\.calls\[0\]\.args\.b") as caught:
        ContractOutputParser(contract=Contract(tools=[add])).invoke(message)
    assert "The call was not made" in (caught.value.observation or "")


def test_the_context_reaches_the_contract() -> None:
    contract = Contract(states={"IDLE": {"forbid": [{"terms": ["confirmed"]}]}, "DONE": {}})
    idle = ContractOutputParser(contract=contract, context={"state": "IDLE"})
    done = ContractOutputParser(contract=contract, context={"state": "DONE"})
    assert done.invoke("Your booking is confirmed.")
    with pytest.raises(OutputParserException):
        idle.invoke("Your booking is confirmed.")


def test_format_instructions_come_from_the_contract() -> None:
    assert ContractOutputParser(contract=CONTRACT).get_format_instructions() == CONTRACT.instructions()


class Runs(BaseCallbackHandler):
    """The runs that LangChain reports, each with its parent."""

    def __init__(self) -> None:
        self.parents: dict[Any, Any] = {}
        self.models: list[Any] = []

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **rest: Any
    ) -> None:
        self.parents[run_id] = parent_run_id

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **rest: Any
    ) -> None:
        self.models.append(parent_run_id)


def test_the_runnable_asks_again_and_langchain_sees_every_call() -> None:
    runs, answers = Runs(), []
    with ScriptedServer([MISSING, BROKEN]) as server:
        ask = ContractRunnable(contract=CONTRACT, model=model_of(server), on_answer=answers.append)
        assert (PROMPT | ask).invoke({"who": "Ada"}, {"callbacks": [runs]}) == ADA
        assert "Required field is missing" in str(server.requests[1].messages)
    assert answers[0].outcome == "repaired"
    assert len(runs.models) == 2
    assert set(runs.models) <= set(runs.parents), "the calls are children of a run"


def test_the_runnable_can_be_awaited_and_batched() -> None:
    async def ask(server: ScriptedServer) -> Any:
        async with awaited_model(server) as model:
            return await ContractRunnable(contract=CONTRACT, model=model).ainvoke([HumanMessage("Who is Ada?")])

    with ScriptedServer([MISSING, GOOD]) as server:
        assert asyncio.run(ask(server)) == ADA
    with ScriptedServer(then=GOOD) as server:
        runnable = ContractRunnable(contract=CONTRACT, model=model_of(server))
        assert runnable.batch(["Who is Ada?"] * 3) == [ADA] * 3


def test_the_runnable_raises_when_no_reply_keeps_the_contract() -> None:
    with ScriptedServer([MISSING, MISSING]) as server:
        ask = ContractRunnable(contract=CONTRACT, model=model_of(server), policy=Policy(repairs=1))
        with pytest.raises(OutputParserException, match="V002"):
            ask.invoke("Who is Ada?")


def test_the_runnable_says_that_the_model_could_not_be_reached() -> None:
    with ScriptedServer([Fail(401, "no such key")]) as server:
        ask = ContractRunnable(contract=CONTRACT, model=model_of(server))
        with pytest.raises(OutputParserException, match="no such key"):
            ask.invoke("Who is Ada?")


def streamed(runnable: ContractRunnable, *, awaited: bool) -> list[Any]:
    async def read() -> list[Any]:
        try:
            return [part async for part in runnable.astream("Who is Ada?")]
        finally:
            await runnable.model.root_async_client.close()

    return asyncio.run(read()) if awaited else list(runnable.stream("Who is Ada?"))


@pytest.mark.parametrize("awaited", [False, True])
def test_a_stream_of_the_runnable_ends_with_the_judged_value(*, awaited: bool) -> None:
    with ScriptedServer([Say(MISSING, piece=4), Say(GOOD, piece=4)]) as server:
        parts = streamed(ContractRunnable(contract=Contract(Person), model=model_of(server)), awaited=awaited)
    assert len(parts) > 2
    assert parts[-1] == ADA


def test_options_that_are_bound_to_the_runnable_reach_the_model() -> None:
    with ScriptedServer([Say(GOOD)]) as server:
        ask = ContractRunnable(contract=CONTRACT, model=model_of(server)).bind(seed=7)
        assert ask.invoke("Who is Ada?") == ADA
        assert orjson.loads(server.requests[0].body)["seed"] == 7


def test_a_refusal_says_once_what_is_wrong() -> None:
    with pytest.raises(OutputParserException) as caught:
        ContractOutputParser(contract=CONTRACT).parse(REFUSED)
    assert str(caught.value).count("age >= 0") == 1


def test_a_contract_may_be_the_path_of_a_file(root: Path) -> None:
    parser = ContractOutputParser(contract=str(root / "examples" / "contracts" / "people.yaml"))  # type: ignore[arg-type]
    assert parser.contract.name == "people"
    with pytest.raises(TypeError, match="expected a Contract or the path of a contract file, got dict"):
        ContractOutputParser(contract={"type": "object"})  # type: ignore[arg-type]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


CALLING = Say("I will add.", (Call("add", '{"a": "1", "b": 2,}'),), piece=4)


@pytest.mark.parametrize("schema", [None, Person])
def test_a_reply_with_tool_calls_is_returned_as_a_message_with_repaired_calls(schema: Any) -> None:
    parser = ContractOutputParser(contract=Contract(schema, tools=[add]))
    with ScriptedServer(then=CALLING) as server:
        chain = model_of(server).bind_tools([add]) | parser
        messages = [chain.invoke("Add."), list(chain.stream("Add."))[-1]]
    for message in messages:
        assert (message.text, message.tool_calls[0]["name"]) == ("I will add.", "add")
        assert add.invoke(message.tool_calls[0]).content == "3"


def test_the_runnable_returns_a_message_with_repaired_calls() -> None:
    with ScriptedServer([CALLING]) as server:
        model = model_of(server).bind_tools([add])
        message = ContractRunnable(contract=Contract(tools=[add]), model=model).invoke("Add.")
    assert message.tool_calls[0]["args"] == {"a": 1, "b": 2}


def test_messages_of_any_role_are_parsed() -> None:
    parser = ContractOutputParser(contract=CONTRACT)
    for message in (AIMessage(BROKEN), ChatMessage(BROKEN, role="assistant"), HumanMessage(BROKEN)):
        assert parser.invoke(message) == ADA


def test_a_batch_gives_each_reply_its_own_result() -> None:
    parser = ContractOutputParser(contract=CONTRACT)
    replies: list[Any] = [GOOD, REFUSED, BROKEN]
    for results in (
        parser.batch(replies, return_exceptions=True),
        asyncio.run(parser.abatch(replies, return_exceptions=True)),
    ):
        assert [results[0], results[2]] == [ADA, ADA]
        assert isinstance(results[1], OutputParserException)


def test_a_parser_is_pickled_with_its_contract() -> None:
    parser = pickle.loads(pickle.dumps(ContractOutputParser(contract=CONTRACT)))
    assert parser.invoke(BROKEN) == ADA


def test_a_misspelled_option_is_refused() -> None:
    with pytest.raises(ValidationError, match="contxt"):
        ContractOutputParser(contract=CONTRACT, contxt={"state": "IDLE"})  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="polcy"):
        ContractRunnable(contract=CONTRACT, model=RunnableLambda(str), polcy=None)  # type: ignore[call-arg]


def test_a_missing_state_is_an_error_that_no_retry_catches() -> None:
    parser = ContractOutputParser(contract=Contract(states={"IDLE": {}}))
    with pytest.raises(RuntimeError, match="asking again would not help: reply refused: D006"):
        parser.with_retry(retry_if_exception_type=(OutputParserException,)).invoke("Hello.")
