"""uvicorn's HTTP connection with a deadline for the head of a request, which uvicorn itself waits for without end.

A connection that has not sent the whole head in its time is closed. An idle one that is kept alive is uvicorn's own matter.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Connection(HttpToolsProtocol):
    """A connection whose heads must come within `seconds`; the gateway sets them when it starts."""

    seconds: ClassVar[float] = 10.0
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        if self._head is None and getattr(self.cycle, "response_complete", False):
            self._arm()  # the next request of a connection that was kept alive
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._disarm()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        self._head = self.loop.call_later(self.seconds, self._too_late)

    def _disarm(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_late(self) -> None:
        self._head = None
        if not self.transport.is_closing():
            self.transport.close()
