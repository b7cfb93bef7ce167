"""LiteLLM: the module itself, its `completion` or `acompletion`, either of them with options bound by `partial`, or a `Router`.

Takes a request; returns a chat completion. LiteLLM's own retries are switched off. If a stream ends without the provider's
finish reason, LiteLLM invents a `stop`. If LiteLLM's stream object shows this, the stream was cut off; a router's streams do not show it.
"""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import needed
from trueup.ask.policy import ALL_MODES
from trueup.ask.shapes.openai import as_openai

_ENDING = frozenset({"anthropic", "azure", "hosted_vllm", "openai"})  # these always send a finish reason


class LiteLLM(Client):
    """Any model that LiteLLM supports."""

    able = ALL_MODES
    kind = "litellm.acompletion"

    def __init__(self, call: Any) -> None:
        is_module = hasattr(call, "completion")
        self._bound: dict[str, Any] = dict(call.keywords) if isinstance(call, partial) else {}
        self.key = f"litellm:{self._bound.get('api_base') or _address(call)}"
        is_async = getattr(getattr(call, "func", call), "__name__", "") in {"acompletion", "wrapper_async"}
        self._sync: Any = call.completion if is_module else None if is_async else call
        self._async: Any = call.acompletion if is_module else call if is_async else None

    @property
    def is_async(self) -> bool:
        """Whether the function can only be awaited."""
        return self._sync is None

    def _given(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        given = {"messages": as_openai(request.messages), "num_retries": 0, "max_retries": 0}
        given |= chat_parameters(request, stream=stream)
        needed(given.get("model") or self._bound.get("model"), "LiteLLM", "provider/…")
        if request.timeout is not None:
            given.setdefault("timeout", request.timeout)
        return given

    def send(self, request: Request) -> Any:
        if self._sync is None:
            return super().send(request)
        return self._sync(**self._given(request))

    async def asend(self, request: Request) -> Any:
        if self._async is None:
            return await super().asend(request)
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
            async for piece in super().astream(request):
                yield piece
            return
        pieces = await self._async(**self._given(request, stream=True))
        async for piece in pieces:
            yield piece
        _ended(pieces)


def _address(call: Any) -> str:
    """The address of a module or a router, which is different for each router."""
    deployments = getattr(call, "model_list", None)
    if not isinstance(deployments, list) or not all(isinstance(one, dict) for one in deployments):
        return str(getattr(call, "api_base", None) or "")
    given = (one.get("litellm_params") or {} for one in deployments)
    return ",".join(sorted({str(one.get("api_base") or one.get("model") or "") for one in given}))


def _ended(pieces: Any) -> None:
    """Raise an error if the provider did not send a finish reason before the stream ended."""
    if not getattr(pieces, "sent_first_chunk", False):  # a router's stream: another object has read it
        return
    notes = [getattr(pieces, name, "") for name in ("received_finish_reason", "intermittent_finish_reason")]
    if notes == [None, None] and getattr(pieces, "custom_llm_provider", None) in _ENDING:
        raise ConnectionError("the stream ended before the reply was complete")
