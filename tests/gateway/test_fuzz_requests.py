"""Damaged requests: whatever a client sends, it gets an answer of its protocol, and never an error that is our own fault."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.effort import SOAK
from tests.gateway.conftest import GOOD, PERSON
from tests.gateway.mutations import Sent, mutated, valid_requests
from tests.waiting import await_for
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.store.open import open_store

COUNT = 40_000 if SOAK else 900
CONNECTIONS = 8
STATES = Contract(
    PERSON,
    name="states",
    states={"OPEN": {"forbid": [{"terms": ["goodbye"]}]}, "CLOSED": {"forbid": [{"terms": ["hello"]}]}},
)
CONTRACTS = {"passed": None, "judged": Contract(PERSON, name="person"), "states": STATES}
USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}


def reply_of(path: str) -> bytes:
    """A whole reply, in the protocol of a path."""
    if path.endswith("/messages"):
        content = [{"type": "text", "text": GOOD}]
        body: dict[str, Any] = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "output_tokens": 5},
        }  # fmt: skip
    elif path.endswith("/responses"):
        item = {"type": "message", "id": "i1", "status": "completed", "role": "assistant", "content": [
            {"type": "output_text", "text": GOOD, "annotations": []}]}  # fmt: skip
        body = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [item]}
    else:
        message = {"role": "assistant", "content": GOOD}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": USAGE}
    return json.dumps(body).encode()


def events_of(path: str) -> bytes:
    """The same as a stream."""
    if path.endswith("/messages"):
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": GOOD}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]  # fmt: skip
    elif path.endswith("/responses"):
        events = [{"type": "response.completed", "sequence_number": 0, "response": json.loads(reply_of(path))}]
    else:
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        deltas: list[Any] = [({"role": "assistant", "content": GOOD}, None), ({}, "stop")]
        events = [{**chunk, "choices": [{"index": 0, "delta": d, "finish_reason": why}]} for d, why in deltas]
    said = [b"event: %s\ndata: %s\n\n" % (str(e.get("type", "x")).encode(), json.dumps(e).encode()) for e in events]
    return b"".join(said) + (b"data: [DONE]\n\n" if path.endswith("/completions") else b"")


async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers every request with the same good reply, whatever is in it."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
            body = await reader.readexactly(length)
            try:
                streams = json.loads(body).get("stream") is True
            except (ValueError, AttributeError):
                streams = False
            said, kind = (events_of(path), "text/event-stream") if streams else (reply_of(path), "application/json")
            writer.write(
                f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(said)}\r\n\r\n".encode() + said
            )
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


class Client:
    """One connection, opened again after the gateway has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, sent: Sent) -> tuple[int, bytes]:
        """The status and the whole body of an answer."""
        if self._open is None:
            self._open = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._open
        lines = [b"%s: %s" % (name.encode(), value) for name, value in sent.headers]
        head = [f"POST {sent.path} HTTP/1.1".encode(), b"host: x", *lines, b"content-length: %d" % len(sent.body)]
        writer.write(b"\r\n".join(head) + b"\r\n\r\n" + sent.body)
        said = (await reader.readuntil(b"\r\n\r\n")).lower()
        body = await self._body(reader, said)
        if b"connection: close" in said:
            self.close()
        return int(said[9:12]), body

    async def _body(self, reader: asyncio.StreamReader, head: bytes) -> bytes:
        if b"transfer-encoding: chunked" not in head:
            return await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
        pieces = []
        while size := int(await reader.readline(), 16):
            pieces.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(pieces)

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def fault_of(status: int, body: bytes) -> str:
    """The fault of an answer; empty if it has none."""
    if status >= 500:
        return f"status {status}"
    if status < 400:
        return ""
    try:
        said = json.loads(body)["error"]
    except (ValueError, TypeError, KeyError):
        return "an error that is not one of the protocol"
    return "" if said["message"] else "an error without a message"


async def play(port: int, seed: int, count: int) -> tuple[Counter[int], list[str]]:
    """Send damaged requests over some connections; the statuses that came, and what was wrong."""
    requests = iter(
        [*valid_requests(), *mutated(seed, count)]
    )  # the whole ones load what is only loaded when it is needed
    statuses: Counter[int] = Counter()
    faults: list[str] = []

    async def one() -> None:
        client = Client(port)
        try:
            for sent in requests:
                try:
                    status, body = await asyncio.wait_for(client.send(sent), 60)
                except (TimeoutError, asyncio.IncompleteReadError, ConnectionError) as error:
                    faults.append(f"{type(error).__name__} for {sent}")
                    client.close()
                    continue
                statuses[status] += 1
                if fault := fault_of(status, body):
                    faults.append(f"{fault} for {sent}: {body[:300]!r}")
        finally:
            client.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return statuses, faults


async def against(contract: Any, folder: Path, seed: int, count: int) -> tuple[Counter[int], list[str], list[int]]:
    """The same against a gateway with a store and quota; and its memory on the way, in kilobytes."""
    server = await asyncio.start_server(upstream, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    statuses: Counter[int] = Counter()
    faults: list[str] = []
    memory = []
    with open_store(folder / "fuzz.db") as store, running(of(url, contract, quota=True), store) as gateway:
        for part in range(4):
            found, wrong = await play(int(gateway.url.rpartition(":")[2]), seed * 4 + part, count // 4)
            statuses += found
            faults += wrong
            memory.append(resident())
        await await_for(lambda: gateway.gateway.metrics.active == 0, "a request never came to its end")
        assert [row.held for row in store.quota.standings() if row.held] == []
        assert store.quota.audit() == []
    server.close()
    return statuses, faults, memory


def resident() -> int:
    """The memory of this process, in kilobytes."""
    fields = Path("/proc/self/statm").read_text("ascii").split()
    return int(fields[1]) * 4


@pytest.mark.parametrize("name", list(CONTRACTS))
def test_no_damaged_request_breaks_the_gateway(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    statuses, faults, memory = asyncio.run(against(CONTRACTS[name], tmp_path, len(name), COUNT))
    assert faults == []
    assert not [record for record in caplog.records if record.exc_info]
    assert statuses[200] > COUNT // 10
    assert statuses[400] > COUNT // 10
    assert sum(statuses.values()) == 4 * (len(valid_requests()) + COUNT // 4)
    if SOAK:
        assert memory[-1] < memory[0] * 1.3
