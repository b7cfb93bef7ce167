"""Merging: parts become the files of the run, in the order of the input, and each is removed once what it held is safe.

How far the files are written is committed to the manifest after they are synced; a file that is longer than that when a run
resumes has a torn end, which is cut off before anything is appended.
"""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trueup.batch.manifest import Manifest
from trueup.batch.tally import Tally
from trueup.batch.work import Part, part_path, read_part

FILES = ("validated.jsonl", "failures.jsonl", "flips.jsonl")
_COPY = 1 << 20
_EVERY = 64 << 20  # bytes between two commits
_SECONDS = 1.0


# the two files are on systems that cannot do it, or the system does not know it
_CANNOT = frozenset({errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})


class Broken(RuntimeError):
    """A part that should be there is not, or is not whole."""


class Merge:
    """The files of a run as they grow."""

    def __init__(self, work: Path, manifest: Manifest, key: str, total: int, *, flips: bool) -> None:
        self._parts = work / "parts"
        self._manifest = manifest
        self._key = key
        self._total = total
        self._names = FILES if flips else FILES[:2]
        state = manifest.get("merge") or {"next": 0, "sizes": [0] * len(FILES), "tally": Tally().to_dict()}
        self._next: int = state["next"]
        self._sizes: list[int] = list(state["sizes"])
        self.tally = Tally.of(state["tally"])
        self._files = [_cut(work / name, size) for name, size in zip(self._names, self._sizes, strict=False)]
        self._copied = 0
        self._since = time.monotonic()
        self._spent: list[Path] = []

    def run(self, tell: Callable[[int, int], None]) -> None:
        """Append every part that is not yet in; `tell` hears how many of them are."""
        try:
            while self._next < self._total:
                self._append(self._next)
                self._next += 1
                if self._copied >= _EVERY or time.monotonic() - self._since >= _SECONDS:
                    self._commit()
                    tell(self._next, self._total)
            self._commit()
        finally:
            for handle in self._files:
                os.close(handle)

    def _append(self, number: int) -> None:
        path = part_path(self._parts, number)
        part = read_part(path)
        if part is None or part.key != self._key:
            raise Broken(f"{path}: a part of this run is missing or not whole; use --fresh to begin anew")
        _copy(path, part, self._files)
        for index, size in enumerate(part.sizes[: len(self._files)]):
            self._sizes[index] += size
            self._copied += size
        self.tally.add(part.tally)
        self._spent.append(path)

    def _commit(self) -> None:
        for handle in self._files:
            os.fsync(handle)
        state: dict[str, Any] = {"next": self._next, "sizes": self._sizes, "tally": self.tally.to_dict()}
        self._manifest.commit({"merge": state})
        for path in self._spent:
            path.unlink(missing_ok=True)
        self._spent.clear()
        self._copied = 0
        self._since = time.monotonic()


def _cut(path: Path, size: int) -> int:
    """A file opened at the end of what is known to be safe in it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    if os.fstat(handle).st_size < size:
        os.close(handle)
        raise Broken(f"{path}: the file is shorter than it was; use --fresh to begin anew")
    os.ftruncate(handle, size)
    os.lseek(handle, size, os.SEEK_SET)
    return handle


def _copy(path: Path, part: Part, files: list[int]) -> None:
    with path.open("rb", buffering=0) as opened:
        for handle, size in zip(files, part.sizes, strict=False):
            left = size
            while left:
                moved = _move(opened.fileno(), handle, left)
                if not moved:
                    raise Broken(f"{path}: the part ends too early")
                left -= moved


def _move(source: int, target: int, most: int) -> int:
    """Copy some bytes from where one file stands to where the other does, inside the system where that can be."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, most)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
    rest = memoryview(os.read(source, min(_COPY, most)))
    size = len(rest)
    while rest:
        rest = rest[os.write(target, rest) :]
    return size
