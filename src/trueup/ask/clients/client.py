"""Client: what can be asked. A request enters, the provider's raw reply leaves, or the pieces of a stream.

A client sends once and decides nothing: no retry of its own, no second model, no repair. What goes wrong it raises. `send` and `stream` may
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
    """One way to reach models; a kind of client overrides what it can do."""

    key = ""
    modes: tuple[Mode, ...] = MODES  # its usual ladder
    able: tuple[Mode, ...]  # everything that it can do, if that is more
    provider = "openai"
    finishes = True
    takes_tools = True  # False: a model must be told of tools in words
    dialect: Provider | Literal[""] = "openai"  # which schemas the provider enforces; empty: none
    kind = "client"

    @property
    def is_async(self) -> bool:
        """Whether it can only be awaited."""
        return False

    @property
    def label(self) -> str:
        """What it is called in attempts and events: its kind and address."""
        return self.key

    def send(self, request: Request) -> Any:  # noqa: ARG002 - the signature of all clients
        """Send a request and give the raw reply."""
        raise TypeError(f"{self.kind} is asynchronous; use `await contract.aask(…)`")

    async def asend(self, request: Request) -> Any:
        """The same, asynchronously; a client that can only block is called in a worker."""
        return await arun(partial(self.send, request))

    def close(self) -> None:
        """Give back what the client itself has opened; what the caller has opened stays open."""

    def stream(self, request: Request) -> Iterator[Any]:  # noqa: ARG002 - as above
        """Send a request and give the pieces of the reply as they come."""
        raise TypeError(f"{self.kind} cannot stream here; use `contract.ask(…)`, or `contract.aask_stream(…)`")

    def astream(self, request: Request) -> AsyncIterator[Any]:
        """The same, asynchronously; a client that can only block is read in a worker."""
        return apieces_of(partial(self.stream, request))


def kinds_of(held: Any) -> tuple[type, ...]:
    """The classes that an object says it is of: a proxy around a client, such as that of a tracer, is known as the client.

    >>> kinds_of(True)
    (<class 'bool'>, <class 'int'>, <class 'object'>)
    """
    kinds: tuple[type, ...] = held.__class__.__mro__
    return kinds
