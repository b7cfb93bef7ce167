"""uvicorn's HTTP connection with a deadline and a size for the head of a request; uvicorn itself waits and reads without end.

A connection that has not sent the whole head in its time is closed, one whose head, trailers or chunk sizes outweigh its body by
far is refused, and one that never reads its reply is cut. An idle one that is kept alive is uvicorn's own matter.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_AROUND = 65_536  # bytes of a request beside its body; a chunk of one byte has five around it
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """A connection whose heads must come within `seconds`; the gateway sets them when it starts."""

    seconds: ClassVar[float] = 10.0
    _head: asyncio.TimerHandle | None = None
    _size = _body = 0  # bytes of the present request, and how many of them are its body

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        if self._head is None and getattr(self.cycle, "response_complete", False):
            self._arm()  # the next request of a connection that was kept alive
        super().data_received(data)
        self._size += len(data)
        if self._size > MOST_AROUND + 8 * self._body and not self.transport.is_closing():
            self.transport.write(_REFUSAL)
            self.transport.close()

    def on_message_begin(self) -> None:
        self._size = self._body = 0
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        super().on_body(body)

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

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # it has not read its last reply: closing would wait for that without end
        super().timeout_keep_alive_handler()
