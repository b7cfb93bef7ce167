"""Client: what can be asked. A request enters, the provider's raw reply leaves, or the pieces of a stream.

A client sends once and decides nothing: no retry of its own, no second model, no repair. What goes wrong it raises.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from trueup.ask.clients.request import Request
from trueup.ask.policy import MODES, Mode


class Client:
    """One way to reach models; a kind of client overrides what it can do."""

    key = ""
    modes: tuple[Mode, ...] = MODES
    provider = "openai"
    finishes = True
    takes_tools = True  # False: a model must be told of tools in words
    kind = "client"

    def send(self, request: Request) -> Any:  # noqa: ARG002 - the signature of all clients
        """Send a request and give the raw reply."""
        raise TypeError(f"{self.kind} is asynchronous; use `await contract.aask(…)`")

    async def asend(self, request: Request) -> Any:
        """The same, asynchronously; a client that cannot is called in a thread."""
        import asyncio

        return await asyncio.to_thread(self.send, request)

    def close(self) -> None:
        """Give back what the client itself has opened; what the caller has opened stays open."""

    def stream(self, request: Request) -> Iterator[Any]:  # noqa: ARG002 - as above
        """Send a request and give the pieces of the reply as they come."""
        raise TypeError(f"{self.kind} cannot stream here; use `contract.ask(…)`, or `contract.aask_stream(…)`")

    def astream(self, request: Request) -> AsyncIterator[Any]:  # noqa: ARG002 - as above
        """The same, asynchronously."""
        raise TypeError(f"{self.kind} cannot stream asynchronously; use `contract.ask_stream(…)`")
