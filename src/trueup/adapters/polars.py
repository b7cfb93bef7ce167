"""The namespace `trueup` on polars Series and expressions: turns a column of replies into columns of verdicts.

Importing this module registers it. A Series gives a frame; an expression gives a struct, eagerly or in a LazyFrame. A
null counts as a refused reply.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.batch.columns import PerRow, columns_of, contexts_of, contract_of, verdicts
from trueup.verdict.codec import spelled
from trueup.verdict.verdict import Verdict
from trueup.watch.missing import library

with library("polars>=1.20"):
    import polars as pl

SCHEMA: dict[str, Any] = {
    "ok": pl.Boolean,
    "data": pl.String,
    "reason": pl.String,
    "codes": pl.List(pl.String),
    "fixes": pl.List(pl.String),
    "grade": pl.String,
}


@pl.api.register_series_namespace("trueup")
class Replies:
    """Checks the replies of a polars Series: `df["reply"].trueup.check(contract)`.

    `series` has one reply per row, in any form that `Contract.check` takes.

    >>> from trueup import Contract
    >>> ages = Contract({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
    >>> pl.Series(['{"age": "36",}', None]).trueup.check(ages).select("ok", "data", "codes", "fixes").rows()
    [(True, '{"age":36}', [], ['C001', 'S001']), (False, None, ['R004'], [])]
    """

    def __init__(self, series: Any) -> None:
        self._series = series

    def check(self, contract: Any, context: Any = None) -> Any:
        """A DataFrame with one row per reply: `ok`, `data` as JSON text, `reason`, `codes`, `fixes` and `grade`.

        `contract` is a Contract or the path of a contract file. `context` is what `Contract.check` takes, by name; a Series or an array in it
        gives each row its own value, a DataFrame or a Series of structs each row a dict. A DataFrame as the `context` has one column per
        name. None: no context.
        """
        columns: dict[str, Any] = {**columns_of(self._verdicts(contract, context))}
        columns["data"] = [None if data is None else spelled(data).decode() for data in columns["data"]]
        for name in ("codes", "fixes"):  # polars splits a text a hundred times faster than it takes a list of Python
            texts = pl.Series(list(map(" ".join, columns[name])), dtype=pl.String)
            columns[name] = texts.str.extract_all(r"\S+")
        return pl.DataFrame({name: columns[name] for name in SCHEMA}, schema=SCHEMA)

    def verdicts(self, contract: Any, context: Any = None) -> list[Verdict]:
        """A list with the Verdict of each row; `contract` and `context` are the same as for `check`."""
        return list(self._verdicts(contract, context))

    def _verdicts(self, contract: Any, context: Any) -> Iterator[Verdict]:
        rows = len(self._series)
        given = {name: _taken(value) for name, value in context.items()} if isinstance(context, Mapping) else context
        return verdicts(contract_of(contract), self._series.to_list(), contexts_of(_taken(given), rows), range(rows))


@pl.api.register_expr_namespace("trueup")
class RepliesOf:
    """Checks the replies of an expression: `df.select(pl.col("reply").trueup.check(contract))`.

    `expr` gives one reply per row.

    >>> from trueup import Contract
    >>> frame = pl.LazyFrame({"reply": ["[1,]", "none"]})
    >>> checked = frame.with_columns(pl.col("reply").trueup.check(Contract(list[int])).alias("checked"))
    >>> checked.filter(pl.col("checked").struct.field("ok")).select("reply").collect().rows()
    [('[1,]',)]
    """

    def __init__(self, expr: Any) -> None:
        self._expr = expr

    def check(self, contract: Any, context: Mapping[str, Any] | None = None) -> Any:
        """A struct with the fields that the frame of a Series has; `unnest` makes columns of them.

        `contract` is the same as for a Series. An expression in the `context` gives each row its own value; None: no context.
        """
        made = contract_of(contract)
        if not isinstance(context, Mapping | None):
            raise TypeError(
                f"context of an expression must be a dict such as {{'state': pl.col('state')}}; got {type(context).__name__}"
            )
        columns = {name: _as_series(value) for name, value in (context or {}).items()}
        given = {name: pl.lit(value) if isinstance(value, pl.Series) else value for name, value in columns.items()}
        per_row = [name for name, value in given.items() if isinstance(value, pl.Expr)]

        def judge(columns: Any) -> Any:
            replies, *others = _as_long(columns)
            own = dict(zip(per_row, others, strict=True))
            return Replies(replies).check(made, {**given, **own}).to_struct()

        return pl.map_batches(
            [self._expr, *(given[name] for name in per_row)], judge, return_dtype=pl.Struct(SCHEMA), is_elementwise=True
        )


def _as_long(columns: list[Any]) -> list[Any]:
    """The columns with the same number of rows: polars gives one row for an expression without columns, such as a literal."""
    rows = next((len(column) for column in columns if len(column) != 1), 1)
    return [column if len(column) == rows else column.new_from_index(0, rows) for column in columns]


def _as_series(value: Any) -> Any:
    """An array with one value per row as a Series; anything else unchanged."""
    return value if isinstance(value, pl.Series) or getattr(value, "ndim", 0) != 1 else pl.Series(value.tolist())


def _taken(value: Any) -> Any:
    """The values of a Series or the rows of a DataFrame; anything else is the same for every row."""
    value = _as_series(value)
    if isinstance(value, pl.Expr):
        raise TypeError("an expression in the context needs an expression of replies: pl.col('reply').trueup.check(…)")
    if isinstance(value, pl.Series):
        return PerRow(value.to_list())
    return PerRow(value.to_dicts()) if isinstance(value, pl.DataFrame) else value
