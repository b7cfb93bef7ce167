"""LangChain's chat models and runnables: time limits, streams without a finish reason, bindings, parsers and chains."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.ask.clients.kinds import closing, run
from tests.ask.stage import GOOD, SCHEMA, StageClock
from trueup import Contract, Policy
from trueup.ask.clients.find import find_client
from trueup.ask.clients.request import Request
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream
from trueup.testing.script import Call, Cut, Fail, Hang, Say
from trueup.testing.server import ScriptedServer

CONTRACT = Contract(SCHEMA)
MODELS = ["langchain-openai", "langchain-openai-async", "langchain-anthropic"]


@pytest.mark.spec("A8", "A11")
@pytest.mark.parametrize("kind", MODELS)
def test_the_policys_timeout_ends_silence(kind: str) -> None:
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
def test_the_shorter_timeout_applies(own: Any, asked: float | None, given: float | None) -> None:
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
def test_tools_are_described_in_words_to_a_chat_model_that_cannot_bind_them(raised: type[Exception] | None) -> None:
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


@pytest.mark.spec("A8")
@pytest.mark.parametrize("streams", [False, True])
def test_a_model_that_can_only_block_does_not_block_the_event_loop(streams: bool) -> None:
    """LangChain would call it in a thread that the event loop waits for when it ends."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    go = threading.Event()

    class Blocking(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "blocking"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **given: Any) -> ChatResult:
            go.wait()
            return ChatResult(generations=[ChatGeneration(message=AIMessage("late"))])

    async def going() -> Any:
        if not streams:
            return await Contract().aask(Blocking(), "Who?", Policy(deadline=0.3), memory=Memory())
        parts = Contract().aask_stream(Blocking(), "Who?", Policy(deadline=0.3), memory=Memory())
        assert [part async for part in parts] == []
        return parts.answer

    try:
        answer = asyncio.run(going())  # it returns although `go` is not set
    finally:
        go.set()
    assert answer.reason == "deadline"
    assert answer.attempts[0].failure.code == "abandoned"


def _chat(server: ScriptedServer, **options: Any) -> Any:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(base_url=f"{server.url}/v1", api_key=SecretStr("none"), model="m", **options)


VALUE = {"name": "Ada", "age": 36}


def _person() -> Any:
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    return Person


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
@pytest.mark.parametrize("include_raw", [False, True])
def test_structured_output_is_judged_as_the_parsed_value(method: str, include_raw: bool) -> None:
    said = Say("", (Call("Person", VALUE),)) if method == "function_calling" else Say(GOOD)
    with ScriptedServer([said], then=said) as server:
        model = _chat(server)
        with closing(model):
            held = model.with_structured_output(_person(), method=method, include_raw=include_raw)
            answer = CONTRACT.ask(held, "Who?", memory=Memory())
    if method == "function_calling" and include_raw:  # the raw message is judged, and its call is not a value
        assert {found.code for found in answer.verdict.errors} == {"T001", "P002"}
        return
    assert len(server.requests) == 1
    assert (answer.outcome, answer.value) == ("accepted", VALUE)


def test_a_reply_that_a_parser_cannot_read_is_judged_and_repaired() -> None:
    from langchain_core.output_parsers import JsonOutputParser

    with ScriptedServer(["Ada, I think.", GOOD]) as server:
        model = _chat(server)
        with closing(model):
            answer = CONTRACT.ask(model | JsonOutputParser(), "Who?", memory=Memory())
    assert (answer.outcome, answer.value) == ("repaired", VALUE)


def test_a_parser_that_streams_growing_values_gives_the_last() -> None:
    from langchain_core.output_parsers import JsonOutputParser

    with ScriptedServer([Say(GOOD, piece=4)]) as server:
        model = _chat(server)
        with closing(model):
            stream = CONTRACT.ask_stream(model | JsonOutputParser(), "Who?", memory=Memory())
            parts = list(stream)
    assert parts[-1].value == VALUE
    assert stream.answer.outcome == "accepted"


def test_a_configurable_model_is_asked_with_its_default() -> None:
    from langchain_core.runnables import ConfigurableField

    with ScriptedServer(then=GOOD) as server:
        model = _chat(server, temperature=0.7)
        with closing(model):
            asked = model.configurable_fields(temperature=ConfigurableField(id="warmth"))
            answer = CONTRACT.ask(asked, "Who?", memory=Memory())
            assert answer.outcome == "accepted"
            hot = asked.with_config(configurable={"warmth": 0.9})
            assert CONTRACT.ask(hot, "Who?", memory=Memory()).outcome == "accepted"
    assert [request.fields["temperature"] for request in server.requests] == [0.7, 0.9]


def test_any_chat_model_that_binds_tools_is_asked_for_the_value_as_a_call() -> None:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    bound: list[Any] = []

    class Own(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            bound.append((tools, options))
            return self

    def said() -> Any:
        name = bound[-1][0][0]["function"]["name"]
        yield AIMessage("", tool_calls=[{"name": name, "args": VALUE, "id": "call_one"}])

    model = Own(messages=said())
    assert find_client(model).modes == ("tool", "text")
    answer = CONTRACT.ask(model, "Who?", memory=Memory())
    assert (answer.outcome, answer.value) == ("accepted", VALUE)
    tools, options = bound[-1]
    assert options == {"tool_choice": tools[0]["function"]["name"]}


@pytest.mark.parametrize("made", [{}, {"max_retries": 5}])
def test_the_retries_of_a_known_model_are_always_off(made: dict[str, Any]) -> None:
    with ScriptedServer(then=Fail(503, "down")) as server:
        model = _chat(server, **made)
        with closing(model), pytest.raises(Exception, match="down"):
            find_client(model).send(Request([{"role": "user", "content": "Who?"}]))
        assert len(server.requests) == 1
        assert model.max_retries == made.get("max_retries"), "the caller's model is not changed"


@pytest.mark.parametrize("ending", ["length", "filter"])
def test_a_reply_that_openai_refuses_to_parse_is_a_verdict(ending: Any) -> None:
    with ScriptedServer(then=Say('{"name": "Ada"', finish=ending)) as server:
        model = _chat(server)
        with closing(model):
            clock = StageClock()
            policy = Policy(retries=0, repairs=0)
            answer = CONTRACT.ask(model, "Who?", policy, memory=Memory(), clock=clock, wait=clock.wait)
    assert answer.outcome in {"degraded", "failed"}


def _sent(wrap: Callable[[Any], Any], contract: Contract[Any] = CONTRACT, reply: Any = GOOD, **made: Any) -> Any:
    """The request that reaches the server from a wrapped chat model."""
    with ScriptedServer(then=reply) as server:
        model = _chat(server, **made)
        with closing(model):
            assert contract.ask(wrap(model), "Who?", memory=Memory()).ok
        assert len(server.requests) == 1
    return server.requests[0].fields


OWN = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
FREE = {"type": "object", "properties": {"by": {"type": "object", "additionalProperties": {"type": "string"}}}}


@pytest.mark.spec("A13")
def test_what_is_bound_to_a_model_is_sent_and_the_model_is_held_to_the_schema() -> None:
    sent = _sent(lambda model: model.bind(temperature=0.7, stop=["END"]).with_config(tags=["mine"]))
    assert (sent["temperature"], sent["stop"]) == (0.7, ["END"])
    assert sent["response_format"]["type"] == "json_schema"


def test_configuration_is_kept() -> None:
    from langchain_core.callbacks import BaseCallbackHandler

    seen: list[Any] = []

    class Noting(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **about: Any) -> None:
            seen.append(about["tags"])

    _sent(lambda model: model.with_config(callbacks=[Noting()], tags=["mine"]))
    assert seen == [["mine"]]


def test_bound_tools_are_merged_with_the_contracts_tools() -> None:
    contract = Contract(SCHEMA, tools=[{"name": "book", "parameters": FREE}])
    sent = _sent(lambda model: model.bind_tools([OWN]), contract)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["look", "book"]
    assert sent["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("responses", [False, True])
@pytest.mark.parametrize("own", [None, {"seed": 1}])
def test_a_tool_that_cannot_be_strict_is_sent_with_a_schema(responses: bool, own: Any) -> None:
    """The SDK refuses to parse a reply to such a request."""
    contract = Contract(SCHEMA, tools=[{"name": "book", "parameters": FREE}])
    sent = _sent(lambda model: model, contract, use_responses_api=responses, extra_body=own)
    assert (sent["text"]["format"] if responses else sent["response_format"])["type"] == "json_schema"
    assert sent.get("seed") == (own or {}).get("seed")


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: model.bind(temperature=0.7)], ids=["own", "bound"])
def test_a_temperature_of_the_model_that_is_rejected_is_left_out_from_then_on(wrap: Any) -> None:
    def reply(request: Any) -> Any:
        return Fail(400, "temperature is not supported") if "temperature" in request.fields else Say(GOOD)

    memory = Memory()
    with ScriptedServer(reply) as server:
        model = _chat(server, temperature=0.7)
        with closing(model):
            for _ in range(2):
                assert CONTRACT.ask(wrap(model), "Who?", memory=memory).ok
    assert [exchange.status for exchange in server.exchanges] == [400, 200, 200]


@pytest.mark.spec("A13")
@pytest.mark.parametrize("wraps", [False, True])
def test_a_chain_that_begins_with_a_prompt_gets_the_messages_in_its_place_for_them(wraps: bool) -> None:
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages([("system", "Be {how}."), ("placeholder", "{messages}")])

    def chain(model: Any) -> Any:
        whole = prompt.partial(how="brief") | model | StrOutputParser()
        return whole.with_config(tags=["mine"]) if wraps else whole

    messages = _sent(chain)["messages"]
    assert messages[0]["content"] == "Be brief."
    assert messages[-1]["content"] == "Who?"


def test_a_chain_with_a_prompt_without_messages_is_refused() -> None:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.prompts import ChatPromptTemplate

    chain = ChatPromptTemplate.from_messages([("human", "{question}")]) | FakeListChatModel(responses=[GOOD])
    with pytest.raises(TypeError, match=r"prompt of this chain takes 'question'.*\{messages\}"):
        CONTRACT.ask(chain, "Who?")


def test_an_asynchronous_function_is_refused_by_synchronous_code() -> None:
    from langchain_core.runnables import RunnableLambda

    async def reply(messages: Any) -> str:
        return GOOD

    with pytest.raises(TypeError, match="aask"):
        CONTRACT.ask(RunnableLambda(reply), "Who?")
    assert asyncio.run(CONTRACT.aask(RunnableLambda(reply), "Who?")).value == VALUE


def test_a_stream_of_raw_and_parsed_replies_gives_the_raw_ones() -> None:
    with ScriptedServer([Say(GOOD, piece=4)]) as server:
        model = _chat(server)
        with closing(model):
            held = model.with_structured_output(_person(), method="json_mode", include_raw=True)
            stream = CONTRACT.ask_stream(held, "Who?", memory=Memory())
            assert list(stream)[-1].value == VALUE
    assert (stream.answer.outcome, stream.answer.value) == ("accepted", VALUE)


def test_the_parts_of_parallel_runnables_are_one_value() -> None:
    from langchain_core.runnables import RunnableLambda, RunnableParallel

    both = RunnableParallel(name=RunnableLambda(lambda _: "Ada"), age=RunnableLambda(lambda _: 36))
    stream = CONTRACT.ask_stream(both, "Who?", memory=Memory())
    assert list(stream)[-1].value == VALUE


def test_a_value_that_cannot_be_json_is_judged_and_does_not_raise() -> None:
    from langchain_core.runnables import RunnableLambda

    answer = CONTRACT.ask(RunnableLambda(lambda _: {"name": object()}), "Who?", memory=Memory())
    assert (answer.outcome, answer.reason) == ("failed", "unreadable")
