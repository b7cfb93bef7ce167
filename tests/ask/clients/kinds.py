"""Every kind of client, real, against one server: how each is made, and how it is asked."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.ask.stage import StageClock
from trueup import Contract, Policy
from trueup.ask.aio import aask
from trueup.ask.answer import Answer
from trueup.ask.memory import Memory
from trueup.ask.sync import ask
from trueup.testing.server import ScriptedServer


class Kind(NamedTuple):
    """A client: its maker, whether it is asynchronous, whose protocol it speaks."""

    make: Callable[[ScriptedServer], Any]
    is_async: bool
    protocol: str


def _openai(server: ScriptedServer) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")


def _openai_async(server: ScriptedServer) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none")


def _anthropic(server: ScriptedServer) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=server.url, api_key="none")


def _anthropic_async(server: ScriptedServer) -> Any:
    import anthropic

    return anthropic.AsyncAnthropic(base_url=server.url, api_key="none")


def _http(server: ScriptedServer) -> Any:
    return f"{server.url}/v1"


def _gemini(server: ScriptedServer) -> Any:
    from google import genai

    return genai.Client(api_key="none", http_options={"base_url": server.url})


def _langchain_openai(server: ScriptedServer) -> Any:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(base_url=f"{server.url}/v1", api_key=SecretStr("none"), model="m", max_retries=0)


def _langchain_anthropic(server: ScriptedServer) -> Any:
    from langchain_anthropic import ChatAnthropic
    from pydantic import SecretStr

    return ChatAnthropic(
        base_url=server.url, api_key=SecretStr("none"), model_name="m", max_retries=0, timeout=None, stop=None
    )


KINDS = {
    "openai": Kind(_openai, False, "openai"),
    "openai-async": Kind(_openai_async, True, "openai"),
    "anthropic": Kind(_anthropic, False, "anthropic"),
    "anthropic-async": Kind(_anthropic_async, True, "anthropic"),
    "http": Kind(_http, False, "openai"),
    "http-async": Kind(_http, True, "openai"),
    "gemini": Kind(_gemini, False, "gemini"),
    "gemini-async": Kind(_gemini, True, "gemini"),
    "langchain-openai": Kind(_langchain_openai, False, "openai"),
    "langchain-openai-async": Kind(_langchain_openai, True, "openai"),
    "langchain-anthropic": Kind(_langchain_anthropic, False, "anthropic"),
}
DIRECT = [name for name in KINDS if not name.startswith("langchain")]


@contextmanager
def closing(client: Any) -> Iterator[None]:
    """Close what the SDK has opened, however deep it keeps it."""
    try:
        yield
    finally:
        for owner in (client, getattr(client, "root_client", None), getattr(client, "_client", None)):
            if owner is not None and hasattr(owner, "close") and not hasattr(owner, "invoke"):
                owner.close()
        _forget_closed()


async def aclose(client: Any) -> None:
    for owner in (client, getattr(client, "root_async_client", None), getattr(client, "aio", None)):
        close = getattr(owner, "aclose", None) or getattr(owner, "close", None)
        if close is not None and not hasattr(owner, "invoke"):
            closed = close()
            if hasattr(closed, "__await__"):
                await closed
    _forget_closed()


def _forget_closed() -> None:
    """LangChain keeps a client for each address, closed or not; another server may get the same port."""
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
    """Ask through a kind of client; waits take no time, calls do."""
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
