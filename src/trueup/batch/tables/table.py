"""A table as a source of lines: what kind it is, and where its groups of rows are.

A group is a row group of Parquet or a record batch of Arrow. Every row has a place among the bytes that the table counts as, given by
its group and its number alone, so a range of bytes holds the same rows whoever reads it. They are packed: they travel to workers.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_ENTRY = struct.Struct("<6q")
LEAST = 256  # bytes a row counts as at least: a range of rows that pack well is still small


class BadTable(ValueError):
    """A table that cannot be read: says why."""


def is_damage(error: Exception) -> bool:
    """Whether an error is about the bytes of a file of Arrow's or Parquet's, rather than about getting at them."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if isinstance(error, OSError):
        return type(error) is OSError and error.errno is None  # so Arrow speaks of pages that do not decode
    return isinstance(error, pa.ArrowException) and not isinstance(error, pa.ArrowMemoryError)


class Group(NamedTuple):
    """Rows that are read together: the place of the first among the bytes of the table and the bytes each counts as, the number of
    the first, how many there are, and where they are in the file.
    """

    start: int
    step: int
    first: int
    rows: int
    at: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.step * self.rows

    def between(self, start: int, end: int) -> tuple[int, int]:
        """The rows of the group whose place lies in a range of bytes.

        >>> Group(100, 2, 0, 5, 0, 10).between(102, 105)
        (1, 3)
        """
        low, high = (-((self.start - edge) // self.step) for edge in (start, end))
        return max(0, low), min(self.rows, max(0, high))

    def place(self, row: int) -> int:
        """The place of a row of the group."""
        return self.start + self.step * row


class Table(NamedTuple):
    """What is known of a table before it is read: its kind, how many bytes it counts as, its groups, and what its kind needs."""

    kind: str
    extent: int
    packed: bytes = b""
    about: Any = None

    def groups(self, start: int, end: int) -> Iterator[Group]:
        """The groups that have rows in a range of bytes."""
        number = self._after(start)
        while number * _ENTRY.size < len(self.packed) and (group := self._group(number)).start < end:
            yield group
            number += 1

    def row(self, place: int) -> int:
        """The number of the row at a place; in a table of text, the place itself, which is a byte of the file."""
        if self.kind == "csv":
            return place
        group = self._group(self._after(place))
        return group.first + (place - group.start) // group.step

    def _after(self, place: int) -> int:
        """The first group that ends after a place."""
        low, high = 0, len(self.packed) // _ENTRY.size
        while low < high:
            middle = (low + high) // 2
            if self._group(middle).end <= place:
                low = middle + 1
            else:
                high = middle
        return low

    def _group(self, number: int) -> Group:
        return Group(*_ENTRY.unpack_from(self.packed, number * _ENTRY.size))


def indexed(kind: str, groups: Iterable[tuple[int, int, int, int]], about: Any = None) -> Table:
    """The table of groups: how many rows each has, the bytes these take, and where in the file they are and how long."""
    packed = bytearray()
    extent = first = 0
    for rows, weight, at, size in groups:
        if rows:
            step = max(LEAST, -(-weight // rows))
            packed += _ENTRY.pack(extent, step, first, rows, at, size)
            extent += step * rows
            first += rows
    return Table(kind, extent, bytes(packed), about)
