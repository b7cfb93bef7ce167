"""The demo: settings enter, settings with sample contracts, runs and a store of sample traffic leave, for as long as the block lasts.

Everything is in a temporary folder that is removed at the end, also after Ctrl-C or SIGTERM. New requests come in every second or two.
"""

import contextlib
import importlib.util
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

import msgspec

from trueup.store.errors import StoreError
from trueup.store.open import open_store
from trueup.store.records import new_id
from trueup.store.store import Store
from trueup.studio.demo.filling import fill
from trueup.studio.demo.material import example
from trueup.studio.demo.traffic import Request, Traffic
from trueup.studio.settings import Settings

log = logging.getLogger("trueup.studio")
_SEED = 7
_CONTRACTS = ("support/triage.yaml", "booking/booking.yaml")  # beside those of `contracts`
_REPLIES = {"tickets.jsonl": "support/replies.jsonl", "people.jsonl": "replies/people.jsonl"}


@contextlib.contextmanager
def demo(settings: Settings, *, size: int = 2600, pause: float = 1.5) -> Iterator[Settings]:
    """The same settings with folders and a store of the demo.

    `size` is how many requests there are at the beginning, `pause` how many seconds lie between two later ones.
    """
    with _stoppable(), contextlib.ExitStack() as stack:
        top = Path(tempfile.mkdtemp(prefix="trueup-demo-"))
        stack.callback(_remove, top)
        folders = _copy(top)
        before = top / "before"
        before.mkdir()
        chance = Random(_SEED)  # noqa: S311 - nothing secret comes of it
        traffic = Traffic(chance, before)
        fill(top / "verdicts.db", traffic, chance, time.time_ns() // 1000, size)
        store = stack.enter_context(open_store(top / "verdicts.db", keep_context=True))
        stack.enter_context(_Living(store, traffic, chance, pause))
        stack.enter_context(_Runs(top))
        yield msgspec.structs.replace(settings, folders=folders, store=str(top / "verdicts.db"), demo=True)


def _copy(top: Path) -> tuple[Path, ...]:
    """Copies of the examples, to be edited as one likes."""
    contracts, replies, runs = (top / name for name in ("contracts", "replies", "runs"))
    shutil.copytree(example("contracts"), contracts)
    for name in _CONTRACTS:
        shutil.copy(example(name), contracts)
    replies.mkdir()
    for name, source in _REPLIES.items():
        shutil.copy(example(source), replies / name)
    runs.mkdir()
    return contracts, replies, runs


def _remove(top: Path) -> None:
    """Remove the folder; a second Ctrl-C must not leave half of it."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        shutil.rmtree(top, ignore_errors=True)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Let the signals that would end the process at once end the block instead."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
        raise SystemExit(128 + number)

    before = {name: signal.signal(getattr(signal, name), stop) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


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
                except StoreError as error:  # a quota that is used up, or a store that is busy
                    log.debug("the demo did not store a request: %s", error)

    def _record(self, request: Request) -> None:
        """Store a request as a gateway does: a hold on the quota, the replies, the charge."""
        last, quota = request.last, self._store.quota
        held = quota.reserve(last.tenant, model=last.model)
        ids = [new_id() for _ in request.notes]
        for note, name in zip(request.notes, ids, strict=True):
            self._store.note(msgspec.structs.replace(note, id=name, request=ids[-1]))
        quota.spend(held, 1, last.cost)
        if last.outcome == "failed":
            quota.release(held)
        else:
            quota.capture(held)


class _Runs:
    """Sifts and a pipeline, made by a thread with a process for each, while the page is already there."""

    def __init__(self, top: Path) -> None:
        self._commands = list(_commands(top))
        self._top = top
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
                self._process = subprocess.Popen(  # noqa: S603 - our own commands
                    [sys.executable, "-m", "trueup", *command], cwd=self._top, stdin=quiet, stdout=quiet, stderr=quiet
                )
            self._process.wait()


def _commands(top: Path) -> Iterator[list[str]]:
    """Tickets by the rules of last week and of today, people, and a pipeline if it can run here."""
    tickets, people = "replies/tickets.jsonl", "replies/people.jsonl"
    yield ["sift", tickets, "--contract", "contracts/triage.yaml", "--out", "runs/tickets"]
    yield ["sift", people, "--contract", "contracts/people.yaml", "--out", "runs/people"]
    yield ["sift", tickets, "--contract", "before/triage.yaml", "--out", "runs/tickets-before"]
    if all(importlib.util.find_spec(name) for name in ("jinja2", "aiohttp")):
        shutil.copytree(example("pipelines/reviews"), top / "pipelines" / "reviews")
        yield ["run", "pipelines/reviews", "--run-dir", "runs/reviews"]
