"""Deadline: uvicorn's h11 connection, with a time limit for receiving the head of a request and for reading an answer.

uvicorn itself waits forever for both, so a few hundred silent connections would lock out all other clients.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """A connection on which each head must arrive within `seconds`."""

    seconds: ClassVar[float] = 15.0
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._follow()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._disarm()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # nobody reads the last answer: closing would wait for that forever
        super().timeout_keep_alive_handler()

    def _follow(self) -> None:
        """Apply the deadline only to heads: bodies and answers have their own."""
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._disarm()
        elif self._head is None:
            self._head = self.loop.call_later(self.seconds, self.transport.abort)

    def _disarm(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
