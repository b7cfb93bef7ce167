"""One owner at a time: a lock of the operating system on the run directory, with a term number.

The system releases the lock when its process ends for any reason, so the number of a dead process never blocks a run. Each owner
has a higher term than the one before. An owner whose lock file was removed notices at its next commit, and stops before it
writes.
"""

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.pipeline.rundir.disk import decode, encode

LOCK = "run.lock"
PID = "orchestrator.pid"


class Busy(RuntimeError):
    """Another process owns the run."""


class RunTakenOver(RuntimeError):
    """This process no longer owns the run."""


class Owner(NamedTuple):
    """The holder of the lock: its process, the start of that process (as the system counts), and its term."""

    pid: int
    born: str
    term: int


class Lock:
    """Held from creation to `release()`."""

    def __init__(self, folder: Path) -> None:
        try:
            import fcntl
        except ImportError:
            raise Busy("runs need a system with POSIX file locks") from None
        self._path = folder / LOCK
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _take(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB):
            os.close(self._handle)
            held = read_owner(folder)
            who = f" (process {held.pid})" if held else ""
            raise Busy(f"{folder}: another process is running it{who}; wait, or `trueup pause` it")
        before = _read(self._handle)
        self.owner = Owner(os.getpid(), born(os.getpid()), (before.term if before else 0) + 1)
        self._write()
        (folder / PID).write_text(f"{self.owner.pid}\n", "ascii")

    @property
    def term(self) -> int:
        return self.owner.term

    def hold_above(self, term: int) -> None:
        """Take a term above the highest in the journal, in case the lock file was deleted in between."""
        if self.owner.term <= term:
            self.owner = self.owner._replace(term=term + 1)
            self._write()

    def check(self) -> None:
        """Raise `RunTakenOver` unless the lock is still ours."""
        try:
            there, ours = self._path.stat(), os.fstat(self._handle)
        except FileNotFoundError:
            raise RunTakenOver(f"{self._path} was deleted under this run; nothing more was written") from None
        if (there.st_ino, there.st_dev) != (ours.st_ino, ours.st_dev):
            raise RunTakenOver(f"{self._path} was replaced: another process owns the run; nothing more was written")

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _write(self) -> None:
        data = encode(self.owner._asdict()) + b"\n"
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, data, 0)


def _take(handle: int, how: int) -> bool:
    """Take the lock. A process that only checks it has it for a moment, so it is tried a few times."""
    import fcntl

    for _ in range(10):
        try:
            fcntl.flock(handle, how)
        except OSError:
            time.sleep(0.02)
        else:
            return True
    return False


def read_owner(folder: Path) -> Owner | None:
    """The last owner of a run's lock."""
    try:
        with (folder / LOCK).open("rb") as opened:
            return _read(opened.fileno())
    except OSError:
        return None


def is_held(folder: Path) -> bool:
    """Whether a live process has the lock."""
    import fcntl

    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except PermissionError:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def born(pid: int) -> str:
    """The start time of a process from the system; empty if not available. It distinguishes a reused process number from the first."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _read(handle: int) -> Owner | None:
    raw: Any = None
    try:
        raw = decode(os.pread(handle, 4096, 0))
        return Owner(int(raw["pid"]), str(raw["born"]), int(raw["term"]))
    except (ValueError, KeyError, TypeError):
        return None
