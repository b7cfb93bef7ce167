"""Frames: a frame of pandas or polars, a table of pyarrow, or columns by name enter; the same with a verdict for each row leaves.

A row is read as a sift reads the row of a table, and judged by itself: ids are not compared. Rows are taken a few at a time, so that
besides the frame and its verdicts nothing grows with it. What is given is not changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from trueup.batch.input.ranges import Spoiled
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.sieve import Sieve
from trueup.batch.tables.nanoseconds import values_of
from trueup.batch.tables.rows import ID, Columns, Reading, Shape, holds_no_reply, listed, refuse_twins

_OURS = ("valid", "record")
_AT_ONCE = 1_024
_SAMPLE = 20
_LONGEST = 1 << 62

Lines = Iterator[bytes | Spoiled]


class Sift:
    """Judges the rows of frames: `valid` and `record`, the line of `validated.jsonl` or `failures.jsonl`, are added as columns.

    Takes a DataFrame of pandas or polars, a LazyFrame of polars, a Table or RecordBatch of pyarrow, or a dict of columns, and gives the
    same kind back; an index stays. `unit_id` is the id (in pandas, also the index of that name), `raw_response` the reply, and the
    other columns are the input, as in a JSON line. A frame that has been judged before is judged again.
    For Ray Data: `ds.map_batches(Sift, fn_constructor_args=("contract.yaml",), batch_format="pyarrow", concurrency=2)`.

    `contract` is the path of a contract file, `module:name`, or a contract; None: `options` make one, which are those of `Contract`.
    `id_column` and `reply_column` name the columns of the id and the reply where they are called something else.

    >>> sift = Sift(schema={"type": "object", "properties": {"age": {"type": "integer"}}})
    >>> sift({"unit_id": ["a", "b"], "raw_response": ['{"age": "36"}', "no idea"]})["valid"]
    [True, False]
    """

    def __init__(self, contract: Any = None, *, id_column: str = "", reply_column: str = "", **options: Any) -> None:
        self._contract = spec_of(contract, options=options or None).open()
        self._columns = Columns(id_column, reply_column)

    def __call__(self, batch: Any) -> Any:
        """Judge every row of a frame; gives the frame with `valid` and `record`."""
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
            raise TypeError(f"a frame, a table or a dict of columns is judged, not {type(batch).__name__}")
        valid, records = self._judged(_of_dict(batch), batch)
        return {**batch, "valid": valid, "record": records}

    def batches(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Judge `frames` one after the other, each when it is asked for."""
        return map(self, frames)

    def _polars(self, frame: Any) -> Any:
        import polars as pl

        valid, records = self._judged(_of_polars(frame), frame.columns)
        return frame.with_columns(
            pl.Series("valid", valid, dtype=pl.Boolean), pl.Series("record", records, dtype=pl.String)
        )

    def _lazy(self, frame: Any) -> Any:
        """A LazyFrame that judges when it is collected, batch by batch where polars streams."""
        import polars as pl

        schema = {**frame.collect_schema(), "valid": pl.Boolean, "record": pl.String}
        _without_ours(frame.collect_schema())
        return frame.map_batches(self, schema=schema, streamable=True)

    def _arrow(self, table: Any) -> Any:
        import pyarrow as pa  # type: ignore[import-untyped]

        refuse_twins(table.column_names)
        table = table.select(_without_ours(table.column_names))
        batches = table.to_batches(max_chunksize=_AT_ONCE) if hasattr(table, "to_batches") else [table]
        reading = Reading(table.schema, self._columns)
        valid, records = self._verdicts(chain.from_iterable(map(reading.lines, batches)), table.column_names)
        added = pa.array(valid, pa.bool_()), pa.array(records, pa.string())
        return table.append_column("valid", added[0]).append_column("record", added[1])

    def _judged(self, chunks: "Callable[[list[Any]], Iterable[list[list[Any]]]]", names: Iterable[Any]) -> Any:
        kept = _without_ours(names)
        shape = Shape([str(name) for name in kept], self._columns)
        return self._verdicts(chain.from_iterable(map(shape.spelt, chunks(kept))), shape.names)

    def _verdicts(self, lines: Lines, names: list[str]) -> tuple[list[bool], list[str]]:
        first = list(islice(lines, _SAMPLE))
        if holds_no_reply(first):
            raise ValueError(f"a batch has the column raw_response; this one has {listed(names)}")
        valid: list[bool] = []
        records: list[str] = []
        sieve = Sieve(self._contract, "dataset", max_line=_LONGEST)
        for line in chain(first, lines):
            number = len(valid)
            if number % _AT_ONCE == 0:  # what it counts is not looked at
                sieve = Sieve(self._contract, "dataset", max_line=_LONGEST)
            if isinstance(line, Spoiled):
                sieve.sift_unread(line, number)
            else:
                sieve.sift(line, number, number)
            record = sieve.take()
            valid.append(bool(record))
            records.append((record or sieve.failed.pop()).decode().rstrip("\n"))
        return valid, records


def _without_ours(names: Iterable[Any]) -> list[Any]:
    """The columns that were given; a frame that was judged has both of ours, and one alone is somebody else's."""
    given = list(names)
    ours = [name for name in _OURS if name in given]
    if len(ours) == 1:
        raise ValueError(f"there is a column {ours[0]!r} already; rename it: the verdicts go there")
    return [name for name in given if name not in _OURS]


def _with_verdicts(frame: Any, valid: list[bool], records: list[str]) -> Any:
    """A frame of pandas with both columns, of the same types if it has no rows."""
    import pandas as pd  # type: ignore[import-untyped]

    text = pd.Series([""]).dtype
    return frame.assign(valid=pd.array(valid, dtype=bool), record=pd.Series(records, dtype=text).array)


def _of_pandas(frame: Any) -> Callable[[list[Any]], Iterator[list[list[Any]]]]:
    def chunks(names: list[Any]) -> Iterator[list[list[Any]]]:
        if len(set(frame.columns)) < len(frame.columns):
            Shape([str(name) for name in frame.columns], Columns())  # which says that two have one name
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
