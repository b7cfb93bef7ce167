"""Reads files with a delimiter, CSV and TSV: finds where records begin, and reads the records of a range.

A line break inside quotes belongs to its cell, so a file is read once from the start to find the starts of records, where workers
begin. A record that cannot be read only loses its first line: the line fails, and reading starts again after it.
"""

import csv
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from trueup.batch.input.ranges import LongLine, Range, UnreadableRow
from trueup.batch.tables.rows import ID, RowShape, UnitColumns
from trueup.batch.tables.table import BadTable, SourceTable

_STRIDE = 1 << 20  # bytes between two known starts of records
_DELIMITERS = ",;\t|"
_MOST_HEADER = 1 << 20
_HEAD = 65_536
_MARK = b"\xef\xbb\xbf"


class HeaderFacts(NamedTuple):
    """The names in the header, the delimiter, and the end of the header."""

    names: tuple[str, ...]
    delimiter: str
    start: int


class _Record(NamedTuple):
    """One record: its start and end, and its cells, or its text and why it has none."""

    at: int
    end: int
    cells: list[str]
    text: bytes = b""
    why: str = ""


def index(opened: BinaryIO, limit: int) -> SourceTable:
    """The header of a file, and starts of its records."""
    about = _header(opened)
    size = opened.seek(0, 2)
    if about is None:
        return SourceTable("csv", 0, b"", HeaderFacts((), ",", 0))
    marks = bytearray()
    due = 0
    for record in _records(opened, about, about.start, limit):
        while record.at >= due:  # the first record at or after each of these places
            marks += struct.pack("<q", record.at)
            due += _STRIDE
    return SourceTable("csv", size, bytes(marks), about)


def lines(
    opened: BinaryIO, table: SourceTable, piece: Range, limit: int, columns: UnitColumns
) -> Iterator[tuple[int, bytes | LongLine | UnreadableRow]]:
    """The lines of the records that begin in a range, each with the place of its first byte."""
    about: HeaderFacts = table.about
    shape = RowShape(about.names, columns)
    known = piece.start // _STRIDE * 8
    if known >= len(table.packed):
        return
    for record in _records(opened, about, struct.unpack_from("<q", table.packed, known)[0], limit):
        if record.at >= piece.end:
            return
        if record.at >= piece.start:
            yield record.at, _line(record, shape, limit)


def _line(record: _Record, shape: RowShape, limit: int) -> bytes | LongLine | UnreadableRow:
    if record.end - record.at > limit:
        return LongLine(record.text[: min(_HEAD, limit)], record.end - record.at)
    names, cells = shape.names, record.cells
    if not record.why and not cells:
        return b""
    if not record.why and len(cells) == len(names):
        return shape.line(cells)
    count = f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'}"
    why = record.why or f"The row has {count}, but the header has {len(names)}"
    at = names.index(ID) if ID in names else len(cells)
    return UnreadableRow(record.text, why, cells[at] if at < len(cells) else "")


def _header(opened: BinaryIO) -> HeaderFacts | None:
    """The content of the first record; None for a file without one."""
    opened.seek(0)
    head = opened.read(len(_MARK))
    start = len(_MARK) if head == _MARK else 0
    opened.seek(start)
    first = opened.readline(_MOST_HEADER)
    if b"\r" in first.rstrip(b"\r\n"):
        raise BadTable("its lines end with CR only; use LF or CRLF")
    if not first.strip():
        if opened.read(1):
            raise BadTable("its first line is empty; it has no header")
        return None
    outside = b"".join(first.split(b'"')[::2])  # of quotes
    delimiter = max(_DELIMITERS, key=lambda one: (outside.count(one.encode()), one == ","))
    record = next(_records(opened, HeaderFacts((), delimiter, start), start, _MOST_HEADER))
    if record.why:
        raise BadTable(f"its header cannot be read: {record.why}")
    return HeaderFacts(tuple(record.cells), delimiter, record.end)


def _records(opened: BinaryIO, about: HeaderFacts, at: int, limit: int) -> Iterator[_Record]:
    """The records from a place to the end of the file."""
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
    """The lines of a file for the reader of records, and the lines it took since the last record."""

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
        """The text taken since the record began."""
        return b"".join(self._taken).rstrip(b"\r\n")

    def give_up(self, why: str) -> _Record:
        """The first line of a record that cannot be read; the lines after it are read again."""
        first = self._taken[0]
        at = self.at - self._size
        self.at = at + len(first)
        self._opened.seek(self.at)
        if not first.endswith(b"\n") and len(first) > self._limit:  # a single line that is too long is skipped
            while more := self._opened.readline(_STRIDE):
                self.at += len(more)
                if more.endswith(b"\n"):
                    break
        return _Record(at, self.at, [], first[:_HEAD].rstrip(b"\r\n"), why)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "The row is not UTF-8"
    if isinstance(error, _TooLong):
        return "The row opens a quote that is not closed"
    return f"The row cannot be read: {error}"
