"""Streams of the real SDKs, passed unchanged to a contract: the verdict is the same as for the whole message."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Self

import anthropic
import openai
import pytest
from google import genai
from google.genai import types as genai_types
from langchain_core.messages import AIMessageChunk
from pydantic import BaseModel

from trueup import Contract, Partial, Verdict
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer

# google-genai causes a warning about its own aiohttp session
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
ASK: Any = [{"role": "user", "content": "Who?"}]


class Person(BaseModel):
    name: str
    age: int


TEXT = 'Sure: {"name": "Ada Lovelace", "age": "36"}'
SAID = Say(TEXT, piece=4)
CALLED = Say("One moment.", (Call("book", {"day": 3}), Call("cancel", {})), piece=4)
PERSON = Contract(Person)
ADA = Person(name="Ada Lovelace", age=36)
TOOLS = Contract(tools=[{"name": "book", "parameters": {"required": ["day"]}}, {"name": "cancel", "parameters": {}}])


class Clients:
    """One client of each SDK, for a scripted server; they are closed at the end."""

    def __init__(self, *script: Say, then: Say | None = None) -> None:
        self._stack = ExitStack()
        server = self._stack.enter_context(ScriptedServer(script, then=then))
        self.url = server.url
        self.openai = self._stack.enter_context(openai.OpenAI(base_url=server.url, api_key="none"))
        self.anthropic = self._stack.enter_context(anthropic.Anthropic(base_url=server.url, api_key="none"))
        options = genai_types.HttpOptions(base_url=server.url)
        self.gemini = genai.Client(api_key="none", http_options=options)
        self._stack.callback(self.gemini.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def helped(self, manager: Any) -> Any:
        """The stream from an SDK's own helper."""
        return self._stack.enter_context(manager)


def chat(clients: Clients, *, stream: bool) -> Any:
    return clients.openai.chat.completions.create(model="m", messages=ASK, stream=stream)


def responses(clients: Clients, *, stream: bool) -> Any:
    return clients.openai.responses.create(model="m", input="hi", stream=stream)


def messages(clients: Clients, *, stream: bool) -> Any:
    return clients.anthropic.messages.create(model="m", max_tokens=99, messages=ASK, stream=stream)


def generated(clients: Clients, *, stream: bool) -> Any:
    models = clients.gemini.models
    if stream:
        return models.generate_content_stream(model="m", contents="hi")
    return models.generate_content(model="m", contents="hi")


def helped_chat(clients: Clients, *, stream: bool) -> Any:
    if not stream:
        return chat(clients, stream=stream)
    return clients.helped(clients.openai.chat.completions.stream(model="m", messages=ASK))


def helped_responses(clients: Clients, *, stream: bool) -> Any:
    if not stream:
        return responses(clients, stream=stream)
    return clients.helped(clients.openai.responses.stream(model="m", input="hi"))


def helped_messages(clients: Clients, *, stream: bool) -> Any:
    if not stream:
        return messages(clients, stream=stream)
    return clients.helped(clients.anthropic.messages.stream(model="m", max_tokens=99, messages=ASK))


SDKS: dict[str, Callable[..., Any]] = {
    "openai chat": chat,
    "openai responses": responses,
    "anthropic": messages,
    "gemini": generated,
    "openai chat, helper": helped_chat,
    "openai responses, helper": helped_responses,
    "anthropic, helper": helped_messages,
}
each_sdk = pytest.mark.parametrize("ask", SDKS.values(), ids=SDKS)


def facts(verdict: Verdict[Any]) -> dict[str, Any]:
    """A verdict without the parts that only a body has."""
    told = verdict.to_dict()
    told["reply"] = {name: told["reply"].get(name) for name in ("text", "finish")}
    for call in (*told["calls"], *(refused["call"] for refused in told["refused"])):
        call.pop("id")
        call.pop("raw_args")
    return told


@pytest.mark.spec("A15")
@each_sdk
@pytest.mark.parametrize(("contract", "say"), [(PERSON, SAID), (TOOLS, CALLED)], ids=["value", "calls"])
def test_a_stream_has_the_same_verdict_as_the_whole_message(
    ask: Callable[..., Any], contract: Contract[Any], say: Say
) -> None:
    with Clients(then=say) as server:
        whole = facts(contract.check(ask(server, stream=False)))
        assert whole["ok"]
        assert facts(contract.check(ask(server, stream=True))) == whole
        fed = contract.stream()
        for chunk in ask(server, stream=True):
            fed.feed(chunk)
        assert facts(fed.finish()) == whole
        iterated = contract.stream(ask(server, stream=True))
        for _ in iterated:
            pass
        assert facts(iterated.verdict) == whole
        assert facts(contract.stream(ask(server, stream=True)).finish()) == whole


@each_sdk
def test_a_stream_of_an_sdk_gives_partials_of_the_type(ask: Callable[..., Any]) -> None:
    with Clients(SAID) as server:
        stream = PERSON.stream(ask(server, stream=True))
        parts = list(stream)
    assert all(isinstance(part, Partial) for part in parts)
    names = [part.name for part in parts if part.name]
    assert len(set(names)) > 2
    assert all("Ada Lovelace".startswith(name) for name in names)
    assert (parts[-1].name, parts[-1].age, parts[-1].complete) == ("Ada Lovelace", 36, ("name", "age"))
    assert stream.verdict.unwrap() == Person(name="Ada Lovelace", age=36)


Asked = Callable[[], Awaitable[Any]]


async def chats(url: str, stack: AsyncExitStack) -> Asked:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key="none"))
    return lambda: client.chat.completions.create(model="m", messages=ASK, stream=True)


async def many_messages(url: str, stack: AsyncExitStack) -> Asked:
    client = await stack.enter_async_context(anthropic.AsyncAnthropic(base_url=url, api_key="none"))
    return lambda: client.messages.create(model="m", max_tokens=99, messages=ASK, stream=True)


async def much_generated(url: str, stack: AsyncExitStack) -> Asked:
    client = genai.Client(api_key="none", http_options=genai_types.HttpOptions(base_url=url))
    stack.push_async_callback(client.aio.aclose)
    stack.callback(client.close)
    return lambda: client.aio.models.generate_content_stream(model="m", contents="hi")


@pytest.mark.parametrize("asking", [chats, many_messages, much_generated])
def test_asynchronous_streams(asking: Callable[[str, AsyncExitStack], Awaitable[Asked]]) -> None:
    async def run(url: str) -> None:
        async with AsyncExitStack() as stack:
            ask = await asking(url, stack)
            assert (await PERSON.acheck(await ask())).unwrap().age == 36
            stream = PERSON.stream(await ask())
            parts = [part async for part in stream]
            assert (parts[-1].age, stream.verdict.ok) == (36, True)
            assert (await PERSON.stream(await ask()).afinish()).ok
            assert (await PERSON.stream(ask()).afinish()).ok, "what gives a stream is awaited"
            assert (await PERSON.acheck(ask())).ok

    with ScriptedServer(then=SAID) as server:
        asyncio.run(run(server.url))


async def _stream() -> AsyncIterator[str]:
    return _later(TEXT)


async def _later(text: str) -> AsyncIterator[str]:
    for sign in text:
        yield sign


def test_an_asynchronous_stream_in_synchronous_code_gets_advice() -> None:
    with pytest.raises(TypeError, match=r"async_generator is asynchronous: use `await contract\.acheck"):
        PERSON.check(_later(TEXT))
    with pytest.raises(TypeError, match="use `async for`"):
        next(iter(PERSON.stream(_later(TEXT))))
    with pytest.raises(TypeError, match=r"use `await stream\.afinish\(\)`"):
        PERSON.stream(_later(TEXT)).finish()
    with pytest.raises(TypeError, match="coroutine is asynchronous"):
        PERSON.check(_stream())
    with pytest.raises(TypeError, match="this stream has no source"):
        next(iter(PERSON.stream()))


def test_plain_pieces_of_any_kind() -> None:
    async def later() -> Verdict[Person]:
        return await PERSON.acheck(_later(TEXT))

    expected = PERSON.check(TEXT).to_dict()
    assert PERSON.check(iter(TEXT)).to_dict() == expected
    assert PERSON.check(sign.encode() for sign in TEXT).to_dict() == expected
    assert asyncio.run(later()).to_dict() == expected
    assert PERSON.stream(TEXT).finish().to_dict() == expected
    assert PERSON.stream([TEXT[:9], TEXT[9:]]).finish().to_dict() == expected


def test_langchain_chunks_and_dicts_of_chunks() -> None:
    pieces = [TEXT[at : at + 5] for at in range(0, len(TEXT), 5)]
    last = AIMessageChunk(content="", response_metadata={"finish_reason": "stop"})
    langchain = [*(AIMessageChunk(content=piece) for piece in pieces), last]
    assert PERSON.check(iter(langchain)).unwrap().age == 36
    assert [part.age for part in PERSON.stream(langchain)][-1] == 36
    chunks: list[Any] = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces
    ]
    chunks.append({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert PERSON.check(iter(chunks)).unwrap().age == 36
    stream = PERSON.stream()
    assert [stream.feed(chunk) for chunk in chunks][-1].age == 36


def test_chunks_of_mistral_ollama_cohere_and_litellm() -> None:
    import cohere
    from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices
    from mistralai.client.models import CompletionEvent
    from ollama import ChatResponse

    def content(text: str) -> Any:
        return cohere.ContentDeltaV2ChatStreamResponse.model_validate(
            {"index": 0, "delta": {"message": {"content": {"text": text}}}}
        )

    def lite(text: str, finish: Any = None) -> Any:
        return ModelResponseStream(choices=[StreamingChoices(index=0, delta=Delta(content=text), finish_reason=finish)])

    def mistral(text: str, finish: Any = None) -> Any:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
        return CompletionEvent.model_validate({"data": {"id": "x", "model": "m", "choices": [choice]}})

    end = cohere.MessageEndV2ChatStreamResponse.model_validate({"delta": {"finish_reason": "COMPLETE"}})
    pieces = [TEXT[at : at + 5] for at in range(0, len(TEXT), 5)]
    streams: dict[str, list[Any]] = {
        "mistral": [*map(mistral, pieces), mistral("", "stop")],
        "ollama": [
            *(ChatResponse(model="m", message={"role": "assistant", "content": p}, done=False) for p in pieces),  # type: ignore[arg-type]
            ChatResponse(model="m", message={"role": "assistant", "content": ""}, done=True, done_reason="stop"),  # type: ignore[arg-type]
        ],
        "cohere": [*map(content, pieces), end],
        "litellm": [*map(lite, pieces), lite("", "stop")],
    }
    for name, chunks in streams.items():
        assert PERSON.check(iter(chunks)).ok, name
        stream = PERSON.stream(iter(chunks))
        assert [part.age for part in stream][-1] == 36, name
        assert stream.verdict.ok, name


def test_the_lines_of_a_response_as_an_http_client_gives_them() -> None:
    import httpx

    body = {"model": "m", "messages": ASK, "stream": True}
    with ScriptedServer(then=SAID) as server, httpx.Client(base_url=server.url) as client:
        for read in ("iter_lines", "iter_text", "iter_bytes", "iter_raw"):
            with client.stream("POST", "/v1/chat/completions", json=body) as response:
                stream = PERSON.stream(getattr(response, read)())
                parts = list(stream)
            assert parts[-1].age == 36, read
            assert stream.verdict.ok, read


def test_a_stream_that_breaks_off_is_refused() -> None:
    chunks = [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": TEXT}}]}]
    assert [found.code for found in PERSON.check(iter(chunks)).errors] == ["R003"]
    assert [found.code for found in PERSON.stream(chunks).finish().errors] == ["R003"]


def test_a_loop_that_stops_may_continue() -> None:
    stream = PERSON.stream(iter(TEXT))
    for part in stream:
        if part.name == "Ada":
            break
    with pytest.raises(RuntimeError, match="has not been read to its end"):
        _ = stream.verdict
    names = [part.name for part in stream]
    assert names[0] == "Ada "
    assert stream.verdict.ok


def test_an_error_of_the_source_is_the_callers() -> None:
    def broken() -> Iterator[str]:
        yield TEXT[:20]
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        PERSON.check(broken())
    stream = PERSON.stream(broken())
    with pytest.raises(ConnectionError, match="gone"):
        list(stream)
    assert not stream.finish().ok, "what has come is judged"


def test_a_context_alone_still_works_with_a_warning() -> None:
    asking = Contract(states={"ASKING": {"forbid": [{"terms": ["Ana"]}]}})
    with pytest.warns(DeprecationWarning, match="stream\\(context\\) is deprecated since 0.2"):
        stream = asking.stream({"state": "ASKING"})
    stream.feed("It is Ana. ")
    assert [found.code for found in stream.findings] == ["D001"]


def test_a_helper_is_entered_and_left() -> None:
    with Clients(then=SAID) as clients:
        chats, sent = clients.openai.chat.completions, clients.anthropic.messages
        assert PERSON.check(chats.stream(model="m", messages=ASK)).unwrap() == ADA
        stream = PERSON.stream(sent.stream(model="m", max_tokens=99, messages=ASK))
        assert next(iter(stream)).age is None
        assert stream.finish().unwrap() == ADA, "whoever breaks off may go on"

    async def main() -> None:
        with ScriptedServer(then=SAID) as server:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="none") as client:
                helper = client.chat.completions.stream(model="m", messages=ASK)
                stream = PERSON.stream(helper)
                async for _ in stream:
                    break
                assert (await stream.afinish()).unwrap() == ADA

    asyncio.run(main())
    with pytest.raises(TypeError, match=r"AsyncExitStack is asynchronous: use `await contract\.acheck"):
        PERSON.check(AsyncExitStack())


def test_the_texts_of_deltas_may_be_none() -> None:
    with Clients(then=SAID) as clients:
        chunks = chat(clients, stream=True)
        assert PERSON.check(one.choices[0].delta.content for one in chunks).unwrap() == ADA


def test_of_two_choices_the_first_is_shown() -> None:
    def said(index: int, text: str | None, finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]}

    turns = [
        said(at % 2, piece) for at, piece in enumerate(['{"name": "A', '{"name": "B', 'da", ', 'ob", ', '"age": 1}'])
    ]
    stream = PERSON.stream([*turns, said(1, '"age": 2}'), said(0, None, "stop"), said(1, None, "stop")])
    assert [part.name for part in stream] == ["A", "Ada", "Ada"]
    assert stream.verdict.unwrap() == Person(name="Ada", age=1)
