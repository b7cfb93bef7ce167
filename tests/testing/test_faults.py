"""Each kind of faulty delivery, as seen by a client of the real SDKs or a bare socket."""

import gzip
import select
import socket
from typing import Any

import httpx
import openai
import pytest

from trueup import Contract
from trueup.testing.script import (
    Bomb,
    Call,
    Cut,
    Fail,
    Hang,
    Raw,
    Redirect,
    Reset,
    Say,
    ScriptError,
    Slow,
    Wire,
    WrongLength,
    Zipped,
)
from trueup.testing.server import ScriptedServer
from trueup.testing.wire import Request

ASK: Any = [{"role": "user", "content": "hi"}]
BODY: Any = {"model": "m", "messages": ASK}
STREAM: Any = {**BODY, "stream": True}
PATH = "/v1/chat/completions"
LONG = Say("word " * 40, piece=5)


def ask(server: ScriptedServer, body: Any = BODY, **more: Any) -> httpx.Response:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        return client.post(PATH, json=body, **more)


def call(server: ScriptedServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=60)


def test_a_reset_before_the_reply() -> None:
    with ScriptedServer([Reset()]) as server:
        with pytest.raises(httpx.ReadError):
            ask(server)
        assert server.exchanges[0].status == 0


@pytest.mark.parametrize("body", [BODY, STREAM], ids=["whole", "stream"])
def test_a_reset_in_the_middle_of_the_reply(body: Any) -> None:
    with ScriptedServer(then=Reset(LONG, 0.5)) as server:
        with pytest.raises(httpx.ReadError):
            ask(server, body)
        assert server.exchanges[0].sent > 0


def test_a_cut_that_the_framing_shows() -> None:
    with ScriptedServer(then=Cut(LONG, 100)) as server:
        for body in (BODY, STREAM):
            with pytest.raises(httpx.RemoteProtocolError):
                ask(server, body)


@pytest.mark.spec("X36")
def test_a_cut_that_no_client_sees_is_seen_by_the_contract() -> None:
    with (
        ScriptedServer([Cut('{"a": 1}', events=-2, silent=True)]) as server,
        openai.OpenAI(base_url=server.url, api_key="none") as client,
    ):
        chunks = list(client.chat.completions.create(**STREAM))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == '{"a": 1}'
    verdict = Contract(schema=True).check(chunks)
    assert not verdict.ok
    assert "R003" in {finding.code for finding in verdict.findings}


def test_a_silent_cut_of_a_body() -> None:
    with ScriptedServer([Cut(LONG, 0.5, silent=True)]) as server:
        response = ask(server)
        assert response.status_code == 200
        with pytest.raises(ValueError):
            response.json()


def test_raw_bodies() -> None:
    page = Raw("<html>Bad gateway</html>", 502, "text/html", {"X-From": "proxy"})
    with ScriptedServer([Raw('{"choices": ['), page, Raw("")]) as server:
        assert ask(server).text == '{"choices": ['
        response = ask(server)
        assert (response.status_code, response.headers["x-from"]) == (502, "proxy")
        assert ask(server).content == b""


def test_redirects() -> None:
    with ScriptedServer([Redirect("/v1/chat/completions"), "there"]) as server:
        response = ask(server, follow_redirects=True)
        assert response.json()["choices"][0]["message"]["content"] == "there"
        assert [exchange.status for exchange in server.exchanges] == [307, 200]


def test_a_late_and_dripping_reply() -> None:
    with (
        ScriptedServer([Slow("naïve 😀", first=0.05, every=0.002, size=1)]) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
        client.stream("POST", PATH, json=STREAM) as response,
    ):
        pieces = list(response.iter_raw())
    assert len(pieces) > 5, "it came in one piece"
    text = b"".join(pieces).decode()
    assert text.endswith("data: [DONE]\n\n")
    assert "naïve 😀" in text


def test_a_client_that_leaves_is_noticed_immediately() -> None:
    with ScriptedServer([Slow(LONG, every=30)]) as server:
        with httpx.Client(base_url=server.url) as client, client.stream("POST", PATH, json=STREAM) as response:
            got = next(response.iter_raw())
            assert 0 < server.exchanges[0].sent <= len(got), "what is under way is counted as it goes"
        assert server.wait_until(lambda exchanges: exchanges[0].ended == "client left")
        assert server.exchanges[0].sent < 500


def test_hanging_ends_with_the_server() -> None:
    with ScriptedServer([Hang()]) as server, call(server) as line:
        line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 13\r\n\r\n" + b'{"model":"m"}')
        assert server.wait_until(lambda exchanges: len(exchanges) == 1)
        server.close()
        try:
            assert line.recv(10) == b""
        except ConnectionResetError:
            pass
    assert server.exchanges[0].ended == "server closed"


def test_closing_does_not_wait_for_a_client_that_does_not_read() -> None:
    with ScriptedServer([Raw(b"x" * 50_000_000)]) as server, call(server) as line:
        line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 13\r\n\r\n" + b'{"model":"m"}')
        assert server.wait_until(lambda exchanges: exchanges != [] and exchanges[0].status == 200)
        server.close()  # a test that hangs here is ended by its time limit
        assert server.exchanges[0].ended == "server closed"


def test_wrong_lengths() -> None:
    with ScriptedServer([WrongLength("x", 10), WrongLength("x", -10)]) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            ask(server)
        with pytest.raises(ValueError):
            ask(server).json()


def test_gzip_and_a_bomb() -> None:
    with ScriptedServer([Zipped("squeezed"), Zipped(LONG), Bomb(64)]) as server:
        assert ask(server).json()["choices"][0]["message"]["content"] == "squeezed"
        assert ask(server, STREAM).text.endswith("[DONE]\n\n")
        with httpx.Client() as client, client.stream("POST", server.url + PATH, json=BODY) as response:
            packed = b"".join(response.iter_raw())
    assert len(packed) < 100_000
    assert len(gzip.decompress(packed)) == 64 << 20


def test_wrappers_nest() -> None:
    with ScriptedServer([Slow(Cut(LONG, events=3), every=0.001)]) as server, pytest.raises(httpx.RemoteProtocolError):
        ask(server, STREAM)


def test_a_script_that_runs_out_says_so_and_fails_the_block() -> None:
    server = ScriptedServer(["only"])
    with pytest.raises(ScriptError, match="has 1 steps, but this is request 2"), server:
        responses = [ask(server), ask(server)]
    assert [response.status_code for response in responses] == [200, 400]
    assert "add a step" in responses[1].json()["error"]["message"]


def test_a_script_may_be_a_function() -> None:
    def echo(request: Request) -> Say:
        return Say(request.messages[-1]["content"].upper(), headers={"X-Echo": "1"})

    with ScriptedServer(echo) as server:
        response = ask(server)
        assert response.json()["choices"][0]["message"]["content"] == "HI"
        assert response.headers["x-echo"] == "1"


def test_a_function_that_fails_fails_the_block() -> None:
    def broken(request: Request) -> Say:
        raise LookupError(request.path)

    with pytest.raises(LookupError), ScriptedServer(broken) as server:
        assert ask(server).status_code == 500


def test_a_fault_in_the_block_itself_is_not_covered_up() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedServer() as server:
        _ = ask(server).status_code / 0


@pytest.mark.parametrize("script", ["text", [3], [None], {"m": "text"}])
def test_an_invalid_script_is_refused_immediately(script: Any) -> None:
    with pytest.raises(ScriptError):
        ScriptedServer(script)


def test_a_single_call_and_data_are_replies() -> None:
    script: Any = [Call("book", "{broken"), {"a": 1}, [1, 2]]
    with ScriptedServer(script) as server:
        call, *texts = (ask(server).json()["choices"][0]["message"] for _ in range(3))
        assert call["tool_calls"][0]["function"] == {"name": "book", "arguments": "{broken"}
        assert [message["content"] for message in texts] == ['{"a":1}', "[1,2]"]


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", b"400"),
        (b"POST /v1/responses HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST /v1/responses HTTP/1.1\r\nContent-Length: 3\r\n\r\n{x}", b"400"),
        (b"POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"200"),
        (b"POST /v1/responses HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", b"100"),
        (b"HEAD /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n", b"200"),
        (b"GET /nowhere HTTP/1.1\r\n\r\n", b"404"),
    ],
)
def test_bare_requests(request_bytes: bytes, status: bytes) -> None:
    with ScriptedServer(then="x") as server, call(server) as line:
        line.sendall(request_bytes)
        assert line.recv(100).split(b" ")[1] == status


def test_many_requests_over_one_connection() -> None:
    with ScriptedServer([str(n) for n in range(50)]) as server:
        with httpx.Client(base_url=server.url) as client:
            texts = [client.post(PATH, json=BODY).json()["choices"][0]["message"]["content"] for _ in range(50)]
        assert texts == [str(n) for n in range(50)]


def test_a_server_starts_once_and_may_be_closed_twice() -> None:
    server = ScriptedServer([Fail(503)]).start()
    with pytest.raises(RuntimeError, match="already running"):
        server.start()
    assert ask(server).status_code == 503
    server.close()
    server.close()
    with pytest.raises(httpx.ConnectError):
        ask(server)


def test_bytes_on_the_wire_are_sent_unchanged() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Odd: \x01\r\n\r\n"
    with ScriptedServer([Wire((head, b"hi")), Wire((head,), end="hang")]) as server:
        for whole in (True, False):
            with call(server) as line:
                line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
                expected, found = head + b"hi" * whole, b""
                while len(found) < len(expected):
                    found += line.recv(1000)
                assert found == expected
                assert bool(select.select([line], [], [], 60 if whole else 0.05)[0]) == whole, "closed, or left open"
