"""Damaged upstream replies: whatever an upstream sends, the client gets an answer or an error in time, and never an error that is our own fault."""

import asyncio
import contextlib
import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.effort import SOAK
from tests.gateway.conftest import PERSON, QUICK
from tests.gateway.test_fuzz_requests import events_of, reply_of, resident
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Config, Route, Upstream
from trueup.gateway.running import running

COUNT = 100_000 if SOAK else 400
PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses")
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 5, 1.5, 1e400, 10**30, "", "x", "\ud800", "\x00", [], [[]], [None], {}, {"a": {}}, {"type": 5}, [5, "x", {}],
)  # fmt: skip
BYTES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\r", b"\n\n", b"data: ", b"event: x\n", b"\xef\xbb\xbf", b"{", b"}", b'"', b"\\", b"[DONE]", b"9" * 400)  # fmt: skip


def damaged(path: str, chance: random.Random, *, stream: bool) -> bytes:
    """A reply with a few faults in it: other types, other bytes, other ends."""
    if stream:
        lines = events_of(path).split(b"\n")
        lines = [_line(line, chance) if chance.random() < 0.4 else line for line in lines]
        chance.random() < 0.1 and chance.shuffle(lines)
        body = b"\n".join(lines)
    else:
        body = json.dumps(_odd(json.loads(reply_of(path)), chance)).encode("utf-8", "replace")
    for _ in range(chance.choice((0, 0, 1, 1, 3))):
        at = chance.randrange(len(body) + 1)
        body = body[:at] + chance.choice(BYTES) + body[at + chance.choice((0, 0, 1, 20)) :]
    return body[: chance.randrange(len(body) + 1)] if chance.random() < 0.15 else body


def _line(line: bytes, chance: random.Random) -> bytes:
    if not line.startswith(b"data: {"):
        return line
    return b"data: " + json.dumps(_odd(json.loads(line[6:]), chance)).encode("utf-8", "replace")


def _odd(value: Any, chance: random.Random) -> Any:
    """The same value with another one somewhere in it, or without it, or with it twice."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.2:
        return chance.choice(ODD)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [*value[:at], _odd(value[at], chance), *value[at + chance.choice((0, 1)) :]]
    name = chance.choice(sorted(value))
    if chance.random() < 0.2:
        return {key: each for key, each in value.items() if key != name}
    return {**value, name: _odd(value[name], chance)}


def answer_for(number: int) -> tuple[str, bool, str, bytes]:
    """The path, whether it is a stream, the model and the bytes of a case; the same for the same number."""
    chance = random.Random(number)
    path, stream, model = chance.choice(PATHS), chance.random() < 0.5, chance.choice(("passed", "judged", "words"))
    body = damaged(path, chance, stream=stream)
    kind = "text/event-stream" if stream else "application/json"
    if chance.random() < 0.15:
        kind = chance.choice(("text/plain", "text/event-stream", "application/json; charset=utf-16", "\xff/\xfe", ""))
    status = chance.choice((200,) * 8 + (400, 404, 429, 503, 204, 299))
    head = f"HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-type: {kind}\r\n".encode("latin-1")
    framing = chance.random()
    if framing < 0.6:
        return path, stream, model, head + b"content-length: %d\r\n\r\n" % len(body) + body
    if framing < 0.8:
        return path, stream, model, head + b"\r\n" + body
    end = b"0\r\n\r\n" if chance.random() < 0.8 else b""
    return (
        path,
        stream,
        model,
        head + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body) or 1, body or b" ") + end,
    )


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(int(row[15:]) for row in head.split(b"\r\n") if row.startswith(b"content-length:"))
        body = await reader.readexactly(size)
        number = int(body.split(b"case ")[1].split(b".")[0])
        writer.write(answer_for(number)[3])
        await writer.drain()
    writer.close()


@contextlib.contextmanager
def damaging() -> Iterator[str]:
    """A server whose answer depends on the number of the case that is in the request."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(_serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def config(url: str) -> Config:
    once = QUICK.__class__(otherwise="failed", retries=0, repairs=0, timeout=20, deadline=40)
    words = Contract(reply={"min_text": 1}, name="words")
    routes = (
        Route("judged", ("judged",), Contract(PERSON, name="person"), policy=once),
        Route("words", ("words",), words, policy=once),
    )
    upstreams = {speaks: Upstream(speaks, url, speaks, private=True) for speaks in ("openai", "anthropic")}  # type: ignore[arg-type]
    return Config(upstreams, routes)


@pytest.mark.spec("X36")
def test_no_damaged_upstream_reply_breaks_the_gateway() -> None:
    with damaging() as url, running(config(url)) as gateway, httpx.Client(base_url=gateway.url, timeout=60) as client:
        memory = []
        for number in range(COUNT):
            if number % (COUNT // 4) == 0:
                memory.append(resident())
            path, stream, model, _ = answer_for(number)
            said = f"case {number}."
            body = {"model": model, "max_tokens": 9, "stream": stream}
            body |= {"input": said} if path.endswith("responses") else {"messages": [{"role": "user", "content": said}]}
            try:
                response = client.post(path, json=body)
            except httpx.RemoteProtocolError:  # a body that was cut while it passed is cut for the client too
                assert model == "passed", number
                continue
            assert response.status_code != 500, (number, response.text)
            assert b'"internal"' not in response.content, (number, response.text)
            assert b"Traceback" not in response.content, number
            if response.status_code >= 400 and model != "passed":
                assert response.json()["error"]["message"], number
        wait_for(lambda: gateway.gateway.metrics.active == 0, "a request is still open")
    if SOAK:
        assert resident() < memory[1] * 1.3  # the first quarter loads what is only loaded when it is needed
