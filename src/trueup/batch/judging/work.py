"""Judges one range into one part: valid lines, failed lines, flips, ids, spots, and a tally.

A part is put in place whole (written beside, synced, renamed) or not at all. Its bytes depend only on the range, the contract and
the condemned lines, not on the process that made it. Spots are places in the first three sections, by the offset of the line: the
start of every failed line and every flip, and of every n-th valid line.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from zlib import crc32

import orjson

from trueup.batch.disk.full_disk import writing
from trueup.batch.input.ranges import Lines, Range, UnreadableRow, blocks_of
from trueup.batch.input.sources import InputSource
from trueup.batch.judging.contracts import ContractSpec
from trueup.batch.judging.sieve import Sieve

_TAIL = struct.Struct("<Q")
TAIL = _TAIL.size  # the last bytes of a part, which give the length of its foot
SPOT = struct.Struct(">BQQ")  # the section, the offset of the line, the place in the section
IDLE = -1  # value of a beat while no line is judged
_AT_ONCE = 128  # valid lines that are kept before they are handed on; as many as stay in the processor's cache

Beat = MutableSequence[int]


class SiftJob(NamedTuple):
    """The facts that all ranges of a run share; `key` identifies the run."""

    key: str
    spec: ContractSpec
    sources: tuple[InputSource, ...]
    parts: str
    max_line: int
    flips: bool = False


class RangeTask(NamedTuple):
    """One range to judge, and the lines in it to fail without judging: their number and the code they fail with."""

    piece: Range
    condemned: Mapping[int, str] = {}


class UnitLimits(NamedTuple):
    """The limits of one unit: seconds, and megabytes of memory for its worker."""

    seconds: float = 60.0
    megabytes: int = 1024


class JudgedRange(NamedTuple):
    """A range whose part is in place: the lengths of its sections, and its tally."""

    number: int
    sizes: tuple[int, ...]
    tally: dict[str, Any]


class EngineFailed(RuntimeError):
    """The work cannot continue. The message says why and what to do."""


class PartFoot(NamedTuple):
    """The foot of a finished part: its range, the lengths of its sections, its tally, and the hash of the bytes it read."""

    key: str
    piece: Range
    sizes: tuple[int, ...]
    condemned: dict[int, str]
    tally: dict[str, Any]
    crc: int


class HashingFile:
    """A file that hashes all bytes that are read from it, so that a later run can recognize the range."""

    __slots__ = ("_opened", "crc")

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self.crc = 0

    def seek(self, offset: int) -> int:
        return self._opened.seek(offset)

    def read(self, size: int = -1) -> bytes:
        return self.add(self._opened.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self.add(self._opened.readline(size))

    def add(self, block: bytes) -> bytes:
        """Add bytes to the hash."""
        self.crc = crc32(block, self.crc)
        return block


def judge_range(job: SiftJob, contract: Any, task: RangeTask, beat: Beat) -> Iterator[bytes]:
    """Judge a range, and return its part piece by piece. The number of each line is in `beat` while it is judged."""
    piece, condemned = task
    source = job.sources[piece.source]
    sieve = Sieve(contract, source.name, row=source.row, max_line=job.max_line, flips=job.flips, beat=beat)
    size = ordinal = 0
    batches = [(piece.start, 0)]
    with source.open() as opened:
        summed = HashingFile(opened)
        for offset, block in _blocks(source, summed, piece, job.max_line):
            if not isinstance(block, list):
                beat[0] = ordinal
                sieve.sift_unread(block, offset)
                ordinal += 1
                continue
            for some in _turns(block, ordinal, condemned):
                code = condemned.get(ordinal) if condemned else None
                if code is not None and some[0].strip():
                    beat[0] = ordinal
                    sieve.condemn(some[0], offset, code)
                else:
                    sieve.sift_lines(some, ordinal, offset)
                ordinal += len(some)
                offset += 1 if source.by_row else sum(map(len, some)) + len(some)
                if len(sieve.valid) >= _AT_ONCE and sieve.is_ready():
                    lines = sieve.take()
                    size += len(lines)
                    batches.append((offset, size))
                    beat[0] = IDLE  # writing may take long, and that is not the line's fault
                    yield lines
    lines = sieve.take()
    beat[0] = IDLE
    yield lines
    sieve.counted().counts["bytes"] = piece.end - piece.start
    yield from _rest(job, task, sieve, batches, size + len(lines), summed.crc)


def sum_of(source: InputSource, piece: Range, limit: int) -> int:
    """The hash of the bytes that a range is judged from, as in the foot of its part."""
    with source.open() as opened:
        summed = HashingFile(opened)
        for _ in _blocks(source, summed, piece, limit):
            pass
    return summed.crc


def _blocks(
    source: InputSource, summed: HashingFile, piece: Range, limit: int
) -> Iterator[tuple[int, Lines | UnreadableRow]]:
    """The lines of a range in blocks, each with the offset of its first line; one by one if offsets do not follow from the lines."""
    opened = cast("BinaryIO", summed)
    if not source.by_row:
        yield from blocks_of(opened, piece, limit, source.size)
        return
    for offset, line in source.rows(opened, piece, limit):
        if source.table is not None:
            summed.add(line if isinstance(line, bytes) else line[0])
        yield offset, [line] if isinstance(line, bytes) else line


def _turns(lines: list[bytes], ordinal: int, condemned: Mapping[int, str]) -> Iterator[list[bytes]]:
    """Lines that follow each other, a few at a time; a condemned line comes alone."""
    at = 0
    while at < len(lines):
        stop = at + _AT_ONCE
        if condemned:
            first = next((line for line in range(at, stop) if ordinal + line in condemned), stop)
            stop = max(first, at + 1)
        yield lines[at:stop]
        at = stop


def _rest(
    job: SiftJob, task: RangeTask, sieve: Sieve, batches: list[tuple[int, int]], size: int, crc: int
) -> Iterator[bytes]:  # fmt: skip
    """The sections after the valid lines of a part, which have `size` bytes."""
    sieve.ids.sort()
    failed, flips, ids = map(b"".join, (sieve.failed, sieve.flips, sieve.ids))
    rows = [(0, *batch) for batch in batches]
    rows += ((1, *spot) for spot in zip(sieve.failed_at, _starts(sieve.failed), strict=False))
    rows += ((2, *spot) for spot in zip(sieve.flips_at, _starts(sieve.flips), strict=False))
    spots = b"".join(SPOT.pack(*row) for row in rows)
    foot = orjson.dumps(
        {
            "key": job.key,
            "piece": list(task.piece),
            "sizes": [size, *map(len, (failed, flips, ids, spots))],
            "condemned": [[ordinal, code] for ordinal, code in sorted(task.condemned.items())],
            "tally": sieve.tally.to_dict(),
            "crc": crc,
        },
        default=str,
    )
    yield from (failed, flips, ids + spots, foot, _TAIL.pack(len(foot)))


def _starts(lines: list[bytes]) -> Iterator[int]:
    """The offset of each line, if the lines follow each other."""
    return accumulate(map(len, lines), initial=0)


def part_path(parts: str | Path, number: int) -> Path:
    """The path of a range's part: a number, never a name from the data."""
    return Path(parts) / f"{number:08d}.part"


def write_part(parts: str | Path, number: int, pieces: Iterable[bytes]) -> JudgedRange:
    """Put a part in place as it is made. After a crash it is there completely or not at all."""
    path = part_path(parts, number)
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    with writing(path):
        _put_part(path, beside, pieces)
    part = read_part(path)
    if part is None:
        raise EngineFailed(f"{path}: the part that was written is incomplete; check the disk")
    return JudgedRange(number, part.sizes, part.tally)


def _put_part(path: Path, beside: Path, pieces: Iterable[bytes]) -> None:
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


def read_part(path: Path) -> PartFoot | None:
    """The foot of a part; None if the part is missing or incomplete."""
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
            part = read_foot(opened.read(length))
    except (FileNotFoundError, ValueError):
        return None
    return part if sum(part.sizes) + length + _TAIL.size == size else None


def read_foot(raw: bytes) -> PartFoot:
    """The foot in the bytes of a part."""
    foot = orjson.loads(raw)
    condemned = dict(foot["condemned"])
    return PartFoot(foot["key"], Range(*foot["piece"]), tuple(foot["sizes"]), condemned, foot["tally"], foot["crc"])
