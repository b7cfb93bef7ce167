"""Requests of any method, with bodies that are sent as they come: framed right, no faster than they are read, never half."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client.upstream import ForwardRequest, UpstreamConnections
from trueup.gateway.config import Upstream
from trueup.gateway.errors import RefusedRequest

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
PIECE = b"x" * 65_536


@contextlib.asynccontextmanager
async def line_to(handler: Handler) -> AsyncIterator[tuple[UpstreamConnections, Upstream]]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=65_536)
    upstream = Upstream("main", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", key="sk-key", private=True)
    line = UpstreamConnections({"main": upstream}, 1000)
    try:
        yield line, upstream
    finally:
        await line.close()
        server.close()


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for each in given:
        yield each


def test_a_request_of_any_method_is_framed_correctly() -> None:
    heads: list[bytes] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            with contextlib.suppress(asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                if b"chunked" in head:
                    head += await reader.readuntil(b"0\r\n\r\n")
                elif b"content-length: 4" in head:
                    head += await reader.readexactly(4)
                heads.append(head)
                writer.write(OK)

    async def run() -> None:
        async with line_to(handler) as (line, upstream):
            for parcel in (
                ForwardRequest("GET", "/v1/files?limit=2"),
                ForwardRequest("DELETE", "/v1/files/f"),
                ForwardRequest("POST", "/v1/batches/b/cancel"),
                ForwardRequest("POST", "/v1/files", pieces(b"ab", b"", b"cd"), "multipart/form-data; boundary=b"),
                ForwardRequest("POST", "/v1/files", pieces(b"ab", b"cd"), "multipart/form-data; boundary=b", 4),
                ForwardRequest("POST", "/v1/embeddings", b"{  }"),
            ):
                reply = await line.forward(upstream, parcel, {"cookie": "a=1", "accept": "text/plain"})
                assert (reply.status, reply.size, await reply.read()) == (200, 2, b"ok")
                reply.close()

    asyncio.run(run())
    assert [head.split(b" HTTP/1.1")[0] for head in heads] == [
        b"GET /v1/files?limit=2", b"DELETE /v1/files/f", b"POST /v1/batches/b/cancel", b"POST /v1/files", b"POST /v1/files",
        b"POST /v1/embeddings",
    ]  # fmt: skip
    framing = [
        [word for word in (b"content-length: 0", b"content-length: 4", b"chunked") if word in head] for head in heads
    ]
    assert framing == [[], [], [b"content-length: 0"], [b"chunked"], [b"content-length: 4"], [b"content-length: 4"]]
    assert heads[3].endswith(b"\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n")
    assert heads[4].endswith(b"\r\n\r\nabcd")
    assert all(b"authorization: Bearer sk-key\r\n" in head and b"cookie" not in head for head in heads)
    assert b"content-type: multipart/form-data; boundary=b\r\n" in heads[3]
    assert heads[3].count(b"content-type") == 1


def test_a_body_is_read_no_faster_than_it_is_sent() -> None:
    async def run() -> tuple[int, int]:
        taken, go = 0, asyncio.Event()

        async def many() -> AsyncIterator[bytes]:
            nonlocal taken
            for _ in range(400):
                taken += 1
                yield PIECE

        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            await go.wait()
            while b"\r\n0\r\n\r\n" not in await reader.read(1 << 20):
                pass
            writer.write(OK)

        async with line_to(handler) as (line, upstream):
            sending = asyncio.ensure_future(line.forward(upstream, ForwardRequest("POST", "/v1/files", many()), {}))
            before = -1
            while before != taken:  # until nothing more is taken, as nobody reads
                before = taken
                await asyncio.sleep(0.1)
            go.set()
            reply = await sending
            reply.close()
        return before, taken

    before, after = asyncio.run(run())
    assert before < 300  # the sockets hold some megabytes of the 26
    assert after == 400


def test_an_early_answer_ends_the_sending_of_the_request() -> None:
    asked = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await reader.read()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield PIECE

    async def run() -> None:
        async with line_to(handler) as (line, upstream):
            for _ in range(2):
                reply = await line.forward(upstream, ForwardRequest("POST", "/v1/files", endless()), {})
                assert (reply.status, await reply.read()) == (413, b"no")
                reply.close()

    asyncio.run(run())
    assert asked == 2  # the first connection cannot be used again


@pytest.mark.parametrize("fault", ["upstream", "client"])
def test_an_interrupted_request_is_never_complete(fault: str) -> None:
    seen: list[bytes] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if fault == "upstream":
            writer.transport.abort()
        else:
            with contextlib.suppress(ConnectionError):
                seen.append(await reader.read(-1))

    async def breaking() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield PIECE
            await asyncio.sleep(0)
        if fault == "client":
            raise RefusedRequest(413, "too large")
        while True:
            yield PIECE
            await asyncio.sleep(0)

    async def run() -> None:
        async with line_to(handler) as (line, upstream):
            error: Any = TransportFailure if fault == "upstream" else RefusedRequest
            with pytest.raises(error):
                await line.forward(upstream, ForwardRequest("POST", "/v1/files", breaking()), {})
            await asyncio.sleep(0.05)

    asyncio.run(run())
    assert not any(body.endswith(b"0\r\n\r\n") for body in seen)
