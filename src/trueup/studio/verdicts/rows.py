"""Rows: takes verdicts of the store and returns a row of the page's table for each, with its labels."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import asdict

from trueup.labelling.subjects import DECISIONS, SKIPPED, WHOLE
from trueup.store.browsing import VerdictRow
from trueup.store.labels import label_rows
from trueup.store.session import Session
from trueup.studio.judging.units import OffsetUnits

_MOST_NAME = 300  # letters of a name in a table


def drawn_rows(session: Session, rows: Sequence[VerdictRow], author: str) -> list[dict[str, Any]]:
    """Rows of the table; `mine` is the user's own label of the verdict as a whole."""
    said: dict[str, list[dict[str, Any]]] = {}
    for label in label_rows(session, verdicts=[row.id for row in rows]) if rows else ():
        said.setdefault(label["verdict"], []).append(label)
    return [_row(row, said.get(row.id, ()), author) for row in rows]


def _row(row: VerdictRow, labels: Iterable[dict[str, Any]], author: str) -> dict[str, Any]:
    whole = [each for each in labels if each["subject"] == WHOLE]
    decided = dict.fromkeys(each["outcome"] for each in whole if each["outcome"] in DECISIONS)
    others = dict.fromkeys(each["outcome"] for each in whole)
    mine = [each["outcome"] for each in whole if each["author"] == author and each["outcome"] in (*DECISIONS, SKIPPED)]
    found = row.found
    if found is not None and row.excerpt is not None:
        units = OffsetUnits(row.excerpt)
        found = (units.of(found[0]), units.of(found[1]))
    shown = {name: value[:_MOST_NAME] if isinstance(value, str) else value for name, value in asdict(row).items()}
    return {
        **shown,
        "codes": list(row.codes[:20]),
        "found": found,
        "label": "both" if len(decided) > 1 else next(iter(decided or others), ""),
        "mine": next((word for word in mine if word in DECISIONS), next(iter(mine), "")),
    }
