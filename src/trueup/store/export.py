"""Export rows of a store to a JSON Lines, CSV or Parquet file, completely or not at all.

JSON Lines keeps every character. No CSV cell is read as a formula. Parquet (extra `tables`) has replies and verdicts as JSON
text, which preserves what its own strings cannot.
"""

import csv
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from trueup.store.cells import calm, pack
from trueup.store.columns import ExportColumn, write_parquet
from trueup.store.errors import StoreError, StoreFull
from trueup.verdict.extras import install

if TYPE_CHECKING:
    from trueup.store.store import Store

Item = dict[str, Any]


def export(store: "Store", path: Path, what: str = "verdicts", *, bodies: bool = True, **options: Any) -> int:
    """Write verdicts, feedback or labels to a file; its ending decides the format. Returns the number of rows."""
    writers: dict[str, Callable[[Path, Iterable[Item]], int]] = {
        ".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet,
    }  # fmt: skip
    write = writers.get(path.suffix)
    if write is None:
        raise StoreError(f"{path}: the ending says what to write; give one of {', '.join(writers)}")
    rows: Iterator[Item]
    if what == "verdicts":
        rows = (_verdict(stored, bodies=bodies) for stored in store.verdicts(**options))
    elif what == "feedback":
        rows = iter(store.feedback())
    elif what == "labels":
        rows = store.labels(**options)
    else:
        raise StoreError(f"only verdicts, feedback and labels can be exported; got {what!r}")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        count = write(part, rows)
        os.replace(part, path)  # noqa: PTH105 - in one step, over what was there
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise (StoreFull if full else StoreError)(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return count


def _verdict(stored: Any, *, bodies: bool) -> Item:
    row: Item = msgspec.structs.asdict(stored)
    row["codes"] = list(stored.codes)
    if not bodies:
        del row["body"], row["context"]
    return row


def _jsonl(path: Path, rows: Iterable[Item]) -> int:
    count = 0
    with path.open("w", encoding="ascii") as file:  # escapes preserve what UTF-8 cannot encode
        for row in rows:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
            count += 1
        _sync(file)
    return count


def _csv(path: Path, rows: Iterable[Item]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            if count == 0:
                writer.writerow(row)
            writer.writerow([_cell(value) for value in row.values()])
            count += 1
        _sync(file)
    return count


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return calm(" ".join(map(str, value)))
    return calm(pack(value) if isinstance(value, str) else json.dumps(value))


def _parquet(path: Path, rows: Iterable[Item]) -> int:
    try:
        import pyarrow  # type: ignore[import-untyped]  # noqa: F401, ICN001
    except ImportError:
        raise StoreError(f"Parquet needs a writer: {install('tables')}") from None
    source = iter(rows)
    first = next(source, None)
    if first is None:
        return write_parquet(path, (), ())
    return write_parquet(path, [ExportColumn(name, _kind(name)) for name in first], _batches(chain((first,), source)))


def _batches(rows: Iterator[Item]) -> Iterator[dict[str, list[Any]]]:
    while batch := list(islice(rows, 2000)):
        yield {name: [_column(row[name]) for row in batch] for name in batch[0]}


_KINDS = {
    "at": "number", "latency": "number", "ok": "boolean", "helpful": "boolean", "codes": "text[]",
    **dict.fromkeys(("attempt", "attempts", "tokens_in", "tokens_out", "cost"), "integer"),
}  # fmt: skip


def _kind(name: str) -> str:
    return _KINDS.get(name, "text")


def _column(value: Any) -> Any:
    if isinstance(value, str):
        return pack(value)
    return json.dumps(value) if isinstance(value, dict) else value


def _sync(file: TextIO) -> None:
    file.flush()
    os.fsync(file.fileno())
