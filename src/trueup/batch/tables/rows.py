"""Turns the rows of a table into JSON lines for a sift.

The names have the same meaning as in a JSON line: `raw_response` is the reply, `unit_id` the id, and the other columns are the
input. A user may name other columns for the id and the reply. A row that cannot be written is passed on unchanged with the
reason, and does not affect other rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import orjson

from trueup.batch.input.ranges import LongLine, UnreadableRow
from trueup.batch.input.units import Row, beside_reply, is_plain, read_row, read_unit, twice
from trueup.batch.judging.records import line_of
from trueup.batch.tables.arrays import reader, text_reader
from trueup.batch.tables.table import BadTable
from trueup.batch.tables.values import plain

ID, REPLY = "unit_id", "raw_response"
MARK = b"trueup"  # metadata of a column that a sift wrote: how to read it back
_SAMPLE = 20
_OF_OURS = frozenset({b"json", b"more", b"again"})

Read = Callable[[Any], list[Any]]


class UnitColumns(NamedTuple):
    """The columns of a table, or the fields of a JSON line, that have the id and the reply; "" for the standard names."""

    id: str = ""
    reply: str = ""

    def rename(self, names: Iterable[str]) -> list[str]:
        """Names as a sift uses them. Raises `BadTable` if two columns would get the same name.

        >>> UnitColumns(reply="text").rename(["unit_id", "text"])
        ['unit_id', 'raw_response']
        """
        given = list(names)
        ours = {named: own for named, own in zip(self, (ID, REPLY), strict=True) if named}
        for named, own in ours.items():
            if named in given and named != own and own in given:
                raise BadTable(f"there are both {named!r} and {own!r}; remove one of them")
        return [ours.get(name, name) for name in given]

    def missing(self, names: Sequence[str]) -> str:
        """The column that was named but does not exist; "" if all exist."""
        return next((name for name in self if name and name not in names), "")


def listed(names: Sequence[str]) -> str:
    """Names for a message, with a limit on their number."""
    shown = ", ".join(name[:40] for name in names[:8])
    return f"{shown}, …" if len(names) > 8 else shown or "none"


def refuse_twins(names: Sequence[str]) -> None:
    """Refuse two columns with the same name: a line could have only one of them."""
    twin, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count > 1:
        raise BadTable(f"two columns have the name {twin!r}; rename one of them")


class RowShape:
    """How rows with these columns become lines: flat, or already as the plain units that a sift reads fastest."""

    def __init__(self, names: Sequence[str], columns: UnitColumns) -> None:
        refuse_twins(names)
        if missing := columns.missing(names):
            raise BadTable(f"there is no column {missing!r}; its columns: {listed(names)}")
        self.names = columns.rename(names)
        probe: Row = dict.fromkeys(self.names)
        self._inputs: list[str] | None = None
        if is_plain(probe) and ID in probe and "input" not in probe:
            given, kept = beside_reply(probe)
            if not kept and len(given) + 2 == len(probe):
                self._inputs = list(given)

    def line(self, values: Iterable[Any]) -> bytes:
        """The line of one row."""
        row: Row = dict(zip(self.names, values, strict=True))
        return self.line_of(row)

    def line_of(self, row: Row) -> bytes:
        """The line of a row by name."""
        if type(row.get(ID)) is int:
            row[ID] = str(row[ID])
        if self._inputs is not None:
            row = {ID: row[ID], "input": {name: row[name] for name in self._inputs}, REPLY: row[REPLY]}
        return line_of(row)[:-1]

    def spelt(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes | UnreadableRow]:
        """The lines of rows whose columns have Python values of any type."""
        for values in zip(*columns, strict=True):
            try:
                yield self.line(map(_spelt, self.names, values))
            except (ValueError, TypeError) as error:
                yield _spoiled(error, values[self.names.index(ID)] if ID in self.names else "")


def _spoiled(error: Exception, uid: Any) -> UnreadableRow:
    """A row that cannot be read, with its id if it has one."""
    return UnreadableRow(b"", f"The row cannot be read: {_why(error)}", str(uid) if type(uid) in {str, int} else "")


def _spelt(name: str, value: Any) -> Any:
    """A cell for JSON; bytes are decoded in columns that should have text."""
    if name in {ID, REPLY} and isinstance(value, bytes | bytearray):
        return value.decode("utf-8")
    value = plain(value)
    return _one_id(value) if name == ID else _one_reply(value) if name == REPLY else value


class BatchReader:
    """The lines of record batches with one schema."""

    def __init__(self, schema: Any, columns: UnitColumns) -> None:
        ours = [(field.metadata or {}).get(MARK) for field in schema]
        self._kept = [number for number, how in enumerate(ours) if how != b"again"]
        self._more = next((number for number, how in enumerate(ours) if how == b"more"), None)
        self._shape = RowShape([schema.field(number).name for number in self._kept], columns)
        self._readers = [
            _reader(schema.field(number), name) for number, name in zip(self._kept, self._shape.names, strict=True)
        ]
        self._sparse = any(how in _OF_OURS for how in ours)

    def lines(self, batch: Any) -> Iterator[bytes | UnreadableRow]:
        """The line of each row of a batch."""
        if not self._readers:
            yield from (b"{}" for _ in range(batch.num_rows))
            return
        try:
            columns = [read(batch.column(number)) for number, read in zip(self._kept, self._readers, strict=True)]
        except Exception as error:  # noqa: BLE001 - of Arrow's or of Python's: a cell that cannot be had
            if batch.num_rows == 1:
                yield _spoiled(error, self._id_of(batch))
                return
            for at in range(batch.num_rows):  # only one of these rows is at fault
                yield from self.lines(batch.slice(at, 1))
            return
        if self._sparse:
            yield from map(self._own_line, zip(*columns, strict=True))
            return
        yield from map(self._shape.line, zip(*columns, strict=True))

    def _id_of(self, batch: Any) -> Any:
        """The id of a row with other cells that cannot be read."""
        for number, name, read in zip(self._kept, self._shape.names, self._readers, strict=True):
            if name == ID:
                with suppress(Exception):
                    return read(batch.column(number))[0]
        return ""

    def _own_line(self, values: tuple[Any, ...]) -> bytes:
        """The line of a row that a sift wrote: without the cells that it added empty, and with the fields that were beside them."""
        pairs = zip(self._kept, self._shape.names, values, strict=True)
        row: Row = {}
        for number, name, value in pairs:
            if number == self._more:
                row.update(value or {})
            elif value is not None or name in {"input", REPLY, "data"}:
                row[name] = value
        return line_of(row)[:-1]


def _reader(field: Any, name: str) -> Read:
    if (field.metadata or {}).get(MARK) in {b"json", b"more"}:
        return lambda array: [None if text is None else read_row(text.encode()) for text in array.to_pylist()]
    if name not in {ID, REPLY}:
        return reader(field.type)
    read = text_reader(field.type) or reader(field.type)
    return _each(read, _one_id if name == ID else _one_reply)


def _each(read: Read, one: Callable[[Any], Any]) -> Read:
    return lambda array: [one(value) for value in read(array)]


def _one_id(value: Any) -> Any:
    """An id. Frames turn integers into floats if one is missing."""
    return int(value) if type(value) is float and value.is_integer() else value


def _one_reply(value: Any) -> Any:
    """A reply. A number or a boolean is a parsed value."""
    return orjson.dumps(value).decode() if type(value) in {int, float, bool} else value


def holds_no_reply(lines: Iterable[bytes | UnreadableRow | LongLine]) -> bool:
    """Whether rows are not units, judging by the first ones: their columns have other names, or there is no header."""
    seen = 0
    for line in islice((line for line in lines if line), _SAMPLE):
        if not isinstance(line, bytes) or all(found.code != "U002" for found in read_unit(line, "").findings):
            return False
        seen += 1
    return seen > 0


def renamed(lines: Iterable[tuple[int, Any]], columns: UnitColumns) -> Iterator[tuple[int, Any]]:
    """JSON lines with the names that a sift uses."""
    for offset, line in lines:
        yield offset, _renamed(line, columns) if type(line) is bytes and line.strip() else line


def _renamed(line: bytes, columns: UnitColumns) -> bytes | UnreadableRow:
    try:
        row = read_row(line)
    except (ValueError, RecursionError):
        return line  # judging reports what is wrong with it
    if type(row) is not dict or columns.missing(list(row)) == columns.reply != "":
        return line
    if any(line.count(orjson.dumps(name)) > 1 for name in columns if name) and (name := twice(line)):
        return UnreadableRow(line, f"The line has the key {name!r} twice")
    try:
        return line_of(dict(zip(columns.rename(row), row.values(), strict=True)))[:-1]
    except BadTable as error:
        return UnreadableRow(line, f"The line cannot be read: {error}")


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "its text is not UTF-8"
    return str(error)[:200] or type(error).__name__
