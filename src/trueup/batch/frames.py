"""Judges the rows of a pandas or polars frame, a pyarrow table or a dict of columns, and returns it with a verdict for each row.

A row is read like a row of a table in a sift, and judged alone: ids are not compared. Rows are taken a few at a time, so memory
beyond the frame and its verdicts is bounded. The input is not changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from trueup.batch.input.ranges import UnreadableRow
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.sieve import Sieve
from trueup.batch.tables.nanoseconds import values_of
from trueup.batch.tables.rows import ID, BatchReader, RowShape, UnitColumns, holds_no_reply, listed, refuse_twins

_OURS = ("valid", "record")
_AT_ONCE = 1_024
_SAMPLE = 20
_LONGEST = 1 << 62

Lines = Iterator[bytes | UnreadableRow]


class Sift:
    """Judges the rows of frames and adds two columns: `valid`, and `record`, which is the line of `validated.jsonl` or
    `failures.jsonl`.

    Takes a pandas DataFrame, a polars DataFrame or LazyFrame, a pyarrow Table or RecordBatch, or a dict of columns, and returns
    the same type; an index stays. `unit_id` is the id (in pandas, also the index of that name), `raw_response` is the reply, and
    the other columns are the input, as in a JSON line. A frame that was judged before is judged again. For Ray Data:
    `ds.map_batches(Sift, fn_constructor_args=("contract.yaml",), batch_format="pyarrow", concurrency=2)`.

    `contract` is the path of a contract file, `module:name`, or a contract; if it is None, `options` define it. They are the
    options of `Contract`. `id_column` and `reply_column` name the columns of the id and the reply if they have other names.

    >>> sift = Sift(schema={"type": "object", "properties": {"age": {"type": "integer"}}})
    >>> sift({"unit_id": ["a", "b"], "raw_response": ['{"age": "36"}', "no idea"]})["valid"]
    [True, False]
    """

    def __init__(self, contract: Any = None, *, id_column: str = "", reply_column: str = "", **options: Any) -> None:
        self._contract = spec_of(contract, options=options or None).open()
        self._columns = UnitColumns(id_column, reply_column)

    def __call__(self, batch: Any) -> Any:
        """Judge every row of a frame, and return the frame with `valid` and `record`."""
        room = type(batch).__module__.partition(".")[0]
        if room == "polars" and hasattr(batch, "collect_schema") and not hasattr(batch, "get_columns"):
            return self._lazy(batch)
        if room == "pandas" and hasattr(batch, "iloc") and hasattr(batch, "columns"):
            ids = self._columns.id or ID
            index = [name for name in batch.index.names if name == ids and ids not in batch.columns]
            valid, records = self._judged(_of_pandas(batch), [*batch.columns, *index])
            return _with_verdicts(batch, valid, records)
        if room == "polars" and hasattr(batch, "get_columns"):
            return self._polars(batch)
        if room == "pyarrow" and hasattr(batch, "column_names"):
            return self._arrow(batch)
        if not isinstance(batch, Mapping):
            raise TypeError(f"Sift judges a frame, a table or a dict of columns, not {type(batch).__name__}")
        valid, records = self._judged(_of_dict(batch), batch)
        return {**batch, "valid": valid, "record": records}

    def batches(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Judge `frames` one after the other, each when it is requested."""
        return map(self, frames)

    def _polars(self, frame: Any) -> Any:
        import polars as pl

        valid, records = self._judged(_of_polars(frame), frame.columns)
        return frame.with_columns(
            pl.Series("valid", valid, dtype=pl.Boolean), pl.Series("record", records, dtype=pl.String)
        )

    def _lazy(self, frame: Any) -> Any:
        """A LazyFrame that judges when it is collected, batch by batch if polars streams."""
        import polars as pl

        schema = {**frame.collect_schema(), "valid": pl.Boolean, "record": pl.String}
        _without_ours(frame.collect_schema())
        return frame.map_batches(self, schema=schema, streamable=True)

    def _arrow(self, table: Any) -> Any:
        import pyarrow as pa  # type: ignore[import-untyped]

        refuse_twins(table.column_names)
        table = table.select(_without_ours(table.column_names))
        batches = table.to_batches(max_chunksize=_AT_ONCE) if hasattr(table, "to_batches") else [table]
        reading = BatchReader(table.schema, self._columns)
        valid, records = self._verdicts(chain.from_iterable(map(reading.lines, batches)), table.column_names)
        added = pa.array(valid, pa.bool_()), pa.array(records, pa.string())
        return table.append_column("valid", added[0]).append_column("record", added[1])

    def _judged(self, chunks: "Callable[[list[Any]], Iterable[list[list[Any]]]]", names: Iterable[Any]) -> Any:
        kept = _without_ours(names)
        shape = RowShape([str(name) for name in kept], self._columns)
        return self._verdicts(chain.from_iterable(map(shape.spelt, chunks(kept))), shape.names)

    def _verdicts(self, lines: Lines, names: list[str]) -> tuple[list[bool], list[str]]:
        first = list(islice(lines, _SAMPLE))
        if holds_no_reply(first):
            raise ValueError(f"a batch needs a column raw_response; this one has {listed(names)}")
        valid: list[bool] = []
        records: list[str] = []
        sieve = Sieve(self._contract, "dataset", max_line=_LONGEST)
        for line in chain(first, lines):
            number = len(valid)
            if number % _AT_ONCE == 0:  # its counts are not used
                sieve = Sieve(self._contract, "dataset", max_line=_LONGEST)
            if isinstance(line, UnreadableRow):
                sieve.sift_unread(line, number)
            else:
                sieve.sift(line, number, number)
            record = sieve.take()
            valid.append(bool(record))
            records.append((record or sieve.failed.pop()).decode().rstrip("\n"))
        return valid, records


def _without_ours(names: Iterable[Any]) -> list[Any]:
    """The original columns. A frame that was judged has both of our columns; one of them alone is the user's."""
    given = list(names)
    ours = [name for name in _OURS if name in given]
    if len(ours) == 1:
        raise ValueError(f"there is already a column {ours[0]!r}; rename it, since the verdicts go there")
    return [name for name in given if name not in _OURS]


def _with_verdicts(frame: Any, valid: list[bool], records: list[str]) -> Any:
    """A pandas frame with both columns, which have the same types even without rows."""
    import pandas as pd  # type: ignore[import-untyped]

    text = pd.Series([""]).dtype
    return frame.assign(valid=pd.array(valid, dtype=bool), record=pd.Series(records, dtype=text).array)


def _of_pandas(frame: Any) -> Callable[[list[Any]], Iterator[list[list[Any]]]]:
    def chunks(names: list[Any]) -> Iterator[list[list[Any]]]:
        if len(set(frame.columns)) < len(frame.columns):
            RowShape(
                [str(name) for name in frame.columns], UnitColumns()
            )  # the message that two columns have the same name
        for at in range(0, len(frame), _AT_ONCE):
            part = frame.iloc[at : at + _AT_ONCE]
            yield [(part[name] if name in part else part.index.get_level_values(name)).tolist() for name in names]

    return chunks


def _of_polars(frame: Any) -> Callable[[list[Any]], Iterator[list[list[Any]]]]:
    def chunks(names: list[Any]) -> Iterator[list[list[Any]]]:
        for part in frame.iter_slices(_AT_ONCE):
            yield [values_of(part.get_column(name)) for name in names]

    return chunks


def _of_dict(columns: Any) -> Callable[[list[Any]], Iterator[list[list[Any]]]]:
    def chunks(names: list[Any]) -> Iterator[list[list[Any]]]:
        sizes = {len(columns[name]) for name in names}
        if len(sizes) > 1:
            raise ValueError(f"the columns have different lengths: {', '.join(map(str, sorted(sizes)))}")
        for at in range(0, max(sizes, default=0), _AT_ONCE):
            yield [list(columns[name][at : at + _AT_ONCE]) for name in names]

    return chunks
