"""The ASGI side: reads a request's body under a size limit and a deadline, and sends replies and streams.

Nothing waits forever: a body that does not arrive in time is refused, and the work for a client that has left ends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Protocol

from trueup.gateway.client.time_limit import Within
from trueup.gateway.config import Limits
from trueup.gateway.errors import Gone, RefusedRequest

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_PATIENCE = 2.0  # seconds to drain the rest of a refused body
JSON = (b"content-type", b"application/json")
EVENTS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request by lower-case name; of several with one name, the first. Two headers of ours must not
    contradict each other.
    """
    given = scope["headers"]
    found = {str(name, "latin-1"): str(value, "latin-1") for name, value in reversed(given)}
    if len(found) < len(given):
        _refuse_contradictions(given, found)
    return found


def _refuse_contradictions(given: Iterable[tuple[bytes, bytes]], found: dict[str, str]) -> None:
    """One of two values may come from a proxy and the other from the client; nobody can tell which."""
    for raw, value in given:
        name = str(raw, "latin-1")
        if name.startswith("x-trueup-") and found[name] != str(value, "latin-1"):
            said = f"the header {name[:100]} was sent twice, with different values; send it once"
            raise RefusedRequest(400, said, code="two_values")


class ServerTurn(Protocol):
    """One request as our own server knows it, beyond what ASGI says; see `deadline.py`."""

    leaving: "set[asyncio.Task[Any]]"  # tasks to cancel when the client leaves; a cancelled one is removed

    def body(self) -> bytes | None:
        """The whole body, if it has arrived."""

    def answer(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole reply in one step, if possible."""

    def cut(self) -> bool:
        """Cut the connection, if possible."""


def body_of(turn: ServerTurn, limits: Limits) -> bytes | None:
    """The whole body of a request, if it has already arrived; or a refusal."""
    body = turn.body()
    if body is not None and len(body) > limits.request:
        raise _too_large(limits.request)
    return body


async def read_body(receive: Receive, headers: dict[str, str], limits: Limits) -> bytes:
    """The whole body of a request, or a refusal: too large, too slow."""
    most, seconds = limits.request, limits.body_seconds
    said = headers.get("content-length", "")
    if said.isdigit() and int(said) > most:
        if "expect" not in headers:
            await _drain(receive)
        raise _too_large(most)
    message = await _next(receive, seconds)
    if not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > most:
            raise _too_large(most)
        return body
    pieces, size = [message.get("body", b"")], len(message.get("body", b""))
    try:
        with Within(seconds):
            while message.get("more_body"):
                message = await _next(receive, None)
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > most:
                    pieces.clear()
                    break
    except TimeoutError:
        raise _too_slow(seconds) from None
    if size > most:
        await _drain(receive)
        raise _too_large(most)
    return b"".join(pieces)


class Upload:
    """The body of a request, piece by piece: it is not kept, and its size and time are limited."""

    def __init__(self, receive: Receive, length: int | None, most: int, seconds: float) -> None:
        self._receive = receive
        self._most, self._seconds = most, seconds
        self.length = length  # as the head says; None if it does not

    async def admit(self) -> None:
        """Refuse a body that declares itself too large, before any of it is sent on."""
        if self.length is not None and self.length > self._most:
            await _drain(self._receive)
            raise _too_large(self._most)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces as they arrive; too many bytes, or too long a wait for the next piece, is a refusal."""
        left, more = self._most, True
        while more:
            message = await _next(self._receive, self._seconds)
            piece, more = message.get("body", b""), message.get("more_body", False)
            left -= len(piece)
            if left < 0:
                await _drain(self._receive)
                raise _too_large(self._most)
            if piece:
                yield piece


def upload(receive: Receive, headers: dict[str, str], limits: Limits) -> Upload:
    """The body of a request that is passed on as it arrives."""
    said = headers.get("content-length", "")
    length = int(said) if said.isascii() and said.isdigit() else None
    return Upload(receive, length, limits.file, limits.body_seconds)


async def _drain(receive: Receive) -> None:
    """Drain the rest of a refused body for a moment: a client that is cut off while sending never reads the reason."""
    try:
        with Within(_PATIENCE):
            while (await _next(receive, None)).get("more_body"):
                pass
    except TimeoutError:
        pass


async def _next(receive: Receive, seconds: float | None) -> MutableMapping[str, Any]:
    if seconds is None:
        message = await receive()
    else:
        try:
            with Within(seconds):
                message = await receive()
        except TimeoutError:
            raise _too_slow(seconds) from None
    if message["type"] == "http.disconnect":
        raise Gone
    return message


def _too_large(most: int) -> RefusedRequest:
    return RefusedRequest(413, f"the request has more than {most:,} bytes", code="request_too_large", headers=CLOSE)


def _too_slow(seconds: float) -> RefusedRequest:
    return RefusedRequest(
        408, f"the request did not arrive within {seconds:g} s", code="request_timeout", headers=CLOSE
    )


CLOSE = {"connection": "close"}


class Out:
    """Where a reply is sent; it knows whether anything has been sent."""

    __slots__ = ("_send", "_turn", "size", "started", "status")

    def __init__(self, send: Send, turn: ServerTurn | None = None) -> None:
        self._send = send
        self._turn = turn
        self.started = False
        self.status = 0  # that was sent; 0: none yet
        self.size = 0  # bytes of the body that were sent

    async def whole(self, status: int, body: bytes, headers: Headers) -> None:
        """A reply of one piece."""
        self.started = True
        self.status, self.size = status, len(body)
        found = [*headers, (b"content-length", b"%d" % len(body))]
        if self._turn is not None and self._turn.answer(status, found, body):
            return
        await self._send({"type": "http.response.start", "status": status, "headers": found})
        await self._send({"type": "http.response.body", "body": body})

    def cut(self) -> bool:
        """Cut the connection, so that the client does not take the reply for complete; False if only an exception can do
        that.
        """
        return self._turn is not None and self._turn.cut()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """A message in ASGI's form."""
        self.started = True
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)


class Copying(Protocol):
    """Sees each piece of a stream before it is sent."""

    def add(self, piece: bytes) -> None: ...

    async def finish(self) -> None: ...


class ResponseStream:
    """A reply of many pieces: started with the first, ended once."""

    __slots__ = ("_copy", "_headers", "_send", "ended", "started", "status")

    def __init__(self, out: Out, status: int, headers: Headers, copy: Copying | None = None) -> None:
        self._send = out.send
        self._headers = headers
        self._copy = copy
        self.status = status
        self.started = self.ended = False

    def add(self, *headers: tuple[bytes, bytes]) -> None:
        """Add headers, unless they have already been sent."""
        self._headers.extend(headers)

    async def write(self, piece: bytes) -> None:
        """Send a piece immediately."""
        if not piece:
            return
        if self._copy is not None:
            self._copy.add(piece)
        await self.start()
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def start(self) -> None:
        if not self.started:
            self.started = True
            await self._send({"type": "http.response.start", "status": self.status, "headers": self._headers})

    async def finish(self, pieces: Iterable[bytes], settle: Callable[[], Awaitable[None]]) -> None:
        """Send the last pieces. All are kept, then settled, before any of them is sent: a retry gets the rest, whatever
        happens meanwhile.
        """
        rest = [piece for piece in pieces if piece]
        if self._copy is not None:
            for piece in rest:
                self._copy.add(piece)
        await settle()
        await self.start()
        for piece in rest:
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        await self.end()

    async def end(self) -> None:
        """The last piece has been sent."""
        if not self.ended:
            if self._copy is not None:
                await self._copy.finish()
            await self.start()
            self.ended = True
            await self._send({"type": "http.response.body", "body": b""})
