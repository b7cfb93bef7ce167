"""The base of clients, which take a request and return the provider's raw reply, or the pieces of a stream.

A client sends once and makes no decisions: it does not retry, change the model or repair replies. It raises errors. `send` and `stream` may
block: drivers call them in a worker, which can be given up at any time.
"""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Literal

from trueup.ask.clients.request import Request
from trueup.ask.drivers.worker import apieces_of, arun
from trueup.ask.policy import MODES, Mode
from trueup.conform.dialects import Provider


class Client:
    """One way to reach models; each kind of client overrides the methods that it supports."""

    key = ""
    modes: tuple[Mode, ...] = MODES  # its default ladder
    able: tuple[Mode, ...]  # all modes that it supports, if there are more
    provider = "openai"
    finishes = True
    takes_tools = True  # False: tools are described to the model in words
    dialect: Provider | Literal[""] = "openai"  # of the schemas that the provider enforces; empty: none
    kind = "client"

    @property
    def is_async(self) -> bool:
        """Whether the client can only be awaited."""
        return False

    @property
    def label(self) -> str:
        """The name of the client in attempts and events: its kind and address."""
        return self.key

    def send(self, request: Request) -> Any:  # noqa: ARG002 - the signature of all clients
        """Send a request and return the raw reply."""
        raise TypeError(f"{self.kind} is asynchronous; use `await contract.aask(…)`")

    async def asend(self, request: Request) -> Any:
        """The same, asynchronously; a client that can only block is called in a worker."""
        return await arun(partial(self.send, request))

    def close(self) -> None:
        """Close the connections that the client itself opened; those that the caller opened stay open."""

    def stream(self, request: Request) -> Iterator[Any]:  # noqa: ARG002 - as above
        """Send a request and yield the pieces of the reply as they arrive."""
        raise TypeError(f"{self.kind} cannot stream here; use `contract.ask(…)`, or `contract.aask_stream(…)`")

    def astream(self, request: Request) -> AsyncIterator[Any]:
        """The same, asynchronously; a client that can only block is read in a worker."""
        return apieces_of(partial(self.stream, request))


def kinds_of(held: Any) -> tuple[type, ...]:
    """The classes of an object, according to its `__class__`, so that a tracer's proxy around a client is recognized as the client.

    >>> kinds_of(True)
    (<class 'bool'>, <class 'int'>, <class 'object'>)
    """
    kinds: tuple[type, ...] = held.__class__.__mro__
    return kinds
