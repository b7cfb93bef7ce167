"""The gateway under any server of ASGI: what our own one adds is not needed."""

import asyncio
import json
from typing import Any

import pytest

from tests.gateway.conftest import GOOD, PERSON, QUICK
from tests.waiting import await_for, wait_for
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.gateway import Gateway
from trueup.testing.script import Hang
from trueup.testing.server import ScriptedServer

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
SCOPE = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}


async def called(gateway: Gateway, pieces: list[bytes], left: asyncio.Event) -> list[dict[str, Any]]:
    """The messages for the server, for a body in pieces; the client leaves when `left` is set."""
    sent: list[dict[str, Any]] = []
    waiting = list(pieces)

    async def receive() -> dict[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await gateway(SCOPE, receive, send)
    return sent


@pytest.mark.parametrize("pieces", [[BODY], [BODY[:9], BODY[9:], b""]])
def test_a_reply_is_a_head_and_a_body(pieces: list[bytes]) -> None:
    async def run(url: str) -> None:
        gateway = Gateway(of(url, Contract(PERSON, name="person"), policy=QUICK))
        await gateway.start()
        head, body = await called(gateway, pieces, asyncio.Event())
        assert head["status"] == 200
        assert dict(head["headers"])[b"x-trueup-outcome"] == b"accepted"
        assert int(dict(head["headers"])[b"content-length"]) == len(body["body"])
        await gateway.stop()

    with ScriptedServer([GOOD]) as upstream:
        asyncio.run(run(upstream.url))


@pytest.mark.spec("X40")
def test_the_work_for_a_client_that_leaves_is_cancelled() -> None:
    async def run(upstream: ScriptedServer) -> None:
        gateway = Gateway(of(upstream.url, Contract(PERSON, name="person"), policy=QUICK))
        await gateway.start()
        left = asyncio.Event()
        task = asyncio.ensure_future(called(gateway, [BODY], left))
        await await_for(lambda: upstream.requests)
        left.set()
        assert await asyncio.wait_for(task, 60) == []
        assert gateway.metrics.active == 0
        assert 'outcome="gone",status="499"' in gateway.metrics.page()
        await gateway.stop()

    with ScriptedServer([Hang()]) as upstream:
        asyncio.run(run(upstream))
        wait_for(lambda: upstream.exchanges[0].ended == "client left")
