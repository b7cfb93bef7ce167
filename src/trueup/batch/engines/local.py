"""The local engine: a pool of processes that judge one range at a time and put its part in place.

Each worker writes to shared memory which line it is at. A worker that stays at a line for too long is ended, and the line is
condemned. A worker that dies is replaced, and its range is tried again. A line that ends its worker twice is condemned. All other
lines are judged as usual.
"""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from trueup.batch.disk.full_disk import is_full
from trueup.batch.judging.work import (
    IDLE,
    EngineFailed,
    JudgedRange,
    RangeTask,
    SiftJob,
    UnitLimits,
    judge_range,
    write_part,
)

_TICK = 0.1
_MOST_DEATHS = 40  # failures of one range before the run gives up


def run(
    job: SiftJob,
    tasks: Iterable[RangeTask],
    workers: int,
    guard: UnitLimits,
    at_start: Callable[[], None] | None = None,
) -> Iterator[JudgedRange]:
    """Judge ranges in `workers` processes; parts come in any order."""
    pool = WorkerPool(job, guard, at_start)
    try:
        yield from pool.run(iter(tasks), workers)
    finally:
        pool.close()


class _Worker:
    """One process, its task, and the line it is at."""

    __slots__ = ("beat", "connection", "line", "process", "since", "task")

    def __init__(
        self, context: Any, job: Any, guard: UnitLimits, others: list[Connection], at_start: Any, work: Any
    ) -> None:  # fmt: skip
        ours, theirs = context.Pipe()
        self.beat = context.RawArray("q", [IDLE])
        forked = context.get_start_method() == "fork"
        sent = job if forked else job._replace(spec=job.spec.portable())
        closing = [*others, ours] if forked else []
        arguments = (sent, theirs, self.beat, guard.megabytes, closing, at_start if forked else None)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.connection: Connection = ours
        self.task: Any = None
        self.line = IDLE
        self.since = 0.0

    def give(self, task: Any) -> None:
        self.task, self.line, self.since = task, IDLE, time.monotonic()
        self.beat[0] = IDLE
        with suppress(BrokenPipeError):  # a dead worker is noticed elsewhere
            self.connection.send(task)

    def stuck(self, now: float, limit: float) -> bool:
        """Whether it has been at the same line for too long."""
        line = self.beat[0]
        if line != self.line:
            self.line, self.since = line, now
        return self.task is not None and line != IDLE and now - self.since > limit

    def end(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


class WorkerPool:
    """Workers for the tasks of one job. `work` is the main function of a worker: `judge_parts` for a sift, or another function
    that calls `live`.
    """

    def __init__(
        self,
        job: Any,
        guard: UnitLimits,
        at_start: Callable[[], None] | None = None,
        work: Callable[..., None] | None = None,
    ) -> None:
        # A fork starts fast and shares the compiled contract. Beside other threads it is not quite safe, so it is only
        # used for a contract that cannot be sent to a worker in any other way. (If it hangs, the guard ends it.)
        can_fork = sys.platform == "linux" and (threading.active_count() == 1 or not job.spec.travels)
        self._context = multiprocessing.get_context("fork" if can_fork else "spawn")
        self._job = job
        self._guard = guard
        self._at_start = at_start
        self._work = work or judge_parts
        self._workers: list[_Worker] = []
        self._deaths: dict[tuple[int, int], int] = {}

    def run(self, tasks: Iterator[Any], workers: int) -> Iterator[Any]:
        """The results of tasks, in any order. A task has a `piece` with a number, and `condemned` lines."""
        again: list[Any] = []
        task: Any = next(tasks, None)
        while task is not None or again or any(worker.task for worker in self._workers):
            while (again or task is not None) and (idle := self._idle(workers)) is not None:
                if again:
                    idle.give(again.pop())
                else:
                    assert task is not None
                    idle.give(task)
                    task = next(tasks, None)
            for worker in self._ready():
                yield from self._take(worker, again)
            self._end_stuck(again)

    def _idle(self, most: int) -> _Worker | None:
        for worker in self._workers:
            if worker.task is None:
                return worker
        if len(self._workers) < most:
            others = [worker.connection for worker in self._workers]
            self._workers.append(_Worker(self._context, self._job, self._guard, others, self._at_start, self._work))
            return self._workers[-1]
        return None

    def _ready(self) -> list[_Worker]:
        handles: dict[Any, _Worker] = {}
        for worker in self._workers:
            handles[worker.connection] = handles[worker.process.sentinel] = worker
        return list(dict.fromkeys(handles[handle] for handle in wait(list(handles), _TICK)))

    def _take(self, worker: _Worker, again: list[Any]) -> Iterator[Any]:
        """Handle a worker's message, or its end."""
        said = None
        with suppress(EOFError, OSError):
            said = worker.connection.recv() if worker.connection.poll() else None
        if said is None:
            if not worker.process.is_alive():
                self._bury(worker, again)
            return
        if isinstance(said, str):
            raise EngineFailed(said)
        if isinstance(said, OSError):
            raise said
        worker.task = None
        yield said

    def _bury(self, worker: _Worker, again: list[Any]) -> None:
        """A worker died: try its range once more. The second time, the line that it died at is condemned."""
        self._workers.remove(worker)
        task, line = worker.task, worker.beat[0]
        code = worker.process.exitcode
        worker.end()
        if task is None:
            return
        place = (task.piece.number, line)
        self._deaths[place] = self._deaths.get(place, 0) + 1
        total = sum(n for (number, _), n in self._deaths.items() if number == place[0])
        if total > _MOST_DEATHS or (line == IDLE and self._deaths[place] > 3):
            raise EngineFailed(
                f"worker processes keep dying (exit code {code}); check memory, disk space and the contract's custom checks"
            )
        if line != IDLE and self._deaths[place] > 1:
            task = task._replace(condemned={**task.condemned, line: "U008"})
        again.append(task)

    def _end_stuck(self, again: list[Any]) -> None:
        now = time.monotonic()
        for worker in [worker for worker in self._workers if worker.stuck(now, self._guard.seconds)]:
            task = worker.task
            assert task is not None
            self._workers.remove(worker)
            worker.end()
            again.append(task._replace(condemned={**task.condemned, worker.line: "U006"}))

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()


def judge_parts(
    job: SiftJob, connection: Connection, beat: Any, megabytes: int, closing: list[Connection], at_start: Any
) -> None:
    """Judge parts: the main function of a worker of a sift."""

    def opened() -> Callable[[RangeTask], JudgedRange]:
        contract = job.spec.open()
        return lambda task: write_part(job.parts, task.piece.number, judge_range(job, contract, task, beat))

    live(opened, connection, megabytes, closing, at_start)


def live(
    opened: Callable[[], Callable[[Any], Any]],
    connection: Connection,
    megabytes: int,
    closing: list[Connection],
    at_start: Any,
) -> None:
    """The main loop of a worker: it handles task after task, ends with the process that started it, and ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in closing:
        other.close()
    if at_start is not None:
        at_start()
    end_with_parent()
    _keep_memory()
    _limit_memory(megabytes)
    answer = opened()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)

    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        try:
            said: Any = answer(task)
        except EngineFailed as error:
            said = str(error)
        except OSError as error:
            said = (
                error
                if is_full(error)
                else f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            )
        except Exception as error:  # noqa: BLE001 - a file system's own kind of error; told by the driver, not by a traceback
            said = f"judging range {task.piece.number} raised {type(error).__name__}"
        try:
            connection.send(said)
        except OSError:
            return


def _keep_memory() -> None:
    """Keep the memory that a range has freed for the next one: returning it to the system and asking again costs more than judging."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-3, 64 << 20)  # M_MMAP_THRESHOLD
        mallopt(-1, 64 << 20)  # M_TRIM_THRESHOLD


def end_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Ask the system to end this process together with the driver. If it cannot, the closed pipe does."""
    if sys.platform != "linux":
        return
    import ctypes

    parent = os.getppid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, by, 0, 0, 0)  # 1 is PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _limit_memory(megabytes: int) -> None:
    """Let a unit that asks for too much memory fail alone, before the system ends another process.

    Memory that a forked worker shares with its parent does not count towards the limit.
    """
    if sys.platform != "linux" or megabytes <= 0:
        return
    import resource

    limit = (megabytes << 20) + _data_size()
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _data_size() -> int:
    """The bytes of data that this process has."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text("ascii", errors="replace").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 0
