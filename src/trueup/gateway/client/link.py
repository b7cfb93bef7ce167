"""One connection to an upstream: sends a request, and reads the head and the body of its answer strictly.

These are errors: an answer with two lengths, one that breaks off, one with an endless head or framing, and one that switches
protocols. Bytes after an answer make the connection unusable: they are never taken for the next one. Unread data waits in the
socket, not in memory.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_MOST_AROUND = 65_536  # bytes of an answer besides its body; a chunk of one byte has five around it
_MOST_FIELD = 16_384  # bytes of one header
_FULL = 262_144  # unread bytes after which reading from the socket pauses


class BrokenResponse(OSError):
    """An answer could not be read completely; its subclasses say why."""


class Closed(BrokenResponse):
    """The connection was closed before an answer came."""


class CutOff(BrokenResponse):
    """The answer was cut off."""


class GarbledResponse(BrokenResponse):
    """The bytes are not an HTTP/1 answer."""


class _Behind(Exception):
    """There is more data after the answer; leaves the parser."""


class Link(asyncio.Protocol):
    """A connection that is used for one request after another."""

    __slots__ = (
        "_around", "_asked", "_body", "_clogged", "_error", "_keep", "_loop", "_parser", "_partial", "_paused", "_pieces",
        "_size", "_transport", "_waiter", "at", "complete", "ended", "headers", "key", "lost", "status",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, key: Any) -> None:
        self._loop = loop
        self.key = key  # of the pool that it belongs to
        self.at = 0.0  # when it became idle
        self.lost = False
        self._transport: Any = None
        self._parser = HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._clogged = False  # written data waits for the other side to read
        self._start()
        self._asked = False  # nothing is awaited yet

    def _start(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.ended = False  # the head has arrived
        self.complete = False  # the whole body has arrived
        self._pieces: list[bytes] = []
        self._size = self._around = self._body = 0
        self._error: BrokenResponse | None = None
        self._paused = self._keep = self._partial = False

    # -- what the pool and a reply use ---------------------------------------------------------

    async def ask(self, head: bytes, body: bytes) -> None:
        """Send a request, and wait for the head of its answer."""
        self._start()
        self._asked = True
        if self.lost:
            raise Closed("the connection was closed")
        if len(body) <= _MOST_AROUND:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))
        while not self.ended:
            await self._more()

    async def upload(self, head: bytes, pieces: AsyncIterator[bytes]) -> None:
        """Send a request piece by piece, no faster than it is read, and wait for the head of its answer.

        An answer that arrives before the request is complete ends the sending, and the connection cannot be reused.
        """
        self._start()
        self._asked = self._partial = True
        if self.lost:
            raise Closed("the connection was closed")
        self._transport.write(head)
        async for piece in pieces:
            if self._error is not None:
                raise self._error
            if self.ended:
                return
            self._transport.write(piece)
            while self._clogged and not self.ended:
                await self._more()
        self._partial = False
        while not self.ended:
            await self._more()

    async def read(self) -> bytes:
        """The available bytes of the body, as soon as there are any; none at its end."""
        while not self._pieces and not self.complete:
            await self._more()
        return self.taken()

    def taken(self) -> bytes:
        """The bytes of the body that are available now."""
        pieces = self._pieces
        self._pieces, self._size = [], 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def silent(self) -> bool:
        """Whether no byte of an answer has arrived yet."""
        return not self._around

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the end of the connection marks the end of the body."""
        return not any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    @property
    def held(self) -> int:
        """How many bytes of the body have arrived."""
        return self._body

    @property
    def reusable(self) -> bool:
        """Whether it can be reused for another request."""
        return self._keep and not self._partial and not self.lost and not self._transport.get_write_buffer_size()

    def cut(self) -> None:
        """Close it immediately."""
        self._keep = False
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # -- what the transport says ---------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._asked:  # for this
            self._keep = False
            self.cut()
            return
        self._around += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail(GarbledResponse("another protocol"))
        except HttpParserError as error:
            if self.complete:
                self._keep = False  # extra data after the answer: the answer is valid, the connection is not
            else:
                self._fail(GarbledResponse(type(error).__name__))
        if self._error is None and not self.complete:
            if self._around - self._body > _MOST_AROUND + 8 * self._body:
                self._fail(GarbledResponse("endless head"))
            elif self._size > _FULL and not self._paused:
                self._paused = True
                self._transport.pause_reading()
        self._wake()

    def pause_writing(self) -> None:
        self._clogged = True

    def resume_writing(self) -> None:
        self._clogged = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def eof_received(self) -> None:
        """The transport closes itself then; a body that is delimited by the connection is complete."""

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        if not self.complete and self._error is None:
            if self.ended and error is None and self.ends_with_connection:
                self.complete = True
            else:
                self._error = CutOff("the answer was cut off") if self.ended else Closed("the connection was closed")
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._error is not None and not (self.ended and self._pieces):
            waiter.set_exception(self._error)
        elif self.ended:
            waiter.set_result(None)

    def _fail(self, error: BrokenResponse) -> None:
        self._error = error
        self.cut()

    # -- what the parser says ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self.complete:
            raise _Behind

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(name) + len(value) > _MOST_FIELD:
            raise ValueError("a header is too long")
        if not self.ended:  # or a trailer after the body
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in ("1.1", "1.0"):
            raise ValueError("another version")
        if status >= 200:
            self.status = status
            self.ended = True

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self._body += size
        self._size += size
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self.ended:
            self.complete = True
            self._asked = False
            self._keep = self._parser.should_keep_alive()
        else:
            self.headers.clear()  # an interim answer, such as 100 or 103
