"""Writes the records of a sift as Parquet, Arrow, CSV, or a folder that `datasets` loads, beside the JSON lines.

Lines are read in batches of bounded size. A file or folder is written beside its place, synced, and then moved there whole. An
interrupted write is repeated, with the same bytes.
"""

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from trueup.batch.disk.full_disk import writing
from trueup.batch.tables.records import FAILED, VALID, cells_of, value_columns
from trueup.store.cells import calm
from trueup.store.columns import Batch, ExportColumn, schema_of, write_parquet
from trueup.verdict.extras import install

FORMATS = ("jsonl", "parquet", "arrow", "csv", "datasets")
NAMES = ("validated", "failures")
TABLES = tuple(f"{name}.{form}" for name in NAMES for form in FORMATS[1:4])
_ROWS = 20_000
_BYTES = 16 << 20  # lines that are held
_SHARD = 512 << 20  # bytes of a file in a folder of `datasets`

Columns = tuple[ExportColumn, ...]


class Unwritable(ValueError):
    """A table cannot be written. The message says why."""


def target_of(out: Path, name: str, form: str) -> Path:
    """The path of the table of some records: a file, or a folder of `datasets`."""
    return out / (name if form == "datasets" else f"{name}.{form}")


def clear_tables(out: Path) -> None:
    """Remove the tables of an earlier run, and no other files."""
    for name in TABLES:
        (out / name).unlink(missing_ok=True)
    for name in NAMES:
        if (out / name / "state.json").is_file():
            shutil.rmtree(out / name)


def require_writer(form: str) -> None:
    """Refuse a format if its package is missing, before anything is judged."""
    if form not in FORMATS:
        raise Unwritable(f"unknown format {form!r}; choose one of {', '.join(FORMATS)}")
    if form in {"jsonl", "csv"}:
        return
    try:
        import pyarrow  # type: ignore[import-untyped]  # noqa: F401, ICN001
    except ImportError:
        raise Unwritable(f"--format {form} needs a package: {install('tables')}") from None


def write_tables(out: Path, work: Path, form: str, schema: Any) -> None:
    """Write both tables of a finished sift in the folder `work`; `schema` is the JSON Schema of the contract, if it has one."""
    for name in NAMES:
        columns = (*VALID, *value_columns(schema)) if name == "validated" else FAILED
        target = target_of(out, name, form)
        beside, old = (work / f"{target.name}.{state}" for state in ("new", "old"))
        _remove(beside)
        _remove(old)
        with writing(target):
            _WRITERS[form](beside, columns, _batches(out / f"{name}.jsonl", columns))
            for path in [*beside.glob("*"), beside] if beside.is_dir() else [beside]:
                _sync(path)
            _replace(beside, target, old)
    _sync(out)


def _replace(beside: Path, target: Path, old: Path) -> None:
    """Put a file or folder in place. A folder cannot replace another, so the other one is moved away first."""
    if target.is_dir() and beside.is_dir():
        target.rename(old)
        beside.rename(target)
        _remove(old)
    else:
        beside.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _batches(lines: Path, columns: Columns) -> Iterator[Batch]:
    """The records of a file of lines as columns, a bounded number at a time."""
    cells = cells_of(columns)
    names = [column.name for column in columns]
    rows: list[list[Any]] = []
    size = 0
    with lines.open("rb") as opened:
        for line in opened:
            rows.append(cells(line))
            size += len(line)
            if len(rows) >= _ROWS or size >= _BYTES:
                yield dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                rows.clear()
                size = 0
    if rows:
        yield dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _write_arrow(target: Path, columns: Columns, batches: Iterator[Batch]) -> None:
    import pyarrow as pa

    schema = schema_of(columns)
    with target.open("wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(pa.record_batch(batch, schema=schema))


def _write_csv(target: Path, columns: Columns, batches: Iterator[Batch]) -> None:
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([calm(column.name) for column in columns])
        for batch in batches:
            writer.writerows([_text(value) for value in row] for row in zip(*batch.values(), strict=True))


def _text(value: Any) -> Any:
    """A cell that no spreadsheet computes: a number stays one, and a list is JSON."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return value
    return calm(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _write_dataset(target: Path, columns: Columns, batches: Iterator[Batch]) -> None:
    """Write a folder like `Dataset.save_to_disk`: streams of record batches, and the files that list them."""
    import pyarrow as pa

    schema = schema_of(columns)
    target.mkdir()
    named = []
    batch = next(batches, None)
    for number in count():
        name = f"data-{number:05d}.arrow"
        named.append(name)
        with (target / name).open("wb") as file, pa.ipc.new_stream(file, schema) as writer:
            while batch is not None and file.tell() < _SHARD:
                writer.write_batch(pa.record_batch(batch, schema=schema))
                batch = next(batches, None)
        if batch is None:
            break
    state: dict[str, Any] = {
        "_data_files": [{"filename": name} for name in named], "_fingerprint": "0" * 16, "_format_columns": None,
        "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False, "_split": None,
    }  # fmt: skip
    (target / "dataset_info.json").write_text("{}\n", "utf-8")
    (target / "state.json").write_text(json.dumps(state, indent=2) + "\n", "utf-8")


_WRITERS: dict[str, Callable[[Path, Columns, Iterator[Batch]], Any]] = {
    "parquet": write_parquet, "arrow": _write_arrow, "csv": _write_csv, "datasets": _write_dataset,
}  # fmt: skip
