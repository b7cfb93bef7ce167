"""Shared by the tests of tables: rows, files of every kind with them, and a run over one."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.batch.sifting import write

REPLIES = ['{"name": "Ada", "age": 36}', '```\n{"name": "Bo", "age": "7",}\n```', "Sorry.", '{"name": 1}']
KINDS = ("parquet", "arrow", "stream", "csv")


def rows_of(count: int, ids: int = 0) -> dict[str, list[Any]]:
    """Columns of units with a city as their input; `ids` is the number of different ids, and the rest repeat them."""
    return {
        "unit_id": [f"u{number % (ids or count)}" for number in range(count)],
        "city": [f"city {number}" for number in range(count)],
        "raw_response": [REPLIES[number % len(REPLIES)] for number in range(count)],
    }


def save(path: Path, columns: dict[str, Any] | pa.Table, kind: str, group: int = 50) -> Path:
    """Write a table as one kind of file, in groups of `size` rows."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=group)
    elif kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(row.values() for row in table.to_pylist())
    else:
        with (pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file)(path, table.schema) as opened:
            opened.write_table(table, max_chunksize=group)
    return path


def file_of(folder: Path, columns: dict[str, Any] | pa.Table, kind: str, group: int = 50) -> str:
    """The same under a name of that kind."""
    ending = {"stream": "arrow"}.get(kind, kind)
    return str(save(folder / f"{kind}.{ending}", columns, kind, group))


def lines_of_rows(folder: Path, columns: dict[str, list[Any]]) -> str:
    """The same rows as JSON lines."""
    names = list(columns)
    rows = (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return str(write(folder / "lines.jsonl", [json.dumps(row) for row in rows]))
