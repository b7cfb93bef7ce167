"""Work: one range is judged and becomes one part: valid lines, failed lines, flips, the ids it took, and what it counted.

A part is put in place whole (written beside, synced, renamed) or not at all. Its bytes depend on the range, the contract and the
condemned lines alone, never on who made it.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueup.batch.contracts import Spec
from trueup.batch.ranges import Long, Range, lines_of
from trueup.batch.sieve import ID_SIZE, Sieve
from trueup.batch.sources import Source

_TAIL = struct.Struct("<Q")
MARK = b"\xef\xbb\xbf"
IDLE = -1  # what stands in a beat while no line is judged
_AT_ONCE = 128  # valid lines that are kept before they are handed on: as many as stay in the cache

Beat = MutableSequence[int]


class Job(NamedTuple):
    """What all ranges of a run share; `key` tells the run from another."""

    key: str
    spec: Spec
    sources: tuple[Source, ...]
    parts: str
    max_line: int
    flips: bool = False


class Task(NamedTuple):
    """One range to be judged, and the lines in it that are not to be: their number and the code they fail with."""

    piece: Range
    condemned: Mapping[int, str] = {}


class Guard(NamedTuple):
    """What one unit may take: seconds, and megabytes of memory for its worker."""

    seconds: float = 60.0
    megabytes: int = 1024


class Done(NamedTuple):
    """A range whose part is in place: the lengths of its sections, and its tally."""

    number: int
    sizes: tuple[int, ...]
    tally: dict[str, Any]


class EngineFailed(RuntimeError):
    """The work cannot go on: says why and what to do."""


class Part(NamedTuple):
    """What a finished part says of itself: the lengths of its sections and its tally."""

    key: str
    number: int
    sizes: tuple[int, int, int, int]
    condemned: dict[int, str]
    tally: dict[str, Any]


def judge_range(job: Job, contract: Any, task: Task, beat: Beat) -> Iterator[bytes]:
    """Judge a range; gives its part, piece by piece. The number of each line stands in `beat` while it is judged."""
    piece, condemned = task
    source = job.sources[piece.source]
    sieve = Sieve(contract, source.name, max_line=job.max_line, flips=job.flips, beat=beat)
    sift, valid = sieve.sift, sieve.valid
    blank = size = 0
    with source.open() as opened:
        for ordinal, (offset, line) in enumerate(lines_of(opened, piece, job.max_line, source.size)):
            beat[0] = ordinal
            if isinstance(line, Long):
                sieve.sift_long(line.head, line.size, ordinal, offset)
                continue
            if offset == 0 and line.startswith(MARK):
                line = line[3:]
            if not line or line.isspace():
                blank += 1
            elif condemned and ordinal in condemned:
                sieve.condemn(line, ordinal, offset, condemned[ordinal])
            else:
                sift(line, ordinal, offset)
                if len(valid) >= _AT_ONCE and sieve.is_ready():
                    lines = sieve.take()
                    size += len(lines)
                    beat[0] = IDLE  # to write may take long, and is no fault of a line
                    yield lines
    lines = sieve.take()
    beat[0] = IDLE
    yield lines
    tally = sieve.counted()
    tally.counts["blank"] = blank
    tally.counts["bytes"] = piece.end - piece.start
    yield from _rest(job, task, sieve, size + len(lines))


def _rest(job: Job, task: Task, sieve: Sieve, size: int) -> Iterator[bytes]:
    """What follows the valid lines of a part, which have `size` bytes."""
    sieve.ids.sort()
    sections = tuple(map(b"".join, (sieve.failed, sieve.flips, sieve.ids)))
    foot = orjson.dumps(
        {
            "key": job.key,
            "number": task.piece.number,
            "sizes": [size, *map(len, sections)],
            "condemned": [[ordinal, code] for ordinal, code in sorted(task.condemned.items())],
            "tally": sieve.tally.to_dict(),
        },
        default=str,
    )
    yield from (*sections, foot, _TAIL.pack(len(foot)))


def part_path(parts: str | Path, number: int) -> Path:
    """Where the part of a range stands: a number, never a name from the data."""
    return Path(parts) / f"{number:08d}.part"


def write_part(parts: str | Path, number: int, pieces: Iterable[bytes]) -> Done:
    """Put a part in place as it is made: all of it or none of it is there after a crash."""
    path = part_path(parts, number)
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        try:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    part = read_part(path)
    if part is None:
        raise EngineFailed(f"{path}: the part that was written is not whole; look at the disk")
    return Done(number, part.sizes, part.tally)


def read_part(path: Path) -> Part | None:
    """What a part says of itself; None where there is none, or none that is whole."""
    try:
        with path.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            if size < _TAIL.size:
                return None
            opened.seek(size - _TAIL.size)
            (length,) = _TAIL.unpack(opened.read(_TAIL.size))
            if length > size - _TAIL.size:
                return None
            opened.seek(size - _TAIL.size - length)
            foot = orjson.loads(opened.read(length))
    except (FileNotFoundError, ValueError):
        return None
    if sum(foot["sizes"]) + length + _TAIL.size != size:
        return None
    first, second, third, fourth = foot["sizes"]
    condemned = dict(foot["condemned"])
    return Part(foot["key"], foot["number"], (first, second, third, fourth), condemned, foot["tally"])


def ordinal_of(row: bytes) -> int:
    """The number of the line in one row of the ids of a part."""
    return int.from_bytes(row[ID_SIZE:], "big")
