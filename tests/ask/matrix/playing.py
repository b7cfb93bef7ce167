"""Plays one cell: a real SDK's client asks a server that misbehaves; returns the result.

The client is closed only after the server has seen the end of every exchange, because the ask itself must close connections that are no
longer needed.
"""

import asyncio
import functools
import gc
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.ask.clients.kinds import KINDS, aclose, closing
from tests.ask.matrix.cells import Cell
from tests.ask.matrix.expected import EXPECTED, Expected, expected_of
from tests.ask.stage import Log
from trueup import Contract, Policy, Price
from trueup.ask.answer import Answer
from trueup.ask.drivers.interrupt import frames
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.testing.misbehaviours import MISBEHAVIOURS
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer, ServedRequest

VALUE = {"name": "Zoë", "age": 36}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
BOOK = {
    "name": "book",
    "description": "Book a day.",
    "parameters": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
}
DATA, CALLS = Contract(SCHEMA), Contract(tools=[BOOK], calls={"required": True})
SHORT, LONG = 0.75, 90.0  # seconds: the limit of a slow call, and a time that no other call may take
TOKENS, MONEY = 400_000, 1.0


class Played(NamedTuple):
    """The answer (None if the task was cancelled), what the server saw, and the events."""

    answer: Answer[Any] | None
    exchanges: list[ServedRequest]
    events: Log
    seen_to_end: bool  # the server saw every exchange end before the client was closed
    closed: bool  # no connection was open after the client was closed


def good(expected: Expected) -> Say:
    return Say(None, (Call("book", VALUE),)) if expected.tools else Say('{"name": "Zoë", "age": 36}')


def policy(cell: Cell, expected: Expected) -> Policy:
    """Two retries, one repair, very short waits; the deadline or a call's timeout ends a slow server's call."""
    endless = expected.slow or cell.misbehaviour == "rate-limited"
    options: dict[str, Any] = {
        "models": ("m",), "retries": 2, "repairs": 1, "attempts": 6, "backoff": 0.001, "backoff_cap": 0.01,
        "deadline": SHORT if endless and cell.play == "always" else LONG,
        "timeout": SHORT if expected.slow and cell.play == "once" else LONG,
        "tokens": TOKENS, "money": MONEY, "prices": {"*": Price(1.0, 1.0)},
    }  # fmt: skip
    return Policy(**{**options, **expected.policy})


def play(cell: Cell) -> Played:
    """Ask according to the cell."""
    warm(cell.kind, streams=cell.streams)
    expected = expected_of(cell.misbehaviour, cell.kind, streams=cell.streams)
    step = MISBEHAVIOURS[cell.misbehaviour].of(good(expected))
    script, then = ([step], good(expected)) if cell.play == "once" else ([], step)
    return _play(cell, script, then, CALLS if expected.tools else DATA, policy(cell, expected))


@functools.cache
def warm(kind: str, *, streams: bool) -> None:
    """Make an SDK's first call, which imports most of the SDK, so that its time does not count for a cell."""
    cell = Cell("fenced", kind, streams, "once")
    _play(cell, [], good(EXPECTED["fenced"]), DATA, policy(cell, EXPECTED["fenced"]))
    gc.freeze()  # exclude the SDK's modules: the collection after each cell then covers only the cell's objects


def _play(cell: Cell, script: list[Any], then: Any, contract: Contract[Any], given: Policy) -> Played:
    log, kind = Log(), KINDS[cell.kind]
    options: dict[str, Any] = {"policy": given, "on_event": log, "memory": Memory()}
    with ScriptedServer(script, then=then) as server:
        client = kind.make(server)
        if kind.is_async:
            answer, ended = asyncio.run(_aask(cell, server, client, contract, options))
        else:
            with closing(client):
                answer = _ask(cell, server, client, contract, options)
                ended = _seen_to_end(server)
        del client
        gc.collect()  # urllib3 closes a pool when it is collected; unclosed resources warn here, in this cell
        closed = server.wait_until(lambda _: server.connections == 0)
        return Played(answer, list(server.exchanges), log, ended, closed)


def _ask(
    cell: Cell, server: ScriptedServer, client: Any, contract: Contract[Any], options: dict[str, Any]
) -> Answer[Any]:
    if cell.play == "cancel":
        options["cancel"] = cancel = threading.Event()
        threading.Thread(target=_under_way, args=(server, cancel.set), daemon=True).start()
    if not cell.streams:
        return contract.ask(client, "Who?", **options)
    with AskStream(contract, client, "Who?", **options) as asked:
        _ = list(asked)
        return asked.answer


async def _aask(
    cell: Cell, server: ScriptedServer, client: Any, contract: Contract[Any], options: dict[str, Any]
) -> tuple[Answer[Any] | None, bool]:
    async def going() -> Answer[Any]:
        if not cell.streams:
            return await contract.aask(client, "Who?", **options)
        async with AsyncAskStream(contract, client, "Who?", **options) as asked:
            async for _ in asked:
                pass
            return asked.answer

    task = asyncio.ensure_future(going())
    if cell.play == "cancel":
        loop = asyncio.get_running_loop()
        cancel = functools.partial(loop.call_soon_threadsafe, task.cancel)
        threading.Thread(target=_under_way, args=(server, cancel), daemon=True).start()
    try:
        answer = await task
    except asyncio.CancelledError:
        answer = None
    ended = await asyncio.to_thread(_seen_to_end, server)
    await aclose(client)
    return answer, ended


def _under_way(server: ScriptedServer, act: Callable[[], object]) -> None:
    """Act as soon as the server has a request."""
    server.wait_until(lambda exchanges: bool(exchanges), 60)
    act()


def _seen_to_end(server: ScriptedServer) -> bool:
    return server.wait_until(lambda exchanges: all(exchange.ended != "open" for exchange in exchanges))


def reading_threads() -> list[str]:
    """The worker threads that wait for bytes from a connection."""
    own = {thread.ident: thread.name for thread in threading.enumerate() if thread is not threading.main_thread()}
    found = []
    for ident, frame in frames().items():
        name = own.get(ident, "")
        if not name or name == "scripted-server" or frame.f_code.co_name == "accept":
            continue
        here: Any = frame
        while here is not None:
            if here.f_code.co_filename.endswith(("/socket.py", "/ssl.py", "/http/client.py", "/_backends/sync.py")):
                found.append(name)
                break
            here = here.f_back
    return found
