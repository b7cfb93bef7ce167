"""The only thread that writes: it takes jobs and records from a bounded queue and commits them in groups.

A job is a function of a session and has a waiting caller; a record may have one. Callers learn of success only after the
commit. A full queue makes callers wait, then raises StoreBusy. After a lost connection the whole group is retried a few
times: everything written here may safely be written twice. On a full disk, jobs are still tried one by one; jobs that are
owed, and records without a waiting caller, stay in the queue until they can be written; nothing is dropped silently. A job
that no table can store fails alone and does not hold up the others.
"""

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from trueup.store.books import Books, Memo, Place
from trueup.store.errors import NotStorable, StoreBusy, StoreClosed, StoreError, StoreFull, StoreUnavailable
from trueup.store.session import Backend, Session

log = logging.getLogger("trueup.store")

T = TypeVar("T")
Work = Callable[[Session], Any]
Bulk = Callable[[Session, Sequence[Any]], None]
Written = Callable[[Sequence[Any]], None]
_GROUP = 1000
_PAUSE = 0.5  # seconds between two tries while the disk is full
_MOMENT = 0.001  # seconds that jobs wait for others to join them, if others are expected
_TRIES = (0.0, 0.0, 0.02, 0.1, 0.3)  # seconds before each try; only a lost connection causes another one
_MARK = object()  # a place in the queue, nothing to write


class Waiter:
    """A caller in an event loop that waits for a job; all callers of one group are notified together."""

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def set_running_or_notify_cancel(self) -> bool:
        """Whether the caller still waits."""
        return not self.future.cancelled()

    def set_result(self, result: Any) -> None:
        _deliver_to(self.loop, [(self.future, result)])

    def set_exception(self, error: BaseException) -> None:
        _deliver_to(self.loop, [(self.future, error)])


class WriteJob(NamedTuple):
    """Work with the tenant whose rows it touches; work without a tenant runs apart from the others."""

    work: Work
    tenant: str
    done: "Future[Any] | Waiter | None"
    place: "Place | None" = None  # the ledger entry that it is about
    lasting: bool = True  # whether it must survive a power cut
    owed: bool = False  # it is done whether or not a caller waits, and retried until it succeeds


class PendingInsert(NamedTuple):
    """Something to insert; `done` is None if no caller waits for it."""

    value: Any
    done: "Future[None] | None"


class Writer:
    """The queue and its thread. `bulk` inserts records; `written` is called once they are on disk."""

    def __init__(
        self, backend: Backend, bulk: Bulk, written: Written, capacity: int = 10_000, linger: float = 0.05
    ) -> None:
        self._backend, self._bulk, self._written = backend, bulk, written
        self._capacity, self._linger = capacity, linger
        self._jobs: deque[WriteJob] = deque()
        self._records: deque[PendingInsert] = deque()
        self._owed: list[WriteJob] = []  # jobs that are owed, but have not succeeded yet
        self._expected = 0  # how many jobs the last group had
        self._due = 0.0  # when records without a waiting caller are written at the latest
        self._memo = Memo()
        self._change = threading.Condition()
        self._out = 0  # records that are being written: they take up room in the queue until the commit
        self._hurried = self._closing = self._ended = False
        self.trouble: StoreError | None = None
        self._session: Session | None = backend.connect(writing=True)
        self._thread = threading.Thread(target=self._loop, name="trueup-store", daemon=True)
        self._thread.start()
        self._process = os.getpid()
        atexit.register(self._at_exit)

    @property
    def queued(self) -> int:
        """How many writes are waiting."""
        return len(self._jobs) + len(self._records) + self._out

    def submit(self, work: Callable[[Session], T], tenant: str = "", patience: float = 5.0) -> "Future[T]":
        """Queue a job; its result is available once it has been committed."""
        done: Future[T] = Future()
        with self._change:
            if len(self._jobs) >= self._capacity or self._closing or self._ended:
                self._make_room(lambda: len(self._jobs) < self._capacity, patience)
            self._jobs.append(WriteJob(work, tenant, done))
            self._change.notify_all()
        return done

    def give(self, job: WriteJob) -> None:
        """Queue a job from an event loop, which must not block; an owed job always finds room."""
        with self._change:
            if self._closing or self._ended or (len(self._jobs) >= self._capacity and not job.owed):
                self._make_room(lambda: len(self._jobs) < self._capacity, 0)
            self._jobs.append(job)
            if len(self._jobs) in (1, self._expected):
                self._change.notify_all()

    def record(self, value: Any, patience: float = 5.0, *, wait: bool) -> "Future[None] | None":
        """Queue a record; with `wait`, return a future that is done when it has been committed."""
        done: Future[None] | None = Future() if wait else None
        with self._change:
            if self.trouble is not None and wait:
                raise self.trouble
            queue = self._records
            if not self.has_room() or self._closing or self._ended:
                self._make_room(self.has_room, patience)
            queue.append(PendingInsert(value, done))
            self._hurried = self._hurried or wait
            if len(queue) == 1:
                self._due = time.monotonic() + self._linger
            if wait or len(queue) == 1 or len(queue) == _GROUP:
                self._change.notify_all()
        return done

    @property
    def crowded(self) -> bool:
        """Whether new work should not be started because four fifths of the room for records are taken."""
        return (len(self._records) + self._out) * 5 >= self._capacity * 4

    def flush(self) -> None:
        """Wait until every record that was queued before is on disk."""
        done = self.record(_MARK, wait=True)
        assert done is not None
        done.result()

    def has_room(self) -> bool:
        """Whether a record would be queued immediately."""
        return len(self._records) + self._out < self._capacity

    def close(self) -> None:
        """Write what is queued, then end; report what cannot be written."""
        with self._change:
            self._closing = True
            self._change.notify_all()
        self._thread.join()
        atexit.unregister(self._at_exit)
        left = sum(record.value is not _MARK for record in self._records)
        self._records.clear()
        if left:
            raise StoreFull(f"{left} verdicts could not be written before the store was closed: {self.trouble}")

    def _at_exit(self) -> None:
        """A process that ends without closing the store writes what it has queued; a forked one has nothing to write."""
        if os.getpid() == self._process:
            try:
                self.close()
            except StoreError as error:
                log.error("%s", error)  # noqa: TRY400 - the process is ending; a traceback would tell nobody more

    def _make_room(self, has_room: Callable[[], bool], patience: float) -> None:
        if not self._ended:
            self._change.wait_for(lambda: has_room() or self._closing or self._ended, patience)
        if self._closing or self._ended:
            raise StoreClosed("the store is closed; open it again")
        if not has_room():
            raise self.trouble or StoreBusy(
                f"{self._backend.where}: {self._capacity:,} writes are waiting, and no write finished in {patience:g} s"
            )

    def _loop(self) -> None:
        try:
            while not self._ended:
                jobs, records = self._next_group()
                self._write(jobs, records)
        finally:
            with self._change:
                self._ended = True
                self._change.notify_all()
            waiting: list[WriteJob | PendingInsert] = [*self._jobs, *self._owed, *self._records]
            for one in waiting:
                if one.done is not None and one.done.set_running_or_notify_cancel():
                    self._tell(one.done, self.trouble or StoreClosed("the writer of the store has ended"))
            if self._session is not None:
                self._session.close()

    def _next_group(self) -> tuple[list[WriteJob], list[PendingInsert]]:
        """The next jobs and records to write: jobs immediately, records a little later, to write more at a time."""
        with self._change:
            ripe = self._wait_for_work()
            full = len(self._jobs) >= self._capacity
            jobs = self._owed + [self._jobs.popleft() for _ in range(min(len(self._jobs), _GROUP))]
            self._owed = []
            records = [self._records.popleft() for _ in range(min(len(self._records), _GROUP))] if ripe else []
            # Skip callers that have gone away meanwhile; the others can no longer leave.
            jobs = [job for job in jobs if job.owed or job.done is None or job.done.set_running_or_notify_cancel()]
            records = [one for one in records if one.done is None or one.done.set_running_or_notify_cancel()]
            self._out = len(records)
            self._hurried = self._hurried and bool(self._records)
            if records or full:
                self._change.notify_all()
        return jobs, records

    def _wait_for_work(self) -> bool:
        """Wait until there is something to write; return whether to write records with it."""
        tried = False
        while True:
            ripe = self._ripe(tried=tried)
            if self._jobs or ripe or (tried and self._owed):
                self._let_gather()
                return ripe
            if self._closing:
                self._ended = not (self._records or self._owed)
                return bool(self._records)
            if self.trouble is not None or self._owed:
                tried = not self._change.wait(_PAUSE)
            elif self._records:
                self._change.wait(max(0.0, self._due - time.monotonic()))
            else:
                self._change.wait()

    def _let_gather(self) -> None:
        """If several jobs came together, more may follow: wait a moment, because one commit costs the same for all of them."""
        if 1 < self._expected > len(self._jobs) > 0 and not self._closing:
            self._change.wait_for(lambda: len(self._jobs) >= self._expected or self._closing, _MOMENT)
        self._expected = len(self._jobs)

    def _ripe(self, *, tried: bool) -> bool:
        """Whether to write records now; in trouble, only now and then."""
        if not self._records or (self.trouble is not None and not tried and not self._jobs):
            return False
        return (
            self._hurried or self._closing or self.trouble is not None or len(self._records) >= _GROUP
            or time.monotonic() >= self._due
        )  # fmt: skip

    def _write(self, jobs: list[WriteJob], records: list[PendingInsert]) -> None:
        outcome = self._together(jobs, records)
        if isinstance(outcome, list):
            self._settle(jobs, outcome, records)
            return
        if isinstance(outcome, StoreUnavailable) or (isinstance(outcome, StoreBusy) and not self._backend.by_tenant):
            self._keep(records, outcome)  # first, so that a notified caller can see the trouble
            for job in jobs:  # writing fails for all: waiting again for each of them would not help
                self._fail(job, outcome)
            return
        self._one_by_one(jobs)
        self._write_records(records)

    def _one_by_one(self, jobs: list[WriteJob]) -> None:
        """One of them spoiled the group: run each alone, quota before anything large."""
        busy: dict[str, Exception] = {}
        for job in jobs:
            alone = busy.get(job.tenant) or self._together([job], [])
            if isinstance(alone, StoreBusy):
                busy[job.tenant] = alone  # the others of this tenant have waited long enough
            if isinstance(alone, list):
                self._tell(job.done, alone[0])
            else:
                self._fail(job, alone)

    def _write_records(self, records: list[PendingInsert]) -> None:
        if not records:
            return
        outcome = self._together([], records)
        if isinstance(outcome, list):
            self._settle([], [], records)
        elif isinstance(outcome, StoreError) and not isinstance(outcome, NotStorable):
            self._keep(records, outcome)
        elif len(records) == 1:
            log.error("a verdict could not be written: %s", outcome)
            self._leave(records)
            self._tell(records[0].done, outcome)
        else:
            for record in records:  # a record that no table can store fails alone
                self._write_records([record])

    def _together(self, jobs: list[WriteJob], records: list[PendingInsert]) -> list[Any] | Exception:
        """Run all in one transaction; return each job's result, or why nothing was written."""
        error: Exception
        for pause in _TRIES:
            if pause:
                time.sleep(pause)
            try:
                return self._once(jobs, records)
            except Exception as caught:  # noqa: BLE001 - whatever it is, its callers must hear of it and the thread go on
                error = caught
                self._recover(error)
            if not self._backend.broken(error):
                break
        return self._backend.explain(error) or error

    def _once(self, jobs: list[WriteJob], records: list[PendingInsert]) -> list[Any]:
        session = self._session = self._session or self._backend.connect(writing=True)
        session.begin({job.tenant for job in jobs}, lasting=bool(records) or any(job.lasting for job in jobs))
        books = session.books = Books(session, self._memo)
        books.load([job.place for job in jobs if job.place is not None])
        given = [_attempt(job.work, session) for job in jobs]
        books.write()
        values = [record.value for record in records if record.value is not _MARK]
        if values:
            self._bulk(session, values)
        session.commit()
        return given

    def _recover(self, error: Exception) -> None:
        try:
            if self._session is not None:
                self._session.rollback()
            if not self._backend.broken(error):
                return
        except Exception as worse:  # noqa: BLE001 - a rollback on a dead connection
            log.debug("rollback failed: %s", worse)
        session, self._session = self._session, None
        if session is not None:
            try:
                session.close()
            except Exception as worse:  # noqa: BLE001 - it was of no use any more
                log.debug("closing failed: %s", worse)

    def _leave(self, records: list[PendingInsert]) -> None:
        """They have left the queue, written or not; a notified caller finds their room free."""
        with self._change:
            self._out -= len(records)
            self._change.notify_all()

    def _settle(self, jobs: list[WriteJob], given: list[Any], records: list[PendingInsert]) -> None:
        if self.trouble is not None and records:
            log.warning("%s: writing again", self._backend.where)
            self.trouble = None
        self._tell_all(jobs, given)
        if not records:
            return
        self._leave(records)
        try:
            self._written([record.value for record in records if record.value is not _MARK])
        except Exception:  # a fault of the listener; what is written stays written
            log.exception("verdicts were written, but a subscriber failed")
        for record in records:
            if record.done is not None:
                record.done.set_result(None)

    def _keep(self, records: list[PendingInsert], why: StoreError) -> None:
        """Records that cannot be written now: waiting callers are notified, the others return to the front of the queue."""
        with self._change:
            self._out -= len(records)
            self._records.extendleft(record for record in reversed(records) if record.done is None)
            if self.trouble is None and self._records:
                log.error("verdicts wait to be written: %s", why)
            self.trouble = why if self._records else None  # if nothing is waiting, the next one is tried
            self._ended = self._closing  # close() reports how much was left
        for record in records:
            self._tell(record.done, why)

    def _fail(self, job: WriteJob, why: Exception) -> None:
        """A job failed: notify its waiting caller, and retry what is owed."""
        if job.owed and isinstance(why, StoreError) and not isinstance(why, NotStorable) and not self._closing:
            self._owed.append(job._replace(done=None))
        self._tell(job.done, why)

    def _tell_all(self, jobs: list[WriteJob], given: list[Any]) -> None:
        """Report the result of each job, once for each event loop."""
        loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for job, result in zip(jobs, given, strict=True):
            done = job.done
            if isinstance(done, Waiter):
                loops.setdefault(done.loop, []).append((done.future, result))
            else:
                self._tell(done, result)
        for loop, results in loops.items():
            _deliver_to(loop, results)

    @staticmethod
    def _tell(done: "Future[Any] | Waiter | None", result: Any) -> None:
        if done is None:
            return
        if isinstance(result, BaseException):
            done.set_exception(result)
        else:
            done.set_result(result)


def _deliver_to(loop: asyncio.AbstractEventLoop, results: "list[tuple[asyncio.Future[Any], Any]]") -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits there any more
        loop.call_soon_threadsafe(_deliver, results)


def _deliver(results: "list[tuple[asyncio.Future[Any], Any]]") -> None:
    for future, result in results:
        if future.done():
            continue  # the waiting caller has gone
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)


def _attempt(work: Work, session: Session) -> Any:
    """The result of work; a refusal is a result too, because it changed nothing and spoils no group."""
    try:
        return work(session)
    except StoreError as refusal:
        return refusal
