"""Forecasts the rest of a run, from the rows of the funnel: its progress, the time left, and the cost at the end.

These numbers decide nothing. Unknown values are None: a missing price, or a rate that was not measured yet. Units that a fan-out
will add are counted once it has run.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]


class StepForecast(NamedTuple):
    """The outcomes of one step: the known ones, and those still to come."""

    row: Row
    settled: int
    to_come: int


def work_of(rows: Iterable[Row]) -> list[StepForecast]:
    """The work of each step, as far as it is known. Units that wait for a step also wait for the steps after it.

    >>> first = {"valid": 2, "failed": 1, "retried": 0, "pending": 1}
    >>> [work[1:] for work in work_of([first, {"valid": 0, "failed": 0, "retried": 0, "pending": 2}])]
    [(3, 1), (0, 3)]
    """
    found = []
    coming = 0
    for row in rows:
        settled = row["valid"] + row["failed"] + row["retried"]
        whole = max(settled + row["pending"], coming)
        found.append(StepForecast(row, settled, whole - settled))
        coming = whole - row["failed"] - row["retried"]
    return found


def progress(rows: Iterable[Row]) -> tuple[int, int]:
    """The known outcomes over all steps, and the expected total."""
    work = work_of(rows)
    done = sum(each.settled for each in work)
    return done, done + sum(each.to_come for each in work)


def seconds_left(done: int, total: int, rate: float) -> float | None:
    """The time left at a rate; None if it is not known."""
    if total <= done:
        return 0.0
    return (total - done) / rate if rate > 0 else None


def cost_of_all(rows: Iterable[Row], guesses: Mapping[str, float | None] | None = None) -> float | None:
    """The cost of a run at its end: the money spent, and for each remaining unit the average so far.

    `guesses` is the cost of one unit by step, for steps that have settled no unit yet. None if a price is not known.
    """
    total = 0.0
    for row, settled, to_come in work_of(rows):
        money = row["money"]
        total += money["usd"]
        if row["scope"] != "chunk" or not to_come:
            continue
        each = money["usd"] / settled if settled and not money["unpriced"] else (guesses or {}).get(row["step"])
        if each is None:
            return None
        total += to_come * each
    return total
