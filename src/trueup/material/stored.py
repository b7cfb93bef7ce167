"""Cases of a store: a stretch of time enters, the verdicts of it leave as cases, with their labels.

A verdict whose reply is gone, was never kept or has something taken out of it is a case that says so. Bodies are decoded here, in the
worker that judges them.
"""

from collections.abc import Iterator
from typing import Any

from trueup.material.case import Case, Recorded
from trueup.material.lines import is_redacted, missing_of
from trueup.material.selection import Selection
from trueup.store.errors import MICROS
from trueup.store.records import Stored
from trueup.store.store import Store

SLICE = 1000  # verdicts in a stretch, about


def stretches(store: Store, selection: Selection, size: int = SLICE) -> list[tuple[int, int]]:
    """Stretches of time that hold about `size` verdicts each, in microseconds since 1970: from the first until before the second."""
    since = int((selection.since or 0.0) * MICROS)
    until = 2**62 if selection.until is None else int(selection.until * MICROS)
    sql = (
        "SELECT DISTINCT at FROM (SELECT at, row_number() OVER (ORDER BY at) AS place FROM verdicts "  # noqa: S608 - numbers of ours
        f"WHERE at >= ? AND at < ?) AS numbered WHERE place % {size} = 1 ORDER BY at"
    )
    marks = [int(row[0]) for row in store.read(lambda session: session.run(sql, (since, until)))]
    return list(zip(marks, [*marks[1:], until], strict=False))


def cases_between(store: Store, since: int, until: int, selection: Selection) -> Iterator[Case]:
    """The cases of a stretch; what the database can filter by is filtered there."""
    equal = {
        name: value
        for name in ("model", "contract", "state", "tenant", "ok")
        if (value := getattr(selection, name)) is not None
    }
    for stored in store.verdicts(since=since / MICROS, until=until / MICROS, **equal):
        yield case_of_stored(stored)


def case_of_stored(stored: Stored) -> Case:
    """The case of one stored verdict."""
    from trueup.batch.units import unit_of

    context: dict[str, Any] = {"state": stored.state} if stored.state else {}
    body = stored.body
    recorded = Recorded(stored.ok, stored.codes, fingerprint=stored.fingerprint)
    known = {
        name: getattr(stored, name)
        for name in (
            "model",
            "state",
            "tenant",
            "user",
            "contract",
            "at",
            "outcome",
            "attempt",
            "attempts",
            "latency",
            "tokens_in",
            "tokens_out",
            "cost",
        )
    }
    known["conversation"] = stored.request
    if body is None:
        return Case(stored.id, None, context, "reply_not_kept", recorded=recorded, **known)
    unit = unit_of(
        {"id": stored.id, "ok": stored.ok, "codes": [], "attempts": 1, "body": body, "state": stored.state}, stored.id
    )
    recorded = Recorded(
        stored.ok, stored.codes, tuple(body["findings"]), body.get("data"), stored.fingerprint,
        fixes=tuple(body.get("fixes") or ()), metrics=body.get("metrics") or {},
    )  # fmt: skip
    reason = "no_reply" if any(found.level == "error" for found in unit.findings) else None
    if reason is None and is_redacted(unit.reply):
        return Case(stored.id, None, context, "reply_redacted", recorded=recorded, **known)
    return Case(
        stored.id,
        None if reason else unit.reply,
        context,
        "no_reply" if reason else None,
        missing_of("", context),
        recorded,
        **known,
    )
