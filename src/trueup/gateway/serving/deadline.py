"""uvicorn's HTTP connection with a deadline and a size limit for the head of a request; uvicorn itself waits and reads
without limit.

Closes a connection that has not sent its whole head in time, refuses one whose head, trailers or chunk sizes far outweigh its
body, and cuts one that never reads its reply. Idle kept-alive connections are left to uvicorn.
"""

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_AROUND = 65_536  # bytes of a request besides its body; a chunk of one byte has five around it
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


_STATUS = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}
TURN = "trueup.turn"


class RequestTurn:
    """One request: its body if it has arrived, its client's departure, and a whole reply sent in one step.

    The gateway finds it among the extensions of ASGI. ASGI's own way is slower: it takes one or two more tasks per request.
    """

    __slots__ = ("_connection", "_cycle", "leaving")

    def __init__(self, connection: "Connection", cycle: Any) -> None:
        self._connection = connection
        self._cycle = cycle
        self.leaving = connection.leaving

    def body(self) -> bytes | None:
        """The whole body, if it has arrived."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected:
            return None
        body = bytes(cycle.body)
        cycle.body = bytearray()
        cycle.message_event.clear()
        self._connection.flow.resume_reading()
        return body

    def answer(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole reply, unless uvicorn must wait or add to the head; return whether it was sent."""
        cycle, connection = self._cycle, self._connection
        if cycle.response_started or cycle.disconnected or connection.flow.write_paused or not cycle.keep_alive:
            return False
        lines = [b"%s: %s" % each for each in headers]
        head = b"\r\n".join(lines)
        start = _STATUS.get(status)
        if start is None or head.count(b"\n") != len(lines) - 1 or b"connection" in head:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        connection.transport.write(b"%s%s\r\n\r\n%s" % (start, head, body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def cut(self) -> bool:
        """Cut the connection in the middle of a reply."""
        self._connection.transport.abort()
        return True


class Connection(HttpToolsProtocol):
    """A connection whose heads must arrive within `seconds`, which the gateway sets on startup."""

    seconds: ClassVar[float] = 10.0
    ending: ClassVar[Callable[[], object] | None] = None  # called when the server begins to stop
    _head: asyncio.TimerHandle | None = None
    _idle = 0.0  # when the last reply was sent
    _size = _body = 0  # bytes of the current request, and how many of them are its body

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # asyncio does so only for sockets that name their protocol; without it, each event of a stream waits for the last
        # one's ACK
        with suppress(OSError, AttributeError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.leaving: set[asyncio.Task[Any]] = set()
        self._arm()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is None and getattr(self.cycle, "response_complete", False):
            self._arm()  # the next request of a kept-alive connection, and only part of its head
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
        self.scope["extensions"] = {TURN: RequestTurn(self, self.cycle)}  # type: ignore[dict-item]

    def shutdown(self) -> None:
        if Connection.ending is not None:
            Connection.ending()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        for task in [self.leaving.pop() for _ in range(len(self.leaving))]:
            task.cancel()

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

    def on_response_complete(self) -> None:
        """Like uvicorn's own, except for the timer of a kept connection: one timer stays, and checks when it ends."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _unset_keepalive_if_required(self) -> None:
        """The timer stays: it checks whether the connection has been used."""

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._head is not None or not self.cycle.response_complete:
            return  # it is in use; the end of that sets the timer again
        left = self._idle + self.timeout_keep_alive - self.loop.time()
        if left > 0.001:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
            return
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # it has not read its last reply: closing would wait for that forever
        super().timeout_keep_alive_handler()
