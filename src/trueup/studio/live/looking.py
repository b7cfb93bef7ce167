"""Looking: takes a session and a window, and returns the data of the Live page.

Short windows, and those of one tenant, are counted from the latest replies: up to 20,000; if there were more, the
window begins with these. Long windows are counted in full from the store's tallies and an index; latencies and tokens
then come from an even sample.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from trueup.store import recent, stats
from trueup.store.alarm import LEAST, RETRY_RATE
from trueup.store.cells import unpack
from trueup.store.errors import MICROS
from trueup.store.recent import RecentCall
from trueup.store.session import Session
from trueup.studio.live import counting
from trueup.studio.live.windows import Window, window


def look(session: Session, name: str, tenant: str | None = None) -> dict[str, Any]:
    """The numbers of the window with this name."""
    frame = window(name, session.now())
    shown = _long(session, frame) if frame.is_long and tenant is None else _short(session, frame, tenant)
    begins = shown.pop("begins")
    requests = sum(each["count"] for each in shown["outcomes"])
    return {
        "window": name,
        "now": frame.now / MICROS,
        "since": begins / MICROS,
        "step": frame.step / MICROS,
        "times": [at / MICROS for at in frame.times],
        "requests": requests,
        "per_minute": requests / max(1.0, (frame.now - begins) / 60 / MICROS),
        **shown,
        "threshold": RETRY_RATE,
        "least": LEAST,
        "quotas": [_standing(each) for each in recent.quotas(session, tenant)],
        "refusals": [_refusal(each) for each in recent.refusals(session, begins, tenant)],
    }


def _short(session: Session, frame: Window, tenant: str | None) -> dict[str, Any]:
    found = recent.calls(session, frame.since, tenant, most=recent.MOST)
    asked = counting.requests(found.rows)
    begins = found.rows[-1].at if found.is_cut else frame.since
    return {
        "begins": begins,
        "is_cut": found.is_cut,
        "is_sampled": False,
        "replies": len(found.rows),
        "outcomes": counting.in_order(counting.outcomes(frame, asked.last)),
        "cost": sum(call.cost for call in asked.last),
        "models": counting.models(counting.rates(asked), asked.last),
        "codes": counting.codes(_codes(found.rows)),
        **_timed(frame, asked.last),
    }


def _long(session: Session, frame: Window) -> dict[str, Any]:
    rates = stats.rates(session, since=frame.since / MICROS)
    names = sorted({name for each in rates for name in each.outcomes})
    counted = recent.outcomes(session, frame.since, frame.step, names)
    first = frame.since // frame.step
    series = {name: [counts[first + n] for n in range(len(frame.times))] for name, counts in counted.items()}
    codes: Counter[str] = Counter()
    for each in rates:
        codes.update(each.codes)
    replies = recent.count_about(session, frame.since)
    found = recent.calls(session, frame.since, stride=-(-replies // recent.MOST) or 1, most=2 * recent.MOST)
    last = counting.requests(found.rows).last
    return {
        "begins": frame.since,
        "is_cut": False,
        "is_sampled": found.stride > 1 or found.is_cut,
        "replies": replies,
        "outcomes": counting.in_order({name: counts for name, counts in series.items() if sum(counts)}),
        "cost": sum(each.cost for each in rates),
        "models": counting.models(rates, last),
        "codes": counting.codes(codes),
        **_timed(frame, last),
    }


def _timed(frame: Window, last: Sequence[RecentCall]) -> dict[str, Any]:
    return {
        "latency": counting.latency(call.latency for call in last),
        "latencies": counting.latencies(frame, last),
        "tokens": counting.tokens(last),
    }


def _codes(rows: Sequence[RecentCall]) -> Counter[str]:
    return Counter(code for call in rows if not call.ok for code in call.codes.split())


def _standing(standing: Any) -> dict[str, Any]:
    return {name: getattr(standing, name) for name in ("tenant", "unit", "period", "used", "held", "limit")}


def _refusal(refusal: recent.RefusedReply) -> dict[str, Any]:
    return {**refusal._asdict(), "id": unpack(refusal.id), "at": refusal.at / MICROS}
