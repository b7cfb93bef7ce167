"""Reading tables: a file of a known kind becomes a table, and a range of it becomes lines.

A file that is not what it seems to be, or has no reply in its first rows, is refused before anything is judged. Rows that cannot be
read fail one by one: their number is known even where their bytes are damaged.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from trueup.batch.input.ranges import Long, Range, Spoiled
from trueup.batch.tables import arrow, delimited, parquet
from trueup.batch.tables.rows import Columns, Reading, Shape, holds_no_reply, listed
from trueup.batch.tables.table import LEAST, BadTable, Table, is_damage
from trueup.verdict.extras import install

_KINDS: dict[str, Any] = {"parquet": parquet, "arrow": arrow}
_HEAD = 65_536
_SAMPLE = 8  # rows of a group whose lines are measured

Line = bytes | Long | Spoiled
Open = Callable[[], BinaryIO]


def open_table(kind: str, open_file: Open, columns: Columns, limit: int) -> Table:
    """The table in a file; `BadTable` where it cannot be read as one, or has no reply."""
    with open_file() as opened:
        if kind == "csv":
            table = delimited.index(opened, limit)
            names = list(table.about.names)
            Shape(names, columns)
        else:
            _require()
            table = _KINDS[kind].index(opened)
            schema = _KINDS[kind].schema(table)
            names = schema.names
            Reading(schema, columns)
    sample = lines_of_table(table, "", open_file, Range(0, 0, 0, table.extent), 1 << 62, columns)
    if holds_no_reply(line for _, line in sample):
        raise BadTable(
            f"no column holds a reply; it has {listed(names)}. Name one raw_response, or name yours with --reply-column"
        )
    return table if kind == "csv" else table.weighed(_weight(table, open_file, columns))


def _weight(table: Table, open_file: Open, columns: Columns) -> int:
    """The bytes that the line of a row has, in the groups that are looked at: the most of their means."""
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
    table: Table, key: str, open_file: Open, piece: Range, limit: int, columns: Columns
) -> Iterator[tuple[int, Line]]:
    """The lines of the rows in a range, each with its place; `key` tells the file from any other."""
    if table.kind == "csv":
        with open_file() as opened:
            yield from delimited.lines(opened, table, piece, limit, columns)
        return
    kind = _KINDS[table.kind]
    reading = Reading(kind.schema(table), columns)
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
            yield group.place(row), Spoiled(b"", f"The row cannot be read: its group is damaged ({why})")


def _bounded(line: bytes | Spoiled, limit: int) -> Line:
    if isinstance(line, Spoiled) or len(line) <= limit:
        return line
    return Long(line[: min(_HEAD, limit)], len(line))
