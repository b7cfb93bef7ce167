"""Recent activity, since a given time: calls, outcomes over time, quotas and refusals.

A look stays quick no matter how many verdicts there are: few rows are read one by one, and more are sampled, which the
result says. With a `tenant`, the result covers only its data; None means all tenants.
"""

from collections import Counter
from typing import NamedTuple

from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS
from trueup.store.limits import ANY, UNLIMITED, BucketState, start_of
from trueup.store.records import decode
from trueup.store.selecting import choose
from trueup.store.session import Row, Session

MOST = 20_000  # rows read one by one
ACCEPTED = "accepted"  # the outcome of a request whose first reply was good
EARLIER = "refused"  # the outcome of an attempt that was followed by another
_CALL = (
    "v.id, v.request, v.at, v.model, v.outcome, v.attempts, v.latency, v.tokens_in, v.tokens_out, v.cost, v.codes, v.ok"
)
_PRIME = 1009  # microseconds: whole-second times must be sampled like any others
_TOP = 50  # quotas
_EXCERPT = 400  # characters of a reply


class RecentCall(NamedTuple):
    """One judged reply: the last of its request, unless its outcome is `refused`. Times are in microseconds, money in
    millionths.
    """

    id: str
    request: str
    at: int
    model: str
    outcome: str
    attempts: int
    latency: int
    tokens_in: int
    tokens_out: int
    cost: int
    codes: str
    ok: int


class RecentCalls(NamedTuple):
    """Judged replies, newest first."""

    rows: list[RecentCall]
    stride: int
    """1: every reply since then; n: about one in n, evenly over the time."""
    is_cut: bool
    """Whether there were earlier replies since then that are not included."""


class RefusedReply(NamedTuple):
    """A reply that was refused."""

    id: str
    at: int
    model: str
    contract: str
    state: str
    tenant: str
    outcome: str
    codes: tuple[str, ...]
    message: str
    """The message of its first error; empty if it was not kept."""
    text: str | None
    """The beginning of the reply; None if it was not kept."""


def calls(session: Session, since: int, tenant: str | None = None, *, stride: int = 1, most: int = MOST) -> RecentCalls:
    """The latest replies since a time in microseconds, up to `most`; with a `stride`, a sample of them."""
    chosen = choose(since=since / MICROS, tenant=tenant)
    part = f"(v.at / {_PRIME})"
    sampled = (
        "" if stride == 1 else f" AND {part} - {part} / {int(stride)} * {int(stride)} = 0"
    )  # a remainder without a percent sign, which drivers would interpret
    rows = session.run(
        f"SELECT {_CALL} FROM verdicts v {chosen.where}{sampled} ORDER BY v.at DESC, v.attempt DESC LIMIT {int(most) + 1}",  # noqa: S608 - our own words, as below
        chosen.values,
    )
    return RecentCalls([RecentCall._make(row) for row in rows[:most]], stride, len(rows) > most)


def count_about(session: Session, since: int) -> int:
    """How many replies there were since a time, by the tallies, including the whole hour of that time."""
    hour = since - since % (3600 * MICROS)
    rows = session.run("SELECT sum(n) FROM tallies WHERE hour >= ? AND what = 'judged'", (hour,))
    return int(rows[0][0] or 0)


def outcomes(session: Session, since: int, step: int, names: "list[str]") -> dict[str, Counter[int]]:
    """How often requests ended with each of these outcomes, in intervals of `step` microseconds since 1970.

    Accepted ones are counted from the tallies, so `since` and `step` are whole hours; the rest from an index that has only
    the rest.
    """
    found: dict[str, Counter[int]] = {}
    for name in names:
        if name == ACCEPTED:
            sql = "SELECT hour / ?, sum(n) FROM tallies WHERE hour >= ? AND what = ? GROUP BY 1"
            values = (step, since, f"outcome:{ACCEPTED}")
        else:
            sql = "SELECT at / ?, count(*) FROM verdicts WHERE at >= ? AND outcome = ? AND outcome <> 'accepted' GROUP BY 1"
            values = (step, since, pack(name))
        found[name] = Counter({int(at): int(n) for at, n in session.run(sql, values)})
    return found


def quotas(session: Session, tenant: str | None = None) -> list[BucketState]:
    """The use of each tenant-wide limit in its current period; the least remaining first, at most 50."""
    now = session.now()
    limits: dict[tuple[str, str, str], int] = {
        (row[0], row[1], row[2]): row[3]
        for row in session.run("SELECT tenant, unit, period, amount FROM limits WHERE scope = 'tenant'")
    }
    found: dict[tuple[str, str, str], BucketState] = {}
    for unit, period in sorted({place[1:] for place in limits}):
        start = start_of(period, now)
        for whose, used, held in _used(session, unit, period, start, None if tenant is None else pack(tenant)):
            found[whose, unit, period] = BucketState(unpack(whose), "tenant", "", unit, period, start, used, held, None)
    for whose, unit, period in limits:
        if whose != ANY and tenant in (None, unpack(whose)):
            start = start_of(period, now)
            found.setdefault(
                (whose, unit, period), BucketState(unpack(whose), "tenant", "", unit, period, start, 0, 0, None)
            )
    limited = []
    for (whose, unit, period), standing in found.items():
        amount = limits.get((whose, unit, period), limits.get((ANY, unit, period), UNLIMITED))
        if amount != UNLIMITED:
            limited.append(standing._replace(limit=amount))
    return sorted(limited, key=lambda each: (-(each.used + each.held) / max(1, each.limit or 0), each[:5]))[:_TOP]


def _used(session: Session, unit: str, period: str, start: int, tenant: str | None) -> list[Row]:
    """The tenants with the highest sums of a period."""
    whose, values = ("", ()) if tenant is None else ("AND tenant = ? ", (tenant,))
    return session.run(
        "SELECT tenant, used, held FROM buckets WHERE scope = 'tenant' AND name = '' AND unit = ? AND period = ? AND start = ? "  # noqa: S608
        f"{whose}ORDER BY used + held DESC LIMIT 1000",
        (unit, period, start, *values),
    )


def refusals(session: Session, since: int, tenant: str | None = None, most: int = 12) -> list[RefusedReply]:
    """The latest refused replies."""
    chosen = choose(since=since / MICROS, tenant=tenant, ok=False)
    rows = session.run(
        "SELECT v.id, v.at, v.model, v.contract, v.state, v.tenant, v.outcome, v.codes, r.body FROM verdicts v "  # noqa: S608
        f"LEFT JOIN replies r ON r.verdict = v.id {chosen.where} ORDER BY v.at DESC LIMIT {int(most)}",
        chosen.values,
    )
    return [
        RefusedReply(
            identity, at, unpack(model), unpack(contract), unpack(state), unpack(whose), unpack(outcome),
            tuple(codes.split()), *(("", None) if body is None else _said(bytes(body))),
        )
        for identity, at, model, contract, state, whose, outcome, codes, body in rows
    ]  # fmt: skip


def _said(body: bytes) -> tuple[str, str]:
    """The message of the first error and the beginning of the reply, from a stored body."""
    stored = decode(body)
    errors = [each for each in stored.get("findings") or () if each.get("level") == "error"]
    text = (stored.get("reply") or {}).get("text") or ""
    return str(errors[0].get("message", ""))[:_EXCERPT] if errors else "", str(text)[:_EXCERPT]
