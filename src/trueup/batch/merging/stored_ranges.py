"""Finds the sections of a judged range, in its part or in the index and the files of a finished run.

Takes the number of a range and returns its sections as places in files. The index of a finished run has the ids, spots and foot
of every range. The records of a range are in the published files, except for edited ones: the index has their original form.
"""

import os
from bisect import bisect_left, bisect_right
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.judging.work import SPOT, TAIL, PartFoot, part_path, read_foot, read_part
from trueup.batch.siftdir.manifest import Manifest, PlannedRange

FILES = ("validated.jsonl", "failures.jsonl", "flips.jsonl")
VALID, FAILED, FLIPS = range(3)


class BrokenRange(RuntimeError):
    """A part or a file of the run is missing or incomplete."""


class FileSpan(NamedTuple):
    """Some bytes of a file."""

    path: Path
    start: int
    size: int

    def read(self) -> bytes:
        with self.path.open("rb") as opened:
            opened.seek(self.start)
            return opened.read(self.size)


class RangesFile:
    """Bytes at one or several places, read as one piece."""

    def __init__(self, places: list[FileSpan]) -> None:
        self.places = places
        self._starts = list(accumulate((place.size for place in places), initial=0))

    @property
    def size(self) -> int:
        return self._starts[-1]

    def cut(self, start: int, end: int) -> "RangesFile":
        """A piece of it."""
        found = []
        for at in range(max(0, bisect_right(self._starts, start) - 1), len(self.places)):
            path, begin, size = self.places[at]
            low, high = max(start - self._starts[at], 0), min(end - self._starts[at], size)
            if self._starts[at] >= end:
                break
            if low < high:
                found.append(FileSpan(path, begin + low, high - low))
        return RangesFile(found)

    def read(self) -> bytes:
        """All of it; each file is opened once."""
        with ExitStack() as stack:
            opened: dict[Path, int] = {}
            for path in dict.fromkeys(place.path for place in self.places if place.size):
                opened[path] = stack.enter_context(path.open("rb", buffering=0)).fileno()
            return b"".join(os.pread(opened[path], size, start) for path, start, size in self.places if size)


class StoredRange(NamedTuple):
    """A judged range: the foot of its part, its three sections of records, and the sections after them."""

    part: PartFoot
    records: tuple[RangesFile, ...]
    ids: FileSpan
    spots: FileSpan
    foot: FileSpan

    def spots_of(self, section: int) -> "SpotTable":
        """The spots of one section of records."""
        raw = self.spots.read()
        rows = [(offset, at) for kind, offset, at in SPOT.iter_unpack(raw) if kind == section]
        return SpotTable([offset for offset, _ in rows], [at for _, at in rows], self.records[section])


class SpotTable(NamedTuple):
    """The places of records in a section, by the offset of the line that each comes from."""

    offsets: list[int]
    starts: list[int]
    section: RangesFile

    def around(self, offset: int) -> tuple[int, int]:
        """The start and end of the records among which the record of a line is."""
        at = bisect_right(self.offsets, offset)
        return self.starts[at - 1], self.starts[at] if at < len(self.starts) else self.section.size

    def exactly(self, offset: int) -> tuple[int, int] | None:
        """The start and end of the record of the line alone; None if the section has none."""
        at = bisect_left(self.offsets, offset)
        return self.around(offset) if at < len(self.offsets) and self.offsets[at] == offset else None

    def start(self, offset: int) -> int:
        """Where in the section a record of a line would have to be."""
        at = bisect_left(self.offsets, offset)
        return self.starts[at] if at < len(self.starts) else self.section.size


class Shelf:
    """The judged ranges of a run, by number."""

    def __init__(self, work: Path, out: Path, manifest: Manifest, key: str) -> None:
        self._work, self._out = work, out
        self._manifest = manifest
        self._key = key

    def ids(self, row: PlannedRange) -> FileSpan:
        """The ids of a range."""
        return FileSpan(self._file(row), row.ids, row.size)

    def of(self, row: PlannedRange) -> StoredRange:
        """The places of the sections of a range."""
        path = self._file(row)
        part = read_part(path) if row.kept is None else _foot(path, row.kept)
        if part is None or part.key != self._key or part.piece != row.piece:
            raise BrokenRange(f"{path}: a part of this run is missing or incomplete; use --fresh to start over")
        sizes = part.sizes
        if row.kept is None:
            starts = [sum(sizes[:section]) for section in range(6)]
            records = [RangesFile([FileSpan(path, starts[section], sizes[section])]) for section in range(3)]
            end = path.stat().st_size
        else:
            starts = [0, 0, 0, row.ids, row.ids + sizes[3], row.ids + sizes[3] + sizes[4]]
            records = [RangesFile(list(map(self._place, pieces))) for pieces in row.kept["pieces"]]
            end = row.kept["end"]
        ids, spots = (FileSpan(path, starts[section], sizes[section]) for section in (3, 4))
        return StoredRange(part, tuple(records), ids, spots, FileSpan(path, starts[5], end - starts[5]))

    def number(self, number: int) -> StoredRange:
        """The same by the number of a range."""
        return self.of(self._manifest.range(number))

    def _file(self, row: PlannedRange) -> Path:
        return part_path(self._work / "parts", row.piece.number) if row.kept is None else self._work / row.kept["index"]

    def _place(self, piece: tuple[str, int, int]) -> FileSpan:
        """A piece of records: in a published file, or in an index."""
        name, start, size = piece
        return FileSpan((self._out if name in FILES else self._work) / name, start, size)


def _foot(path: Path, kept: dict[str, Any]) -> PartFoot | None:
    """The foot of a range in the index."""
    try:
        return read_foot(FileSpan(path, kept["foot"], kept["end"] - TAIL - kept["foot"]).read())
    except (FileNotFoundError, ValueError):
        return None
