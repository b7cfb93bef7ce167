"""How much of a run is done, how long the rest takes and what the whole will cost: rows of the funnel enter, numbers leave.

Nothing is decided by these numbers. What is not known is None: a price that is missing, a rate that was never measured. Units
that a list has yet to bring are not counted until it has.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]


class Work(NamedTuple):
    """The outcomes of one step: those that are known, and those still to come."""

    row: Row
    settled: int
    to_come: int


def work_of(rows: Iterable[Row]) -> list[Work]:
    """The work of each step, as far as it is known: what waits for a step also waits for those after it.

    >>> first = {"valid": 2, "failed": 1, "retried": 0, "pending": 1}
    >>> [work[1:] for work in work_of([first, {"valid": 0, "failed": 0, "retried": 0, "pending": 2}])]
    [(3, 1), (0, 3)]
    """
    found = []
    coming = 0
    for row in rows:
        settled = row["valid"] + row["failed"] + row["retried"]
        whole = max(settled + row["pending"], coming)
        found.append(Work(row, settled, whole - settled))
        coming = whole - row["failed"] - row["retried"]
    return found


def progress(rows: Iterable[Row]) -> tuple[int, int]:
    """Outcomes known over all steps, and how many there will be."""
    work = work_of(rows)
    done = sum(each.settled for each in work)
    return done, done + sum(each.to_come for each in work)


def seconds_left(done: int, total: int, rate: float) -> float | None:
    """How long the rest takes at a rate; None where that is not known."""
    if total <= done:
        return 0.0
    return (total - done) / rate if rate > 0 else None


def cost_of_all(rows: Iterable[Row], guesses: Mapping[str, float | None] | None = None) -> float | None:
    """What a run will have cost at its end: what is spent, and for the units to come as much as those before them.

    `guesses` is the cost of one unit by step, for steps in which none is settled. None where a price is not known.
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
