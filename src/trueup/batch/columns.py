"""Judges columns of replies: takes the cells of a pandas or polars column and returns one verdict for each, in order.

A cell can be anything that `Contract.check` takes. A null cell is refused as a reply without an answer. The pandas and polars
adapters turn their columns into lists and the verdicts back into columns; this module imports neither library.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any

from trueup.contract.contract import Contract
from trueup.verdict.catalogue import GRADES
from trueup.verdict.codec import as_json
from trueup.verdict.facts import Findings, finding
from trueup.verdict.verdict import Verdict

Row = dict[str, Any]

_NO_REPLY = Findings((finding("R004", "$", "The cell is null: there is no reply", hint="Ask again."),))


COLUMNS = ("ok", "value", "data", "reason", "codes", "fixes", "grade")


def contract_of(given: Any) -> Contract:
    """The contract that was passed, or the one in the file at a path.

    >>> contract_of(Contract(True)).check("1").data
    1
    >>> contract_of({"type": "object"})
    Traceback (most recent call last):
    TypeError: expected a Contract or the path of a contract file, got dict; use Contract(…)
    """
    if isinstance(given, Contract):
        return given
    if isinstance(given, str | os.PathLike):
        return Contract.load(given)
    raise TypeError(f"expected a Contract or the path of a contract file, got {type(given).__name__}; use Contract(…)")


def verdicts(
    contract: Contract, cells: Iterable[Any], contexts: Iterable[Row], labels: Iterable[Any]
) -> Iterator[Verdict]:
    """One verdict for each cell. If a custom check raises an exception, a note on it names the row.

    >>> [v.ok for v in verdicts(Contract(True), ["[1,]", None], contexts_of(None, 2), range(2))]
    [True, False]
    """
    check = contract.check
    for cell, context, label in zip(cells, contexts, labels, strict=True):
        try:
            if type(cell) is str:
                yield check(cell, context)
            elif cell is None:
                yield Verdict("", findings=_NO_REPLY)
            else:
                yield _of_object(contract, cell, context)
        except Exception as error:
            error.add_note(f"This happened in row {label!r} of the column.")
            raise


def _of_object(contract: Contract, cell: Any, context: Row) -> Verdict:
    """The verdict on a cell that is not text. Parsed data is judged as if it were its JSON text."""
    verdict = contract.check(cell, context)
    if isinstance(cell, dict | list) and any(found.code == "R001" for found in verdict.findings):
        return contract.check(as_json(cell)[1].decode(), context)
    return verdict


def contexts_of(given: Any, rows: int) -> Iterable[Row]:
    """The context of each row, without nulls. It comes from a list with a dict per row, or from values by name, each of them a
    `PerRow` or the same for all rows.

    >>> list(contexts_of({"state": PerRow(["IDLE", None]), "lang": "de"}, 2))
    [{'state': 'IDLE', 'lang': 'de'}, {'lang': 'de'}]
    """
    if given is None:
        return repeat({}, rows)
    if isinstance(given, PerRow):
        _refuse_length("the context", given, rows)
        return [{name: value for name, value in row.items() if value is not None} for row in given]
    if not isinstance(given, Mapping):
        raise TypeError(
            f"context must be a dict such as {{'state': frame['state']}}, or a frame; got {type(given).__name__}"
        )
    names = list(given)
    for name, value in given.items():
        _refuse_length(f"context[{name!r}]", value, rows)
    columns = [value if isinstance(value, PerRow) else repeat(value, rows) for value in given.values()]
    if not names:
        return repeat({}, rows)
    return (
        {name: value for name, value in zip(names, values, strict=True) if value is not None}
        for values in zip(*columns, strict=True)
    )


def _refuse_length(name: str, value: Any, rows: int) -> None:
    if isinstance(value, PerRow) and len(value) != rows:
        raise ValueError(
            f"{name} has {len(value)} rows, and the column of replies has {rows}; take both from the same frame"
        )


class PerRow(list[Any]):
    """The values of a column, one for each row, as opposed to a list that is the value of every row."""


def columns_of(verdicts: Iterable[Verdict]) -> dict[str, list[Any]]:
    """The columns of a checked frame by name: the distinct codes of findings and of fixes, and the riskiest grade of the fixes.

    For a reply without findings and fixes only the value is kept. Many objects would cost the garbage collector more time than
    judging.

    >>> columns_of([Contract(True).check("[1,]")])["fixes"]
    [('S001',)]
    """
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    add = [column.append for column in columns.values()]
    for verdict in verdicts:
        findings, fixes = verdict.findings, verdict.fixes
        cells = (
            verdict.ok,
            verdict.value,
            verdict.data,
            _text(verdict.reason),
            tuple(dict.fromkeys(found.code for found in findings)) if findings else (),
            tuple(dict.fromkeys(fix.code for fix in fixes)) if fixes else (),
            max((fix.grade for fix in fixes), key=GRADES.__getitem__, default="none") if fixes else "none",
        )
        for append, cell in zip(add, cells, strict=True):
            append(cell)
    return columns


def _text(reason: str) -> str:
    """Text that every kind of column can hold: a lone surrogate becomes a question mark."""
    return reason if reason.isascii() else reason.encode("utf-8", "replace").decode()
