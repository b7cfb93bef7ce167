"""Ends in time: how long after its deadline, or after it was cancelled, an ask returns, for every kind of client.

The server misbehaves in three ways: it never answers, it sends signs of life but no reply, and it goes silent in the middle of the reply. A figure is the
worst of them over all rounds. An asynchronous ask is cancelled by its task, a synchronous one by its event.
"""

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import root  # noqa: F401 - the clients that the tests ask are asked here as well
from tests.ask.clients.kinds import KINDS, aclose, closing
from trueup import Contract, Policy
from trueup.ask.memory import Memory
from trueup.testing.script import Hang, KeepAlive
from trueup.testing.server import ScriptedServer

Result = dict[str, Any]
GOAL = 100.0  # ms
_BEFORE = 0.3  # seconds until the deadline, or until it is cancelled
_REPLY = "We cut hair. We colour it, too. Which service would you like?"
_FAULTS = {"silence": Hang(), "signs of life": KeepAlive(_REPLY, every=0.05), "silence midway": Hang(_REPLY, after=0.5)}
_PLAIN = ("a function", "a function, async")
_WAYS = ("ask", "ask_stream")


def ending(rounds: int) -> Result:
    """Milliseconds after the deadline and after the cancellation."""
    rows: dict[str, Any] = {}
    gc.disable()  # in a process with so many SDKs, a garbage collection takes longer than the measured work
    try:
        for name in (*KINDS, *_PLAIN):
            gc.collect()
            try:
                rows[name] = {f"{way}, {what}": _worst(name, way, what, rounds) for what in _STOPS for way in _WAYS}
            except ImportError as error:
                rows[name] = f"not installed: {error.name}"
    finally:
        gc.enable()
    figures = [took for row in rows.values() if isinstance(row, dict) for took in row.values()]
    return {"rows": rows, "goal": GOAL, "worst": max(figures, default=0.0), "rounds": rounds}


def _worst(name: str, way: str, what: str, rounds: int) -> float:
    faults = _FAULTS.values() if name in KINDS else [None]
    return max(_STOPS[what](name, way, fault) for fault in faults for _ in range(rounds))


def _by_deadline(name: str, way: str, fault: Any) -> float:
    """Milliseconds from the deadline to the answer; the ask starts when its loop starts."""
    with ScriptedServer([_REPLY], then=fault) as server:
        began, ended, answer = _asked(name, way, server, Policy(models=("m",), deadline=_BEFORE), None)
    assert answer.reason == "deadline", (name, way, answer)
    return (ended - began - _BEFORE) * 1000


def _by_cancel(name: str, way: str, fault: Any) -> float:
    stop = _Stop()
    with ScriptedServer([_REPLY], then=fault) as server:
        _, ended, _ = _asked(name, way, server, Policy(models=("m",)), stop)
    return (ended - stop.at) * 1000


_STOPS: dict[str, Callable[[str, str, Any], float]] = {"deadline": _by_deadline, "cancel": _by_cancel}


class _Stop:
    """Something that cancels, a while after it was armed, and knows when it did."""

    def __init__(self) -> None:
        self.at = 0.0

    def arm(self, cancel: Callable[[], object]) -> None:
        def run() -> None:
            time.sleep(_BEFORE)
            self.at = time.perf_counter()
            cancel()

        threading.Thread(target=run, daemon=True).start()


def _asked(name: str, way: str, server: ScriptedServer, policy: Policy, stop: _Stop | None) -> tuple[float, float, Any]:
    """Ask once to warm up and once to measure; when the second ask began and ended, and its answer."""
    is_async = KINDS[name].is_async if name in KINDS else name.endswith("async")
    client = KINDS[name].make(server) if name in KINDS else _function()
    if not is_async:
        with closing(client):
            _sync(client, way, Policy(models=("m",)), None)
            return _sync(client, way, policy, stop)

    async def going() -> tuple[float, float, Any]:
        try:
            await _async(client, way, Policy(models=("m",)), None)
            return await _async(client, way, policy, stop)
        finally:
            await aclose(client)

    return asyncio.run(going())


def _sync(client: Any, way: str, policy: Policy, stop: _Stop | None) -> tuple[float, float, Any]:
    cancel = threading.Event()
    given: dict[str, Any] = {"memory": Memory(), **({} if stop is None else {"cancel": cancel})}
    if stop is not None:
        stop.arm(cancel.set)
    began = time.perf_counter()
    if way == "ask":
        answer = Contract().ask(client, "Hello", policy, **given)
        return began, time.perf_counter(), answer
    parts = Contract().ask_stream(client, "Hello", policy, **given)
    for _ in parts:
        pass
    return began, time.perf_counter(), parts.answer


async def _async(client: Any, way: str, policy: Policy, stop: _Stop | None) -> tuple[float, float, Any]:
    began = time.perf_counter()
    task = asyncio.ensure_future(_awaited(client, way, policy))
    if stop is not None:
        loop = asyncio.get_running_loop()
        stop.arm(lambda: loop.call_soon_threadsafe(task.cancel))
    answer = None
    try:
        answer = await task
    except asyncio.CancelledError:
        pass
    return began, time.perf_counter(), answer


async def _awaited(client: Any, way: str, policy: Policy) -> Any:
    if way == "ask":
        return await Contract().aask(client, "Hello", policy, memory=Memory())
    async with Contract().aask_stream(client, "Hello", policy, memory=Memory()) as parts:
        async for _ in parts:
            pass
    return parts.answer


def _function() -> Callable[[Any], str]:
    """A function that blocks from its second call on, in a way that cannot be interrupted."""
    calls: list[Any] = []

    def call(messages: Any) -> str:
        calls.append(messages)
        if len(calls) > 1:
            time.sleep(5 * _BEFORE)
        return _REPLY

    return call


def table(result: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    columns = [f"{way}, {what}" for what in _STOPS for way in _WAYS]
    rows = [
        [name, *(f"{row[column]:.1f}" for column in columns)] if isinstance(row, dict) else [name, row, "", "", ""]
        for name, row in result["rows"].items()
    ]
    met = "met" if result["worst"] < result["goal"] else "not met"
    note = (
        "A server that never answers, one that sends blanks or comments but no reply, and one that goes silent in the middle of the reply. "
        f"Wall-clock ms from the deadline, or from the cancellation, until the ask returns; the worst of {result['rounds']} of each. "
        f"The functions sleep and cannot be interrupted, so the ask returns without them. Target: under {result['goal']:.0f} ms, {met}."
    )
    return "Ends in time", note, ["client", *columns], rows
