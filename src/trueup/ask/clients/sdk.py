"""What the openai and the anthropic SDK have in common: a client made once, synchronous or not, that is sent one request.

A request enters, the SDK's reply leaves. The SDK's own retries are switched off: only the plan decides. A body that is no
JSON is a reply that was cut off, never the model's text.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.request import Failure, Request, TransportFailure


class Sdk(Client):
    """A client of such an SDK; a kind says what it is given and which of its methods makes a reply."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._is_async = type(client).__name__.startswith("Async")
        self.kind = type(client).__name__
        self.key = f"{self.provider}:{client.base_url}"

    def _given(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        raise NotImplementedError

    def _create(self, request: Request) -> Any:
        raise NotImplementedError

    def send(self, request: Request) -> Any:
        if self._is_async:
            return super().send(request)
        with whole():
            return checked(self._create(request)(**self._given(request)))

    async def asend(self, request: Request) -> Any:
        if not self._is_async:
            return await super().asend(request)
        with whole():
            return checked(await self._create(request)(**self._given(request)))

    def stream(self, request: Request) -> Iterator[Any]:
        if self._is_async:
            return super().stream(request)
        return self._pieces(request)

    def _pieces(self, request: Request) -> Iterator[Any]:
        with whole(), self._create(request)(**self._given(request, stream=True)) as pieces:
            yield from pieces

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        if not self._is_async:
            raise TypeError(f"{self.kind} is synchronous; use `contract.ask_stream(…)`")
        with whole():
            async with await self._create(request)(**self._given(request, stream=True)) as pieces:
                async for piece in pieces:
                    yield piece


def single(client: Any, request: Request) -> Any:
    """An SDK's client that sends once, within the time that is left."""
    timeout = {} if request.timeout is None else {"timeout": request.timeout}
    return client.with_options(max_retries=0, **timeout)


class whole:  # noqa: N801 - it reads as a word: `with whole(): …`
    """Turns what an SDK raises for a body that is no JSON into a failure of the transport."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        broken = isinstance(error, json.JSONDecodeError) or type(error).__name__ == "APIResponseValidationError"
        if broken or isinstance(error, UnicodeDecodeError):
            raise TransportFailure(Failure("the body of the reply is no JSON: it was cut off", code="cut")) from error


def checked(reply: Any) -> Any:
    """A reply that was parsed; an SDK hands over a body of another type as text."""
    if reply is None or isinstance(reply, str | bytes):
        raise TransportFailure(Failure("the body of the reply is no JSON", code="cut"))
    return reply
