"""Codes over time: takes a contract and a time range, and returns the number of replies with each error, by hour or by
day (UTC).

The numbers were counted when verdicts were written, so a year of them is a few thousand rows. There are no such numbers
for one tenant: the newest verdicts are searched for a moment, and the answer says how far back.
"""

import time
from collections import Counter
from typing import Any, Literal

from trueup.labelling.subjects import is_error
from trueup.store.browsing import Filters, Search, seconds
from trueup.store.cells import pack
from trueup.store.errors import MICROS
from trueup.store.session import Session
from trueup.store.store import Store
from trueup.studio.refusal import RequestRefused
from trueup.verdict.catalogue import FINDINGS, OWN

By = Literal["hour", "day"]
_STEP: dict[str, int] = {"hour": 3600, "day": 86_400}
_MOST_TIMES = 1_000
MOST_SERIES = 30
_PATIENCE = 0.25  # seconds
_MOST_LOOKED = 50_000
_JUDGED, _REFUSED = "judged", "refused"


def codes_over_time(
    store: Store, name: str, *, since: float, until: float | None = None, by: By = "day", tenant: str | None = None
) -> dict[str, Any]:
    """How many replies had each error in each hour or day, and how many were judged and refused."""
    step = _STEP[by]
    end = time.time() if until is None else until
    start = int(since // step * step)
    if end <= start or (end - start) / step > _MOST_TIMES:
        raise RequestRefused(
            400, f"The time range is longer than {_MOST_TIMES:,} {by}s.", hint="Give a later `since`, or by=day."
        )
    times = list(range(start, int(end) + 1, step))
    reached = 0.0
    if tenant is None:
        counts = store.read(lambda session: _tallied(session, name, start, end, step))
    else:
        counts, reached = store.read(lambda session: _looked(session, name, tenant, start, end, step))
    total: Counter[str] = Counter()
    for (_, what), n in counts.items():
        total[what] += n
    codes = [what for what, _ in total.most_common() if what.startswith("code:")]

    def series(what: str) -> list[int]:
        return [counts[at, what] for at in times]

    return {
        "times": times, "by": by, "judged": series(_JUDGED), "refused": series(_REFUSED),
        "series": [{**_named(what[5:]), "total": total[what], "counts": series(what)} for what in codes[:MOST_SERIES]],
        "omitted": max(0, len(codes) - MOST_SERIES), "complete": not reached, "reached": reached or None,
    }  # fmt: skip


def _tallied(session: Session, name: str, start: int, end: float, step: int) -> Counter[tuple[int, str]]:
    rows = session.run(
        "SELECT hour, what, sum(n) FROM tallies WHERE hour >= ? AND hour <= ? AND contract = ? "
        "AND (what IN ('judged', 'refused') OR substr(what, 1, 5) = 'code:') GROUP BY hour, what",
        (start * MICROS, round(end * MICROS), pack(name)),
    )
    counts: Counter[tuple[int, str]] = Counter()
    for hour, what, n in rows:
        counts[_floor(hour // MICROS, step), what] += int(n)
    return counts


def _looked(
    session: Session, name: str, tenant: str, start: int, end: float, step: int
) -> tuple[Counter[tuple[int, str]], float]:
    filters = Filters(contract=name, tenant=tenant, since=start, until=end)
    search = Search(session, filters, columns=("ok", "codes"), is_over=seconds(_PATIENCE))
    counts: Counter[tuple[int, str]] = Counter()
    last = 0
    for at, _, ok, codes in search.rows(_MOST_LOOKED):
        stretch, last = _floor(at // MICROS, step), at
        counts[stretch, _JUDGED] += 1
        counts[stretch, _REFUSED] += not ok
        for code in filter(_is_error, set(codes.split())):
            counts[stretch, f"code:{code}"] += 1
    return counts, 0.0 if search.is_done else last / MICROS


def _is_error(code: str) -> bool:
    return is_error({"code": code})  # the numbers counted at writing are also of errors only


def _floor(at: int, step: int) -> int:
    return at - at % step


def _named(code: str) -> dict[str, str]:
    kind = FINDINGS.get(code) or OWN.get(code)
    return {"code": code, "title": kind.title if kind else ""}
