"""Reads tables: opens a file of a known kind as a table, and reads the rows of a range as lines.

A file that is not of its kind, or has no reply in its first rows, is refused before anything is judged. Rows that cannot be read
fail one by one: their number is known even if their bytes are damaged.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from trueup.batch.input.ranges import LongLine, Range, UnreadableRow
from trueup.batch.tables import arrow, delimited, parquet
from trueup.batch.tables.rows import BatchReader, RowShape, UnitColumns, holds_no_reply, listed
from trueup.batch.tables.table import LEAST, BadTable, SourceTable, is_damage
from trueup.verdict.extras import install

_KINDS: dict[str, Any] = {"parquet": parquet, "arrow": arrow}
_HEAD = 65_536
_SAMPLE = 8  # rows of a group whose lines are measured

Line = bytes | LongLine | UnreadableRow
Open = Callable[[], BinaryIO]


def open_table(kind: str, open_file: Open, columns: UnitColumns, limit: int) -> SourceTable:
    """The table in a file. Raises `BadTable` if it cannot be read as one, or has no reply."""
    with open_file() as opened:
        if kind == "csv":
            table = delimited.index(opened, limit)
            names = list(table.about.names)
            RowShape(names, columns)
        else:
            _require()
            table = _KINDS[kind].index(opened)
            schema = _KINDS[kind].schema(table)
            names = schema.names
            BatchReader(schema, columns)
    sample = lines_of_table(table, "", open_file, Range(0, 0, 0, table.extent), 1 << 62, columns)
    if holds_no_reply(line for _, line in sample):
        raise BadTable(
            f"no column has a reply; its columns: {listed(names)}. Name one of them raw_response, or pass its name with --reply-column"
        )
    return table if kind == "csv" else table.weighed(_weight(table, open_file, columns))


def _weight(table: SourceTable, open_file: Open, columns: UnitColumns) -> int:
    """The size in bytes of the line of a row: the largest mean of the groups that are sampled."""
    most = LEAST
    for start, end in table.heads(_SAMPLE):
        lines = lines_of_table(table, "", open_file, Range(0, 0, start, end), 1 << 62, columns)
        sizes = [len(line) for _, line in lines if isinstance(line, bytes)]
        most = max(most, sum(sizes) // max(1, len(sizes)))
    return most


def _require() -> None:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise BadTable(f"Parquet and Arrow need a package: {install('tables')}") from None


def lines_of_table(
    table: SourceTable, key: str, open_file: Open, piece: Range, limit: int, columns: UnitColumns
) -> Iterator[tuple[int, Line]]:
    """The lines of the rows in a range, each with its place; `key` identifies the file."""
    if table.kind == "csv":
        with open_file() as opened:
            yield from delimited.lines(opened, table, piece, limit, columns)
        return
    kind = _KINDS[table.kind]
    reading = BatchReader(kind.schema(table), columns)
    for group in table.groups(piece.start, piece.end):
        low, high = group.between(piece.start, piece.end)
        at = low
        why = ""
        try:
            for batch in kind.batches(key, open_file, table, group, low, high):
                for line in reading.lines(batch):
                    yield group.place(at), _bounded(line, limit)
                    at += 1
        except Exception as error:
            if not is_damage(error):
                raise
            why = str(error)[:200]
        for row in range(at, high):
            yield group.place(row), UnreadableRow(b"", f"The row cannot be read: its group is damaged ({why})")


def _bounded(line: bytes | UnreadableRow, limit: int) -> Line:
    if isinstance(line, UnreadableRow) or len(line) <= limit:
        return line
    return LongLine(line[: min(_HEAD, limit)], len(line))
