"""Labels from the page: stores labels of verdicts under the name of the key, and takes them back.

The words mean the same as in `trueup label`: `right` and `wrong` are about the decision, `skipped` leaves it open.
"""

from typing import Any, Literal

import msgspec

from trueup.store.errors import UnknownVerdict
from trueup.store.labels import MOST, Said, label_rows
from trueup.store.store import Store
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key

_MOST_ITEMS = 200
_MOST_NOTE = 10_000


class PreviousLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The previous label by the same person."""

    outcome: str
    note: str = ""
    drawn: Literal["", "random", "uncertain"] = ""


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One label."""

    verdict: str
    outcome: str
    """`right`, `wrong`, `skipped`, or your own word; `comment` for a note only."""
    subject: str = ""
    """Its subject: empty for the verdict as a whole, `code:V005` or `rule:NAME` for findings."""
    note: str = ""
    drawn: Literal["", "random", "uncertain"] = ""


class StoredLabel(Item, frozen=True, forbid_unknown_fields=True):
    """A stored label, with the one that it replaced."""

    before: PreviousLabel | None = None


def add(store: Store, items: tuple[Item, ...], who: Key) -> list[dict[str, Any]]:
    """Store labels, all or none; returns each with the one that it replaced."""
    said = [_said(item, who.name) for item in items]
    _limit(len(said))
    before = _own(store, {each.verdict for each in said}, who.name)
    _record(store, said, who)
    return [
        {**msgspec.structs.asdict(item), "before": before.get((item.verdict, item.subject, each.kind))}
        for item, each in zip(items, said, strict=True)
    ]


def undo(store: Store, items: tuple[StoredLabel, ...], who: Key) -> int:
    """Take labels back, and restore the ones that they replaced.

    A label that was changed since then, for example in another tab, stays.
    """
    _limit(len(items))
    now = _own(store, {item.verdict for item in items}, who.name)
    again: list[Said] = []
    gone: list[Said] = []
    for item in items:
        said = _said(item, who.name)
        there = now.get((said.verdict, said.subject, said.kind))
        is_same = there is not None and there["outcome"] == item.outcome.strip()
        if item.before is None and (is_same or there is None):
            gone.append(said)
        elif item.before is not None and is_same:
            before = item.before
            again.append(_said(Item(item.verdict, before.outcome, item.subject, before.note, before.drawn), who.name))
    try:
        done = store.retract(gone, tenant=who.tenant)
    except UnknownVerdict as unknown:
        raise _missing(unknown) from None
    _record(store, again, who)
    return done + len(again)


def _said(item: Item, author: str) -> Said:
    outcome = item.outcome.strip()
    if not outcome or (outcome == "comment" and not item.note.strip()):
        raise RequestRefused(400, "A label needs an outcome: right, wrong, skipped or your own word.")
    if len(outcome) > MOST or len(item.note) > _MOST_NOTE:
        raise RequestRefused(400, f"A label has at most {MOST} characters, and its note {_MOST_NOTE:,}.")
    said = Said(item.verdict, note=item.note, user=author, subject=item.subject, outcome=outcome, drawn=item.drawn)
    try:
        said.refuse_odd()
    except ValueError as error:
        raise RequestRefused(400, str(error)) from None
    return said.plain()


def _own(store: Store, ids: set[str], author: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = store.read(lambda session: list(label_rows(session, verdicts=sorted(ids), author=author)))
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        kind = Said(row["verdict"], outcome=row["outcome"]).plain().kind
        found[row["verdict"], row["subject"], kind] = {name: row[name] for name in ("outcome", "note", "drawn")}
    return found


def _record(store: Store, said: list[Said], who: Key) -> None:
    if not said:
        return
    try:
        store.record_all(said, tenant=who.tenant)
    except UnknownVerdict as unknown:
        raise _missing(unknown) from None


def _missing(unknown: UnknownVerdict) -> RequestRefused:
    return RequestRefused(
        404, f"There is no verdict {str(unknown.args[-1])[:100]!r}; nothing was stored.", code="no_verdict"
    )


def _limit(items: int) -> None:
    if not items:
        raise RequestRefused(400, "Give at least one label.")
    if items > _MOST_ITEMS:
        raise RequestRefused(400, f"Give at most {_MOST_ITEMS} labels at once.")
