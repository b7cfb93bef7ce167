"""The accessor `trueup` on a pandas Series: turns a column of replies into a frame with one row per verdict.

Importing this module registers the accessor. The index is kept, the checked Series is not changed, and a null counts as
a refused reply.
"""

from collections.abc import Iterator
from typing import Any

from trueup.batch.columns import PerRow, columns_of, contexts_of, contract_of, verdicts
from trueup.watch.missing import library

with library("pandas>=2.2"):
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped]


@pd.api.extensions.register_series_accessor("trueup")
class Replies:
    """Checks the replies of a pandas Series: `df["reply"].trueup.check(contract)`.

    `series` has one reply per row, in any form that `Contract.check` takes.

    >>> from trueup import Contract
    >>> ages = Contract({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
    >>> replies = pd.Series(['{"age": "36",}', "I cannot tell.", None], index=["a", "b", "c"])
    >>> replies.trueup.check(ages)[["ok", "data", "codes", "fixes", "grade"]]
          ok         data   codes         fixes  grade
    a   True  {'age': 36}       ()  (C001, S001)  guess
    b  False         None  (P001,)            ()   none
    c  False         None  (R004,)            ()   none
    """

    def __init__(self, series: Any) -> None:
        self._series = series

    def check(self, contract: Any, context: Any = None) -> Any:
        """A DataFrame with the index of the Series: `ok`, `value`, `data`, `reason`, `codes`, `fixes` and `grade`.

        `contract` is a Contract or the path of a contract file. `context` is what `Contract.check` takes, by name; a Series or an array in it
        gives each row its own value, a DataFrame each row a dict. A DataFrame as the `context` has one column per name. None: no context.
        """
        columns = columns_of(self._verdicts(contract, context))
        kinds = {"ok": bool, "reason": str, "grade": str}
        index = self._series.index
        return pd.DataFrame(
            {name: pd.Series(cells, index, dtype=kinds.get(name, object)) for name, cells in columns.items()}
        )

    def verdicts(self, contract: Any, context: Any = None) -> Any:
        """A Series of Verdict objects with the same index; `contract` and `context` are the same as for `check`."""
        return pd.Series(
            list(self._verdicts(contract, context)), self._series.index, dtype=object, name=self._series.name
        )

    def _verdicts(self, contract: Any, context: Any) -> Iterator[Any]:
        series = self._series
        contexts = contexts_of(self._per_row(context), len(series))
        return verdicts(contract_of(contract), _cells(series), contexts, series.index)

    def _per_row(self, context: Any) -> Any:
        """The context, with a value for each row instead of each Series and DataFrame."""
        if isinstance(context, dict):
            return {name: self._taken(value, f"context[{name!r}]") for name, value in context.items()}
        return self._taken(context, "the context")

    def _taken(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray | pd.Index | pd.api.extensions.ExtensionArray) and value.ndim == 1:
            return PerRow(_cells(pd.Series(value)))
        if not isinstance(value, pd.Series | pd.DataFrame):
            return value
        if not value.index.equals(self._series.index):
            raise ValueError(f"{name} has another index than the replies; take both from the same frame")
        if isinstance(value, pd.Series):
            return PerRow(_cells(value))
        names = list(value.columns)
        if not value.columns.is_unique:
            raise ValueError(f"{name} has several columns named {value.columns[value.columns.duplicated()][0]!r}")
        rows = zip(*(_cells(value[name]) for name in names), strict=True) if names else [()] * len(value)
        return PerRow(dict(zip(names, cells, strict=True)) for cells in rows)


def _cells(series: Any) -> list[Any]:
    """The values of a Series as Python objects, with None for every kind of null."""
    cells = zip(series.tolist(), series.isna().tolist(), strict=True)
    if series.dtype != object:
        return [None if null else cell for cell, null in cells]
    return [None if null else _plain(cell) for cell, null in cells]


def _plain(value: Any) -> Any:
    """A cell without values of numpy and pandas, which Parquet files with nested columns give, at any depth."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime(warn=False)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
