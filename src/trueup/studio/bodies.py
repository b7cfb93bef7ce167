"""Bodies: reads the body of a request, or refuses it. Size and time are limited.

The rest of a refused body is read and discarded for a moment: a browser that is cut off while sending would never read
the reason.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from starlette.requests import ClientDisconnect

from trueup.studio.door.guard import Receive
from trueup.studio.refusal import RequestRefused

_PIECE = 20.0  # seconds to wait for the next piece
_WHOLE = 120.0  # seconds for all of them
_PATIENCE = 5.0  # seconds for discarding the rest of a refused body
_MB = 1024 * 1024
_ROOM = 256 * _MB  # bytes of all bodies in memory at the same time


class Room:
    """The memory for the bodies of all requests together."""

    def __init__(self, size: int = _ROOM) -> None:
        self._left = size

    @contextmanager
    def part(self) -> "Iterator[ReservedShare]":
        """The share of one request, until it is answered."""
        part = ReservedShare(self)
        try:
            yield part
        finally:
            self._left += part.size

    def take(self, size: int) -> None:
        """Reserve some of it; a Refusal if there is not enough left."""
        if size > self._left:
            raise RequestRefused(
                503, "This studio has no memory left for more long texts.", code="busy",
                hint="Try again in a moment.", headers={"retry-after": "2", "connection": "close"},
            )  # fmt: skip
        self._left -= size


class ReservedShare:
    """The share of a room that one request has reserved."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    def add(self, size: int) -> None:
        """Reserve some more."""
        self._room.take(size)
        self.size += size


async def read_body(
    receive: Receive, headers: Mapping[str, str], most: int, part: ReservedShare | None = None
) -> bytes:
    """The body of a request; a Refusal if it is too large, if there is no room for it, or if it arrives too slowly."""
    if (coded := headers.get("content-encoding", "identity").strip().lower()) != "identity":
        raise RequestRefused(
            415, f"The body is compressed or encoded ({coded[:40]!r}).", code="encoded", hint="Send it uncompressed.",
            headers={"connection": "close"},
        )  # fmt: skip
    said = headers.get("content-length", "")
    if said.isascii() and said.isdigit() and (len(said) > 12 or int(said) > most):
        if "expect" not in headers:  # otherwise the client waits for our answer before it sends anything
            await _drain(receive)
        raise _too_large(most)
    pieces: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(_WHOLE):
            while more:
                piece, more = await _next(receive)
                size += len(piece)
                if size > most:
                    pieces.clear()
                    break
                if part is not None:
                    part.add(len(piece))
                pieces.append(piece)
    except TimeoutError:
        raise RequestRefused(
            408, "The request did not arrive in time.", code="too_slow", headers={"connection": "close"}
        ) from None
    if size > most:
        if more:
            await _drain(receive)
        raise _too_large(most)
    return b"".join(pieces)


async def _next(receive: Receive) -> tuple[bytes, bool]:
    """The next piece, and whether there are more."""
    async with asyncio.timeout(_PIECE):
        message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


async def _drain(receive: Receive) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            while (await _next(receive))[1]:
                pass
    except TimeoutError:
        pass


def _too_large(most: int) -> RequestRefused:
    size = f"{most // _MB} MB" if most >= _MB else f"{most // 1024} KB"
    return RequestRefused(
        413, f"The request is larger than {size}, the limit of this path.", code="too_large",
        hint="Judge large files with `trueup check` or `trueup sift`.", headers={"connection": "close"},
    )  # fmt: skip
