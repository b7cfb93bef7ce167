"""Connections to upstreams: answers are read strictly in any division; connections are kept, shared, limited and closed."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.test_small_parts import cut
from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client import pool as pools
from trueup.gateway.client.link import BrokenResponse, Closed, CutOff, GarbledResponse, Link
from trueup.gateway.client.pool import NoConnection, Origin, Pool
from trueup.gateway.client.tls import Tls
from trueup.gateway.client.upstream import UpstreamConnections, UpstreamResponse
from trueup.gateway.config import Upstream
from trueup.gateway.errors import RefusedRequest

BODY = b'{"choices": []}'
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
LONG = OK + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\n" + BODY[:4] + b"\r\n%x\r\n" % (len(BODY) - 4) + BODY[4:] + b"\r\n0\r\n\r\n"  # fmt: skip
CLOSED = OK + b"\r\n" + BODY


class Wire:
    """A transport that remembers what was done with it."""

    def __init__(self) -> None:
        self.sent = b""
        self.aborted = self.paused = False

    def write(self, data: bytes) -> None:
        self.sent += data

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def get_write_buffer_size(self) -> int:
        return 0


async def fed(pieces: list[bytes], *, ends: bool = False) -> tuple[Link, Wire, bytes]:
    """A link that asked and got these pieces, and the body that was read from it."""
    link, wire = Link(asyncio.get_running_loop(), "here"), Wire()
    link.connection_made(wire)
    asking = asyncio.ensure_future(_whole(link))
    await asyncio.sleep(0)
    for piece in pieces:
        link.data_received(piece)
        await asyncio.sleep(0)
    if ends:
        link.connection_lost(None)
    return link, wire, await asyncio.wait_for(asking, 5)


async def _whole(link: Link) -> bytes:
    await link.ask(b"GET / HTTP/1.1\r\n\r\n", b"")
    found = b""
    while piece := await link.read():
        found += piece
    return found


@given(st.sampled_from([LONG, CHUNKED]), st.lists(st.integers(0, 200), max_size=8))
def test_an_answer_is_the_same_however_it_is_split(answer: bytes, places: list[int]) -> None:
    link, wire, body = asyncio.run(fed(cut(answer, places)))
    assert body == BODY
    assert link.status == 200
    assert link.headers[0] == (b"content-type", b"application/json")
    assert link.reusable
    assert not wire.aborted


@pytest.mark.spec("X36")
@given(st.sampled_from([LONG, CHUNKED]), st.data())
def test_an_incomplete_answer_is_an_error(answer: bytes, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(answer) - 1))
    with pytest.raises(CutOff if end >= answer.index(b"\r\n\r\n") + 4 else Closed):
        asyncio.run(fed([answer[:end]], ends=True))


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    link, _, body = asyncio.run(fed([CLOSED], ends=True))
    assert body == BODY
    assert not link.reusable


@pytest.mark.spec("X30")
@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
        OK + b"X-Long: " + b"a" * 20_000 + b"\r\n\r\n",
        OK + b"X-Many: 1\r\n" * 10_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 100_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X-Trailer: 1\r\n" * 10_000,
        b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 5_000,
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
    ],
)
def test_bytes_that_are_not_an_answer_are_cut_off(answer: bytes) -> None:
    with pytest.raises(GarbledResponse):
        asyncio.run(fed([answer]))


def test_interim_answers_are_skipped() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\n\r\n"
    link, _, body = asyncio.run(fed([early + LONG]))
    assert (link.status, body) == (200, BODY)
    assert b"set-cookie" not in dict(link.headers)


@pytest.mark.spec("X30")
@pytest.mark.parametrize("more", [LONG, b"x", b"HTTP/1.1 200 OK\r\n"])
@pytest.mark.parametrize("apart", [False, True])
def test_bytes_after_an_answer_end_the_connection_and_not_the_answer(more: bytes, apart: bool) -> None:
    async def run() -> None:
        link, wire, body = await fed([LONG] if apart else [LONG + more])
        assert body == BODY
        if apart:
            link.data_received(more)
            assert wire.aborted
        assert not link.reusable

    asyncio.run(run())


@pytest.mark.spec("X34")
def test_unread_bytes_wait_in_the_socket() -> None:
    async def run() -> None:
        link, wire = Link(asyncio.get_running_loop(), ""), Wire()
        link.connection_made(wire)
        asking = asyncio.ensure_future(link.ask(b"", b""))
        await asyncio.sleep(0)
        link.data_received(OK + b"Content-Length: 99999999\r\n\r\n")
        await asking
        for _ in range(5):
            link.data_received(b"x" * 60_000)
        assert wire.paused
        assert len(await link.read()) == 300_000
        assert not wire.paused

    asyncio.run(run())


# -- connections -------------------------------------------------------------------------------

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """A server that says the same to every request, and counts."""

    def __init__(self, answer: bytes = LONG, *, stays: bool = True) -> None:
        self.answer, self.stays = answer, stays
        self.connections = 0
        self.heads: list[bytes] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                size = next((int(row[15:]) for row in head.split(b"\r\n") if row.startswith(b"content-length:")), 0)
                await reader.readexactly(size)
                await self.gate.wait()
                writer.write(self.answer)
                await writer.drain()
                if not self.stays:
                    break
        writer.close()

    @contextlib.asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[int]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, **options)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for writer in self.writers:
                writer.close()


async def until(done: Callable[[], bool]) -> None:
    """Let the loop run until a condition is true."""
    while not done():  # noqa: ASYNC110 - it waits for turns of the loop itself
        await asyncio.sleep(0.001)


async def send_and_read(
    line: UpstreamConnections, upstream: Upstream, given: dict[str, str] | None = None
) -> UpstreamResponse:
    reply = await line.send(upstream, "/v1/chat/completions", b"{}", given or {})
    assert await reply.read() == BODY
    reply.close()
    return reply


def test_a_connection_is_kept_and_reused() -> None:
    async def run() -> None:
        peer = Peer()
        async with peer.open() as port:
            upstream = Upstream("main", f"http://127.0.0.1:{port}/base/", private=True)
            line = UpstreamConnections({"main": upstream}, 1000)
            for _ in range(5):
                await send_and_read(line, upstream)
            assert peer.connections == 1
            peer.writers[0].close()  # the other side lets go of it
            await until(lambda: line._pool._aside[line._origins["main"]][0].lost)
            await send_and_read(line, upstream)
            assert peer.connections == 2
            await line.close()

    asyncio.run(run())


@pytest.mark.parametrize("answer", [CLOSED, LONG.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), LONG + b"more"])
def test_a_connection_that_is_closed_or_sends_more_is_not_reused(answer: bytes) -> None:
    async def run() -> None:
        peer = Peer(answer, stays=b"more" in answer)
        async with peer.open() as port:
            upstream = Upstream("main", f"http://127.0.0.1:{port}", private=True)
            line = UpstreamConnections({"main": upstream}, 1000)
            for _ in range(3):
                await send_and_read(line, upstream)
            assert peer.connections == 3
            await line.close()

    asyncio.run(run())


def test_connections_are_limited_and_every_request_finally_gets_one() -> None:
    async def run() -> None:
        peer = Peer()
        peer.gate.clear()
        async with peer.open() as port:
            upstream = Upstream("main", f"http://127.0.0.1:{port}", private=True)
            line = UpstreamConnections({"main": upstream}, 1000, connections=2)
            tasks = [asyncio.ensure_future(send_and_read(line, upstream)) for _ in range(8)]
            await until(lambda: len(peer.heads) == 2)
            tasks.pop(4).cancel()  # a request that is cancelled while it waits takes no turn
            await asyncio.sleep(0)
            assert len(peer.heads) == 2
            peer.gate.set()
            await asyncio.wait_for(asyncio.gather(*tasks), 10)
            assert peer.connections == 2
            assert not line._pool._waiting
            await line.close()

    asyncio.run(run())


@pytest.mark.spec("X35")
def test_a_cancelled_request_leaves_no_connection_behind() -> None:
    async def run() -> None:
        peer = Peer()
        peer.gate.clear()
        async with peer.open() as port:
            upstream = Upstream("main", f"http://127.0.0.1:{port}", private=True)
            line = UpstreamConnections({"main": upstream}, 1000, connections=1)
            task = asyncio.ensure_future(send_and_read(line, upstream))
            await until(lambda: bool(peer.heads))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            peer.gate.set()
            await send_and_read(line, upstream)
            assert peer.connections == 2, "the first was cut: its answer is nobody's"
            await line.close()

    asyncio.run(run())


def test_unused_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_ASIDE", 0.05)

    async def run() -> None:
        peer = Peer()
        async with peer.open() as port:
            upstream = Upstream("main", f"http://127.0.0.1:{port}", private=True)
            line = UpstreamConnections({"main": upstream}, 1000)
            await send_and_read(line, upstream)
            reader_gone = asyncio.ensure_future(peer.writers[0].wait_closed())
            await asyncio.wait_for(reader_gone, 5)
            assert not line._pool._aside
            await line.close()

    asyncio.run(run())


def test_the_next_address_is_tried_if_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        peer = Peer()
        async with peer.open() as port:
            pool = Pool(frozenset(), 10)

            async def addresses(host: str, port: int) -> list[str]:
                return ["127.0.0.9", "127.0.0.1"]

            monkeypatch.setattr(pool._addresses, "of", addresses)
            link = await pool.take(Origin("model.example", port, secure=False))
            assert not link.lost
            pool.give(link)
            assert not link.reusable, "nothing was asked over it"

            async def none(host: str, port: int) -> list[str]:
                return ["127.0.0.9", "127.0.0.8"]

            monkeypatch.setattr(pool._addresses, "of", none)
            with pytest.raises(NoConnection):
                await pool.take(Origin("model.example", port, secure=False))
            await pool.close()

    asyncio.run(run())


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    import datetime as dt

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder().subject_name(who).issuer_name(who).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.TraditionalOpenSSL
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return certificate, secret


@pytest.mark.spec("X29")
def test_a_certificate_must_be_trusted_and_match_the_host_name(tmp_path: Path) -> None:
    certificate, secret = _certificate(tmp_path, "localhost")
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, secret)

    async def run() -> None:
        peer = Peer()
        async with peer.open(ssl=served) as port:
            named = Upstream("main", f"https://localhost:{port}", private=True)
            by_number = Upstream("number", f"https://127.0.0.1:{port}", private=True)
            line = UpstreamConnections({"main": named, "number": by_number}, 1000)
            with pytest.raises(TransportFailure, match="its certificate is refused: self-signed"):
                await line.send(named, "/v1/models", None, {})
            line._pool._context(Tls()).load_verify_locations(certificate)
            await send_and_read(line, named)
            assert peer.heads[-1].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost:%d\r\n" % port)
            with pytest.raises(TransportFailure, match="its certificate is refused: IP address mismatch"):
                await line.send(by_number, "/v1/models", None, {})
            await line.close()

    asyncio.run(run())


def test_the_head_of_a_request_has_only_the_necessary_headers() -> None:
    async def run() -> None:
        peer = Peer()
        async with peer.open() as port:
            upstream = Upstream(
                "main", f"http://ada:p%40ss@127.0.0.1:{port}/über/", headers={"X-Org": "ours"}, private=True
            )
            line = UpstreamConnections({"main": upstream}, 1000)
            await send_and_read(line, upstream, {"accept": "application/json", "cookie": "a=b", "openai-beta": "x=1"})
            lines = peer.heads[0].decode().split("\r\n")
            assert lines[0] == "POST /%C3%BCber//v1/chat/completions HTTP/1.1"
            assert sorted(lines[1:-2]) == [
                "accept-encoding: identity", "accept: application/json", "authorization: Basic YWRhOnBAc3M=",
                "content-length: 2", "content-type: application/json", f"host: 127.0.0.1:{port}", "openai-beta: x=1",
                "user-agent: trueup", "x-org: ours",
            ]  # fmt: skip
            with pytest.raises(RefusedRequest, match="a header cannot be sent on: 'accept'"):
                await line.send(upstream, "/v1/models", None, {"accept": "a\r\nx-evil: 1"})
            await line.close()

    asyncio.run(run())


def test_a_broken_connection_is_reported_without_its_address() -> None:
    async def run() -> None:
        upstream = Upstream("main", "http://127.0.0.1:9", key="sk-secret-0123456789", private=True)
        line = UpstreamConnections({"main": upstream}, 1000)
        with pytest.raises(TransportFailure) as caught:
            await line.send(upstream, "/v1/models", None, {})
        assert caught.value.failure.reason == "upstream 'main': no connection (Connection refused)"
        await line.close()

    asyncio.run(run())
    assert issubclass(BrokenResponse, OSError)


def test_heads_with_long_headers_are_not_cached() -> None:
    upstream = Upstream("main", "http://127.0.0.1:9", private=True)
    line = UpstreamConnections({"main": upstream}, 1000)
    for n in range(200):
        assert b"%05d" % n in line._head(upstream, "/v1/messages", b"{}", {"anthropic-beta": "x" * 60_000 + f"{n:05}"})
    line._head(upstream, "/v1/messages", b"{}", {"anthropic-beta": "short"})
    assert sum(map(len, line._starts.values())) < 1000
