"""Workers: results, errors and contexts pass through them; a call that is given up is stopped, or is reported as still running."""

import asyncio
import contextvars
import gc
import http.client
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.garbage import garbage_of
from tests.waiting import await_for, wait_for
from trueup.ask.drivers.interrupt import interrupt
from trueup.ask.drivers.worker import (
    END,
    CallCancelled,
    Inline,
    Late,
    ThreadedPieces,
    WorkerJob,
    apieces_of,
    arun,
    pause,
    run,
    seeing,
    stopping,
)

LONG = 60.0
SHORT = 0.05
NAME: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="")


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts connections and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/"


def fetch(server: socket.socket) -> bytes:
    found: bytes = urllib.request.urlopen(address(server)).read()
    return found


def is_left(server: socket.socket) -> bool:
    """Whether the client has closed its connection to the server."""
    connection, _ = server.accept()
    with connection:
        while connection.recv(4096):
            pass
    return True


def test_results_and_errors_come_back() -> None:
    assert run(lambda: 5, LONG) == 5
    with pytest.raises(KeyError, match="oops"):
        run(lambda: {}["oops"], LONG)
    with pytest.raises(SystemExit):
        run(sys.exit, LONG)


def test_a_call_runs_in_the_context_of_its_caller_and_in_another_thread() -> None:
    token = NAME.set("Ada")
    try:
        name, thread = run(lambda: (NAME.get(), threading.current_thread()), LONG)
    finally:
        NAME.reset(token)
    assert name == "Ada"
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_without_a_limit_the_call_runs_in_the_callers_thread() -> None:
    assert run(threading.current_thread) is threading.current_thread()
    pieces = Inline(lambda: iter([threading.current_thread()]))
    assert pieces.take() is threading.current_thread()
    assert pieces.take() is END


def test_one_worker_is_used_again_and_again() -> None:
    assert len({run(threading.get_ident, LONG) for _ in range(50)}) == 1


def test_a_worker_is_used_again_only_when_its_call_has_ended() -> None:
    go, busy = threading.Event(), run(threading.get_ident, LONG)
    with pytest.raises(Late) as late:
        run(go.wait, SHORT)
    assert not late.value.job.is_stopped()
    assert run(threading.get_ident, LONG) != busy
    go.set()
    wait_for(lambda: late.value.job.ended)
    assert late.value.job.is_stopped()


def test_many_threads_can_wait_at_once() -> None:
    barrier = threading.Barrier(8)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(run(barrier.wait, LONG))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(8))


def test_a_late_call_closes_its_connection(silent: socket.socket) -> None:
    with pytest.raises(Late) as late:
        run(lambda: fetch(silent), SHORT)
    assert is_left(silent)
    assert late.value.job.is_stopped()
    wait_for(lambda: late.value.job.ended)


def test_a_cancelled_call_closes_its_connection(silent: socket.socket) -> None:
    cancel, left = threading.Event(), threading.Event()

    def serve() -> None:
        connection, _ = silent.accept()
        with connection:
            cancel.set()
            while connection.recv(4096):
                pass
            left.set()

    threading.Thread(target=serve, daemon=True).start()
    with pytest.raises(CallCancelled):
        run(lambda: fetch(silent), None, cancel)
    assert left.wait(LONG)


def test_a_handshake_that_never_ends_is_interrupted(silent: socket.socket) -> None:
    host, port = silent.getsockname()
    with pytest.raises(Late) as late:
        run(http.client.HTTPSConnection(host, port).connect, SHORT)
    wait_for(lambda: late.value.job.ended)


def test_a_connection_that_is_opened_later_is_closed_too(silent: socket.socket) -> None:
    """For example, after a slow DNS lookup."""
    go = threading.Event()
    with pytest.raises(Late) as late:
        run(lambda: (go.wait(), fetch(silent)), SHORT)
    go.set()
    assert is_left(silent)
    wait_for(lambda: late.value.job.ended)


def test_a_socket_that_the_call_does_not_wait_on_is_left_alone() -> None:
    here, there = socket.socketpair()
    go = threading.Event()

    class Holder:
        def __init__(self) -> None:
            self.line = here

        def wait(self) -> bool:
            return go.wait()

    with here, there:
        with pytest.raises(Late) as late:
            run(Holder().wait, SHORT)
        assert not late.value.job.is_stopped()
        there.sendall(b"x")
        assert here.recv(1) == b"x"
        go.set()


def test_a_connection_outside_an_http_library_is_left_alone() -> None:
    """It may belong to a database, and an operation on it may be running."""
    here, there = socket.socketpair()

    class Database:
        def __init__(self) -> None:
            self.line = here

        def query(self) -> bytes:
            return self.line.recv(1)

    with here, there:
        with pytest.raises(Late) as late:
            run(Database().query, SHORT)
        assert not late.value.job.is_stopped()
        there.sendall(b"x")
        wait_for(lambda: late.value.job.ended)
        assert late.value.job.last[1] == b"x"


def test_an_event_loop_of_another_thread_is_left_alone() -> None:
    loop = asyncio.new_event_loop()
    other = loop.create_task(asyncio.sleep(LONG))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    class Service:
        def __init__(self) -> None:
            self._loop = loop

        def call(self, coroutine: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    go = asyncio.Event()
    with pytest.raises(Late) as late:
        run(lambda: Service().call(go.wait()), SHORT)
    assert not late.value.job.is_stopped()
    assert not other.done()
    loop.call_soon_threadsafe(go.set)
    wait_for(lambda: late.value.job.ended)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    other.cancel()
    loop.run_until_complete(asyncio.gather(other, return_exceptions=True))
    loop.close()


def test_other_tasks_of_the_event_loop_that_the_call_runs_are_left_alone() -> None:
    loop = asyncio.new_event_loop()
    other = loop.create_task(asyncio.sleep(LONG))
    with pytest.raises(Late) as late:
        run(lambda: loop.run_until_complete(asyncio.Event().wait()), SHORT)
    wait_for(lambda: late.value.job.ended)
    assert not other.done()
    other.cancel()
    loop.run_until_complete(asyncio.gather(other, return_exceptions=True))
    loop.close()


def test_a_limit_may_be_longer_than_a_lock_can_wait() -> None:
    """Outside the main thread, nothing else limits a wait."""
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(run(lambda: 5, 1e300)))
    thread.start()
    thread.join()
    assert seen == [5]


def test_a_call_that_has_ended_leaves_nothing_to_the_garbage_collector() -> None:
    assert garbage_of("from trueup.ask.drivers.worker import run", f"run(int, {LONG})") == 0


def test_an_event_loop_that_the_call_runs_is_cancelled() -> None:
    ended = threading.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(Late) as late:
        run(lambda: asyncio.run(wait()), SHORT)
    assert ended.wait(LONG)
    wait_for(lambda: late.value.job.ended)


def test_a_worker_that_has_started_another_job_is_left_alone(silent: socket.socket) -> None:
    with socket.create_connection(silent.getsockname()) as line:
        connection, _ = silent.accept()
        waiting = threading.Thread(target=line.recv, args=(1,))
        waiting.start()
        assert not interrupt(waiting.ident or 0, lambda: True)
        with connection:
            connection.sendall(b"x")
            waiting.join()


def test_a_thread_that_has_ended_cannot_be_interrupted() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    assert not interrupt(thread.ident or 0)


def test_a_call_within_a_call_ends_with_it() -> None:
    inner: list[Any] = []

    def outer() -> None:
        try:
            run(threading.Event().wait, LONG)
        except CallCancelled:
            inner.append("cancelled")
        inner.append(pause(LONG))

    with pytest.raises(Late) as late:
        run(outer, SHORT)
    wait_for(lambda: late.value.job.ended)
    assert inner == ["cancelled", True]


def test_a_call_can_define_how_it_is_stopped() -> None:
    stop = threading.Event()

    def call() -> None:
        with stopping(stop.set):
            stop.wait()

    with pytest.raises(Late) as late:
        run(call, SHORT)
    assert late.value.job.is_stopped()
    with stopping(stop.clear):  # outside a call, nothing can be given up
        assert stop.is_set()


def test_a_stream_is_read_ahead_but_not_far() -> None:
    pulled: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(1000):
            pulled.append(number)
            yield number

    pieces = ThreadedPieces(numbers)
    assert [pieces.take(LONG) for _ in range(3)] == [0, 1, 2]
    pieces.close()
    assert len(pulled) < 20


def test_a_stream_is_closed_in_its_own_thread() -> None:
    where: list[Any] = []

    def numbers() -> Iterator[int]:
        where.append(threading.get_ident())
        try:
            while True:
                yield 1
        finally:
            where.append(threading.get_ident())

    pieces = ThreadedPieces(numbers)
    pieces.take(LONG)
    pieces.close()
    wait_for(lambda: len(where) == 2)
    assert where[0] == where[1] != threading.get_ident()


def test_a_stream_that_was_never_read_is_never_begun() -> None:
    begun: list[int] = []
    ThreadedPieces(lambda: begun.append(1) or []).close()
    assert begun == []


def test_the_end_and_an_error_of_a_stream_come_through() -> None:
    pieces = ThreadedPieces(lambda: [1])
    assert [pieces.take(LONG), pieces.take(LONG)] == [1, END]

    def broken() -> Iterator[int]:
        yield 1
        raise ConnectionError("gone")

    pieces = ThreadedPieces(broken)
    assert pieces.take(LONG) == 1
    with pytest.raises(ConnectionError, match="gone"):
        pieces.take(LONG)


def test_a_wait_ends_when_it_is_cancelled() -> None:
    cancel = threading.Event()
    threading.Timer(SHORT, cancel.set).start()
    assert pause(LONG, cancel)
    assert not pause(0.001)


def test_awaited_calls_leave_the_event_loop_free() -> None:
    async def going() -> Any:
        go = threading.Event()
        task = asyncio.ensure_future(arun(go.wait))
        await asyncio.sleep(0)
        go.set()  # reached only if the event loop is not blocked
        with pytest.raises(KeyError):
            await arun(lambda: {}["oops"])
        return await task, [piece async for piece in apieces_of(lambda: range(30))]

    assert asyncio.run(going()) == (True, list(range(30)))


@pytest.mark.parametrize("streams", [False, True])
def test_cancelling_the_task_closes_the_connection(silent: socket.socket, streams: bool) -> None:
    async def first() -> None:
        async for _ in apieces_of(lambda: iter(lambda: fetch(silent), b"")):
            pass

    async def going() -> None:
        jobs: list[WorkerJob] = []
        with seeing(jobs):
            task = asyncio.ensure_future(first() if streams else arun(lambda: fetch(silent)))
            await await_for(lambda: jobs)
        left = asyncio.ensure_future(arun(lambda: is_left(silent)))
        await asyncio.sleep(SHORT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await left
        assert await jobs[0].ais_stopped()

    asyncio.run(going())


def test_a_task_that_was_cancelled_does_not_keep_the_loop_or_the_program() -> None:
    """The function never returns, but `asyncio.run` and the interpreter still end."""
    program = """
import asyncio, threading
from trueup.ask.drivers.worker import Late, arun, run
async def main():
    try:
        async with asyncio.timeout(0.05):
            await arun(threading.Event().wait)
    except TimeoutError:
        print("late")
asyncio.run(main())
try:
    run(threading.Event().wait, 0.05)
except Late:
    print("late again")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\nlate again\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_workers() -> None:
    program = """
import os
from trueup.ask.drivers.worker import run
run(int, 60)
child = os.fork()
if child == 0:
    os._exit(run(lambda: 7, 60))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "7\n", done.stderr


def test_an_interrupt_from_the_keyboard_ends_a_call() -> None:
    program = """
import os, signal, threading, time
from trueup.ask.drivers.worker import run
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that was started in the background ignores it
def interrupt():
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    run(threading.Event().wait, 3600)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


COLLECTING = """
import gc, threading, time
from trueup.ask.drivers.interrupt import interrupt

gc.callbacks.append(lambda *_: time.sleep(0.0001))  # other threads run while garbage is collected
done = threading.Event()

def start_threads():
    while not done.is_set():
        threading.Thread(target=int).start()

starting = threading.Thread(target=start_threads)
starting.start()
gc.set_threshold(1)
for _ in range(200):
    interrupt(starting.ident)
gc.set_threshold(0)
done.set()
starting.join()
print("ended", gc.isenabled())
"""


@pytest.mark.spec("A11")
def test_an_interruption_while_garbage_is_collected_does_not_block_the_process() -> None:
    command = [sys.executable, "-c", COLLECTING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.stdout, ended.stderr) == ("ended True\n", "")


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        interrupt(threading.get_ident() + 1)
        assert not gc.isenabled()
    finally:
        gc.enable()
