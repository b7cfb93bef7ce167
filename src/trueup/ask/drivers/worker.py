"""Workers: threads that make blocking calls, so that the caller can stop waiting at any time.

Takes a function and a time limit; returns the function's result, or promptly raises `Late` or `CallCancelled` while the function may still
be running. The function is then interrupted, and its worker is reused only after it has really ended. Workers are daemon threads, so they
do not keep a process from exiting. A call runs in a copy of its caller's context (`contextvars`).
"""

import os
import queue
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Protocol, TypeVar

from trueup.ask.drivers.interrupt import interrupt

R = TypeVar("R")
END: Final = object()  # what `ThreadedPieces.take` returns after the last piece
GRACE = 0.04  # seconds that a call has to end after it was interrupted
_LOOKS = 8  # how many times a coroutine checks during that time whether it has ended
_SOON = 0.001  # seconds before another attempt to interrupt a call that was not waiting
_AHEAD = 8  # pieces of a stream that are read in advance
_IDLE = 30.0  # seconds after which a worker without work ends
_LOOK = 0.02  # seconds between two checks of `cancel`
_SIGNAL = 0.1  # seconds between two checks for a signal, which the system may have delivered to another thread
_REST = 3600.0  # seconds of the longest single wait: locks do not support arbitrarily long waits
_HUNT = 60.0  # seconds during which a call that was given up is interrupted repeatedly
_PIECE, _DONE, _RAISED = "piece", "done", "raised"
_Message = tuple[str, Any]

_idle: deque["_Worker"] = deque()
_present: ContextVar["WorkerJob | None"] = ContextVar("trueup_call", default=None)
_seen: ContextVar["list[WorkerJob] | None"] = ContextVar("trueup_calls_seen", default=None)
if hasattr(os, "register_at_fork"):  # a child process does not have its parent's threads
    os.register_at_fork(after_in_child=_idle.clear)


class Cancel(Protocol):
    """Something that can end a wait: a `threading.Event`, or an object like it."""

    def is_set(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class CallAbandoned(Exception):
    """The caller stopped waiting for a call; `job` may still be running."""

    def __init__(self, job: "WorkerJob") -> None:
        super().__init__("the call was given up")
        self.job = job


class Late(CallAbandoned):
    """The call exceeded its time limit."""


class CallCancelled(CallAbandoned):
    """The caller cancelled the call."""


class WorkerJob:
    """One call in a worker. Its messages are passed to `tell` as they arrive, in the worker's thread; `last` is the last one."""

    __slots__ = (
        "_context", "_over", "_room", "_stops", "_tell", "_work", "begun", "ended", "given_up", "last", "reached",
        "thread",
    )  # fmt: skip

    def __init__(
        self, work: Callable[[], Any], tell: Callable[[_Message], object] | None = None, *, pieces: bool = False
    ) -> None:
        self._work = work
        self._tell = tell
        self._context: Context | None = copy_context()
        self._context.run(_present.set, self)
        self._room: queue.SimpleQueue[bool] | None = None
        if pieces:
            self._room = queue.SimpleQueue()
            for _ in range(_AHEAD):
                self._room.put(item=True)
        self._stops: list[Callable[[], object]] = []
        self._over = threading.Lock()  # locked until the job has ended
        self._over.acquire()
        self.thread = 0
        self.last: _Message = (_DONE, END)
        self.begun = False
        self.ended = False
        self.given_up = False
        self.reached = False  # it was interrupted, and will end soon

    def start(self) -> None:
        """Pass the job to an idle worker, or to a new one."""
        self.begun = True
        try:
            worker = _idle.pop()
        except IndexError:
            worker = _Worker()
        worker.jobs.put(self)

    def carry_out(self) -> _Message:
        """Do the work, in the worker's thread; return the last message."""
        self.thread = threading.get_ident()
        context, self._context = self._context, None  # avoids a reference cycle after the job has ended
        if context is None or self.given_up:  # given up before it began
            return _DONE, END
        try:
            return context.run(self._call if self._room is None else self._pull)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller
            return _RAISED, error

    def finish(self, last: _Message) -> None:
        """Note that the job has ended, and pass on the last message."""
        self.last = last
        self._work = _nothing  # an open connection keeps the context of its call alive, and so this job
        self.ended = True
        self._over.release()
        self._say(last)

    def _call(self) -> _Message:
        return _DONE, self._work()

    def _pull(self) -> _Message:
        assert self._room is not None
        pieces = iter(self._work())
        try:
            while self._room.get():
                piece = next(pieces, END)
                if piece is END or self.given_up:
                    break
                self._say((_PIECE, piece))
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
        return _DONE, END

    def _say(self, message: _Message) -> None:
        if self._tell is None:
            return
        try:
            self._tell(message)
        except RuntimeError:  # the waiting event loop is closed
            self.given_up = True

    def taken(self) -> None:
        """Note that a piece was taken, so that another one can be read."""
        if self._room is not None:
            self._room.put(item=True)

    def give_up(self) -> None:
        """Stop the job, because nobody is waiting for it. If it cannot be stopped, it keeps running and is interrupted again later."""
        if self.ended or self.given_up:
            return
        self.given_up = True
        if self._room is not None:
            self._room.put(item=False)
        for stop in tuple(self._stops):
            stop()
        self.reached = bool(self._stops) or interrupt(self.thread, self._is_over)
        if not self.ended:
            threading.Thread(target=self._hunt, name="trueup-interrupt", daemon=True).start()

    def _is_over(self) -> bool:
        return self.ended

    def _hunt(self) -> None:
        """Interrupt the job until it ends, because it may be resolving a name now and connect later, or connect again.

        The first attempts are soon, because the caller may close the client, and a connection that was closed cannot be shut down.
        """
        pause, left = _SOON, _HUNT
        while not self.ended and left > 0:
            time.sleep(pause)
            left -= pause
            pause = min(2 * pause, 1.0)
            if not self.ended:
                self.reached = interrupt(self.thread, self._is_over) or self.reached

    def wait(self, seconds: float) -> bool:
        """Wait for the job to end; return whether it has."""
        if self._over.acquire(timeout=seconds):
            self._over.release()  # for other threads that wait
            return True
        return False

    def is_stopped(self) -> bool:
        """Whether the job has ended after it was given up, or will end soon because it was interrupted; waits for a moment."""
        return self.wait(GRACE) or self.reached

    async def ais_stopped(self) -> bool:
        """The same in a coroutine."""
        import asyncio  # imported here and below, so that synchronous callers do not load it

        for _ in range(_LOOKS):
            if self.ended:
                return True
            await asyncio.sleep(GRACE / _LOOKS)
        return self.ended or self.reached

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """In this context, `stop` is called if the call is given up. `stop` must not block."""
        self._stops.append(stop)
        try:
            if self.given_up:
                stop()
            yield
        finally:
            self._stops.remove(stop)


def _nothing() -> None:
    """Do nothing: the work of a job that has ended."""


class _Worker:
    """A thread that runs one job after the other."""

    __slots__ = ("jobs",)

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[WorkerJob] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="trueup-call", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                job = self.jobs.get(timeout=_IDLE)
            except queue.Empty:
                try:
                    _idle.remove(self)
                except ValueError:  # a job is about to arrive
                    continue
                return
            last = job.carry_out()
            _idle.append(self)  # before the caller is notified, so that its next call finds this worker
            job.finish(last)
            del job, last  # an idle worker keeps nothing alive


class _Patience:
    """Ends a wait for a job early: when its time is over, when `cancel` is set, or when the enclosing call is given up."""

    __slots__ = ("_cancel", "_job", "_outer")

    def __init__(self, job: WorkerJob, cancel: Cancel | None) -> None:
        self._job = job
        self._cancel = cancel
        self._outer = _present.get()

    def wait(self, arrived: Callable[[float], bool], seconds: float | None) -> None:
        """Begin the job, and return when `arrived` returns True; `arrived` waits for at most the given seconds. Or give the job up, and raise."""
        try:
            if not self._job.begun:
                self._job.start()
            self._wait(arrived, seconds)
        except BaseException:
            self._job.give_up()
            raise

    def _wait(self, arrived: Callable[[float], bool], seconds: float | None) -> None:
        look = self._look()
        end = None if seconds is None else time.monotonic() + seconds
        left = look if seconds is None else seconds
        while True:
            if self._is_cancelled():
                raise CallCancelled(self._job)
            if left <= 0:
                raise Late(self._job)
            if arrived(min(look, left)):
                return
            left = look if end is None else end - time.monotonic()

    def _look(self) -> float:
        """The seconds between checks of conditions that do not wake this thread."""
        if self._cancel is not None or self._outer is not None:
            return _LOOK
        return _SIGNAL if threading.get_ident() == threading.main_thread().ident else _REST

    def _is_cancelled(self) -> bool:
        """Whether the caller cancelled, or the enclosing call was given up."""
        return (self._cancel is not None and self._cancel.is_set()) or (
            self._outer is not None and self._outer.given_up
        )


class ThreadedPieces:
    """The items of a blocking iterable, for a thread that waits for them; the job begins with the first `take`."""

    def __init__(self, work: Callable[[], Any], cancel: Cancel | None = None) -> None:
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._job = WorkerJob(work, self._messages.put, pieces=True)
        self._patience = _Patience(self._job, cancel)
        self._message: _Message = (_DONE, END)

    def take(self, seconds: float | None) -> Any:
        """The next piece, or `END`; waits at most this number of seconds."""
        self._patience.wait(self._arrived, seconds)
        kind, value = self._message
        if kind == _RAISED:
            raise value
        self._job.taken()
        return value

    def _arrived(self, seconds: float) -> bool:
        try:
            self._message = self._messages.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def close(self) -> bool:
        """Give the iterable up, unless it has already ended; return False if it cannot be stopped. It is closed in its own thread."""
        if not self._job.begun or self._job.given_up:
            return True
        self._job.give_up()
        return self._job.is_stopped()


class Inline:
    """The same in the caller's thread, without a time limit."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._pieces: Iterator[Any] | None = None

    def take(self, _: float | None = None) -> Any:
        """The next piece, or `END`."""
        if self._pieces is None:
            self._pieces = iter(self._work())
        return next(self._pieces, END)

    def close(self) -> bool:
        """Close the iterable."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()
        return True


def run(work: Callable[[], R], seconds: float | None = None, cancel: Cancel | None = None) -> R:
    """The result of a blocking function; raises `Late` after this number of seconds, and `CallCancelled` as soon as `cancel` is set.

    Without either, the function is called in this thread.

    >>> run(lambda: 1 + 1, seconds=5.0)
    2
    """
    if seconds is None and cancel is None:
        return work()
    job = WorkerJob(work)
    _Patience(job, cancel).wait(job.wait, seconds)
    kind, value = job.last
    if kind == _RAISED:
        raise value
    found: R = value
    return found


def pause(seconds: float, cancel: Cancel | None = None) -> bool:
    """Wait for this number of seconds, or until `cancel` is set; return whether it was set.

    >>> pause(0.001)
    False
    """
    outer = _present.get()
    cancel = cancel or threading.Event()
    if outer is None:
        return cancel.wait(seconds)
    end = time.monotonic() + seconds
    while not outer.given_up and (left := end - time.monotonic()) > 0:
        if cancel.wait(min(left, _LOOK)):
            return True
    return outer.given_up


async def arun(work: Callable[[], R]) -> R:
    """The result of a blocking function, awaited; cancelling the task gives the function up."""
    pieces = _Awaited(work, pieces=False)
    try:
        found: R = await pieces.take()
    finally:
        pieces.close()
    return found


async def apieces_of(work: Callable[[], Iterable[R]]) -> AsyncIterator[R]:
    """The items of a blocking iterable, awaited one by one; closing the iterator gives the iterable up."""
    pieces = _Awaited(work, pieces=True)
    try:
        while (piece := await pieces.take()) is not END:
            yield piece
    finally:
        pieces.close()


class _Awaited:
    """The messages of one job, awaited."""

    def __init__(self, work: Callable[[], Any], *, pieces: bool) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[_Message] = asyncio.Queue()
        self._job = WorkerJob(work, self._tell, pieces=pieces)
        seen = _seen.get()
        if seen is not None:
            seen.append(self._job)
        self._job.start()

    def _tell(self, message: _Message) -> None:
        self._loop.call_soon_threadsafe(self._messages.put_nowait, message)

    async def take(self) -> Any:
        kind, value = await self._messages.get()
        if kind == _RAISED:
            raise value
        self._job.taken()
        return value

    def close(self) -> None:
        self._job.give_up()


class seeing:  # noqa: N801 - it reads as a word: `with seeing(jobs): …`
    """Collects the jobs that are begun in this block; after a timeout, they may still be running."""

    __slots__ = ("_jobs", "_token")

    def __init__(self, jobs: list[WorkerJob]) -> None:
        self._jobs = jobs

    def __enter__(self) -> None:
        self._token = _seen.set(self._jobs)

    def __exit__(self, *_: object) -> None:
        _seen.reset(self._token)


@contextmanager
def stopping(stop: Callable[[], object]) -> Iterator[None]:
    """In this context, `stop` is called if the call that this thread makes is given up. `stop` must not block."""
    job = _present.get()
    if job is None:
        yield
    else:
        with job.stopping(stop):
            yield
