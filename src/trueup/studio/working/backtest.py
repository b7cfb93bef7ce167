"""The backtest of a draft: takes two contracts and a selection from a store; reports an estimate several times a
second, then the result.

The result lists randomly chosen flips of all directions, each with the places that either contract marks in the reply.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from trueup.backtesting.backtest import backtest as judge_again
from trueup.backtesting.result import Backtest
from trueup.batch.judging.work import EngineFailed
from trueup.contract.text import rebuilt
from trueup.material.case import REASONS
from trueup.material.selection import Selection
from trueup.material.sources import SourceError, SourceName
from trueup.store.errors import StoreError, UnknownVerdict
from trueup.store.open import open_store
from trueup.studio.contracts.drafts import contract_of
from trueup.studio.places import named
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings
from trueup.studio.stores import unavailable
from trueup.studio.working.flips import drawn_flip, plain_flip
from trueup.studio.working.folders import settings_of

MOST_FLIPS = 500
MOST_EARLY = 40  # flips shown while the others are judged
_EVERY = 0.25  # seconds between two estimates
_PATIENCE = 8.0  # seconds for drawing flips; the rest show the backtest's own record
_GROUPS = 12  # rows of each table
_LEFT_OUT = ("sources", "examples", "verdicts", "new", "old")
Tell = Callable[[Any], None]


class BacktestSpec(msgspec.Struct, kw_only=True):
    """The specification of a backtest."""

    folders: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    store: str
    file: str
    text: str
    old: str | None = None
    """The text to compare with: the saved file, or a stored version; None: the recorded outcomes."""
    old_stored: bool = False
    """Whether `old` is the text of a stored version."""
    selection: Selection
    sources: tuple[str, ...] = ()
    """The paths of other replies to judge; empty: those of the store."""
    sample: int | None = None
    work: str = ""
    parent: int = 0


def backtest(given: dict[str, Any], tell: Tell) -> None:
    """Do a backtest, and report its progress."""
    spec = msgspec.convert(given, BacktestSpec)
    settings = settings_of(spec.folders, spec.hidden)
    new = contract_of(settings, spec.text, spec.file)
    old = _old(settings, spec)
    teller = _Teller(tell)
    try:
        found = judge_again(
            new, [SourceName(each) for each in spec.sources or (spec.store,)], against=old, selection=spec.selection, sample=spec.sample, examples=MOST_FLIPS,
            on_progress=teller,
        )  # fmt: skip
    except (SourceError, StoreError) as error:
        if spec.sources:
            raise RequestRefused(422, named(settings, str(error)), code="no_replies") from None
        raise unavailable(error, spec.store) from None
    except EngineFailed as error:
        raise RequestRefused(500, str(error), code="work_failed") from None
    teller.last(found)
    rows = balanced(found.examples, MOST_FLIPS)
    rows.sort(key=lambda row: teller.places.get(row["id"], MOST_FLIPS))  # flips that are already shown stay in place
    flips = map(plain_flip, rows) if spec.sources else _drawn(spec.store, rows, new, old)
    tell({"result": {**figures(found), "flips": list(flips)}})


class _Teller:
    """Reports the estimate, no more often than people can follow."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told = -1.0
        self._flips: list[dict[str, Any]] = []
        self.places: dict[str, int] = {}
        """The position of each reported flip."""

    def __call__(self, found: Backtest) -> None:
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            self.last(found)

    def last(self, found: Backtest) -> None:
        """Report it now."""
        self._add(balanced(found.examples, MOST_EARLY))
        self._tell({"progress": progress(found), "estimate": {**figures(found), "flips": self._flips}})

    def _add(self, rows: list[dict[str, Any]]) -> None:
        """Add flips to the shown ones, which stay in place."""
        for row in rows:
            if len(self._flips) < MOST_EARLY and row["id"] not in self.places:
                self.places[row["id"]] = len(self._flips)
                self._flips.append(plain_flip(row))


def progress(found: Backtest) -> dict[str, Any]:
    """The progress of a backtest; the total number of replies is estimated from the part that was read."""
    total = found.total if found.complete or not found.share else round(found.total / found.share)
    return {
        "judged": found.judged, "read": found.total, "total": max(total, found.total), "share": round(found.share, 4),
        "seconds": round(found.seconds, 2),
    }  # fmt: skip


def figures(found: Backtest) -> dict[str, Any]:
    """The figures so far, without examples; only the largest groups of each kind."""
    told = {name: value for name, value in found.to_dict().items() if name not in _LEFT_OUT}
    told["groups"] = {
        name: [{key: value for key, value in row.items() if key != "example"} for row in rows[:_GROUPS]]
        for name, rows in told["groups"].items()
    }
    told["p"] = found.p
    told["equivalent"] = found.equivalent
    told["reasons"] = {str(name): REASONS[name] for name in found.unjudgeable}
    return told


def balanced(examples: dict[str, list[dict[str, Any]]], most: int) -> list[dict[str, Any]]:
    """As many flips of each direction as fit: no direction crowds out another.

    >>> rows = balanced({"newly_refused": [{"id": 1}], "newly_accepted": [{"id": n} for n in range(2, 9)]}, 5)
    >>> [row["id"] for row in rows]
    [2, 1, 3, 4, 5]
    """
    waiting = [
        list(examples[kind]) for kind in ("newly_accepted", "newly_refused", "value_changed") if examples.get(kind)
    ]
    chosen: list[dict[str, Any]] = []
    while len(chosen) < most and any(waiting):
        for rows in waiting:
            if rows and len(chosen) < most:
                chosen.append(rows.pop(0))
    return chosen


def _drawn(store: str, rows: list[dict[str, Any]], new: Any, old: Any) -> Iterator[dict[str, Any]]:
    until = time.monotonic() + _PATIENCE
    with open_store(store, create=False) as opened:
        for row in rows:
            flip = None
            if time.monotonic() < until:
                try:
                    flip = drawn_flip(opened.get(row["id"]), row, new, old)
                except (UnknownVerdict, StoreError):  # deleted in the meantime
                    flip = None
            yield plain_flip(row) if flip is None else flip


def _old(settings: StudioSettings, spec: BacktestSpec) -> Any:
    """The contract to compare with; None for the recorded outcomes."""
    if spec.old is None:
        return None
    return rebuilt(spec.old) if spec.old_stored else contract_of(settings, spec.old, spec.file)
