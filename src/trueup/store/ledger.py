"""The ledger's moves: a session inside a transaction enters, rows change, what became of a reservation leaves.

Held → captured | released | expired, each exactly once. Every move changes the ledger and the buckets in the same
transaction, so `used` is always the sum of what was captured and `held` the sum of what is on hold. A refusal is
raised before anything is written. The caller holds the tenant's lock.
"""

from typing import Any, NamedTuple

import msgspec

from trueup.store.errors import KeyReused, NotHeld, QuotaExceeded
from trueup.store.limits import Bucket, buckets_for, end_of, limits_for
from trueup.store.session import Session

_COLUMNS = "token, person, model, amount, captured, estimate, cost_held, state, expires, buckets"
_COUNT = (
    "INSERT INTO buckets VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (tenant, scope, name, unit, period, start) "
    "DO UPDATE SET used = buckets.used + excluded.used, held = buckets.held + excluded.held"
)


class Wish(NamedTuple):
    """What a caller wants to reserve; texts are packed for the database."""

    tenant: str
    key: str
    token: str
    person: str
    model: str
    amount: int
    estimate: int
    lifetime: int


class Entry(NamedTuple):
    """One row of the ledger."""

    token: str
    person: str
    model: str
    amount: int
    captured: int
    estimate: int
    cost_held: int
    state: str
    expires: int
    buckets: list[Bucket]


def find(session: Session, tenant: str, key: str) -> Entry | None:
    """The entry of a key, if there is one."""
    rows = session.run(f"SELECT {_COLUMNS} FROM ledger WHERE tenant = ? AND key = ?", (tenant, key))  # noqa: S608
    return _entry(rows[0]) if rows else None


def reserve(session: Session, wish: Wish) -> tuple[Entry, bool]:
    """Put an amount on hold, or find the reservation that this key already has; True means it is the caller's own."""
    now = session.now()
    expire(session, wish.tenant, now)
    old = find(session, wish.tenant, wish.key)
    if old is not None and (old.person, old.model, old.amount) != (wish.person, wish.model, wish.amount):
        raise KeyReused(
            f"key {wish.key!r} of tenant {wish.tenant!r} was used before with another user, model or amount; "
            "a new request needs a new key"
        )
    if old is not None and old.state in ("held", "captured"):
        return old, old.token == wish.token
    limits = limits_for(session, wish.tenant, wish.person, wish.model)
    buckets = buckets_for(wish.person, wish.model, "replies", limits, now)
    costs = buckets_for(wish.person, wish.model, "cost", limits, now)
    for bucket in (*buckets, *costs):
        _refuse_over(session, wish, bucket, limits)
    for bucket in buckets:
        _count(session, wish.tenant, bucket, 0, wish.amount)
    if wish.estimate:
        for bucket in costs:
            _count(session, wish.tenant, bucket, 0, wish.estimate)
    entry = Entry(
        wish.token, wish.person, wish.model, wish.amount, 0, wish.estimate, wish.estimate, "held",
        now + wish.lifetime, [*buckets, *costs],
    )  # fmt: skip
    session.run(
        "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, 'held', ?, ?, 0, ?) "
        "ON CONFLICT (tenant, key) DO UPDATE SET token = excluded.token, captured = 0, estimate = excluded.estimate, "
        "cost_held = excluded.cost_held, state = 'held', at = excluded.at, expires = excluded.expires, settled = 0, "
        "buckets = excluded.buckets",
        (wish.tenant, wish.key, wish.token, wish.person, wish.model, wish.amount, wish.estimate, wish.estimate,
         now, entry.expires, _written(entry.buckets)),
    )  # fmt: skip
    return entry, True


def capture(session: Session, tenant: str, key: str, token: str, amount: int | None) -> Entry:
    """Turn a hold into use, once; again it changes nothing, and too late it is refused."""
    entry = _held(session, tenant, key, token, "captured")
    if entry.state == "captured":
        return entry
    return _settle(session, tenant, key, entry, "captured", entry.amount if amount is None else amount)


def release(session: Session, tenant: str, key: str, token: str) -> Entry:
    """Give a hold back, once; again, or after it expired, it changes nothing."""
    entry = _held(session, tenant, key, token, "released", "expired")
    if entry.state != "held":
        return entry
    return _settle(session, tenant, key, entry, "released", 0)


def spend(session: Session, tenant: str, key: str, token: str, attempt: int, cost: int) -> bool:
    """Count the cost of one attempt, whatever becomes of its reply; whether a cost budget is used up now."""
    entry = find(session, tenant, key)
    if entry is None:
        raise NotHeld(tenant, key, "unknown")
    limits = limits_for(session, tenant, entry.person, entry.model)
    now = session.now()
    # An attempt belongs to the period of its reservation, so that what was put on hold there is what is used.
    costs = [bucket for bucket in entry.buckets if bucket.unit == "cost"]
    fresh = session.run(
        "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING cost",
        (tenant, key, token, attempt, cost, now, _written(costs)),
    )
    if fresh:
        own = entry.token == token and entry.state == "held"
        freed = min(entry.cost_held, cost) if own else 0
        for bucket in costs:
            _count(session, tenant, bucket, cost, -freed)
        if freed:
            session.run(
                "UPDATE ledger SET cost_held = cost_held - ? WHERE tenant = ? AND key = ?", (freed, tenant, key)
            )
    return any(
        _standing(session, tenant, bucket)[0] >= limits[bucket.scope, "cost", bucket.period]
        for bucket in costs
        if (bucket.scope, "cost", bucket.period) in limits
    )


def expire(session: Session, tenant: str, now: int) -> int:
    """Let go of what was held too long, by the store's clock; how many there were."""
    rows = session.run(
        f"SELECT key, {_COLUMNS} FROM ledger WHERE tenant = ? AND state = 'held' AND expires <= ?",  # noqa: S608
        (tenant, now),
    )
    for key, *row in rows:
        _settle(session, tenant, key, _entry(row), "expired", 0)
    return len(rows)


def _held(session: Session, tenant: str, key: str, token: str, *already: str) -> Entry:
    """The caller's own entry, on hold or in one of the states that make its wish a repetition."""
    expire(session, tenant, session.now())
    entry = find(session, tenant, key)
    if entry is None:
        raise NotHeld(tenant, key, "unknown")
    if entry.token != token:
        raise NotHeld(tenant, key, "taken over by a later request with the same key")
    if entry.state != "held" and entry.state not in already:
        raise NotHeld(tenant, key, entry.state)
    return entry


def _settle(session: Session, tenant: str, key: str, entry: Entry, state: str, captured: int) -> Entry:
    for bucket in entry.buckets:
        if bucket.unit == "replies":
            _count(session, tenant, bucket, captured, -entry.amount)
        elif entry.cost_held:
            _count(session, tenant, bucket, 0, -entry.cost_held)
    session.run(
        "UPDATE ledger SET state = ?, captured = ?, cost_held = 0, settled = ? WHERE tenant = ? AND key = ?",
        (state, captured, session.now(), tenant, key),
    )
    return entry._replace(state=state, captured=captured, cost_held=0)


def _refuse_over(session: Session, wish: Wish, bucket: Bucket, limits: dict[tuple[str, str, str], int]) -> None:
    limit = limits.get((bucket.scope, bucket.unit, bucket.period))
    if limit is None:
        return
    used, held = _standing(session, wish.tenant, bucket)
    wanted = wish.amount if bucket.unit == "replies" else max(wish.estimate, 1)
    if used + held + wanted > limit:
        raise QuotaExceeded(
            bucket.scope,
            bucket.name,
            bucket.unit,
            bucket.period,
            limit,
            used,
            held,
            end_of(bucket.period, bucket.start),
        )


def _standing(session: Session, tenant: str, bucket: Bucket) -> tuple[int, int]:
    rows = session.run(
        "SELECT used, held FROM buckets "
        "WHERE tenant = ? AND scope = ? AND name = ? AND unit = ? AND period = ? AND start = ?",
        (tenant, *bucket),
    )
    return (rows[0][0], rows[0][1]) if rows else (0, 0)


def _count(session: Session, tenant: str, bucket: Bucket, used: int, held: int) -> None:
    session.run(_COUNT, (tenant, *bucket, used, held))


def _entry(row: Any) -> Entry:
    return Entry._make([*row[:-1], msgspec.json.decode(row[-1], type=list[Bucket])])


def _written(buckets: list[Bucket]) -> str:
    return msgspec.json.encode(buckets).decode()
