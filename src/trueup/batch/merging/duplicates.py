"""Finds the lines that share an id: takes the ids of all ranges, and returns groups of lines, each in the order of the input.

The ids of a range are sorted hashes of 128 bits. If they do not fit in memory, they are split into buckets, files of hashes with
the same leading bits, and compared bucket by bucket. Every id is read, written and compared a fixed number of times, so time
grows with the number of units, and memory does not, even if many lines share one id.
"""

import shutil
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from trueup.batch.disk.full_disk import writing
from trueup.batch.judging.sieve import FAILED, ID_ROW, ID_SIZE, SILENT, STRANGE
from trueup.batch.merging.stored_ranges import FileSpan

Ranges = Callable[[], Iterable[tuple[int, FileSpan]]]  # the number of each range and its ids, in the order of the input
AT_ONCE = 250_000  # ids held in memory
MOST_BUCKETS = 1024  # files of one split
_BUFFERED = 16 << 20  # bytes held in memory until they are written to buckets
_CHUNK = 16_384  # rows read together

# a row of a bucket: an id, the offset of its line with its outcome, the place of its range in the input, and its number
_ROW = struct.Struct(f">{ID_SIZE}sQII")
_RANGE = struct.Struct(">II")
_HASHES = struct.Struct(f"{ID_SIZE}s{_ROW.size - ID_SIZE}x")
_LEADING = struct.Struct(f">I{_ROW.size - 4}x")
_LEADING_BITS = 32

_Blocks = Callable[[], Iterable[bytes]]  # rows of a bucket, a few at a time; they can be read more than once


class IdLine(NamedTuple):
    """A line by its range and offset, with its outcome. A `silent` line has no reply."""

    number: int
    offset: int
    failed: bool
    silent: bool


Group = Iterable[IdLine]  # the lines of one id in the order of the input; they can be iterated more than once


def groups_in(
    ranges: Ranges, folder: Path, tell: Callable[[int, int], None] | None = None, at_once: int = 0
) -> Iterator[Group]:
    """The lines of each id that several lines have. `tell` is called with the number of ids compared so far, and of all ids.

    A group can be iterated any number of times until the next one is taken. Buckets are files in `folder`, which is removed
    before and after: a comparison that was killed starts again.
    """
    total = sum(place.size for _, place in ranges()) // ID_ROW
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield from _Comparison(_Progress(total, tell), at_once or AT_ONCE).groups(
            lambda: _rows_of(ranges), total, folder, 0
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Many:
    """The lines of an id that are too many to hold in memory; each iteration reads them again."""

    def __init__(self, blocks: _Blocks, key: bytes) -> None:
        self._blocks, self._key = blocks, key

    def __iter__(self) -> Iterator[IdLine]:
        for _, lines in groupby(self._lines(), itemgetter(0)):  # one range after the other
            yield from (line for _, _, line in sorted(lines))

    def _lines(self) -> Iterator[tuple[int, int, IdLine]]:
        for block in self._blocks():
            yield from (line for _, line in _lines_in(block, {self._key}))


class _Progress:
    """How many ids were compared. An id that is only in its bucket counts half."""

    def __init__(self, total: int, tell: Callable[[int, int], None] | None) -> None:
        self._total, self._tell = total, tell
        self._split = self._compared = 0

    def split(self, rows: int) -> None:
        self._split += rows
        self._say()

    def compared(self, rows: int) -> None:
        self._compared += rows
        self._say()

    def _say(self) -> None:
        if self._tell is not None:
            self._tell((min(max(self._split, self._compared), self._total) + self._compared) // 2, self._total)


class _Comparison:
    """The comparison of some rows, bucket by bucket if they are too many to hold in memory."""

    def __init__(self, progress: _Progress, at_once: int) -> None:
        self._progress, self._at_once = progress, at_once

    def groups(self, blocks: _Blocks, total: int, folder: Path, known: int) -> Iterator[Group]:
        """The groups in some rows whose hashes share their first `known` bits. Too many rows are split."""
        bits = min(MOST_BUCKETS.bit_length() - 1, (2 * total // self._at_once).bit_length(), _LEADING_BITS - known)
        if total <= self._at_once or not bits:
            yield from self._compared(blocks, held=total <= self._at_once)
            return
        buckets = _Buckets(folder, known + bits, _BUFFERED >> bits)
        for block in blocks():
            buckets.add(_by_bits(block) if known else block)
            self._progress.split(len(block) // _ROW.size)
        for path in buckets.close():
            rows = path.stat().st_size // _ROW.size
            yield from self.groups(_reading(path), rows, path.with_suffix(".split"), known + bits)
            path.unlink()
        folder.rmdir()

    def _compared(self, blocks: _Blocks, *, held: bool) -> Iterator[Group]:
        """The groups in rows that fit in memory, or that have too few different hashes to be split."""
        seen: set[bytes] = set()
        shared: set[bytes] = set()
        for block in blocks():
            _compare(block, seen, shared)
            self._progress.compared(len(block) // _ROW.size)
        if shared:
            seen.clear()
            yield from _lines_of(blocks, shared) if held else _many(blocks, shared)


class _Buckets:
    """Files by the leading bits of their hashes. A file is only opened when its buffer is full, so few are open at the same time."""

    def __init__(self, folder: Path, bits: int, buffered: int) -> None:
        self._folder, self._shift, self._buffered = folder, _LEADING_BITS - bits, buffered
        self._waiting: dict[int, bytearray] = {}
        self._used: set[int] = set()
        with writing(folder):
            folder.mkdir(parents=True)

    def add(self, block: bytes) -> None:
        """Put rows, sorted by their leading bits, into their buckets."""
        leading = list(chain.from_iterable(_LEADING.iter_unpack(block)))
        row = 0
        while row < len(leading):
            bucket = leading[row] >> self._shift
            end = bisect_left(leading, (bucket + 1) << self._shift, row)
            waiting = self._waiting.setdefault(bucket, bytearray())
            waiting += block[row * _ROW.size : end * _ROW.size]
            if len(waiting) >= self._buffered:
                self._write(bucket)
            row = end

    def close(self) -> list[Path]:
        """Write the rest, and return the files."""
        for bucket in list(self._waiting):
            self._write(bucket)
        return [self._path(bucket) for bucket in sorted(self._used)]

    def _write(self, bucket: int) -> None:
        path = self._path(bucket)
        with writing(path), path.open("ab", buffering=0) as opened:
            rest = memoryview(self._waiting.pop(bucket))
            while rest:
                rest = rest[opened.write(rest) :]
        self._used.add(bucket)

    def _path(self, bucket: int) -> Path:
        return self._folder / f"{bucket:08x}.ids"


def _rows_of(ranges: Ranges) -> Iterator[bytes]:
    """The ids of all ranges as sorted rows, a few at a time."""
    for order, (number, place) in enumerate(ranges()):
        left = place.size
        if not left:
            continue
        with place.path.open("rb") as opened:
            opened.seek(place.start)
            while left and (block := opened.read(min(left, _CHUNK * ID_ROW))):
                yield _widened(block, _RANGE.pack(order, number))
                left -= len(block)


def _widened(block: bytes, more: bytes) -> bytes:
    """Rows with more bytes added to the end of each. The loop is over columns, since there are fewer of them than rows."""
    rows = bytearray(len(block) // ID_ROW * _ROW.size)
    for column in range(ID_ROW):
        rows[column :: _ROW.size] = block[column::ID_ROW]
    for column, byte in enumerate(more, ID_ROW):
        rows[column :: _ROW.size] = bytes((byte,)) * (len(block) // ID_ROW)
    return bytes(rows)


def _reading(path: Path) -> _Blocks:
    """The rows of a bucket, a few at a time."""

    def blocks() -> Iterator[bytes]:
        with path.open("rb") as opened:
            while block := opened.read(_CHUNK * _ROW.size):
                yield block

    return blocks


def _by_bits(block: bytes) -> bytes:
    """Rows sorted by their leading bits, and otherwise in the order of the input."""
    rows = [block[at : at + _ROW.size] for at in range(0, len(block), _ROW.size)]
    rows.sort(key=_leading)
    return b"".join(rows)


def _leading(row: bytes) -> bytes:
    return row[: _LEADING_BITS // 8]


def _compare(block: bytes, seen: set[bytes], shared: set[bytes]) -> None:
    """Add the hashes of a block to the known ones, and those that were known before to the shared ones."""
    hashes = set(_hashes(block))
    if len(hashes) * _ROW.size < len(block):
        shared.update(key for key, times in Counter(_hashes(block)).items() if times > 1)
    if not seen.isdisjoint(hashes):
        shared |= seen & hashes
    seen |= hashes


def _lines_of(blocks: _Blocks, shared: set[bytes]) -> Iterator[Group]:
    """The lines of some hashes, grouped by hash."""
    groups: dict[bytes, list[tuple[int, int, IdLine]]] = {key: [] for key in sorted(shared)}
    for block in blocks():
        for key, line in _lines_in(block, shared):
            groups[key].append(line)
    for lines in groups.values():
        if len(lines) > 1:
            yield [line for _, _, line in sorted(lines)]


def _many(blocks: _Blocks, shared: set[bytes]) -> Iterator[Group]:
    """The same, with at most the lines of one range in memory."""
    for key in sorted(shared):
        group = _Many(blocks, key)
        if len(list(islice(group, 2))) > 1:
            yield group


def _lines_in(block: bytes, wanted: set[bytes]) -> Iterator[tuple[bytes, tuple[int, int, IdLine]]]:
    """The rows with some hashes: each hash and its line, with the place of its range and its offset. Lines that are not units
    have no row.
    """
    for key, value, order, number in compress(_ROW.iter_unpack(block), map(wanted.__contains__, _hashes(block))):
        if not value & STRANGE:
            offset = value & (STRANGE - 1)
            yield key, (order, offset, IdLine(number, offset, bool(value & FAILED), bool(value & SILENT)))


def _hashes(block: bytes) -> Iterable[bytes]:
    return chain.from_iterable(_HASHES.iter_unpack(block))


class HeldIds:
    """The sorted ids of a block in memory, for searching."""

    def __init__(self, block: bytes) -> None:
        self._block = block

    def __len__(self) -> int:
        return len(self._block) // ID_ROW

    def __getitem__(self, index: int) -> bytes:
        return self._block[index * ID_ROW : index * ID_ROW + ID_SIZE]
