"""The numbers of one worker in shared memory, which other workers can read at any time.

With a folder, each worker has two files there: its names, appended once each, and its numbers, mapped into memory.
Counting is one addition in memory. The numbers of a dead worker remain, and its replacement continues from them.
Without a folder the numbers are private to this process.
"""

import contextlib
import json
import mmap
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

Kind = Literal["counter", "sum", "max", "min", "times"]
GAUGES = frozenset({"sum", "max", "min"})  # how those of several workers are combined
CELLS = 65_536
WIDTH = 13  # cells of a `times`: one for each bound, then the count, then the sum
_SIZE = CELLS * 8


class Series(NamedTuple):
    """One line of a page: what is counted, and under which labels."""

    kind: Kind
    name: str
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def width(self) -> int:
        return WIDTH if self.kind == "times" else 1


class Board:
    """The series of one worker and their numbers. `cells[place(series)] += 1` counts."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._places: dict[Series, int] = {}
        self._used = 0
        self._names: int | None = None
        if folder is None:
            self._map = mmap.mmap(-1, _SIZE)
        else:
            self._slot, self._names = _slot(folder)
            (folder / f"{self._slot}.pid").unlink(missing_ok=True)
            _end_with_a_line(folder / f"{self._slot}.names")
            self._take_over(_read_names(folder / f"{self._slot}.names"))
            with _file(folder / f"{self._slot}.cells") as cells:
                _reserve(cells)
                self._map = mmap.mmap(cells, _SIZE)
        self.cells = memoryview(self._map).cast("d")
        for series, place in self._places.items():
            if series.kind in GAUGES:
                self.cells[place] = 0.0  # no longer current

    def place(self, series: Series) -> int | None:
        """Where a series is counted; None if there is no room for another one."""
        place = self._places.get(series)
        if place is None and self._used + series.width <= CELLS:
            place = self._places[series] = self._used
            self._used += series.width
            if self._names is not None and not self._append(json.dumps(series).encode() + b"\n"):
                del self._places[series]
                self._used = CELLS  # readers of the names could not tell the places that follow
                return None
        return place

    def _append(self, name: bytes) -> bool:
        assert self._names is not None
        try:
            return os.write(self._names, name) == len(name)
        except OSError:  # the disk is full
            return False

    def knows(self, series: Series) -> bool:
        """Whether a series has its place."""
        return series in self._places

    def names(self) -> Iterator[Series]:
        """The series of this worker."""
        return iter(self._places)

    def all(self) -> dict[Series, list[float]]:
        """The numbers of all workers, including dead ones; gauges only of living ones."""
        found: dict[Series, list[float]] = {}
        _add(found, self._places, self.cells, is_alive=True)
        if self._folder is not None:
            for path in sorted(self._folder.glob("*.names")):
                if path.stem != str(self._slot):
                    self._add_other(found, path)
        return found

    def ready(self) -> None:
        """Publish the id of this process: it serves requests and handles signals."""
        if self._folder is not None:
            (self._folder / f"{self._slot}.pid").write_text(str(os.getpid()))

    def close(self) -> None:
        """Leave the files to the next worker."""
        self.cells.release()
        self._map.close()
        if self._names is not None:
            os.close(self._names)
            self._names = None

    def _take_over(self, names: list[Series]) -> None:
        for series in names:
            self._places[series] = self._used
            self._used += series.width

    def _add_other(self, found: dict[Series, list[float]], path: Path) -> None:
        places: dict[Series, int] = {}
        used = 0
        for series in _read_names(path):
            places[series] = used
            used += series.width
        try:
            numbers = memoryview(path.with_suffix(".cells").read_bytes()).cast("d")
        except OSError:
            return  # it has not begun to count
        if used <= len(numbers):
            _add(found, places, numbers, is_alive=_is_held(path))


def living(folder: Path) -> list[int]:
    """The ids of the processes that are ready and alive."""
    found = []
    for path in folder.glob("*.pid"):
        with contextlib.suppress(OSError, ValueError):
            number = int(path.read_text())
            if _is_held(path.with_suffix(".names")):
                found.append(number)
    return found


def _add(found: dict[Series, list[float]], places: dict[Series, int], numbers: Any, *, is_alive: bool) -> None:
    for series, place in places.items():
        values = list(numbers[place : place + series.width])
        before = found.get(series)
        if series.kind in GAUGES and not is_alive:
            continue
        if before is None:
            found[series] = values
        elif series.kind in ("max", "min"):
            before[0] = (max if series.kind == "max" else min)(before[0], values[0])
        else:
            before[:] = [one + other for one, other in zip(before, values, strict=True)]


def _slot(folder: Path) -> tuple[int, int]:
    """The first place that no living worker has, and its file of names, which stays locked as long as this process lives."""
    for number in range(CELLS):
        names = os.open(folder / f"{number}.names", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        if _locked(names, exclusive=True):
            return number, names
        os.close(names)
    raise OSError(f"{folder}: no place for another worker")


def _reserve(cells: int) -> None:
    """Allocate all cells now: writing to a mapped page that the disk has no room for would end the process."""
    if os.fstat(cells).st_size < _SIZE:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(cells, 0, _SIZE)
        else:
            os.truncate(cells, _SIZE)


def _locked(names: int, *, exclusive: bool) -> bool:
    if sys.platform == "win32":
        return True  # there is one worker
    import fcntl

    try:
        fcntl.flock(names, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_held(path: Path) -> bool:
    """Whether the worker of a file is alive."""
    with _file(path) as names:
        return not _locked(names, exclusive=False)


@contextlib.contextmanager
def _file(path: Path) -> Iterator[int]:
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield opened
    finally:
        os.close(opened)


def _end_with_a_line(path: Path) -> None:
    """Remove a partial line that a dying worker, or a full disk, left."""
    written = path.read_bytes()
    whole = written.rfind(b"\n") + 1
    if whole < len(written):
        os.truncate(path, whole)


def _read_names(path: Path) -> list[Series]:
    """The series in a file of names, in order; a last line that is still being written does not count."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [
        Series(kind, name, tuple((key, value) for key, value in labels))
        for kind, name, labels in map(json.loads, lines)
    ]
