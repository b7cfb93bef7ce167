"""LangChain's chat models: how long a call may take, and a stream that does not say how it ended."""

from typing import Any

import pytest

from tests.ask.clients.kinds import closing, run
from tests.ask.stage import GOOD, SCHEMA, StageClock
from trueup import Contract, Policy
from trueup.ask.clients.find import find_client
from trueup.ask.clients.request import Request
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream
from trueup.testing.script import Cut, Hang, Say
from trueup.testing.server import ScriptedServer

CONTRACT = Contract(SCHEMA)
MODELS = ["langchain-openai", "langchain-openai-async", "langchain-anthropic"]


@pytest.mark.spec("A8", "A11")
@pytest.mark.parametrize("kind", MODELS)
def test_silence_ends_with_the_time_of_the_policy(kind: str) -> None:
    with ScriptedServer([Hang(), GOOD]) as server:
        answer = run(kind, server, CONTRACT, policy=Policy(models=("m",), timeout=0.4)).answer
    assert answer.outcome == "accepted"
    assert answer.attempts[0].failure is not None
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("own", "asked", "given"),
    [(None, 30.0, 30.0), (5.0, 30.0, 5.0), (90, 30.0, 30.0), ((1.0, 2.0), 30.0, None), (5.0, None, None)],
    ids=["none", "shorter", "longer", "in parts", "no limit"],
)
def test_the_shorter_time_holds(own: Any, asked: float | None, given: float | None) -> None:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model = ChatOpenAI(model="m", api_key=SecretStr("none"), timeout=own)
    with closing(model):
        bound = find_client(model)._bound(Request([], timeout=asked))  # type: ignore[attr-defined]
        assert getattr(bound, "kwargs", {}).get("timeout") == given


@pytest.mark.spec("X36")
@pytest.mark.parametrize("responses", [False, True])
def test_a_value_that_was_cut_in_a_number_is_asked_for_again(responses: bool) -> None:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    reply = Say('{"name": "Ada", "age": 36}', piece=1)
    clock = StageClock()
    with ScriptedServer([Cut(reply, events=-4, silent=True), reply]) as server:
        model = ChatOpenAI(
            base_url=f"{server.url}/v1",
            api_key=SecretStr("none"),
            model="m",
            max_retries=0,
            use_responses_api=responses,
        )
        with closing(model):
            asked = AskStream(CONTRACT, model, "Who?", clock=clock, wait=clock.wait, memory=Memory())
            assert list(asked)
    assert (asked.answer.outcome, asked.answer.value) == ("accepted", {"name": "Ada", "age": 36})
    assert len(server.requests) == 2


@pytest.mark.parametrize("raised", [None, NotImplementedError, ValueError])
def test_a_chat_model_that_cannot_bind_tools_is_told_of_them_in_words(raised: type[Exception] | None) -> None:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    class Binding(FakeListChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            if raised is not None:
                raise raised
            return self.bind(tools=tools, **options)

    assert find_client(FakeListChatModel(responses=["x"])).takes_tools is False
    assert find_client(Binding(responses=["x"])).takes_tools is (raised is not NotImplementedError)
    contract = Contract(tools=[{"name": "ping"}])
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    answer = contract.ask(FakeListChatModel(responses=[call]), "Ping it.")
    assert [call.name for call in answer.calls] == ["ping"]
