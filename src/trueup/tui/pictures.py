"""Pictures of runs for the screens: takes run directories and returns plain values. It never changes a run.

An active run is read in its current state; a damaged or deleted one says so, without raising an exception. A run that
has not changed since the last read is not read again.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.pipeline.reporting.status import standing
from trueup.batch.pipeline.reporting.words import clock, cost, so_far
from trueup.batch.pipeline.rundir.directory import MANIFEST, RunDir, runs_in
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.pipeline.rundir.journal import JOURNAL
from trueup.batch.pipeline.rundir.lock import is_held

FAULTS = (OSError, ValueError, KeyError, TypeError, IndexError)  # exceptions that reading a damaged run may raise


class RunPicture(NamedTuple):
    """The state of one run; `fault` says why it cannot be read."""

    path: Path
    running: bool = False
    status: dict[str, Any] = {}
    fault: str = ""
    gone: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def live(self) -> dict[str, Any]:
        """The owner's last report on the work in progress; empty while it is not running."""
        found: dict[str, Any] = self.status.get("live") or {}
        return found if self.running else {}

    @property
    def state(self) -> str:
        """One word: running, or the state in the journal."""
        if self.fault:
            return "deleted" if self.gone else "damaged"
        said = str(self.status.get("status", ""))
        return "running" if self.running else "stopped" if said == "running" else said

    @property
    def spent(self) -> str:
        """Its cost so far; an unknown price never counts as zero."""
        return so_far(self.status["money"]) if self.status else ""

    @property
    def cost(self) -> str:
        """The same, with the expected cost and the cap."""
        return cost(self.status) if self.status else ""

    @property
    def left(self) -> str:
        """The remaining time; empty if it is unknown."""
        return clock(self.live.get("seconds_left"))

    @property
    def share(self) -> int:
        """The share of the known work that is done, in percent."""
        return int(100 * self.status["done"] // max(self.status["total"], 1)) if self.status else 0


def runs_at(folder: Path) -> list[Path]:
    """The runs in a folder, the newest first; the folder itself if it is one."""
    try:
        return [folder] if (folder / JOURNAL).is_file() else runs_in(folder)
    except OSError:
        return []


def picture(path: Path) -> RunPicture:
    """The current state of a run."""
    try:
        running = is_held(path)
        return _picture(path, _stamp(path / JOURNAL), _stamp(path / MANIFEST) if running else None, running=running)
    except FAULTS as error:
        if not (path / JOURNAL).is_file():
            return RunPicture(path, fault=f"{path} was deleted, or moved to another place", gone=True)
        return RunPicture(path, fault=_said(error))


def mark(path: Path) -> tuple[Any, ...]:
    """A value that changes when a run starts, ends, or writes to its journal."""
    try:
        return is_held(path), _stamp(path / JOURNAL)
    except OSError:
        return ()


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        if file.name == JOURNAL:
            raise
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=512)
def _picture(path: Path, *_: Any, running: bool) -> RunPicture:
    """The state of a run, read again only when the stamps of its files have changed."""
    try:
        return RunPicture(path, running, standing(RunDir.look(path), running=running))
    except Damaged as error:
        return RunPicture(path, running, fault=f"{error}; `trueup repair {path}` repairs what it can")


def _said(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
    return f"the run cannot be read: {type(error).__name__}: {error}"
