"""Files of cells with a delimiter, CSV and TSV: where records begin, and the records of a range.

A line break inside quotes belongs to its cell, so a file is read once from its beginning to find where records start; workers begin
there. Only the first line of a record that cannot be read is lost to it: the line fails, and reading begins again after it.
"""

import csv
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from trueup.batch.input.ranges import Long, Range, Spoiled
from trueup.batch.tables.rows import ID, Columns, Shape
from trueup.batch.tables.table import BadTable, Table

_STRIDE = 1 << 20  # bytes between two known starts of records
_DELIMITERS = ",;\t|"
_MOST_HEADER = 1 << 20
_HEAD = 65_536
_MARK = b"\xef\xbb\xbf"


class About(NamedTuple):
    """The names in the header, the delimiter, and the end of the header."""

    names: tuple[str, ...]
    delimiter: str
    start: int


class _Record(NamedTuple):
    """One record: where it begins and ends, its cells, or its text and why it has none."""

    at: int
    end: int
    cells: list[str]
    text: bytes = b""
    why: str = ""


def index(opened: BinaryIO, limit: int) -> Table:
    """The header of a file, and where records start in it."""
    about = _header(opened)
    size = opened.seek(0, 2)
    if about is None:
        return Table("csv", 0, b"", About((), ",", 0))
    marks = bytearray()
    due = 0
    for record in _records(opened, about, about.start, limit):
        while record.at >= due:  # the first record at or after each of these places
            marks += struct.pack("<q", record.at)
            due += _STRIDE
    return Table("csv", size, bytes(marks), about)


def lines(
    opened: BinaryIO, table: Table, piece: Range, limit: int, columns: Columns
) -> Iterator[tuple[int, bytes | Long | Spoiled]]:
    """The lines of the records that begin in a range, each with the place of its first byte."""
    about: About = table.about
    shape = Shape(about.names, columns)
    known = piece.start // _STRIDE * 8
    if known >= len(table.packed):
        return
    for record in _records(opened, about, struct.unpack_from("<q", table.packed, known)[0], limit):
        if record.at >= piece.end:
            return
        if record.at >= piece.start:
            yield record.at, _line(record, shape, limit)


def _line(record: _Record, shape: Shape, limit: int) -> bytes | Long | Spoiled:
    if record.end - record.at > limit:
        return Long(record.text[: min(_HEAD, limit)], record.end - record.at)
    names, cells = shape.names, record.cells
    if not record.why and not cells:
        return b""
    if not record.why and len(cells) == len(names):
        return shape.line(cells)
    count = f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'}"
    why = record.why or f"The row has {count}, and the header {len(names)}"
    at = names.index(ID) if ID in names else len(cells)
    return Spoiled(record.text, why, cells[at] if at < len(cells) else "")


def _header(opened: BinaryIO) -> About | None:
    """What the first record says; None for a file without one."""
    opened.seek(0)
    head = opened.read(len(_MARK))
    start = len(_MARK) if head == _MARK else 0
    opened.seek(start)
    first = opened.readline(_MOST_HEADER)
    if b"\r" in first.rstrip(b"\r\n"):
        raise BadTable("its lines end in CR alone; write it with LF or CRLF")
    if not first.strip():
        if opened.read(1):
            raise BadTable("its first line is empty; it has no header")
        return None
    outside = b"".join(first.split(b'"')[::2])  # of quotes
    delimiter = max(_DELIMITERS, key=lambda one: (outside.count(one.encode()), one == ","))
    record = next(_records(opened, About((), delimiter, start), start, _MOST_HEADER))
    if record.why:
        raise BadTable(f"its header cannot be read: {record.why}")
    return About(tuple(record.cells), delimiter, record.end)


def _records(opened: BinaryIO, about: About, at: int, limit: int) -> Iterator[_Record]:
    """The records from a place on, to the end of the file."""
    if csv.field_size_limit() < limit:
        csv.field_size_limit(limit)
    lines = _Lines(opened, at, limit)
    reader = csv.reader(lines, delimiter=about.delimiter, strict=True)
    while True:
        at = lines.at
        lines.begin()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, _TooLong, UnicodeDecodeError) as error:
            yield lines.give_up(_why(error))
            reader = csv.reader(lines, delimiter=about.delimiter, strict=True)
            continue
        yield _Record(at, lines.at, cells, b"" if len(cells) == len(about.names) else lines.text())


class _TooLong(Exception):
    """A record that is longer than a line may be."""


class _Lines:
    """The lines of a file as the reader of records takes them, and what it took since the last record."""

    def __init__(self, opened: BinaryIO, at: int, limit: int) -> None:
        self._opened = opened
        self._limit = limit
        self._taken: list[bytes] = []
        self._size = 0
        self.at = at
        opened.seek(at)

    def __iter__(self) -> "_Lines":
        return self

    def begin(self) -> None:
        """A record begins here."""
        self._taken.clear()
        self._size = 0

    def __next__(self) -> str:
        line = self._opened.readline(self._limit + 2)
        if not line:
            raise StopIteration
        self._taken.append(line)
        self._size += len(line)
        self.at += len(line)
        if self._size > self._limit:
            raise _TooLong
        return line.decode("utf-8")

    def text(self) -> bytes:
        """What was taken since the record began."""
        return b"".join(self._taken).rstrip(b"\r\n")

    def give_up(self, why: str) -> _Record:
        """The first line of the record that cannot be read; what follows is read again."""
        first = self._taken[0]
        at = self.at - self._size
        self.at = at + len(first)
        self._opened.seek(self.at)
        if not first.endswith(b"\n") and len(first) > self._limit:  # a line that is too long by itself is passed over
            while more := self._opened.readline(_STRIDE):
                self.at += len(more)
                if more.endswith(b"\n"):
                    break
        return _Record(at, self.at, [], first[:_HEAD].rstrip(b"\r\n"), why)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "The row is not UTF-8"
    if isinstance(error, _TooLong):
        return "The row begins a quote that is not closed"
    return f"The row cannot be read: {error}"
