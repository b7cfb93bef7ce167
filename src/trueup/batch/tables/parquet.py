"""Reads Parquet files: finds the row groups, and reads the rows of a group, a few at a time.

A group is decoded page by page from its beginning. A worker that takes the next range of the same group continues where it
stopped, so a large group costs no more than small ones.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from trueup.batch.tables.table import ROWS_AT_ONCE, BadTable, RowGroup, SourceTable, indexed, is_damage

_BUFFER = 1 << 20
_AT_ONCE = 4 << 20  # bytes of rows that are decoded together

Open = Callable[[], BinaryIO]


def index(opened: BinaryIO) -> SourceTable:
    """The row groups of a file."""
    with _file(opened) as parquet:
        about = parquet.metadata
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        found = [(group.num_rows, group.total_byte_size, at, group.total_byte_size) for at, group in enumerate(groups)]
        return indexed("parquet", found, parquet.schema_arrow.serialize().to_pybytes())


def schema(table: SourceTable) -> Any:
    """The columns of a file, as Arrow types."""
    import pyarrow as pa  # type: ignore[import-untyped]

    return pa.ipc.read_schema(pa.py_buffer(table.about))


def _file(opened: BinaryIO) -> Any:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        return pq.ParquetFile(opened, buffer_size=_BUFFER, pre_buffer=False)
    except Exception as error:
        if not is_damage(error):
            raise
        raise BadTable(f"not a readable Parquet file: {str(error)[:200]}") from None


class _Cursor:
    """The position of a reader in one row group."""

    def __init__(self, key: tuple[str, int], open_file: Open, group: RowGroup) -> None:
        self.key = key
        self._opened = open_file()
        self._parquet = _file(self._opened)
        size = max(16, min(ROWS_AT_ONCE, _AT_ONCE * group.rows // max(1, group.size)))
        self._batches = self._parquet.iter_batches(size, row_groups=[group.at], use_threads=False)
        self._batch: Any = None
        self.at = 0  # the first row of the batch, as a number in the group

    def read(self, low: int, high: int) -> Iterator[Any]:
        """The rows from one number to another, at or after the current batch."""
        while True:
            count = 0 if self._batch is None else self._batch.num_rows
            if low < self.at + count:
                last = min(high, self.at + count)
                yield self._batch.slice(low - self.at, last - low)
                low = last
            if low >= high:
                return
            self._batch = None
            self._batch, self.at = next(self._batches, None), self.at + count
            if self._batch is None:
                raise OSError("it has fewer rows than its header says")

    def close(self) -> None:
        self._batch = None
        self._parquet.close()
        self._opened.close()


_cursors: list[_Cursor] = []  # the last one, which the next range may continue


def batches(key: str, open_file: Open, _: SourceTable, group: RowGroup, low: int, high: int) -> Iterator[Any]:
    """The rows of a group from one number to another. `key` identifies the file; with "", nothing is kept for the next range."""
    cursor = _cursors.pop() if _cursors else None
    if cursor is None or cursor.key != (key, group.at) or cursor.at > low:
        if cursor is not None:
            cursor.close()
        cursor = _Cursor((key, group.at), open_file, group)
    try:
        yield from cursor.read(low, high)
    except BaseException:
        cursor.close()
        raise
    if high >= group.rows or not key:
        cursor.close()
    else:
        _cursors.append(cursor)
