"""Stored ranges: where the sections of a judged range are, in its part or in the index and the files of a finished run.

The number of a range enters, its sections leave as places in files. The index of a finished run has the ids, spots and foot of
every range. The records of a range are in the published files, but for those that came out otherwise than they were judged: the
index has them as they were.
"""

import os
from bisect import bisect_left, bisect_right
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.judging.work import SPOT, TAIL, Part, part_path, read_foot, read_part
from trueup.batch.siftdir.manifest import Manifest, Planned

FILES = ("validated.jsonl", "failures.jsonl", "flips.jsonl")
VALID, FAILED, FLIPS = range(3)


class Broken(RuntimeError):
    """A part or a file of the run is missing, or not whole."""


class Place(NamedTuple):
    """Some bytes of a file."""

    path: Path
    start: int
    size: int

    def read(self) -> bytes:
        with self.path.open("rb") as opened:
            opened.seek(self.start)
            return opened.read(self.size)


class Section:
    """Bytes that lie in one or several places, as one piece."""

    def __init__(self, places: list[Place]) -> None:
        self.places = places
        self._starts = list(accumulate((place.size for place in places), initial=0))

    @property
    def size(self) -> int:
        return self._starts[-1]

    def cut(self, start: int, end: int) -> "Section":
        """A piece of it."""
        found = []
        for at in range(max(0, bisect_right(self._starts, start) - 1), len(self.places)):
            path, begin, size = self.places[at]
            low, high = max(start - self._starts[at], 0), min(end - self._starts[at], size)
            if self._starts[at] >= end:
                break
            if low < high:
                found.append(Place(path, begin + low, high - low))
        return Section(found)

    def read(self) -> bytes:
        """All of it; each file is opened once."""
        with ExitStack() as stack:
            opened: dict[Path, int] = {}
            for path in dict.fromkeys(place.path for place in self.places if place.size):
                opened[path] = stack.enter_context(path.open("rb", buffering=0)).fileno()
            return b"".join(os.pread(opened[path], size, start) for path, start, size in self.places if size)


class Stored(NamedTuple):
    """A judged range: what its part says of itself, its three sections of records, and what follows them."""

    part: Part
    records: tuple[Section, ...]
    ids: Place
    spots: Place
    foot: Place

    def spots_of(self, section: int) -> "Spots":
        """The spots of one section of records."""
        raw = self.spots.read()
        rows = [(offset, at) for kind, offset, at in SPOT.iter_unpack(raw) if kind == section]
        return Spots([offset for offset, _ in rows], [at for _, at in rows], self.records[section])


class Spots(NamedTuple):
    """Where the records of a section begin, by the offset of the line that each comes from."""

    offsets: list[int]
    starts: list[int]
    section: Section

    def around(self, offset: int) -> tuple[int, int]:
        """From where to where the records are among which the one of a line is."""
        at = bisect_right(self.offsets, offset)
        return self.starts[at - 1], self.starts[at] if at < len(self.starts) else self.section.size

    def exactly(self, offset: int) -> tuple[int, int] | None:
        """The same for the record of the line alone; None if the section has none."""
        at = bisect_left(self.offsets, offset)
        return self.around(offset) if at < len(self.offsets) and self.offsets[at] == offset else None

    def start(self, offset: int) -> int:
        """Where in the section a record of a line would have to stand."""
        at = bisect_left(self.offsets, offset)
        return self.starts[at] if at < len(self.starts) else self.section.size


class Shelf:
    """The judged ranges of a run, by number."""

    def __init__(self, work: Path, out: Path, manifest: Manifest, key: str) -> None:
        self._work, self._out = work, out
        self._manifest = manifest
        self._key = key

    def ids(self, row: Planned) -> Place:
        """The ids of a range."""
        return Place(self._file(row), row.ids, row.size)

    def of(self, row: Planned) -> Stored:
        """Where the sections of a range are."""
        path = self._file(row)
        part = read_part(path) if row.kept is None else _foot(path, row.kept)
        if part is None or part.key != self._key or part.piece != row.piece:
            raise Broken(f"{path}: a part of this run is missing or not whole; use --fresh to start over")
        sizes = part.sizes
        if row.kept is None:
            starts = [sum(sizes[:section]) for section in range(6)]
            records = [Section([Place(path, starts[section], sizes[section])]) for section in range(3)]
            end = path.stat().st_size
        else:
            starts = [0, 0, 0, row.ids, row.ids + sizes[3], row.ids + sizes[3] + sizes[4]]
            records = [Section(list(map(self._place, pieces))) for pieces in row.kept["pieces"]]
            end = row.kept["end"]
        ids, spots = (Place(path, starts[section], sizes[section]) for section in (3, 4))
        return Stored(part, tuple(records), ids, spots, Place(path, starts[5], end - starts[5]))

    def number(self, number: int) -> Stored:
        """The same by the number of a range."""
        return self.of(self._manifest.range(number))

    def _file(self, row: Planned) -> Path:
        return part_path(self._work / "parts", row.piece.number) if row.kept is None else self._work / row.kept["index"]

    def _place(self, piece: tuple[str, int, int]) -> Place:
        """A piece of records: in a published file, or in an index."""
        name, start, size = piece
        return Place((self._out if name in FILES else self._work) / name, start, size)


def _foot(path: Path, kept: dict[str, Any]) -> Part | None:
    """The foot of a range in the index."""
    try:
        return read_foot(Place(path, kept["foot"], kept["end"] - TAIL - kept["foot"]).read())
    except (FileNotFoundError, ValueError):
        return None
