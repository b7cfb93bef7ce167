"""A table as a source of lines: its kind, and the places of its groups of rows.

A group is a row group of Parquet or a record batch of Arrow. A table counts as a number of bytes, and each row has a place among
them that depends only on its group and its number, so a range of bytes always means the same rows. Groups are packed, since they
are sent to workers.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_ENTRY = struct.Struct("<6q")
LEAST = 256  # the least number of bytes that a row counts as
ROWS_AT_ONCE = 128  # the most rows whose values are held: a value that many rows share is stored in each of them


class BadTable(ValueError):
    """A table that cannot be read. The message says why."""


def is_damage(error: Exception) -> bool:
    """Whether an error is about the bytes of an Arrow or Parquet file, rather than about getting at them."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if isinstance(error, OSError):
        return type(error) is OSError and error.errno is None  # Arrow's words for pages that cannot be decoded
    return isinstance(error, pa.ArrowException) and not isinstance(error, pa.ArrowMemoryError)


class RowGroup(NamedTuple):
    """Rows that are read together: the place of the first row among the bytes of the table, the bytes each row counts as, the
    number of the first row, the number of rows, and their place in the file.
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
        """The rows of the group whose places are in a range of bytes.

        >>> RowGroup(100, 2, 0, 5, 0, 10).between(102, 105)
        (1, 3)
        """
        low, high = (-((self.start - edge) // self.step) for edge in (start, end))
        return max(0, low), min(self.rows, max(0, high))

    def place(self, row: int) -> int:
        """The place of a row of the group."""
        return self.start + self.step * row


class SourceTable(NamedTuple):
    """The facts about a table that are known before it is read: its kind, the bytes it counts as, its groups, and details of its kind."""

    kind: str
    extent: int
    packed: bytes = b""
    about: Any = None

    def groups(self, start: int, end: int) -> Iterator[RowGroup]:
        """The groups that have rows in a range of bytes."""
        number = self._after(start)
        while number * _ENTRY.size < len(self.packed) and (group := self._group(number)).start < end:
            yield group
            number += 1

    def row(self, place: int) -> int:
        """The number of the row at a place; in a text table, the place itself, which is a byte of the file."""
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

    def _group(self, number: int) -> RowGroup:
        return RowGroup(*_ENTRY.unpack_from(self.packed, number * _ENTRY.size))

    def heads(self, rows: int) -> Iterator[tuple[int, int]]:
        """The ranges of bytes with the first rows of some groups: the first, the last, and two between them."""
        last = len(self.packed) // _ENTRY.size - 1
        for number in sorted({0, last // 3, 2 * last // 3, last}) if last >= 0 else ():
            group = self._group(number)
            yield group.start, min(group.place(rows), group.end)

    def weighed(self, least: int) -> "SourceTable":
        """The same table with a larger minimum of bytes for a row.

        Values that rows share are stored once. Without this, a range could have any number of bytes of lines.
        """
        groups = (self._group(number) for number in range(len(self.packed) // _ENTRY.size))
        found = ((group.rows, group.step * group.rows, group.at, group.size) for group in groups)
        return indexed(self.kind, found, self.about, least)


def indexed(
    kind: str, groups: Iterable[tuple[int, int, int, int]], about: Any = None, least: int = LEAST
) -> SourceTable:  # fmt: skip
    """The table of some groups: the number of rows of each, the bytes they take, and their place and size in the file."""
    packed = bytearray()
    extent = first = 0
    for rows, weight, at, size in groups:
        if rows:
            step = max(least, -(-weight // rows))
            packed += _ENTRY.pack(extent, step, first, rows, at, size)
            extent += step * rows
            first += rows
    return SourceTable(kind, extent, bytes(packed), about)
