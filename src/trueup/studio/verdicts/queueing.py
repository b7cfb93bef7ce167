"""The queue on the page: takes filters and returns the newest matching verdicts as the queue of `trueup label`.

The population is limited, so that the answer comes soon: the newest verdicts, as many as there is time for. The answer
says how many and how far back. The random sample represents these, as in `trueup label --since`.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from trueup.labelling.queue import Queue, QueueEntry, queue
from trueup.material.case import REASONS, Case, Label
from trueup.material.stored import case_of_row
from trueup.store.browsing import Filters, Patience, Search, raws, seen
from trueup.store.errors import MICROS
from trueup.store.labels import label_rows
from trueup.store.session import Session
from trueup.studio.verdicts.rows import drawn_rows

MOST = 3_000  # verdicts to choose a queue from
_TOGETHER = 100


class _Cases:
    """The newest cases that match filters, read in batches while there is time."""

    def __init__(self, session: Session, filters: Filters, is_over: Patience) -> None:
        self._session = session
        self._search = Search(session, filters, is_over=is_over)
        self._is_over = is_over
        self.reached = 0
        self.is_all = False

    def __iter__(self) -> Iterator[Case]:
        left = MOST
        while left > 0:
            ids: list[str] = []
            for row in self._search.rows(min(_TOGETHER, left)):
                ids.append(row[1])
                self.reached = row[0]
            left -= len(ids)
            said: dict[str, list[Label]] = {}
            for given in label_rows(self._session, verdicts=ids) if ids else ():
                said.setdefault(given["verdict"], []).append(Label(**given))
            for raw in raws(self._session, ids):
                yield case_of_row(raw, tuple(said.get(raw.id, ())))
            if self._search.is_done:
                self.is_all = True
                return
            if self._is_over():
                return


def chosen(session: Session, filters: Filters, author: str, size: int, seed: int, is_over: Patience) -> dict[str, Any]:
    """The verdicts to label next, in order, and the population that they were chosen from."""
    cases = _Cases(session, filters, is_over)
    found = queue(cases, size=size, author=author, seed=seed)
    return {
        "entries": _entries(session, found.entries, author),
        "from": {"seen": found.seen, "since": cases.reached / MICROS, "all": cases.is_all},
        "accepted": found.accepted,
        "labelled": found.labelled,
        "unreadable": _unreadable(found),
        "promoted": [_again(label) for label in found.promoted],
    }


def _entries(session: Session, entries: list[QueueEntry], author: str) -> list[dict[str, Any]]:
    rows = seen(session, [(0, entry.case.id) for entry in entries])
    drawn = {row["id"]: row for row in drawn_rows(session, rows, author)}
    return [
        {"row": drawn[entry.case.id], "drawn": entry.drawn, "why": list(entry.why), "score": round(entry.score, 3)}
        for entry in entries
        if entry.case.id in drawn
    ]


def _unreadable(found: Queue) -> dict[str, int]:
    return {words: found.unreadable[reason] for reason, words in REASONS.items() if reason in found.unreadable}


def _again(label: Label) -> dict[str, Any]:
    """A label that now counts for the random sample, in the format of `POST /labels`."""
    plain = msgspec.structs.asdict(label)
    return {name: plain[name] for name in ("verdict", "outcome", "subject", "note", "drawn")}
