"""Merges judged ranges into the files of the run, in the order of the input, with the edits of their lines.

It also writes the index: the ids, spots and foot of every range, and the original form of edited records. The index lets a
finished run grow. After the files are synced, their lengths are committed to the manifest. If a file is longer when a run
resumes, its end is incomplete and is cut off before anything is appended. A part is removed once its content is safe.
"""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trueup.batch.counting.tally import UnitTally
from trueup.batch.disk.full_disk import writing
from trueup.batch.input.ranges import Range
from trueup.batch.judging.work import part_path
from trueup.batch.merging.editing import Editor, SectionCut
from trueup.batch.merging.stored_ranges import FILES, BrokenRange, FileSpan, RangesFile, Shelf
from trueup.batch.siftdir.manifest import Manifest, PlannedRange, kept

_COPY = 1 << 20
_EVERY = 64 << 20  # bytes between two commits
_SECONDS = 1.0
_MANY = 32  # from this many pieces on, it is quicker to hold them in memory
INDEX = len(FILES)

_Piece = tuple[str, int, int]  # bytes of a file: its name, their start, and their number

# the two file systems or the operating system do not support it
_CANNOT = frozenset({errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})


class Merge:
    """The files of a run as they grow; the last of them is its index."""

    def __init__(self, work: Path, manifest: Manifest, shelf: Shelf, editor: Editor, index: str) -> None:
        self._work = work
        self._manifest, self._shelf, self._editor = manifest, shelf, editor
        self._index = index
        self._total = manifest.count()
        self._names = (*FILES, index)
        state = manifest.get("merge") or {"done": 0, "last": None, "sizes": [0] * len(self._names), "tally": None}
        self._done: int = state["done"]
        self._last: Range | None = Range(*state["last"]) if state["last"] else None
        self._sizes: list[int] = list(state["sizes"])
        self.tally = UnitTally.of(state["tally"]) if state["tally"] else UnitTally()
        self._files = [_cut(work / name, size) for name, size in zip(self._names, self._sizes, strict=True)]
        self._copied = 0
        self._since = time.monotonic()
        self._kept: list[tuple[int, int, dict[str, Any]]] = []

    def run(self, tell: Callable[[int, int], None]) -> None:
        """Append every range that is not merged yet; `tell` is called with the number of merged ones."""
        try:
            for row in self._manifest.plan(self._last):
                self._append(row)
                self._done, self._last = self._done + 1, row.piece
                if self._copied >= _EVERY or time.monotonic() - self._since >= _SECONDS:
                    self._commit()
                    tell(self._done, self._total)
            self._commit()
            tell(self._done, self._total)
        finally:
            for handle in self._files:
                os.close(handle)

    def _append(self, row: PlannedRange) -> None:
        stored = self._shelf.of(row)
        edits = self._manifest.edits(row.piece.number)
        if edits:
            cuts, tally = self._editor.apply(stored, edits)
            pieces = [self._cut_through(file, stored.records[file], some) for file, some in enumerate(cuts)]
            self.tally.add(tally.to_dict())
        else:
            pieces = [[self._copied_to(file, section)] for file, section in enumerate(stored.records)]
            self.tally.add(stored.part.tally)
        ids = self._sizes[INDEX]
        for place in (stored.ids, stored.spots, stored.foot):
            self._write(INDEX, RangesFile([place]))
        end = self._sizes[INDEX]
        where = {"index": self._index, "foot": end - stored.foot.size, "end": end, "pieces": pieces}
        self._kept.append((row.piece.number, ids, where))

    def _cut_through(self, file: int, section: RangesFile, cuts: list[SectionCut]) -> list[_Piece]:
        """Write a section with its cuts, and return the places of its original bytes: the cut ones are in the index."""
        pieces: list[_Piece] = []
        take = _in_memory(section) if len(cuts) > _MANY else section.cut
        at = 0
        for cut in cuts:
            if cut.start > at:
                pieces.append(self._copied_to(file, take(at, cut.start)))
            if cut.by:
                self._write(file, cut.by)
            if cut.end > cut.start:
                pieces.append(self._copied_to(INDEX, take(cut.start, cut.end)))
            at = max(at, cut.end)
        if at < section.size:
            pieces.append(self._copied_to(file, take(at, section.size)))
        return pieces

    def _copied_to(self, file: int, piece: RangesFile | bytes) -> _Piece:
        start = self._sizes[file]
        self._write(file, piece)
        return self._names[file], start, self._sizes[file] - start

    def _write(self, file: int, piece: RangesFile | bytes) -> None:
        with writing(self._work / self._names[file]):
            if isinstance(piece, RangesFile) and len(piece.places) <= _MANY:
                size = sum(_copy(self._files[file], place) for place in piece.places)
            else:
                size = _put(self._files[file], piece if isinstance(piece, bytes) else piece.read())
        self._sizes[file] += size
        self._copied += size

    def _commit(self) -> None:
        for handle in self._files:
            os.fsync(handle)
        state: dict[str, Any] = {
            "done": self._done, "last": list(self._last or ()), "sizes": self._sizes, "tally": self.tally.to_dict(),
        }  # fmt: skip
        self._manifest.commit({"merge": state}, kept(self._kept))
        for number, _, _ in self._kept:
            part_path(self._work / "parts", number).unlink(missing_ok=True)
        self._kept.clear()
        self._editor.forget()
        self._copied = 0
        self._since = time.monotonic()


def _in_memory(section: RangesFile) -> Callable[[int, int], bytes]:
    raw = section.read()
    return lambda start, end: raw[start:end]


def _cut(path: Path, size: int) -> int:
    """A file opened at the end of its safe content."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    if os.fstat(handle).st_size < size:
        os.close(handle)
        raise BrokenRange(f"{path}: the file is shorter than it was; use --fresh to start over")
    os.ftruncate(handle, size)
    os.lseek(handle, size, os.SEEK_SET)
    return handle


def _copy(handle: int, place: FileSpan) -> int:
    if not place.size:  # an empty file may not exist
        return 0
    with place.path.open("rb", buffering=0) as opened:
        opened.seek(place.start)
        left = place.size
        while left:
            moved = _move(opened.fileno(), handle, left)
            if not moved:
                raise BrokenRange(f"{place.path}: the file ends too early; use --fresh to start over")
            left -= moved
    return place.size


def _move(source: int, target: int, most: int) -> int:
    """Copy bytes between the current positions of two files, inside the operating system if it can."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, most)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
    return _put(target, os.read(source, min(_COPY, most)))


def _put(handle: int, data: bytes) -> int:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    return len(data)
