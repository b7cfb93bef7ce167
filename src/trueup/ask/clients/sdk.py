"""The base of clients that use an SDK's object, which the caller makes once.

Takes a request; returns the SDK's reply, or the pieces of it. `exceptions` handles the SDK's exceptions. Each kind of client defines whether
it is synchronous, asynchronous or both, and how to make a call without the SDK's own retries. Streams are closed here.
"""

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from trueup.ask.clients.client import Client, kinds_of
from trueup.ask.clients.request import CallFailure, Request, TransportFailure
from trueup.verdict.extras import quoted


class Sdk(Client):
    """A client of an SDK. A subclass defines whether it is synchronous, asynchronous or both, and how to make a call."""

    has_sync = True
    has_async = True

    @property
    def is_async(self) -> bool:
        """Whether the client can only be awaited."""
        return not self.has_sync

    def _call(self, request: Request, *, stream: bool) -> Any:
        """Make a synchronous call; return the reply, or an iterable of its pieces."""
        raise NotImplementedError

    def _acall(self, request: Request, *, stream: bool) -> Any:
        """Make an asynchronous call; return an awaitable, or an asynchronous iterable of the pieces."""
        raise NotImplementedError

    def send(self, request: Request) -> Any:
        if not self.has_sync:
            return super().send(request)
        return checked(self._call(request, stream=False))

    async def asend(self, request: Request) -> Any:
        if not self.has_async:
            return await super().asend(request)
        return checked(await self._acall(request, stream=False))

    def stream(self, request: Request) -> Iterator[Any]:
        return self._pieces(request) if self.has_sync else super().stream(request)

    def astream(self, request: Request) -> AsyncIterator[Any]:
        return self._apieces(request) if self.has_async else super().astream(request)

    def _pieces(self, request: Request) -> Iterator[Any]:
        pieces = self._call(request, stream=True)
        try:
            yield from pieces
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()

    async def _apieces(self, request: Request) -> AsyncIterator[Any]:
        pieces = self._acall(request, stream=True)
        if inspect.isawaitable(pieces):
            pieces = await pieces
        try:
            async for piece in pieces:
                yield piece
        finally:
            close = getattr(pieces, "aclose", None) or getattr(pieces, "close", None)
            if close is not None:
                await close()


def awaits(client: Any) -> bool:
    """Whether an SDK's object is asynchronous, or made from an asynchronous client."""
    return any(kind.__name__.startswith("Async") for kind in kinds_of(client))


def single(client: Any, request: Request) -> Any:
    """A client of the openai or anthropic SDK that sends once, within the remaining time."""
    timeout = {} if request.timeout is None else {"timeout": request.timeout}
    return client.with_options(max_retries=0, **timeout)


def recent(client: Any, method: str, package: str, version: str) -> Any:
    """The client, if its SDK is recent enough to have a method; otherwise, raise an error that says which version to install."""
    held: Any = client
    for name in method.split("."):
        held = getattr(held, name, None)
    if held is None:
        wanted = quoted(f"{package}>={version}")
        raise TypeError(f"this version of {package} is too old: pip install {wanted}")
    return client


def needed(model: Any, client: str, example: str = "…") -> str:
    """The model to ask; raise an error if there is none, because this client has no default."""
    if not isinstance(model, str) or not model:
        raise ValueError(f"{client} needs a model: Policy(models=('{example}',))")
    return model


def checked(reply: Any) -> Any:
    """A parsed reply; raise a failure for text, which an SDK returns if the body is not JSON."""
    if reply is None or isinstance(reply, str | bytes):
        raise TransportFailure(CallFailure("the body of the reply is not JSON", code="cut"))
    return reply
