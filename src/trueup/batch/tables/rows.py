"""Rows: columns enter, the JSON line of each row leaves, as a sift reads it.

The names mean what they mean in a JSON line: `raw_response` is the reply, `unit_id` the id, and the other columns are the input; a user
may name the columns of the id and the reply. A row that cannot be written is given as it is, with the reason, and costs no other.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import orjson

from trueup.batch.input.ranges import Long, Spoiled
from trueup.batch.input.units import Row, beside_reply, is_plain, read_row, read_unit, twice
from trueup.batch.judging.records import line_of
from trueup.batch.tables.arrays import reader, text_reader
from trueup.batch.tables.table import BadTable
from trueup.batch.tables.values import plain

ID, REPLY = "unit_id", "raw_response"
MARK = b"trueup"  # on a column that a sift wrote: how it is read back
_SAMPLE = 20
_OF_OURS = frozenset({b"json", b"more", b"again"})

Read = Callable[[Any], list[Any]]


class Columns(NamedTuple):
    """The columns of a table, or the fields of a JSON line, that hold the id and the reply; "" where the names are ours."""

    id: str = ""
    reply: str = ""

    def rename(self, names: Iterable[str]) -> list[str]:
        """Names as a sift has them; `BadTable` where one would stand for two.

        >>> Columns(reply="text").rename(["unit_id", "text"])
        ['unit_id', 'raw_response']
        """
        given = list(names)
        ours = {named: own for named, own in zip(self, (ID, REPLY), strict=True) if named}
        for named, own in ours.items():
            if named in given and named != own and own in given:
                raise BadTable(f"there are both {named!r} and {own!r}; remove one of them")
        return [ours.get(name, name) for name in given]

    def missing(self, names: Sequence[str]) -> str:
        """The column that was named and is not there; "" where all are."""
        return next((name for name in self if name and name not in names), "")


def listed(names: Sequence[str]) -> str:
    """Names for people, not too many of them."""
    shown = ", ".join(name[:40] for name in names[:8])
    return f"{shown}, …" if len(names) > 8 else shown or "none"


def refuse_twins(names: Sequence[str]) -> None:
    """Refuse two columns of one name: a line could hold only one of them."""
    twin, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count > 1:
        raise BadTable(f"two columns are called {twin!r}; rename one of them")


class Shape:
    """How rows with these columns become lines: flat, or already as the plain units that a sift reads fastest."""

    def __init__(self, names: Sequence[str], columns: Columns) -> None:
        refuse_twins(names)
        if missing := columns.missing(names):
            raise BadTable(f"there is no column {missing!r}; it has {listed(names)}")
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

    def spelt(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes | Spoiled]:
        """The lines of rows whose columns hold Python values of any kind."""
        for values in zip(*columns, strict=True):
            try:
                yield self.line(map(_spelt, self.names, values))
            except (ValueError, TypeError) as error:
                yield _spoiled(error, values[self.names.index(ID)] if ID in self.names else "")


def _spoiled(error: Exception, uid: Any) -> Spoiled:
    """A row that cannot be had, with its id if there is one."""
    return Spoiled(b"", f"The row cannot be read: {_why(error)}", str(uid) if type(uid) in {str, int} else "")


def _spelt(name: str, value: Any) -> Any:
    """A cell as JSON has it; bytes are text where text is looked for."""
    if name in {ID, REPLY} and isinstance(value, bytes | bytearray):
        return value.decode("utf-8")
    value = plain(value)
    return _one_id(value) if name == ID else _one_reply(value) if name == REPLY else value


class Reading:
    """The lines of record batches with one schema."""

    def __init__(self, schema: Any, columns: Columns) -> None:
        ours = [(field.metadata or {}).get(MARK) for field in schema]
        self._kept = [number for number, how in enumerate(ours) if how != b"again"]
        self._more = next((number for number, how in enumerate(ours) if how == b"more"), None)
        self._shape = Shape([schema.field(number).name for number in self._kept], columns)
        self._readers = [
            _reader(schema.field(number), name) for number, name in zip(self._kept, self._shape.names, strict=True)
        ]
        self._sparse = any(how in _OF_OURS for how in ours)

    def lines(self, batch: Any) -> Iterator[bytes | Spoiled]:
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
            for at in range(batch.num_rows):  # one of these rows is at fault, and it alone
                yield from self.lines(batch.slice(at, 1))
            return
        if self._sparse:
            yield from map(self._own_line, zip(*columns, strict=True))
            return
        yield from map(self._shape.line, zip(*columns, strict=True))

    def _id_of(self, batch: Any) -> Any:
        """The id of a row whose other cells cannot all be had."""
        for number, name, read in zip(self._kept, self._shape.names, self._readers, strict=True):
            if name == ID:
                with suppress(Exception):
                    return read(batch.column(number))[0]
        return ""

    def _own_line(self, values: tuple[Any, ...]) -> bytes:
        """The line of a row that a sift wrote: without what it had not, and with what stood beside."""
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
    """An id: frames make floats of integers where one is missing."""
    return int(value) if type(value) is float and value.is_integer() else value


def _one_reply(value: Any) -> Any:
    """A reply: a number or a boolean is a value that was read already."""
    return orjson.dumps(value).decode() if type(value) in {int, float, bool} else value


def holds_no_reply(lines: Iterable[bytes | Spoiled | Long]) -> bool:
    """Whether rows are no units, all of the first that are looked at: their columns have other names, or there is no header."""
    seen = 0
    for line in islice((line for line in lines if line), _SAMPLE):
        if not isinstance(line, bytes) or all(found.code != "U002" for found in read_unit(line, "").findings):
            return False
        seen += 1
    return seen > 0


def renamed(lines: Iterable[tuple[int, Any]], columns: Columns) -> Iterator[tuple[int, Any]]:
    """JSON lines with the names that a sift has for them."""
    for offset, line in lines:
        yield offset, _renamed(line, columns) if type(line) is bytes and line.strip() else line


def _renamed(line: bytes, columns: Columns) -> bytes | Spoiled:
    try:
        row = read_row(line)
    except (ValueError, RecursionError):
        return line  # what is wrong with it is said where it is judged
    if type(row) is not dict or columns.missing(list(row)) == columns.reply != "":
        return line
    if any(line.count(orjson.dumps(name)) > 1 for name in columns if name) and (name := twice(line)):
        return Spoiled(line, f"The line gives {name!r} twice")
    try:
        return line_of(dict(zip(columns.rename(row), row.values(), strict=True)))[:-1]
    except BadTable as error:
        return Spoiled(line, f"The line cannot be read: {error}")


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "a text in it is not UTF-8"
    return str(error)[:200] or type(error).__name__
