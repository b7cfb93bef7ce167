"""Provider: takes the step, the unit, the number of the call and the request, and returns a raw reply.

Failures are raised in the same way as by clients of `ask`. A provider decides nothing, and stores nothing about a run.
"""

from typing import Any, Protocol

from trueup.ask.clients.client import Client
from trueup.ask.clients.request import Request


class Provider(Protocol):
    """Something that answers requests."""

    name: str

    async def send(self, step: str, unit_id: str, number: int, request: Request) -> Any:
        """The raw reply to a request; `number` counts the earlier replies of the unit in this step."""
        ...

    async def close(self) -> None: ...


class ClientProvider:
    """A client of `ask` as a provider."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self._client = client

    async def send(self, step: str, unit_id: str, number: int, request: Request) -> Any:  # noqa: ARG002 - the same for all
        return await self._client.asend(request)

    async def close(self) -> None:
        close = getattr(self._client, "aclose", None)
        if close is not None:
            await close()
