"""Writes the validated units of a run as one flat table, CSV or JSONL.

A row is the unit's input with the reply's fields over it. A spreadsheet cannot take any cell of a CSV file for a formula. Values
that are not scalars are written as JSON. The table is put in place whole.
"""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.batch.disk.full_disk import writing
from trueup.batch.input.units import Row
from trueup.batch.judging.records import line_of, merged
from trueup.store.cells import calm

MOST_COLUMNS = 1000
KINDS = (".csv", ".jsonl")


class UnwritableTable(ValueError):
    """The table cannot be written. The message says why."""


def write_table(validated: Path, target: Path) -> int:
    """Write the units of `validated.jsonl` as a table, and return how many there are."""
    if target.suffix not in KINDS:
        raise UnwritableTable(f"{target}: a table is a file that ends in {' or '.join(KINDS)}")
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with writing(target):
            count = _write_csv(validated, beside) if target.suffix == ".csv" else _write_lines(validated, beside)
            beside.replace(target)
    except OSError as error:
        raise UnwritableTable(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
    return count


def cell(value: Any) -> str:
    """A value as a cell: text that a spreadsheet would compute gets a quote before it.

    >>> cell("=1+1"), cell(-5), cell({"a": 1}), cell(None), cell(True)
    ("'=1+1", '-5', '{"a": 1}', '', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return calm(value)
    return json.dumps(value, ensure_ascii=False)


def _rows(validated: Path) -> Iterator[Row]:
    with validated.open("rb") as opened:
        for line in opened:
            row = json.loads(line)
            yield merged(row["unit_id"], row.get("input"), row["data"])


def _write_lines(validated: Path, target: Path) -> int:
    count = 0
    with target.open("wb") as opened:
        for row in _rows(validated):
            opened.write(line_of(row))
            count += 1
    return count


def _write_csv(validated: Path, target: Path) -> int:
    columns = dict.fromkeys(["unit_id"])
    for row in _rows(validated):
        columns |= dict.fromkeys(row)
        if len(columns) > MOST_COLUMNS:
            raise UnwritableTable(
                f"the units have more than {MOST_COLUMNS} different fields; write the table as .jsonl"
            )
    count = 0
    with target.open("w", encoding="utf-8", errors="backslashreplace", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow([cell(name) for name in columns])
        for row in _rows(validated):
            writer.writerow([cell(row.get(name)) for name in columns])
            count += 1
    return count
