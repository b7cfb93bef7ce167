"""Write Parquet and Arrow files from named columns with a kind each.

Kinds are `text`, `integer`, `number`, `boolean`, and lists of them, written `text[]`. Each batch becomes one row group, so
memory does not grow with the file. pyarrow is in the extra `tables`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_KINDS = {"text": "string", "integer": "int64", "number": "float64", "boolean": "bool_"}


class ExportColumn(NamedTuple):
    """A column: its name, the kind of its values, and a note for readers of the file."""

    name: str
    kind: str = "text"
    note: dict[bytes, bytes] | None = None


Batch = dict[str, list[Any]]


def schema_of(columns: Iterable[ExportColumn]) -> Any:
    """The Arrow schema of some columns."""
    import pyarrow as pa  # type: ignore[import-untyped]

    return pa.schema([pa.field(column.name, _type(pa, column.kind), metadata=column.note) for column in columns])


def _type(pa: Any, kind: str) -> Any:
    if kind.endswith("[]"):
        return pa.list_(_type(pa, kind.removesuffix("[]")))
    return getattr(pa, _KINDS[kind])()


def write_parquet(path: Path, columns: Iterable[ExportColumn], batches: Iterable[Batch]) -> int:
    """Write a Parquet file; return the number of rows."""
    import pyarrow as pa
    from pyarrow import parquet

    schema, count = schema_of(columns), 0
    with path.open("wb") as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            table = pa.table(batch, schema=schema)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            count += table.num_rows
    return count
