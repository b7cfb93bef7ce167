"""The demo: takes settings and adds sample contracts, runs and a store of sample traffic, until the block ends.

Everything is in a temporary folder. The folder is removed at the end, even after Ctrl-C, SIGTERM or a closed terminal,
and processes that work in it are ended. New requests arrive every second or two.
"""

import contextlib
import logging
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import FrameType
from typing import Self

import msgspec

from trueup.batch.pipeline.rundir.control import NotRunning, kill
from trueup.store.alarm import Alarm
from trueup.store.errors import QuotaExceeded, StoreError
from trueup.store.limits import Unit
from trueup.store.open import open_store
from trueup.store.records import new_id
from trueup.store.store import Store
from trueup.studio.demo.filling import fill
from trueup.studio.demo.material import copy
from trueup.studio.demo.pipeline import write_pipeline
from trueup.studio.demo.traffic import DemoRequest, Traffic
from trueup.studio.settings import StudioSettings

log = logging.getLogger("trueup.studio")
_SEED = 7
_CONTRACTS = ("support/triage.yaml", "booking/booking.yaml")  # besides those of `contracts`
_REPLIES = {"tickets.jsonl": "support/replies.jsonl", "people.jsonl": "replies/people.jsonl"}


@contextlib.contextmanager
def demo(settings: StudioSettings, *, size: int = 2600, pause: float = 1.5) -> Iterator[StudioSettings]:
    """The same settings with folders and a store of the demo.

    `size` is the number of requests at the beginning, `pause` the seconds between two later ones.
    """
    with _Signals() as signals, contextlib.ExitStack() as stack:
        top = Path(tempfile.mkdtemp(prefix="trueup-demo-"))
        stack.callback(shutil.rmtree, top, ignore_errors=True)
        stack.callback(_end_runs, top / "runs")
        folders = _copy(top)
        before = top / "before"
        before.mkdir()
        chance = Random(_SEED)  # noqa: S311 - nothing secret comes of it
        traffic = Traffic(chance, before)
        fill(top / "verdicts.db", traffic, chance, time.time_ns() // 1000, size)
        quiet = Alarm(
            tell=log.debug
        )  # the page shows models that are asked again too often; the terminal does not need to
        store = stack.enter_context(open_store(top / "verdicts.db", keep_context=True, alarm=quiet))
        stack.enter_context(_Living(store, traffic, chance, pause))
        stack.enter_context(_Runs(top))
        stack.callback(signals.ignore)  # the first to be called
        yield msgspec.structs.replace(settings, folders=folders, store=str(top / "verdicts.db"), demo=True)


def _copy(top: Path) -> tuple[Path, ...]:
    """Copies of the examples, free to edit."""
    contracts, replies, runs = (top / name for name in ("contracts", "replies", "runs"))
    copy("contracts", contracts)
    for name in _CONTRACTS:
        copy(name, contracts / Path(name).name)
    replies.mkdir()
    for name, source in _REPLIES.items():
        copy(source, replies / name)
    runs.mkdir()
    return contracts, replies, runs


def _end_runs(runs: Path) -> None:
    """End processes that the page has started: they would write into a folder that is being removed."""
    for run in runs.iterdir():
        with contextlib.suppress(NotRunning, OSError):
            kill(run, grace=1.0)


class _Signals:
    """The first signal ends the block; later ones are ignored.

    A closing terminal sends two, and cleanup must not be interrupted.

    Only the main thread can handle signals.
    """

    def __init__(self) -> None:
        names = ("SIGINT", "SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
        self._numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]

    def __enter__(self) -> Self:
        self._before = [signal.signal(number, self._stop) for number in self._numbers]
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in zip(self._numbers, self._before, strict=True):
            signal.signal(number, handler)

    def ignore(self) -> None:
        """Ignore all further signals."""
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        self.ignore()
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


class _Living:
    """A thread that stores a new request from time to time."""

    def __init__(self, store: Store, traffic: Traffic, chance: Random, pause: float) -> None:
        self._store, self._traffic, self._chance, self._pause = store, traffic, chance, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="trueup-demo", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _live(self) -> None:
        while True:
            for request in self._traffic.conversation():
                if self._stop.wait(self._pause * self._chance.uniform(0.4, 1.6)):
                    return
                try:
                    self._record(request)
                except StoreError as error:  # a store that is busy
                    log.debug("the demo did not store a request: %s", error)

    def _record(self, request: DemoRequest) -> None:
        """Store a request as a gateway does: a hold on the quota, the replies, the charge."""
        last, quota = request.last, self._store.quota
        try:
            held = quota.reserve(last.tenant, model=last.model)
        except QuotaExceeded:
            self._raise_limits(last.tenant)
            held = quota.reserve(last.tenant, model=last.model)
        ids = [new_id() for _ in request.notes]
        for note, name in zip(request.notes, ids, strict=True):
            self._store.note(msgspec.structs.replace(note, id=name, request=ids[-1]))
        quota.spend(held, 1, last.cost)
        if last.outcome == "failed":
            quota.release(held)
        else:
            quota.capture(held)

    def _raise_limits(self, tenant: str) -> None:
        """Raise a tenant's quota, as if it had paid for more: otherwise the demo stops once all quotas are used up."""
        quota = self._store.quota
        used = {
            each.unit: max(each.limit, each.used) for each in quota.standings() if each.tenant == tenant and each.limit
        }
        units: tuple[Unit, ...] = ("replies", "cost")
        for unit in units:
            if unit in used:
                quota.set_limit(tenant, used[unit] * 5 // 4 + 1, unit=unit, period="month")


class _Runs:
    """Sifts and a pipeline, made by a thread with a process for each, while the page is already open."""

    def __init__(self, top: Path) -> None:
        self._commands = list(_commands(top))
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._make, name="trueup-demo-runs", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
        self._thread.join(10)

    def _make(self) -> None:
        for command in self._commands:
            with self._lock:
                if self._stopped:
                    return
                quiet = subprocess.DEVNULL
                # in this process's folder: a relative PYTHONPATH depends on it
                self._process = subprocess.Popen(  # noqa: S603 - our own commands
                    [sys.executable, "-P", "-m", "trueup", *command], stdin=quiet, stdout=quiet, stderr=quiet
                )
            self._process.wait()


def _commands(top: Path) -> Iterator[tuple[str | Path, ...]]:
    """Tickets by the rules of last week and of today, people, and two pipelines.

    The last one is slow, so that users can watch it.
    """
    contracts, replies, runs, pipelines = (top / name for name in ("contracts", "replies", "runs", "pipelines"))
    tickets, people = replies / "tickets.jsonl", replies / "people.jsonl"
    yield "sift", tickets, "--contract", contracts / "triage.yaml", "--out", runs / "tickets"
    yield "sift", people, "--contract", contracts / "people.yaml", "--out", runs / "people"
    yield "sift", tickets, "--contract", top / "before" / "triage.yaml", "--out", runs / "tickets-before"
    copy("pipelines/reviews", pipelines / "reviews")
    yield "run", pipelines / "reviews", "--run-dir", runs / "reviews"
    write_pipeline(pipelines / "triage")
    yield "run", pipelines / "triage", "--run-dir", runs / "triage"
