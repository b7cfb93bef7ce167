"""Answers in HTTP/1.1, case by case over real connections (RFC 9110, RFC 9112), and when a connection is reused."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal, NamedTuple

import pytest

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client import upstream as client
from trueup.gateway.client.upstream import READING
from trueup.gateway.config import Upstream

LIMIT = 1_000_000
End = Literal["stay", "close", "reset", "half", "hang"]


class Answer(NamedTuple):
    """The server's answer to one request, and what it does afterwards."""

    sent: bytes
    end: End = "stay"


class Script:
    """A server that gives one answer after another, over any number of connections; it reads every request whole."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests = 0
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
                await reader.readexactly(length)
                self.requests += 1
                answer = self.answers.pop(0)
                writer.write(answer.sent)
                await writer.drain()
                if answer.end == "reset":
                    writer.transport.abort()
                    return
                if answer.end == "half":
                    writer.write_eof()
                elif answer.end == "close":
                    break
        writer.close()

    @contextlib.asynccontextmanager
    async def line(self) -> AsyncIterator[tuple[Any, Upstream]]:
        """A line to this server."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        upstream = Upstream("main", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", private=True)
        line = client.UpstreamConnections({"main": upstream}, LIMIT)
        try:
            yield line, upstream
        finally:
            await line.close()
            server.close()
            for writer in self._writers:
                writer.close()


class Seen(NamedTuple):
    """The client's view of an answer; status 0: it was refused."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = {}


async def ask(line: Any, upstream: Upstream, body: bytes | None = b"{}") -> Seen:
    """Send a request and read its answer; an error that is not one of the client's own kinds fails the test."""
    async with asyncio.timeout(20):
        try:
            reply = await line.send(upstream, "/v1/chat/completions", body, {})
        except TransportFailure:
            return Seen(0)
        try:
            headers = reply.headers
            return Seen(reply.status, await reply.read(), headers)
        except READING:
            return Seen(0)
        finally:
            reply.close()


async def seen(*answers: Answer) -> tuple[list[Seen], Script]:
    script = Script(*answers)
    async with script.line() as (line, upstream):
        return [await ask(line, upstream) for _ in range(len(answers))], script


def read_answer(sent: bytes, end: End = "close") -> Seen:
    return asyncio.run(seen(Answer(sent, end)))[0][0]


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH = b"Content-Length: 5\r\n\r\nhello"

READ: dict[str, tuple[bytes, int, bytes]] = {
    "status without a reason": (b"HTTP/1.1 200 \r\n" + LENGTH, 200, b"hello"),
    "status that nobody registered": (b"HTTP/1.1 299 Fine\r\n" + LENGTH, 299, b"hello"),
    "reason of bytes beyond ASCII": (b"HTTP/1.1 200 \xc3\xbcber\r\n" + LENGTH, 200, b"hello"),
    "version 1.0": (b"HTTP/1.0 200 OK\r\n" + LENGTH, 200, b"hello"),
    "version 1.0, body to the end of the connection": (b"HTTP/1.0 200 OK\r\n\r\nhello", 200, b"hello"),
    "100 first": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + LENGTH, 200, b"hello"),
    "102 and 103 first": (
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + OK + LENGTH, 200, b"hello",
    ),
    "204 has no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "304 has no body, whatever its length says": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, b""),
    "length 0": (OK + b"Content-Length: 0\r\n\r\n", 200, b""),
    "length with zeros before it": (OK + b"Content-Length: 0005\r\n\r\nhello", 200, b"hello"),
    "spaces around a value": (OK + b"Content-Length: \t 5 \t\r\n\r\nhello", 200, b"hello"),
    "names in any case": (OK + b"CONTENT-LENGTH: 5\r\n\r\nhello", 200, b"hello"),
    "no length: to the end of the connection": (OK + b"\r\nhello", 200, b"hello"),
    "chunks": (CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200, b"hello"),
    "chunk sizes in capitals and with zeros": (CHUNKED + b"0A\r\nhellohello\r\n000\r\n\r\n", 200, b"hellohello"),
    "chunk extensions": (CHUNKED + b'5;a=b;c="d e"\r\nhello\r\n0;last\r\n\r\n', 200, b"hello"),
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n", 200, b"hello"),
    "chunked in capitals": (OK + b"Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, b"hello"),
    "an empty header": (OK + b"X-Empty:\r\n" + LENGTH, 200, b"hello"),
    "an error with a body": (b"HTTP/1.1 500 Oops\r\n" + LENGTH, 500, b"hello"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_an_answer_is_read_as_the_standard_says(name: str) -> None:
    sent, status, body = READ[name]
    found = read_answer(sent)
    assert (found.status, found.body) == (status, body)
    assert "x-sum" not in found.headers
    assert "link" not in found.headers


REFUSED: dict[str, bytes] = {
    "no answer": b"",
    "another version": b"HTTP/2.0 200 OK\r\n" + LENGTH,
    "no version": b"HTTP 200 OK\r\n" + LENGTH,
    "another protocol": b"ICY 200 OK\r\n" + LENGTH,
    "a status of two digits": b"HTTP/1.1 20 OK\r\n" + LENGTH,
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n" + LENGTH,
    "a status below 100": b"HTTP/1.1 099 OK\r\n" + LENGTH,
    "a status with a sign": b"HTTP/1.1 +200 OK\r\n" + LENGTH,
    "a switch of protocols": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
    "both lengths": OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "both lengths, the other way": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "two lengths": OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "two lengths in one header": OK + b"Content-Length: 5, 6\r\n\r\nhello",
    "a length with a sign": OK + b"Content-Length: +5\r\n\r\nhello",
    "a negative length": OK + b"Content-Length: -5\r\n\r\nhello",
    "a hexadecimal length": OK + b"Content-Length: 0x5\r\n\r\nhello",
    "a length with an underscore": OK + b"Content-Length: 1_0\r\n\r\nhellohello",
    "an empty length": OK + b"Content-Length:\r\n\r\nhello",
    "a length beyond all measure": OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\nhello",
    "a coding that is not chunked": OK + b"Transfer-Encoding: gzip\r\n\r\nhello",
    "chunked is not the last coding": OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunked, hidden": OK + b"Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\nhello\r\n0\r\n\r\n",
    "a chunk size with 0x": CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk size with a sign": CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n",
    "a negative chunk size": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "a chunk size beyond all measure": CHUNKED + b"f" * 20 + b"\r\nhello\r\n0\r\n\r\n",
    "a chunk that is longer than it says": CHUNKED + b"4\r\nhello\r\n0\r\n\r\n",
    "a chunk that is shorter than it says": CHUNKED + b"6\r\nhello\r\n0\r\n\r\n",
    "no last chunk": CHUNKED + b"5\r\nhello\r\n",
    "no end after the last chunk": CHUNKED + b"5\r\nhello\r\n0\r\n",
    "a body that is shorter than its length": OK + b"Content-Length: 6\r\n\r\nhello",
    "a head without its end": OK + b"Content-Length: 0\r\n",
    "a space before the colon": OK + b"Content-Length : 5\r\n\r\nhello",
    "a header without a colon": OK + b"Content-Length\r\n" + LENGTH,
    "a header without a name": OK + b": 5\r\n" + LENGTH,
    "a NUL in a header": OK + b"X: a\x00b\r\n" + LENGTH,
    "a bare CR in a header": OK + b"X: a\rContent-Length: 0\r\n" + LENGTH,
    "a header that starts with a space": OK + b" X: 1\r\n" + LENGTH,
    "an endless header": OK + b"X: " + b"a" * 300_000 + b"\r\n" + LENGTH,
    "endless headers": OK + b"X: 1\r\n" * 30_000 + LENGTH,
    "endless answers before the answer": b"HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n" * 10_000 + OK + LENGTH,
    "an endless chunk size": CHUNKED + b"0" * 300_000 + b"5\r\nhello\r\n0\r\n\r\n",
    "an endless chunk extension": CHUNKED + b"5;" + b"a" * 300_000 + b"\r\nhello\r\n0\r\n\r\n",
    "endless chunk extensions": CHUNKED + (b"1;" + b"a" * 1000 + b"\r\nx\r\n") * 1000 + b"0\r\n\r\n",
    "endless trailers": CHUNKED + b"5\r\nhello\r\n0\r\n" + b"X: 1\r\n" * 30_000 + b"\r\n",
    "a body over the limit": OK + b"Content-Length: %d\r\n\r\n" % (LIMIT + 1) + b"x" * (LIMIT + 1),
    "a body over the limit, to the end of the connection": OK + b"\r\n" + b"x" * (LIMIT + 1),
    "compressed and cut": OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
    "compressed in a way that nobody asked for": OK + b"Content-Encoding: br\r\n" + LENGTH,
}  # fmt: skip


@pytest.mark.spec("X30", "X36")
@pytest.mark.parametrize("name", REFUSED)
def test_answers_that_the_standard_does_not_allow_are_refused(name: str) -> None:
    assert read_answer(REFUSED[name]) == Seen(0)


@pytest.mark.spec("X36")
@pytest.mark.parametrize(
    "sent", [OK + b"Content-Length: 50\r\n\r\nhello", CHUNKED + b"5\r\nhello\r\n", OK + b"\r\nhello", OK]
)
def test_a_connection_that_is_reset_is_never_the_end_of_an_answer(sent: bytes) -> None:
    """A close may end a body without a length. A reset may not."""
    assert (
        read_answer(sent, "reset") in (Seen(0), Seen(200, b"hello"))
        if sent == OK + b"\r\nhello"
        else read_answer(sent, "reset") == Seen(0)
    )


def test_a_folded_header_is_one_value_or_refused() -> None:
    found = read_answer(OK + b"X-Request-Id: a\r\n b\r\n" + LENGTH)
    assert found == Seen(0) or ("\n" not in str(found.headers) and found.body == b"hello")


GOOD = OK + LENGTH


@pytest.mark.parametrize(
    ("answers", "connections"),
    [
        ([Answer(GOOD), Answer(GOOD), Answer(GOOD)], 1),
        ([Answer(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"), Answer(GOOD)], 1),
        ([Answer(b"HTTP/1.1 204 No Content\r\n\r\n"), Answer(GOOD)], 1),
        ([Answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + LENGTH), Answer(GOOD)], 2),
        ([Answer(b"HTTP/1.0 200 OK\r\n" + LENGTH), Answer(GOOD)], 2),
        ([Answer(GOOD + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"), Answer(GOOD)], 2),
        ([Answer(GOOD + b"x"), Answer(GOOD)], 2),
        ([Answer(GOOD, "half"), Answer(GOOD)], 2),
        ([Answer(GOOD, "close"), Answer(GOOD)], 2),
        ([Answer(GOOD, "reset"), Answer(GOOD)], 2),
    ],
    ids=["kept", "chunks", "204", "close", "1.0", "smuggled", "more", "half-closed", "closed", "reset"],
)
def test_a_connection_is_reused_only_if_nothing_forbids_it(answers: list[Answer], connections: int) -> None:
    async def run() -> None:
        script = Script(*answers)
        async with script.line() as (line, upstream):
            for _ in answers:
                found = await ask(line, upstream)
                assert found.status in (200, 204)
                assert found.body in (b"hello", b"")
                await asyncio.sleep(0.02)  # what the server does after an answer arrives
        assert script.connections == connections

    asyncio.run(run())


STALE = {
    "nothing": Answer(b"", "close"),
    "a reset": Answer(b"", "reset"),
    "a byte": Answer(b"H", "close"),
    "a line": Answer(OK, "close"),
    "an interim answer": Answer(b"HTTP/1.1 100 Continue\r\n\r\n", "close"),
}


@pytest.mark.parametrize("name", STALE)
def test_only_a_get_request_is_sent_again_and_only_before_an_answer(name: str) -> None:
    """The server lets go of a kept connection as the next request comes. A POST may have been worked on: it is an error."""

    async def run(body: bytes | None) -> tuple[Seen, int]:
        script = Script(Answer(GOOD), STALE[name], Answer(GOOD))
        async with script.line() as (line, upstream):
            assert (await ask(line, upstream, body)).body == b"hello"
            return await ask(line, upstream, body), script.requests

    assert asyncio.run(run(b"{}")) == (Seen(0), 2)
    got, requests = asyncio.run(run(None))
    assert (got.body, requests) == ((b"hello", 3) if not STALE[name].sent else (b"", 2))


def test_a_new_connection_closed_without_an_answer_is_an_error() -> None:
    found, script = asyncio.run(seen(Answer(b"", "close")))
    assert found == [Seen(0)]
    assert script.requests == 1


@pytest.mark.spec("X36")
@pytest.mark.parametrize("body", [b'{"a": "b', b'{"a": 1', b"[1, 2", b"", b'"x', b'{"a": 1}}'])
def test_json_ended_only_by_the_connection_must_be_complete(body: bytes) -> None:
    assert read_answer(OK + b"Content-Type: application/json\r\n\r\n" + body) == Seen(0)
    assert (
        read_answer(OK + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body).body
        == body
    )
