"""Damaged HTTP: whatever bytes an upstream sends, in any cut, reading them comes to an end, with an answer or an error of the client's own kinds."""

import asyncio
import random

from tests.effort import SOAK
from tests.gateway.client.test_upstream import CHUNKED, CLOSED, LONG, Wire
from trueup.gateway.client.inflate import BadEncoding, TooLarge
from trueup.gateway.client.link import BrokenResponse, Link
from trueup.gateway.client.pool import Pool
from trueup.gateway.client.upstream import UpstreamResponse

COUNT = 200_000 if SOAK else 3000
STARTS = (
    LONG, CHUNKED, CLOSED, b"HTTP/1.1 100 Continue\r\n\r\n" + LONG, b"HTTP/1.0 200 OK\r\n\r\n{}", b"HTTP/1.1 204 No Content\r\n\r\n",
    LONG.replace(b"Content-Length", b"Content-Encoding: gzip\r\nContent-Length"), LONG + LONG, b"",
)  # fmt: skip
BITS = (
    b"\r\n", b"\n", b"\r", b"\x00", b"\xff", b":", b" ", b"\t", b"HTTP/1.1 200 OK\r\n", b"Content-Length: 3\r\n", b"Content-Length: 99\r\n",
    b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"ffffffffff\r\n", b"-1", b";x=y", b"Connection: close\r\n", b"Upgrade: x\r\n", b"a" * 5000,
)  # fmt: skip


def damaged(chance: random.Random) -> bytes:
    text = chance.choice(STARTS) if chance.random() < 0.95 else chance.randbytes(chance.randrange(200))
    for _ in range(chance.randrange(5)):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(BITS) + text[at + chance.choice((0, 0, 1, 8)) :]
    return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.2 else text


async def read(number: int) -> str:
    """The result of one case; a second request follows if the connection may be used again."""
    chance = random.Random(number)
    loop = asyncio.get_running_loop()
    link, wire, pool = Link(loop, "here"), Wire(), Pool(frozenset(), 10)
    link.connection_made(wire)
    answer = damaged(chance)
    asking = asyncio.ensure_future(link.ask(b"POST / HTTP/1.1\r\n\r\n", b""))
    await asyncio.sleep(0)
    places = sorted(chance.randrange(len(answer) + 1) for _ in range(chance.randrange(4)))
    for start, end in zip([0, *places], [*places, len(answer)], strict=True):
        if not wire.aborted:
            link.data_received(answer[start:end])
    if wire.aborted or chance.random() < 0.9 or not link.complete:
        link.connection_lost(None if chance.random() < 0.8 else ConnectionResetError())
    try:
        await asyncio.wait_for(asking, 20)
        reply = UpstreamResponse(link, pool, 1000, ())
        return f"{reply.status} {len(await asyncio.wait_for(reply.read(), 20)):d}"
    except (BrokenResponse, BadEncoding, TooLarge) as error:
        return type(error).__name__


def test_reading_damaged_answers_ends_in_an_answer_or_an_error_of_our_own() -> None:
    async def run() -> set[str]:
        return {await read(number) for number in range(COUNT)}

    outcomes = asyncio.run(run())
    assert {"Closed", "CutOff", "GarbledResponse", "BadEncoding"} <= outcomes
    assert any(outcome.startswith("200 ") for outcome in outcomes)
