"""Duplicates: the parts of a run enter, the lines whose id an earlier line has taken leave, by range.

The ids of a part are sorted hashes of 128 bits. They are compared one interval of hashes after the other, in the order of the
input, so that memory does not grow with the number of units.
"""

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from trueup.batch.sieve import ID_ROW, ID_SIZE
from trueup.batch.work import ordinal_of, part_path

Ranges = Callable[[], Iterable[tuple[int, int, int]]]
AT_ONCE = 250_000  # ids held in memory
_HASHES = struct.Struct(f"{ID_SIZE}s{ID_ROW - ID_SIZE}x")


def duplicates_in(parts: str | Path, ranges: Ranges, at_once: int = AT_ONCE) -> dict[int, list[int]]:
    """The lines to be condemned, by the number of their range; `ranges` gives them anew for each interval."""
    total = sum(size for _, _, size in ranges()) // ID_ROW
    passes = max(1, -(-total // at_once))
    found: dict[int, list[int]] = {}
    for turn in range(passes):
        edges = _edge(turn, passes), _edge(turn + 1, passes)
        seen: set[bytes] = set()
        count = 0
        for _, block in _blocks(parts, ranges, *edges):
            seen.update(_hashes(block))
            count += len(block) // ID_ROW
        if len(seen) < count:  # which ones, is asked only where there are any
            seen.clear()
            for number, block in _blocks(parts, ranges, *edges):
                if taken := list(_taken(block, seen)):
                    found.setdefault(number, []).extend(taken)
    return found


def _taken(block: bytes, seen: set[bytes]) -> Iterator[int]:
    """The lines of a part whose id was seen before, in other parts or in this one; all its ids are seen from now on."""
    for at, key in enumerate(_hashes(block)):
        if key in seen:
            yield ordinal_of(block[at * ID_ROW : (at + 1) * ID_ROW])
        seen.add(key)


def _hashes(block: bytes) -> Iterable[bytes]:
    return chain.from_iterable(_HASHES.iter_unpack(block))


def _blocks(parts: str | Path, ranges: Ranges, low: bytes, high: bytes) -> Iterator[tuple[int, bytes]]:
    """The ids inside an interval, by the number of their range."""
    for number, start, size in ranges():
        if size:
            yield number, _block(part_path(parts, number), start, size // ID_ROW, low, high)


def _edge(turn: int, passes: int) -> bytes:
    """Where an interval of hashes begins; the last one ends beyond all of them."""
    if turn == passes:
        return b"\xff" * (ID_SIZE + 1)
    return (turn * (1 << 8 * ID_SIZE) // passes).to_bytes(ID_SIZE, "big")


def _block(path: Path, start: int, count: int, low: bytes, high: bytes) -> bytes:
    """The ids of a part inside an interval, as they stand."""
    with path.open("rb") as opened:
        table = _Table(opened, start, count)
        first, last = bisect_left(table, low), bisect_left(table, high)
        opened.seek(start + first * ID_ROW)
        return opened.read((last - first) * ID_ROW)


class _Table:
    """The sorted ids of a part, each read where it stands."""

    def __init__(self, opened: BinaryIO, start: int, count: int) -> None:
        self._opened = opened
        self._start = start
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> bytes:
        self._opened.seek(self._start + index * ID_ROW)
        return self._opened.read(ID_SIZE)
