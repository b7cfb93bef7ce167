"""Every real kind of client against one server: how each is made, and how it is asked."""

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from tests.ask.stage import StageClock
from trueup import Contract, Policy
from trueup.ask.answer import Answer
from trueup.ask.clients.event_loop import wait
from trueup.ask.clients.find import find_client
from trueup.ask.clients.http import Http
from trueup.ask.clients.request import Request
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.sync import ask
from trueup.ask.gate import AnswerPart
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.testing.server import ScriptedServer

KEY = "none"  # the key of every client; a test may change it


class Kind(NamedTuple):
    """A client: its factory, whether it is asynchronous, and the protocol that it uses."""

    make: Callable[[ScriptedServer], Any]
    is_async: bool
    protocol: str


def _openai(server: ScriptedServer) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY)


def _openai_async(server: ScriptedServer) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY)


def _anthropic(server: ScriptedServer) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=server.url, api_key=KEY)


def _anthropic_async(server: ScriptedServer) -> Any:
    import anthropic

    return anthropic.AsyncAnthropic(base_url=server.url, api_key=KEY)


def _http(server: ScriptedServer) -> Any:
    return f"{server.url}/v1" if KEY == "none" else Http(f"{server.url}/v1", key=KEY)


def _gemini(server: ScriptedServer) -> Any:
    from google import genai

    return genai.Client(api_key=KEY, http_options={"base_url": server.url})


def _langchain_openai(server: ScriptedServer) -> Any:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(base_url=f"{server.url}/v1", api_key=SecretStr(KEY), model="m", max_retries=0)


def _langchain_anthropic(server: ScriptedServer) -> Any:
    from langchain_anthropic import ChatAnthropic
    from pydantic import SecretStr

    return ChatAnthropic(
        base_url=server.url, api_key=SecretStr(KEY), model_name="m", max_retries=0, timeout=None, stop=None
    )


def _azure(server: ScriptedServer) -> Any:
    import openai

    return openai.AzureOpenAI(azure_endpoint=server.url, api_key=KEY, api_version="2025-04-01-preview")


def _azure_async(server: ScriptedServer) -> Any:
    import openai

    return openai.AsyncAzureOpenAI(azure_endpoint=server.url, api_key=KEY, api_version="2025-04-01-preview")


def _responses(server: ScriptedServer) -> Any:
    return _openai(server).responses


def _responses_async(server: ScriptedServer) -> Any:
    return _openai_async(server).responses


def _mistral(server: ScriptedServer) -> Any:
    from mistralai.client import Mistral

    return Mistral(api_key=KEY, server_url=server.url)


def _cohere(server: ScriptedServer) -> Any:
    import cohere

    return cohere.ClientV2(api_key=KEY, base_url=server.url)


def _cohere_async(server: ScriptedServer) -> Any:
    import cohere

    return cohere.AsyncClientV2(api_key=KEY, base_url=server.url)


def _ollama(server: ScriptedServer) -> Any:
    import ollama

    return ollama.Client(host=server.url)


def _ollama_async(server: ScriptedServer) -> Any:
    import ollama

    return ollama.AsyncClient(host=server.url)


def _bedrock(server: ScriptedServer) -> Any:
    import boto3

    keys = {"aws_access_key_id": "none", "aws_secret_access_key": KEY, "region_name": "us-east-1"}
    return boto3.client("bedrock-runtime", endpoint_url=server.url, **keys)


def _pydantic_ai(server: ScriptedServer) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=_openai_async(server)))


KINDS = {
    "openai": Kind(_openai, False, "openai"),
    "openai-async": Kind(_openai_async, True, "openai"),
    "anthropic": Kind(_anthropic, False, "anthropic"),
    "anthropic-async": Kind(_anthropic_async, True, "anthropic"),
    "http": Kind(_http, False, "openai"),
    "http-async": Kind(_http, True, "openai"),
    "gemini": Kind(_gemini, False, "gemini"),
    "gemini-async": Kind(_gemini, True, "gemini"),
    "azure": Kind(_azure, False, "openai"),
    "azure-async": Kind(_azure_async, True, "openai"),
    "responses": Kind(_responses, False, "responses"),
    "responses-async": Kind(_responses_async, True, "responses"),
    "mistral": Kind(_mistral, False, "openai"),
    "mistral-async": Kind(_mistral, True, "openai"),
    "cohere": Kind(_cohere, False, "cohere"),
    "cohere-async": Kind(_cohere_async, True, "cohere"),
    "ollama": Kind(_ollama, False, "ollama"),
    "ollama-async": Kind(_ollama_async, True, "ollama"),
    "bedrock": Kind(_bedrock, False, "bedrock"),
    "bedrock-async": Kind(_bedrock, True, "bedrock"),
    "langchain-openai": Kind(_langchain_openai, False, "openai"),
    "langchain-openai-async": Kind(_langchain_openai, True, "openai"),
    "langchain-anthropic": Kind(_langchain_anthropic, False, "anthropic"),
    "langchain-anthropic-async": Kind(_langchain_anthropic, True, "anthropic"),
    "pydantic-ai": Kind(_pydantic_ai, False, "openai"),
    "pydantic-ai-async": Kind(_pydantic_ai, True, "openai"),
}
DIRECT = [name for name in KINDS if not name.startswith(("langchain", "pydantic-ai"))]


def _owners(client: Any) -> list[Any]:
    """All objects that may have connections: the client, and the SDK's internal objects."""
    hidden = ("root_client", "root_async_client", "_client", "_async_client", "aio", "httpx_client")
    found = [client, *(getattr(client, name, None) for name in hidden)]
    configuration = getattr(client, "sdk_configuration", None)  # mistralai
    found += [getattr(configuration, name, None) for name in ("client", "async_client")]
    found.append(getattr(client, "client", None) if hasattr(client, "request_stream") else None)  # pydantic-ai
    wrapper = getattr(client, "_client_wrapper", None)  # cohere
    found.append(getattr(getattr(wrapper, "httpx_client", None), "httpx_client", None))
    return [owner for owner in found if owner is not None and not hasattr(owner, "invoke")]


@contextmanager
def closing(client: Any) -> Iterator[None]:
    """Close all connections that the SDK has opened, at any depth."""
    try:
        yield
    finally:
        if hasattr(client, "request_stream"):  # a pydantic-ai model was asked in trueup's event loop
            wait(aclose(client))
        else:
            for owner in _owners(client):
                if hasattr(owner, "close") and not inspect.iscoroutinefunction(owner.close):
                    owner.close()
        _forget_closed()


async def aclose(client: Any) -> None:
    for owner in _owners(client):
        close = getattr(owner, "aclose", None) or getattr(owner, "close", None)
        if close is not None:
            closed = close()
            if hasattr(closed, "__await__"):
                await closed
    _forget_closed()


def _forget_closed() -> None:
    """Clear LangChain's cache, which keeps a client for each address even if it is closed; another server may get the same port."""
    for name in ("langchain_openai.chat_models._client_utils", "langchain_anthropic._client_utils"):
        for kept in vars(sys.modules.get(name, object)).values():
            if hasattr(kept, "cache_clear"):
                kept.cache_clear()


class Asked(NamedTuple):
    answer: Answer
    clock: StageClock


def run(
    name: str,
    server: ScriptedServer,
    contract: Contract,
    messages: Any = "Who?",
    policy: Policy | None = None,
    memory: Memory | None = None,
    **options: Any,
) -> Asked:
    """Ask through a kind of client; waits take no real time, but calls do."""
    kind = KINDS[name]
    clock = StageClock()
    policy = policy or Policy(models=("m",))
    given: dict[str, Any] = {"clock": clock, "memory": memory or Memory(), **options}
    client = kind.make(server)
    if not kind.is_async:
        with closing(client):
            return Asked(ask(contract, client, messages, policy, wait=clock.wait, **given), clock)

    async def going() -> Answer:
        try:
            return await aask(contract, client, messages, policy, wait=clock.await_, **given)
        finally:
            await aclose(client)

    return Asked(asyncio.run(going()), clock)


class Streamed(NamedTuple):
    answer: Answer
    parts: list[AnswerPart]
    clock: StageClock


def run_stream(
    name: str,
    server: ScriptedServer,
    contract: Contract,
    messages: Any = "Who?",
    policy: Policy | None = None,
    take: int | None = None,
    **options: Any,
) -> Streamed:
    """The same as a stream; with `take`, the stream is closed after this number of parts."""
    kind = KINDS[name]
    clock = StageClock()
    policy = policy or Policy(models=("m",))
    given: dict[str, Any] = {"clock": clock, "memory": Memory(), **options}
    client = kind.make(server)
    if not kind.is_async:
        with closing(client), AskStream(contract, client, messages, policy, wait=clock.wait, **given) as stream:
            parts = list(islice(stream, take))
            return Streamed(stream.answer if take is None else None, parts, clock)  # type: ignore[arg-type]

    async def going() -> Streamed:
        try:
            async with AsyncAskStream(contract, client, messages, policy, wait=clock.await_, **given) as stream:
                found: list[AnswerPart] = []
                async for part in stream:
                    found.append(part)
                    if len(found) == take:
                        return Streamed(None, found, clock)  # type: ignore[arg-type]
                return Streamed(stream.answer, found, clock)
        finally:
            await aclose(client)

    return asyncio.run(going())


def send(name: str, server: ScriptedServer, request: Request, *, stream: bool = False) -> Any:
    """Send one request through a kind of client, without a loop: the reply, or the list of its pieces."""
    kind = KINDS[name]
    made = kind.make(server)
    client = find_client(made)
    if not kind.is_async:
        with closing(made), closing(client):
            return list(client.stream(request)) if stream else client.send(request)

    async def going() -> Any:
        try:
            return [piece async for piece in client.astream(request)] if stream else await client.asend(request)
        finally:
            await aclose(made)

    return asyncio.run(going())
