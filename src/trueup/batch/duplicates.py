"""Duplicates: the parts of a run enter, the lines whose id an earlier line has taken leave, by range.

The ids of a part are sorted hashes of 128 bits. They are compared one interval of hashes after the other, in the order of the
input, so that memory does not grow with the number of units.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from trueup.batch.sieve import ID_ROW, ID_SIZE
from trueup.batch.work import ordinal_of, part_path

Ranges = Callable[[], Iterable[tuple[int, int, int]]]
AT_ONCE = 250_000  # ids held in memory


def duplicates_in(parts: str | Path, ranges: Ranges, at_once: int = AT_ONCE) -> dict[int, list[int]]:
    """The lines to be condemned, by the number of their range; `ranges` gives them anew for each interval."""
    total = sum(size for _, _, size in ranges()) // ID_ROW
    passes = max(1, -(-total // at_once))
    found: dict[int, list[int]] = {}
    for turn in range(passes):
        low, high = _edge(turn, passes), _edge(turn + 1, passes)
        seen: set[bytes] = set()
        for number, start, size in ranges():
            block = _block(part_path(parts, number), start, size // ID_ROW, low, high) if size else b""
            keys = [block[at : at + ID_SIZE] for at in range(0, len(block), ID_ROW)]
            new = set(keys)
            if len(new) < len(keys) or not seen.isdisjoint(new):
                found.setdefault(number, []).extend(_taken(block, keys, seen))
            seen |= new
    return found


def _taken(block: bytes, keys: list[bytes], seen: set[bytes]) -> Iterator[int]:
    """The lines of a part whose id was seen before, in other parts or in this one."""
    own: set[bytes] = set()
    for at, key in enumerate(keys):
        if key in seen or key in own:
            yield ordinal_of(block[at * ID_ROW : (at + 1) * ID_ROW])
        own.add(key)


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
