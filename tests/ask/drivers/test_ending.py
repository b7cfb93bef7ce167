"""Asks end when their time is over or when they are cancelled, for every client and any behaviour of the server, and the connection is closed."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, aclose, closing
from tests.ask.stage import GOOD, SCHEMA, Log
from tests.waiting import await_for, wait_for
from trueup import Contract, Policy
from trueup.ask.answer import Answer
from trueup.ask.memory import Memory
from trueup.testing.script import Hang, KeepAlive, Slow
from trueup.testing.server import ScriptedServer
from trueup.verdict.events import Abandoned, Failed, Sent

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
TEXT = Contract()
VALUE = Contract(SCHEMA)
REPLY = "We cut hair. We colour it, too. Which service would you like?"
WAYS = ["whole", "stream"]
DEADLINE = 0.5
FAULTS = {
    "silence": Hang(),
    "blanks": KeepAlive(REPLY, every=0.02),
    "drips": Slow(REPLY, every=0.05, size=1),
    "silence-midway": Hang(REPLY, after=0.5),
}


def is_left(server: ScriptedServer) -> bool:
    """Whether the server saw the client close the connection of every unfinished reply."""
    return server.wait_until(lambda exchanges: all(exchange.ended == "client left" for exchange in exchanges), 60)


def ask(name: str, way: str, server: ScriptedServer, policy: Policy, cancel: threading.Event | None = None) -> Answer:
    """Ask through a kind of client; with `cancel`, the ask is cancelled as soon as the server has the request."""
    kind = KINDS[name]
    client = kind.make(server)
    if kind.is_async:
        return asyncio.run(_await(client, way, server, policy, cancel))
    given: dict[str, Any] = {"memory": Memory(), **({} if cancel is None else {"cancel": cancel})}
    if cancel is not None:
        threading.Thread(target=lambda: (_asked(server), cancel.set()), daemon=True).start()
    with closing(client):
        if way == "whole":
            return TEXT.ask(client, "Hello", policy, **given)
        parts = TEXT.ask_stream(client, "Hello", policy, **given)
        assert all(part.kind in {"text", "restart"} for part in parts)
        return parts.answer


def _asked(server: ScriptedServer) -> bool:
    return server.wait_until(lambda exchanges: bool(exchanges), 60)


async def _await(client: Any, way: str, server: ScriptedServer, policy: Policy, cancel: threading.Event | None) -> Any:
    parts = TEXT.aask_stream(client, "Hello", policy, memory=Memory())

    async def whole() -> Answer:
        return await TEXT.aask(client, "Hello", policy, memory=Memory())

    async def stream() -> Answer:
        async with parts:
            async for _ in parts:
                pass
        return parts.answer

    try:
        task = asyncio.ensure_future(whole() if way == "whole" else stream())
        if cancel is None:
            return await task
        await await_for(lambda: server.exchanges)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return None
    finally:
        await aclose(client)


@pytest.mark.spec("A8", "A11")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_every_client_ends_at_its_deadline(name: str, way: str) -> None:
    fault = FAULTS["blanks" if way == "whole" else "silence-midway"]
    with ScriptedServer(then=fault) as server:
        answer = ask(name, way, server, Policy(models=("m",), deadline=DEADLINE))
        assert (answer.outcome, answer.reason) == ("failed", "deadline")
        assert answer.stopped is not None
        assert answer.stopped.code == "A001"
        assert is_left(server)


@pytest.mark.spec("A8")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_every_client_can_be_cancelled_during_a_call(name: str, way: str) -> None:
    with ScriptedServer(then=Hang()) as server:
        answer = ask(name, way, server, Policy(models=("m",)), threading.Event())
        assert answer is None or answer.reason == "cancelled"
        assert is_left(server)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["openai", "http", "http-async"])
@pytest.mark.parametrize("fault", FAULTS)
def test_slow_servers_do_not_exceed_the_deadline(fault: str, name: str, way: str) -> None:
    with ScriptedServer(then=FAULTS[fault]) as server:
        answer = ask(name, way, server, Policy(models=("m",), deadline=DEADLINE))
        assert answer.reason == "deadline"
        assert is_left(server)


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_outlasts_its_timeout_is_made_again(way: str) -> None:
    with ScriptedServer([KeepAlive(REPLY, every=0.02)], then=REPLY) as server:
        answer = ask("openai", way, server, Policy(models=("m",), timeout=DEADLINE, backoff=0.01))
        assert (answer.outcome, answer.text) == ("accepted", REPLY)
        assert answer.attempts[0].failure is not None
        assert answer.attempts[0].failure.code == "timeout"
        assert server.exchanges[0].ended == "client left"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["openai", "bedrock"])
def test_a_synchronous_client_is_asked_from_a_task_that_can_be_cancelled(name: str, way: str) -> None:
    with ScriptedServer(then=Hang()) as server:
        client = KINDS[name].make(server)
        with closing(client):
            asyncio.run(_await(client, way, server, Policy(models=("m",)), threading.Event()))
        assert is_left(server)


class Blocking:
    """A function that returns only when the test allows it, and cannot be interrupted."""

    def __init__(self) -> None:
        self.called, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self, messages: Any) -> str:
        self.thread = threading.current_thread()
        self.called.set()
        self.go.wait()
        self.ended.set()
        return GOOD

    def pieces(self, messages: Any) -> Iterator[str]:
        yield "One. "
        yield self(messages)


@pytest.fixture
def blocking() -> Iterator[Blocking]:
    made = Blocking()
    yield made
    made.go.set()


def asked(contract: Contract, way: str, model: Any, **given: Any) -> tuple[Answer, Log]:
    log = Log()
    if way == "whole":
        return contract.ask(model, "Who?", on_event=log, memory=Memory(), **given), log
    if way == "awaited":
        return asyncio.run(contract.aask(model, "Who?", on_event=log, memory=Memory(), **given)), log
    if way == "stream":
        parts = contract.ask_stream(model.pieces, "Who?", on_event=log, memory=Memory(), **given)
        list(parts)
        return parts.answer, log

    async def going() -> Answer:
        parts = contract.aask_stream(model.pieces, "Who?", on_event=log, memory=Memory(), **given)
        async for _ in parts:
            pass
        return parts.answer

    return asyncio.run(going()), log


@pytest.mark.parametrize("way", ["whole", "awaited", "stream", "awaited-stream"])
def test_a_function_that_blocks_is_abandoned_and_reported(blocking: Blocking, way: str) -> None:
    answer, log = asked(TEXT, way, blocking, policy=Policy(timeout=DEADLINE, deadline=None, retries=0))
    assert not blocking.ended.is_set()  # nobody waited for it
    assert answer.reason == "retries"
    failure = answer.attempts[0].failure
    assert failure is not None
    assert (failure.code, "still running in its thread" in failure.reason) == ("abandoned", True)
    assert [event.timeout for event in log.of(Abandoned)] == [DEADLINE]
    assert "still running" in log.of(Failed)[0].reason
    if way in {"whole", "awaited"}:
        assert any("still running" in found.message for found in answer.findings.errors)


@pytest.mark.parametrize("way", ["whole", "stream"])
def test_a_function_that_blocks_can_be_cancelled(blocking: Blocking, way: str) -> None:
    cancel = threading.Event()
    threading.Thread(target=lambda: (blocking.called.wait(), cancel.set()), daemon=True).start()
    answer, log = asked(TEXT, way, blocking, cancel=cancel)
    assert (answer.reason, blocking.ended.is_set()) == ("cancelled", False)
    assert [event.timeout for event in log.of(Abandoned)] == [None]


def test_a_function_without_limits_runs_in_the_callers_thread(blocking: Blocking) -> None:
    blocking.go.set()
    VALUE.ask(blocking, "Who?", Policy(deadline=None, timeout=None))
    assert blocking.thread is threading.current_thread()
    VALUE.ask(blocking, "Who?")
    assert blocking.thread is not threading.current_thread()


def test_an_ask_within_an_ask_ends_with_it() -> None:
    inner: list[Answer] = []

    def outer(messages: Any) -> str:
        with ScriptedServer(then=Hang()) as server:
            inner.append(TEXT.ask(f"{server.url}/v1", messages))
        return GOOD

    answer = TEXT.ask(outer, "Who?", Policy(deadline=DEADLINE))
    assert answer.reason == "deadline"
    wait_for(lambda: inner)
    assert inner[0].reason == "cancelled"


def test_asks_in_the_callers_threads_end_in_time() -> None:
    answers: list[Answer] = []
    with ScriptedServer(then=Hang()) as server:
        policy = Policy(models=("m",), deadline=DEADLINE)
        client = KINDS["openai"].make(server)
        threads = [
            threading.Thread(target=lambda: answers.append(TEXT.ask(client, "Who?", policy, memory=Memory())))
            for _ in range(6)
        ]
        with closing(client):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert [answer.reason for answer in answers] == ["deadline"] * 6
        assert is_left(server)


def test_a_call_that_was_ended_leaves_the_others_of_its_client_alone() -> None:
    with ScriptedServer({"slow": lambda _: Hang(), "m": lambda _: REPLY}) as server:
        client = KINDS["openai"].make(server)
        with closing(client):
            late = TEXT.ask(client, "Hello", Policy(models=("slow",), deadline=DEADLINE), memory=Memory())
            well = [TEXT.ask(client, "Hello", Policy(models=("m",)), memory=Memory()) for _ in range(3)]
        assert late.reason == "deadline"
        assert [answer.outcome for answer in well] == ["accepted"] * 3


@pytest.mark.parametrize("close", [lambda parts: parts.close(), lambda parts: parts.__exit__(None, None, None)])
def test_a_stream_that_is_left_closes_its_connection(close: Callable[[Any], None]) -> None:
    with ScriptedServer(then=Hang(REPLY, events=8)) as server:
        client = KINDS["openai"].make(server)
        with closing(client):
            parts = TEXT.ask_stream(client, "Hello", Policy(models=("m",)), memory=Memory())
            next(iter(parts))
            close(parts)
            assert is_left(server)


def test_the_readers_own_time_does_not_count_for_a_stream() -> None:
    def model(messages: Any) -> Iterator[str]:
        yield from ("One. ", "Two. ", "Three. ")

    parts = TEXT.ask_stream(model, "Count.", Policy(timeout=1.0, deadline=None), memory=Memory())
    for _ in parts:
        time.sleep(0.4)
    assert parts.answer.outcome == "accepted"


def test_a_request_says_how_long_it_may_take() -> None:
    log = Log()
    VALUE.ask(lambda _: GOOD, "Who?", Policy(timeout=7.0), on_event=log)
    VALUE.ask(lambda _: GOOD, "Who?", Policy(timeout=None, deadline=None), on_event=log)
    assert [event.timeout for event in log.of(Sent)] == [7.0, None]


@pytest.mark.spec("A8")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_ends_a_program_that_asks(way: str, is_async: bool) -> None:
    program = f"""
import asyncio, signal, sys
import openai
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that was started in the background ignores it
from trueup import Contract, Policy
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
contract, given = Contract(), (client, "Who?", Policy(models=("m",)))
async def whole():
    await contract.aask(*given)
async def stream():
    async for _ in contract.aask_stream(*given):
        pass
try:
    if {is_async}:
        asyncio.run({way}())
    elif "{way}" == "whole":
        contract.ask(*given)
    else:
        list(contract.ask_stream(*given))
except KeyboardInterrupt:
    print("interrupted")
"""
    with ScriptedServer(then=Hang()) as server:
        running = subprocess.Popen(
            [sys.executable, "-c", program, server.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert _asked(server)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
        assert (running.returncode, out, err) == (0, "interrupted\n", "")
        assert is_left(server)
