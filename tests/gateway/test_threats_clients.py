"""Hostile clients: smuggled lengths, slow heads and bodies, huge ones, headers and addresses that must not get through."""

import json
import select
import socket
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.gateway.conftest import GOOD, KEY, PERSON, QUICK, Desk, Open
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Config, Limits, Route, Upstream
from trueup.testing.script import Say

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


def line_to(url: str) -> socket.socket:
    """A connection; waiting on it for something that never arrives fails after a minute."""
    address = urlsplit(url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def read_until_closed(line: socket.socket) -> bytes:
    """Everything that comes until the other side closes the connection."""
    found = b""
    try:
        while piece := line.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def drip(line: socket.socket, piece: bytes, pause: float = 0.05) -> bytes:
    """Send a piece again and again until the other side answers or closes the connection; what it said."""
    for _ in range(2000):
        try:
            line.sendall(piece)
        except ConnectionError:
            break
        if is_readable(line, pause):
            break
    else:
        raise AssertionError("nobody stopped the drip")
    return read_until_closed(line)


def is_readable(line: socket.socket, seconds: float = 0) -> bool:
    """Whether something has come, or comes meanwhile: bytes, or the end."""
    return bool(select.select([line], [], [], seconds)[0])


def strict(**limits: float) -> object:
    def config(url: str) -> Config:
        return Config(
            {"main": Upstream("main", url, key=KEY, private=True)},
            (Route("all", ("*",), Contract(PERSON), policy=QUICK),),
            limits=Limits(**limits),  # type: ignore[arg-type]
        )

    return config


@pytest.mark.spec("X30")
@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(BODY),
        b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(BODY),
        b"Content-Length: %d\r\nContent-Length: 4\r\n" % len(BODY),
        b"Content-Length: %d\r\nContent-Length: %d\r\n" % (len(BODY), len(BODY)),
        b"Content-Length: +%d\r\n" % len(BODY),
        b"Content-Length: %d, 4\r\n" % len(BODY),
        b"Content-Length: -1\r\n",
        b"Content-Length : %d\r\n" % len(BODY),
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"X-Odd: a\r\n folded\r\nContent-Length: %d\r\n" % len(BODY),
        b"X-Odd: a\x00b\r\nContent-Length: %d\r\n" % len(BODY),
    ],
)
def test_a_request_with_two_lengths_is_refused_and_not_forwarded(desk: Open, lengths: bytes) -> None:
    hidden = b"GET /v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n"
    with desk([], config=strict(body_seconds=1, head_seconds=2)) as d, line_to(d.url) as line:
        line.sendall(HEAD + lengths + b"\r\n" + BODY + hidden)
        answer = read_until_closed(line)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1 ") == 1, "what is hidden behind it is not taken for a request"
        assert d.upstream.requests == []


@pytest.mark.spec("X30", "X31")
def test_hop_by_hop_and_client_headers_are_not_forwarded(desk: Open) -> None:
    odd = (
        b"Connection: keep-alive, x-secret\r\nX-Secret: 1\r\nProxy-Authorization: Basic Zm9v\r\nTE: trailers\r\n"
        b"Keep-Alive: timeout=5\r\nUpgrade: h2c\r\nTrailer: x\r\nCookie: a=b\r\nX-Forwarded-For: 1.1.1.1\r\nForwarded: for=1\r\n"
        b"Authorization: Bearer client\r\nX-Real-IP: 1.1.1.1\r\nOpenAI-Organization: theirs\r\nVia: 1.1 x\r\nReferer: http://x\r\n"
    )
    with desk([GOOD], PERSON) as d, line_to(d.url) as line:
        line.sendall(HEAD + odd + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert line.recv(65_536).startswith(b"HTTP/1.1 200 ")
        seen = d.upstream.requests[0].headers
        assert seen.keys() <= {
            "host", "content-type", "content-length", "accept", "accept-encoding", "user-agent", "authorization",
        }  # fmt: skip
        assert seen["authorization"] == f"Bearer {KEY}"


@pytest.mark.spec("X27")
def test_an_address_in_a_request_does_not_redirect_it(desk: Open) -> None:
    with desk([]) as sink, desk([GOOD, GOOD], PERSON) as d:
        there = sink.upstream.url
        names = ("base_url", "api_base", "upstream", "url", "endpoint", "custom_llm_provider", "api_key")
        more: dict[str, Any] = {**dict.fromkeys(names, there), "trueup": dict.fromkeys(names, there)}
        headers = {f"x-trueup-{name}": there for name in ("upstream", "url")} | {
            "host": urlsplit(there).netloc, "x-forwarded-host": urlsplit(there).netloc, "x-base-url": there,
        }  # fmt: skip
        assert d.chat(headers=headers, **more).status_code == 200
        assert d.upstream.requests[0].headers["host"] == urlsplit(d.upstream.url).netloc
        with line_to(d.url) as line:  # an absolute address in the request line, as a proxy would get it
            line.sendall(WHOLE.replace(b"POST /v1", f"POST {there}/v1".encode()))
            line.recv(65_536)
        assert sink.upstream.requests == []


@pytest.mark.spec("X27")
@pytest.mark.parametrize(
    "name", ["../../admin/keys", "..%2f..%2fadmin", "%2e%2e/%2e%2e/admin", "x?key=1", "x%3Fa=1%23b", "a/./b"]
)
def test_the_name_of_a_model_reaches_no_other_path_of_the_upstream(desk: Open, name: str) -> None:
    with desk([]) as d, line_to(d.url) as line:
        line.sendall(f"GET /v1/models/{name} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n".encode())
        read_until_closed(line)
        for request in d.upstream.requests:
            assert request.path.startswith("/v1/models/")
            assert request.query == {}


@pytest.mark.spec("X32")
def test_a_slow_head_is_cut_off(desk: Open) -> None:
    with desk([GOOD], config=strict(head_seconds=1)) as d:
        lines = [line_to(d.url) for _ in range(20)]
        for number, line in enumerate(lines):
            line.sendall(b"" if number % 2 else b"POST /v1/chat/comp")
        for line in lines:
            assert read_until_closed(line) == b"", "closed without an answer"
            line.close()
        with line_to(d.url) as line:  # one that drips is no better than one that says nothing
            line.sendall(HEAD + b"X-Slow: ")
            assert drip(line, b"a") == b""
        assert d.chat().status_code == 200, "and everybody else is served"


@pytest.mark.spec("X32")
def test_a_second_head_on_a_kept_connection_has_a_deadline_too(desk: Open) -> None:
    with desk([GOOD], config=strict(head_seconds=1)) as d:
        d.gateway.server.config.timeout_keep_alive = 3600  # nothing else ends it
        with line_to(d.url) as line:
            line.sendall(WHOLE)
            answer = b""
            while not answer.endswith(b"}"):
                answer += line.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200 ")
            line.sendall(b"POST /v1/chat/comp")
            assert read_until_closed(line) == b"", "closed without an answer"


@pytest.mark.spec("X32")
@pytest.mark.parametrize("start", [b"", BODY[:10]])
def test_a_slow_body_is_refused_in_time(desk: Open, start: bytes) -> None:
    with desk([], config=strict(body_seconds=0.4)) as d, line_to(d.url) as line:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + start)
        assert read_until_closed(line).startswith(b"HTTP/1.1 408 ")
        assert d.upstream.requests == []


@pytest.mark.spec("X32")
def test_a_dripping_body_is_refused_in_time(desk: Open) -> None:
    with desk([], config=strict(body_seconds=0.5)) as d, line_to(d.url) as line:
        line.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        assert drip(line, b"1\r\n \r\n").startswith(b"HTTP/1.1 408 ")
        assert d.upstream.requests == []


def ask_and_read_nothing(d: Desk, line: socket.socket, **more: object) -> None:
    """Send a request on a connection with next to no room for its reply."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps({**json.loads(BODY), **more}).encode()
    line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    wait_for(lambda: d.upstream.requests and not d.gateway.gateway.metrics.active, "the request never ends")


LONG = Say("word " * 8_000_000, piece=50_000)  # far more than the system keeps for somebody who does not read
LARGE = 100_000_000


@pytest.mark.spec("X32")
def test_a_client_that_does_not_read_its_stream_is_dropped(desk: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.gateway.runtime._GRACE", 0.2)
    limits = Limits(total_seconds=2, reply=LARGE)
    config = lambda url: Config({"main": Upstream("main", url, private=True)}, limits=limits)  # noqa: E731
    with desk([LONG], config=config) as d, line_to(d.url) as line:
        ask_and_read_nothing(d, line, stream=True)
        assert 'outcome="failed",status="504"' in d.gateway.gateway.metrics.page()
        wait_for(lambda: d.upstream.exchanges[0].ended == "client left", "the upstream still sends")
        assert d.upstream.exchanges[0].sent > 0


@pytest.mark.spec("X32")
def test_a_connection_whose_client_does_not_read_its_reply_is_closed(desk: Open) -> None:
    config = lambda url: Config({"main": Upstream("main", url, private=True)}, limits=Limits(reply=LARGE))  # noqa: E731
    with desk([LONG], config=config) as d:
        d.gateway.server.config.timeout_keep_alive = 0.5
        with line_to(d.url) as line:
            ask_and_read_nothing(d, line)
            assert d.upstream.exchanges[0].sent > len(LONG.text or ""), "the gateway has the whole reply"
            wait_for(lambda: not d.gateway.server.server_state.connections, "the connection is still open")


@pytest.mark.spec("X33")
@pytest.mark.parametrize("chunked", [False, True])
def test_sixty_four_megabytes_are_refused_at_the_limit(desk: Open, chunked: bool) -> None:
    block = b" " * (1 << 20)
    with desk([], config=strict(request=100_000)) as d, line_to(d.url) as line:
        size = b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"Content-Length: %d\r\n\r\n" % (64 << 20)
        line.sendall(HEAD + size)
        sent = 0
        try:
            while sent < 64:
                line.sendall(b"100000\r\n" + block + b"\r\n" if chunked else block)
                sent += 1
        except OSError:
            pass
        assert read_until_closed(line).startswith(b"HTTP/1.1 413 ")
        assert d.upstream.requests == []


@pytest.mark.spec("X33")
def test_a_body_over_the_limit_sent_in_one_piece_is_refused_immediately(
    desk: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueup.gateway.serving.wire._PATIENCE", 60.0)  # there is nothing to wait for
    body = BODY[:-1] + b" " * 5_000 + b"}"
    with desk([], config=strict(request=1000)) as d, line_to(d.url) as line:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert read_until_closed(line).startswith(b"HTTP/1.1 413 ")
        assert d.upstream.requests == []


@pytest.mark.spec("X32")
def test_an_idle_connection_is_closed_and_a_used_one_is_not(desk: Open) -> None:
    with desk([], config=strict(), then=GOOD) as d, line_to(d.url) as used, line_to(d.url) as idle:

        def ask(line: socket.socket) -> None:
            line.sendall(WHOLE)
            answer = b""
            while not answer.endswith(b"}"):
                answer += line.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200 ")

        for connection in (used, idle):
            ask(connection)
        for connection in list(d.gateway.server.server_state.connections):
            connection.timeout_keep_alive = 1.5
            connection.loop.call_soon_threadsafe(connection.timeout_keep_alive_handler)  # looks, and comes back
        for _ in range(1000):
            ask(used)
            if is_readable(idle, 0.1):
                break
        assert read_until_closed(idle) == b"", "closed, while the other one was in use"
        ask(used)


@pytest.mark.spec("X33")
def test_a_client_with_expect_continue_is_refused_before_it_sends(desk: Open) -> None:
    with desk([], config=strict(request=1000)) as d, line_to(d.url) as line:
        line.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
        answer = read_until_closed(line)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"more than 1,000 bytes" in answer


@pytest.mark.spec("X32", "X33")
def test_an_endless_head_is_refused(desk: Open) -> None:
    with desk([], config=strict()) as d:
        chunk = b"Transfer-Encoding: chunked\r\n\r\n"
        for endless in (
            b"X-Long: " + b"a" * (1 << 20), b"X-Many: 1\r\n" * 100_000, chunk + b"1;" + b"x" * (1 << 20),
            chunk + b"0\r\nX-Trailer: " + b"a" * (1 << 20), chunk + b"0\r\n" + b"X-Many: 1\r\n" * 100_000,
        ):  # fmt: skip
            with line_to(d.url) as line:
                try:
                    line.sendall(HEAD + endless)
                except OSError:
                    pass
                assert read_until_closed(line)[:12] in (b"HTTP/1.1 431", b""), "refused, or cut off amid sending"
        assert d.upstream.requests == []


_FLOOD = """
import resource, socket, sys, threading
from trueup.gateway.config import Config, Limits, Upstream
from trueup.gateway.running import running
config = Config({"main": Upstream("main", "http://127.0.0.1:9", private=True)}, limits=Limits(request=1_000_000))
with running(config) as gateway:
    port = int(gateway.url.rpartition(":")[2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = b"100000\\r\\n" + b" " * (1 << 20) + b"\\r\\n"
    def flood():
        with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
            try:
                line.sendall(b"POST /v1/messages HTTP/1.1\\r\\nHost: g\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
                for _ in range(64):
                    line.sendall(block)
            except OSError:
                pass
    crowd = [threading.Thread(target=flood) for _ in range(4)]
    [thread.start() for thread in crowd], [thread.join() for thread in crowd]
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.spec("X33")
def test_a_flood_of_bodies_uses_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", _FLOOD], capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout) <= 4 * 2 + 20, "megabytes, for four bodies of 64 at a limit of one each"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The addresses of host names: a list for each name, which a test may change."""
    table: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def lookup(host: str, port: object, *rest: object, **more: object) -> object:
        if host not in table:
            return real(host, port, *rest, **more)  # type: ignore[arg-type]
        kinds = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in table[host]]
        return [
            (kind, socket.SOCK_STREAM, 6, "", (each, port, 0, 0) if kind == socket.AF_INET6 else (each, port))
            for kind, each in zip(kinds, table[host], strict=True)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return table


@pytest.mark.spec("X29")
@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "10.1.2.3", "192.168.0.1", "172.16.9.9", "127.0.0.1", "0.0.0.0", "100.64.0.1", "::1", "fd00:ec2::254",
     "fe80::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "224.0.0.1", "ff02::1", "2002:7f00:1::"],
)  # fmt: skip
def test_a_name_that_resolves_to_an_internal_address_is_refused(
    desk: Open, names: dict[str, list[str]], address: str
) -> None:
    names["model.example"] = [address]
    config = lambda url: Config({"main": Upstream("main", f"http://model.example:{urlsplit(url).port}")})  # noqa: E731
    with desk([], config=config) as d:
        response = d.chat()
        assert response.status_code == 502
        assert "private: true" in response.json()["error"]["message"]
        assert d.upstream.requests == []


@pytest.mark.spec("X29")
def test_the_checked_address_is_the_one_that_is_used(desk: Open, names: dict[str, list[str]]) -> None:
    """A name whose answer changes between the look and the connection gains nothing: there is one look."""
    names["model.example"] = ["169.254.169.254", "10.0.0.1"]
    config = lambda url: Config({"main": Upstream("main", f"http://model.example:{urlsplit(url).port}")})  # noqa: E731
    with desk([], config=config) as d:
        assert d.chat().status_code == 502
        names["model.example"] = ["127.0.0.1"]
        assert d.chat().status_code == 502
        assert d.upstream.requests == []
