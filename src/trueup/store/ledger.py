"""The ledger's moves: they change entries in the books of a transaction and return the state of a reservation.

Held → captured | released | expired, each exactly once; captured → released once more, if the reply turns out to be
worthless. Every move changes the ledger and the buckets in the same transaction, so `used` is always the sum of captured
amounts and `held` the sum of holds. A refusal is raised before the move changes anything. The caller holds the tenant's lock.
"""

from typing import NamedTuple

import orjson

from trueup.store.books import Books, LedgerEntry, Place
from trueup.store.errors import KeyReused, NotHeld, QuotaExceeded
from trueup.store.limits import Bucket, buckets_at, end_of
from trueup.store.session import Session


class Wish(NamedTuple):
    """A request to reserve quota; texts are packed for the database."""

    place: Place
    token: str
    person: str
    model: str
    amount: int
    estimate: int
    lifetime: int
    digest: str
    new: bool  # the key was generated for this wish, so there is no earlier request


def reserve(books: Books, wish: Wish) -> tuple[LedgerEntry, bool]:
    """Put an amount on hold, or find the existing reservation of this key. True means that it is the caller's own."""
    place, now = wish.place, books.now
    tenant = place[0]
    if books.scan_due(tenant):
        expire(books, tenant)
    old = None if wish.new else books.find(place)
    if old is not None:
        old = _let_go(books, place, old)
        _refuse_other(wish, old)
        if old.state in ("held", "captured"):
            if old.token == wish.token or not _is_deserted(old, now):
                return old, old.token == wish.token
            _take_over(books, wish, old)
    _refuse_over(books, wish)
    entry = LedgerEntry(
        wish.token, wish.person, wish.model, wish.amount, 0, wish.estimate, wish.estimate, "held", now,
        now + wish.lifetime, 0, "", wish.digest, 0,
    )  # fmt: skip
    books.count(tenant, entry.counted_in("replies"), 0, wish.amount)
    if wish.estimate:
        books.count(tenant, entry.counted_in("cost"), 0, wish.estimate)
    return books.put(place, entry), True


def capture(books: Books, place: Place, token: str, amount: int | None, *, sending: bool = False) -> LedgerEntry:
    """Capture a hold, once. Repeating it changes nothing; after the hold has expired, it is refused.

    With `sending`, the reply has not been sent yet; if the process dies meanwhile, a retry of the key takes the charge
    over.
    """
    entry = _own(books, place, token, "captured")
    if entry.state == "captured":
        return entry
    return _settle(books, place, entry, "captured", entry.amount if amount is None else amount, int(sending))


def finish(books: Books, place: Place, token: str) -> LedgerEntry:
    """Record that the reply of a captured entry was sent."""
    entry = _own(books, place, token, "captured")
    return books.put(place, entry._replace(sending=0)) if entry.sending else entry


def release(books: Books, place: Place, token: str) -> LedgerEntry:
    """Give a hold back, once. Repeating it, or calling it after the hold has expired, changes nothing."""
    entry = _own(books, place, token, "released", "expired")
    return _settle(books, place, entry, "released", 0) if entry.state == "held" else entry


def refund(books: Books, place: Place, token: str) -> LedgerEntry:
    """Give back a held or captured amount, once. Repeating it, or calling it after the hold has expired, changes nothing."""
    entry = _own(books, place, token, "captured", "released", "expired")
    return _settle(books, place, entry, "released", 0) if entry.state in ("held", "captured") else entry


def spend(books: Books, session: Session, place: Place, token: str, attempt: int, cost: int) -> bool:
    """Count the cost of one attempt, whether or not its reply is used. Returns whether a cost budget is now used up."""
    entry = books.find(place)
    if entry is None:
        raise NotHeld(*place, "unknown")
    # An attempt belongs to the period of its reservation, so the period of the hold is the period of the use.
    costs = entry.counted_in("cost")
    fresh = session.run(
        "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING cost",
        (*place, token, attempt, cost, books.now, _origin(entry)),
    )
    if fresh:
        own = entry.token == token and entry.state == "held"
        freed = min(entry.cost_held, cost) if own else 0
        books.count(place[0], costs, cost, -freed)
        if freed:
            books.put(place, entry._replace(cost_held=entry.cost_held - freed))
    limits = books.limits(place[0], entry.person, entry.model)
    return any(
        books.standing(place[0], bucket)[0] >= limits[bucket.scope, "cost", bucket.period]
        for bucket in costs
        if (bucket.scope, "cost", bucket.period) in limits
    )


def expire(books: Books, tenant: str) -> int:
    """Expire holds by the store's clock; return how many there were."""
    overdue = books.overdue(tenant)
    for place, entry in overdue:
        _settle(books, place, entry, "expired", 0)
    return len(overdue)


def costs_in(origin: str) -> list[Bucket]:
    """The buckets that count an attempt's cost, according to its row."""
    parts = orjson.loads(origin)
    if parts and isinstance(parts[0], int):
        at, person, model = parts
        return list(buckets_at(person, model, "cost", at))
    return [Bucket(*each) for each in parts]  # of attempts from 0.1


def _origin(entry: LedgerEntry) -> str:
    """The part of a reservation that an attempt keeps to identify its buckets; the entry itself may be opened again later."""
    if entry.buckets:
        return orjson.dumps([list(bucket) for bucket in entry.counted_in("cost")]).decode()
    return orjson.dumps([entry.at, entry.person, entry.model]).decode()


def _own(books: Books, place: Place, token: str, *already: str) -> LedgerEntry:
    """The caller's own entry, on hold or in one of the states that make its wish a repetition."""
    entry = books.find(place)
    if entry is None:
        raise NotHeld(*place, "unknown")
    if entry.token != token:
        raise NotHeld(*place, "taken over by a later request with the same key")
    entry = _let_go(books, place, entry)
    if entry.state != "held" and entry.state not in already:
        raise NotHeld(*place, entry.state)
    return entry


def _let_go(books: Books, place: Place, entry: LedgerEntry) -> LedgerEntry:
    """An entry as of now: a hold may have expired."""
    if entry.state == "held" and entry.expires <= books.now:
        return _settle(books, place, entry, "expired", 0)
    return entry


def _is_deserted(entry: LedgerEntry, now: int) -> bool:
    """Whether it was charged for a reply that was never sent completely."""
    return entry.state == "captured" and bool(entry.sending) and entry.expires <= now


def _take_over(books: Books, wish: Wish, old: LedgerEntry) -> None:
    """Let a retry take over the charge of a reply that was never sent completely; a refused retry leaves it unchanged."""
    freed = _settle(books, wish.place, old, "released", 0)
    try:
        _refuse_over(books, wish)
    except QuotaExceeded:
        _settle(books, wish.place, freed, "captured", old.captured, old.sending)
        raise


def _settle(books: Books, place: Place, entry: LedgerEntry, state: str, captured: int, sending: int = 0) -> LedgerEntry:
    on_hold = entry.amount if entry.state == "held" else 0
    books.count(place[0], entry.counted_in("replies"), captured - entry.captured, -on_hold)
    if entry.cost_held:
        books.count(place[0], entry.counted_in("cost"), 0, -entry.cost_held)
    settled = entry._replace(state=state, captured=captured, cost_held=0, settled=books.now, sending=sending)
    return books.put(place, settled)


def _refuse_other(wish: Wish, old: LedgerEntry) -> None:
    """Refuse a key that was used for another request: a mistake of the caller."""
    same = (old.person, old.model, old.amount) == (wish.person, wish.model, wish.amount)
    if same and old.digest and wish.digest and old.state in ("held", "captured"):
        same = old.digest == wish.digest
    if not same:
        raise KeyReused(
            f"key {wish.place[1]!r} of tenant {wish.place[0]!r} was used before for another request; "
            "a new request needs a new key"
        )


def _refuse_over(books: Books, wish: Wish) -> None:
    """Refuse an amount that a limit leaves no room for, after releasing all expired holds."""
    tenant = wish.place[0]
    limits = books.limits(tenant, wish.person, wish.model)
    if not limits:
        return
    over = _first_over(books, wish, limits)
    if over is not None and expire(books, tenant):
        over = _first_over(books, wish, limits)
    if over is not None:
        bucket, limit, used, held = over
        raise QuotaExceeded(
            bucket.scope,
            bucket.name,
            unit=bucket.unit,
            period=bucket.period,
            limit=limit,
            used=used,
            held=held,
            resets=end_of(bucket.period, bucket.start),
        )


def _first_over(
    books: Books, wish: Wish, limits: dict[tuple[str, str, str], int]
) -> tuple[Bucket, int, int, int] | None:
    for unit, wanted in (("replies", wish.amount), ("cost", max(wish.estimate, 1))):
        for bucket in buckets_at(wish.person, wish.model, unit, books.now):
            limit = limits.get((bucket.scope, unit, bucket.period))
            if limit is None:
                continue
            used, held = books.standing(wish.place[0], bucket)
            if used + held + wanted > limit:
                return bucket, limit, used, held
    return None
