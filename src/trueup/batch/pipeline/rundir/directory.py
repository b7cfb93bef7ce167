"""Run directories: their layout, and the functions to open them.

Its owner opens a run (takes the lock, replays the journal, repairs the ends of files, finishes interrupted moves); everyone else
only looks at it. Unit ids never become file names; chunks are numbered, and steps have plain names. `MANIFEST.json` is a view of
the journal for people and tools: it may be lost, and is then written again.
"""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.batch.pipeline.config import Pipeline, read_config
from trueup.batch.pipeline.rundir.disk import Damaged, Disk, encode, line, read_records
from trueup.batch.pipeline.rundir.journal import JOURNAL, Journal, Record, read_journal
from trueup.batch.pipeline.rundir.lock import Lock, is_held
from trueup.batch.pipeline.rundir.logs import RunLog
from trueup.batch.pipeline.rundir.state import Chunk, RunState

MANIFEST = "MANIFEST.json"
RESERVE = ".reserve"  # space kept for the remaining replies when the disk is full
_RESERVED = 4 << 20
PAUSE = "PAUSE"
STAGED = ".revalidated-"  # folders with files that are put in place together


class NoRun(ValueError):
    """The path is not a run directory."""


def runs_in(folder: Path) -> list[Path]:
    """The runs in a folder, newest first."""
    found: list[tuple[float, Path]] = []
    for place in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError):  # not a run, or deleted since the folder was read
            found.append(((place / JOURNAL).stat().st_mtime, place))
    return [place for _, place in sorted(found, reverse=True)]


class RunDir:
    """A run directory, opened for reading."""

    def __init__(self, path: Path, state: RunState) -> None:
        self.path = path
        self.state = state
        self._pipeline: Pipeline | None = None

    @classmethod
    def look(cls, path: Path) -> "RunDir":
        """The current state of the run. Nothing is changed, and another process may own it."""
        if not (path / JOURNAL).is_file():
            raise NoRun(f"{path}: not a run directory (it has no {JOURNAL}); `trueup init` creates one")
        return cls(path, _state(path, salvage=False))

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline as it was when the run was made."""
        if self._pipeline is None:
            file = str(self.state.run.get("config", "config.yaml"))
            self._pipeline = read_config(self.path / "config" / file)
        return self._pipeline

    def forget_pipeline(self) -> None:
        """The run's copy of the pipeline has changed: read it again when it is needed."""
        self._pipeline = None

    @property
    def is_running(self) -> bool:
        """Whether a live process owns the run."""
        return is_held(self.path)

    def folder(self, chunk: str) -> Path:
        return self.path / "chunks" / chunk

    def file(self, chunk: str, step: str, kind: str) -> Path:
        """A file of a chunk; kind is prompts, results, validated, failures or batch."""
        return self.folder(chunk) / f"{step}_{kind}.jsonl"

    def units(self, chunk: Chunk, index: int) -> Iterator[dict[str, Any]]:
        """The units of a chunk that go into a step."""
        yield from read_records(self.folder(chunk.name) / self.state.source_of(chunk, index))


class OwnedRun(RunDir):
    """A run directory, opened by its one owner."""

    def __init__(self, path: Path, state: RunState, lock: Lock, disk: Disk) -> None:
        super().__init__(path, state)
        self.disk = disk
        self.lock = lock
        self.journal = Journal(path, disk, lock, state.number)
        self.log = RunLog(path)
        self.given_up = threading.Event()  # running scripts are ended
        self._next_chunk = state.next_number("chunk")

    @classmethod
    def open(cls, path: Path, disk: Disk | None = None, *, salvage: bool = False) -> "OwnedRun":
        """Take over the run; no other process may own it. Work that a crash interrupted is finished or undone."""
        disk = disk or Disk()
        if not (path / JOURNAL).is_file():
            raise NoRun(f"{path}: not a run directory (it has no {JOURNAL}); `trueup init` creates one")
        lock = Lock(path)
        run: OwnedRun | None = None
        try:
            # A pause request that is still there was meant for an earlier owner.
            (path / PAUSE).unlink(missing_ok=True)
            torn = disk.mend(path / JOURNAL)
            state = _state(path, salvage=salvage)
            lock.hold_above(state.term)
            run = cls(path, state, lock, disk)
            if torn:
                run.log.say(
                    f"cut off an incomplete line of {len(torn)} bytes at the end of the journal (kept in {JOURNAL}.torn)"
                )
            run._finish_moves()
            run._reserve()
        except BaseException:
            lock.release()
            if run is not None:
                run.close()
            raise
        return run

    def note(self, kind: str, **fact: Any) -> None:
        """Append a record to the journal. It survives this process."""
        self.state.take(self.journal.note(kind, **fact))

    def commit(self, kind: str, **fact: Any) -> None:
        """Append a record to the journal. It survives a crash of the machine."""
        self.state.take(self.journal.commit(kind, **fact))

    def new_chunks(self, count: int) -> range:
        """Numbers for new chunks, which no other chunk gets."""
        first = self._next_chunk
        self._next_chunk += count
        return range(first, self._next_chunk)

    def archive(self, file: Path) -> None:
        """Keep a copy of a file beside it, as .bak, .bak2 and so on. A copy that exists already is not repeated."""
        if not file.exists():
            return
        raw, number = file.read_bytes(), 1
        while True:
            kept = file.with_name(f"{file.name}.bak{number if number > 1 else ''}")
            if not kept.exists():
                self.disk.put(kept, [raw])
            if kept.read_bytes() == raw:
                return
            number += 1

    def write_manifest(self, live: dict[str, Any] | None = None) -> None:
        """Write MANIFEST.json. Without space the old one stays."""
        from trueup.batch.pipeline.reporting.status import manifest

        beside = self.path / f".{MANIFEST}.new"
        try:
            beside.write_bytes(encode(manifest(self, live)) + b"\n")
            beside.replace(self.path / MANIFEST)
        except OSError:
            beside.unlink(missing_ok=True)

    def free_reserve(self) -> None:
        """Release the space that was kept for a full disk."""
        (self.path / RESERVE).unlink(missing_ok=True)

    def _reserve(self) -> None:
        """Keep some space for a full disk. A disk that cannot spare it will be full soon enough."""
        try:
            handle = os.open(self.path / RESERVE, os.O_WRONLY | os.O_CREAT, 0o644)
        except OSError:
            return
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, 0, _RESERVED)
        except OSError:
            self.free_reserve()
        finally:
            os.close(handle)

    def _finish_moves(self) -> None:
        """Remove units that moved into a retry chunk from the failures they came from, and put staged files in place."""
        for record in self.state.retries:
            self.take_out(record)
        for folder in self.path.glob(f"{STAGED}*"):
            if folder.name not in self.state.revalidated:
                shutil.rmtree(folder, ignore_errors=True)  # a revalidation that never counted, or is in place already
                continue
            from trueup.batch.pipeline.rundir.staging import put_in_place

            put_in_place(self, folder)

    def take_out(self, record: Record) -> None:
        """Remove the moved units from the failures of their old chunks."""
        step = record["step"]
        moved = {(row["chunk"], row["unit_id"]) for row in self._moved(record)}
        for source in record["moved"]:
            file = self.file(source, step, "failures")
            kept, found = [], False
            for failure in read_records(file):
                if (source, failure["unit_id"]) in moved:
                    found = True
                else:
                    kept.append(failure)
            if found:
                self.disk.put(file, map(line, kept))

    def _moved(self, record: Record) -> Iterator[dict[str, Any]]:
        for name, _ in record["chunks"]:
            yield from read_records(self.folder(name) / "retries.jsonl")

    def close(self) -> None:
        """Release the run."""
        self.free_reserve()
        self.journal.close()
        self.log.close()
        self.lock.release()


def _state(path: Path, *, salvage: bool) -> RunState:
    try:
        state = RunState.of(read_journal(path, salvage=salvage))
    except KeyError as error:
        raise Damaged(f"{path / JOURNAL}: the record that made {error} is missing; start a new run") from None
    if not state.run:
        raise Damaged(f"{path / JOURNAL}: the record of the run's creation is gone")
    return state
