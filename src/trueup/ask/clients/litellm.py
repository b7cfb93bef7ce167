"""LiteLLM: the module itself, or its `completion` or `acompletion`.

A request enters, a chat completion leaves; retries of LiteLLM's own are switched off. A stream that ends without the provider's
word gets a made-up `stop` from LiteLLM; where its own notes tell that, it was cut off.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import whole

_ENDING = frozenset({"anthropic", "azure", "hosted_vllm", "openai"})  # these always say how a reply ended


class LiteLLM(Client):
    """Any model that LiteLLM knows."""

    kind = "litellm.acompletion"
    key = "litellm"

    def __init__(self, call: Any) -> None:
        is_module = hasattr(call, "completion")
        is_async = getattr(call, "__name__", "") in {"acompletion", "wrapper_async"}
        self._sync: Any = call.completion if is_module else None if is_async else call
        self._async: Any = call.acompletion if is_module else call if is_async else None

    def _given(self, request: Request, **more: Any) -> dict[str, Any]:
        given = {"messages": request.messages, "num_retries": 0, "max_retries": 0, **chat_parameters(request), **more}
        if not given.get("model"):
            raise ValueError("LiteLLM needs a model: Policy(models=('provider/…',))")
        if request.timeout is not None:
            given.setdefault("timeout", request.timeout)
        return given

    def send(self, request: Request) -> Any:
        if self._sync is None:
            return super().send(request)
        with whole():
            return self._sync(**self._given(request))

    async def asend(self, request: Request) -> Any:
        if self._async is None:
            return await super().asend(request)
        with whole():
            return await self._async(**self._given(request))

    def stream(self, request: Request) -> Iterator[Any]:
        if self._sync is None:
            return super().stream(request)
        return self._pieces(request)

    def _pieces(self, request: Request) -> Iterator[Any]:
        pieces = self._sync(**self._given(request, stream=True))
        yield from pieces
        _ended(pieces)

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        if self._async is None:
            raise TypeError("litellm.completion is synchronous; use `contract.ask_stream(…)`")
        pieces = await self._async(**self._given(request, stream=True))
        async for piece in pieces:
            yield piece
        _ended(pieces)


def _ended(pieces: Any) -> None:
    """Refuse a stream that was read to its end, if the provider has not said how it ended."""
    notes = [getattr(pieces, name, "") for name in ("received_finish_reason", "intermittent_finish_reason")]
    if notes == [None, None] and getattr(pieces, "custom_llm_provider", None) in _ENDING:
        raise ConnectionError("the stream ended before the reply did")
