"""Quota: reserve before asking, capture when the reply was worth it, release when it was not; spend for each attempt.

Each reservation is settled exactly once, however often it is tried, from whichever process, and whatever crashes: the
tenant and the key name it. One that nobody settles is given back after five minutes by the store's clock.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import orjson

from trueup.store import ledger
from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS, MOST, QuotaError
from trueup.store.ledger import Entry, Wish
from trueup.store.limits import PERIODS, SCOPES, UNITS, UNLIMITED, Bucket, Limit, Period, Scope, Standing, Unit
from trueup.store.session import Row, Session
from trueup.store.writer import Writer

T = TypeVar("T")
LIFETIME = 300.0
LONGEST = 366 * 86_400.0  # seconds that anything can be on hold
State = Literal["held", "captured", "released", "expired"]


class Reservation(NamedTuple):
    """An amount on hold, or what became of it."""

    tenant: str
    """Whose quota it counts against."""
    key: str
    """The id of the request."""
    token: str
    """What proves that the hold is your own."""
    user: str
    """The user; empty if none was named."""
    model: str
    """The model; empty if none was named."""
    amount: int
    """How many replies are on hold."""
    captured: int
    """How many of them were used."""
    state: State
    """`held`, `captured`, `released` or `expired`."""
    expires: float
    """When the hold is given back, in seconds since 1970."""
    fresh: bool
    """False if the key belongs to an earlier request."""


class Read(Protocol):
    """Does something with a session that writes nothing."""

    def __call__(self, work: Callable[[Session], T], /) -> T: ...


class Quota:
    """The ledger of a store; `store.quota` is one. Methods that start with `a` are for asyncio.

    It is made of the store's `writer` and a function to `read` with.
    """

    def __init__(self, writer: Writer, read: "Read") -> None:
        self._writer, self._read = writer, read

    def reserve(
        self, tenant: str, key: str = "", *, user: str = "", model: str = "", amount: int = 1, estimate: int = 0,
        lifetime: float = LIFETIME, token: str = "",
    ) -> Reservation:  # fmt: skip
        """Put an `amount` of replies on hold for a `tenant`, or raise QuotaExceeded; `estimate` is the cost to put on hold with it.

        `key` is an id of the request; empty: a new one is made. `user` and `model` count against their own limits; empty: they do not.
        After `lifetime` seconds, by default five minutes, the hold is given back. `token` proves that a hold is your own; empty: a new one is made.

        The same tenant and key again give the reservation there is: `fresh` is then False, and `state` says how it
        stands. A released or expired one is opened again.
        """
        wish = _wish(tenant, key, user, model, amount, estimate, lifetime, token)
        return self._wait(lambda session: _reserved(session, wish), wish.tenant)

    async def areserve(
        self, tenant: str, key: str = "", *, user: str = "", model: str = "", amount: int = 1, estimate: int = 0,
        lifetime: float = LIFETIME, token: str = "",
    ) -> Reservation:  # fmt: skip
        """The same as `Quota.reserve`, for asyncio."""
        wish = _wish(tenant, key, user, model, amount, estimate, lifetime, token)
        return await self._await(lambda session: _reserved(session, wish), wish.tenant)

    def capture(self, held: Reservation, amount: int | None = None) -> Reservation:
        """Turn the hold `held` into use; a smaller `amount` gives the rest back, None takes all. Once captured, again changes nothing.

        Raises NotHeld when it was released, expired or taken over: the reply must then not be given away.
        """
        return self._wait(_capture(held, amount), pack(held.tenant))

    async def acapture(self, held: Reservation, amount: int | None = None) -> Reservation:
        """The same as `Quota.capture`, for asyncio."""
        return await self._await(_capture(held, amount), pack(held.tenant))

    def release(self, held: Reservation) -> Reservation:
        """Give the hold `held` back. Again, or after it expired, changes nothing; once captured it raises NotHeld."""
        return self._wait(_release(held), pack(held.tenant))

    async def arelease(self, held: Reservation) -> Reservation:
        """The same as `Quota.release`, for asyncio."""
        return await self._await(_release(held), pack(held.tenant))

    def spend(self, held: Reservation, attempt: int, cost: int) -> bool:
        """Count the `cost` of one `attempt` of `held`, once for each number; True if a cost budget is now used up."""
        return bool(self._wait(_spend(held, attempt, cost), pack(held.tenant)))

    async def aspend(self, held: Reservation, attempt: int, cost: int) -> bool:
        """The same as `Quota.spend`, for asyncio."""
        return bool(await self._await(_spend(held, attempt, cost), pack(held.tenant)))

    def expire(self) -> int:
        """Give back everything that was held too long, of all tenants; how much there was."""
        tenants = self._read(lambda s: s.run("SELECT DISTINCT tenant FROM ledger WHERE state = 'held'"))
        return sum(self._wait(_expire(row[0]), row[0]) for row in tenants)

    def set_limit(
        self, tenant: str, amount: int | None, *, scope: Scope = "tenant", name: str = "", unit: Unit = "replies",
        period: Period = "month",
    ) -> None:  # fmt: skip
        """Set the limit of a `tenant` to an `amount`; None takes it away, -1 says that there is none, whatever holds for `*`.

        `scope` is what is limited (`tenant`, `user` or `model`), `name` which one of them (empty: the tenant itself), `unit` what is counted
        (`replies` or `cost`), and `period` for how long (`hour`, `day`, `month` or `total`).
        """
        limit = Limit(pack(tenant), scope, pack(name), unit, period, 0 if amount is None else amount)
        _refuse_bad_limit(limit)
        place = "tenant = ? AND scope = ? AND name = ? AND unit = ? AND period = ?"

        def work(session: Session) -> None:
            session.run(f"DELETE FROM limits WHERE {place}", limit[:-1])  # noqa: S608 - our own text
            if amount is not None:
                session.run("INSERT INTO limits VALUES (?, ?, ?, ?, ?, ?)", limit)

        self._wait(work, limit.tenant)

    def limits(self) -> list[Limit]:
        """Every limit that is set."""
        rows = self._read(lambda s: s.run("SELECT tenant, scope, name, unit, period, amount FROM limits"))
        return sorted(Limit(unpack(row[0]), row[1], unpack(row[2]), *row[3:]) for row in rows)

    def standings(self, tenant: str | None = None) -> list[Standing]:
        """How every bucket stands, the newest period of each; of one `tenant`, or of all if None."""
        return self._read(lambda session: _standings(session, None if tenant is None else pack(tenant)))

    def audit(self, tenant: str | None = None) -> list[str]:
        """Everything in which buckets and ledger disagree, for one `tenant` or, if None, for all; an empty list proves that they agree."""
        return self._read(lambda session: _audit(session, None if tenant is None else pack(tenant)))

    def _wait(self, work: Callable[[Session], T], tenant: str) -> T:
        return self._writer.submit(work, tenant).result()

    async def _await(self, work: Callable[[Session], T], tenant: str) -> T:
        return await asyncio.wrap_future(self._writer.submit(work, tenant, patience=0))


def _wish(
    tenant: str, key: str, user: str, model: str, amount: int, estimate: int, lifetime: float, token: str
) -> Wish:
    _refuse_odd("amount", amount, 1)
    _refuse_odd("estimate", estimate, 0)
    if not 0 < lifetime <= LONGEST:
        raise ValueError(f"lifetime is a number of seconds, more than 0 and at most {LONGEST:,.0f}; got {lifetime!r}")
    return Wish(
        pack(tenant), pack(key or secrets.token_hex(12)), token or secrets.token_hex(8), pack(user), pack(model),
        amount, estimate, int(lifetime * MICROS),
    )  # fmt: skip


def _reserved(session: Session, wish: Wish) -> Reservation:
    entry, own = ledger.reserve(session, wish)
    return _reservation(wish.tenant, wish.key, entry, own)


def _capture(held: Reservation, amount: int | None) -> Callable[[Session], Reservation]:
    if amount is not None and (type(amount) is not int or not 0 < amount <= held.amount):
        raise ValueError(f"of {held.amount} on hold, 1 to {held.amount} can be captured; got {amount}")
    tenant, key = pack(held.tenant), pack(held.key)
    return lambda s: _reservation(tenant, key, ledger.capture(s, tenant, key, held.token, amount), held.fresh)


def _release(held: Reservation) -> Callable[[Session], Reservation]:
    tenant, key = pack(held.tenant), pack(held.key)
    return lambda s: _reservation(tenant, key, ledger.release(s, tenant, key, held.token), held.fresh)


def _spend(held: Reservation, attempt: int, cost: int) -> Callable[[Session], bool]:
    _refuse_odd("attempt", attempt, 0)
    if type(cost) is not int or cost < 0:  # one that is too large is counted as the most there is
        raise ValueError(f"cost is a whole number, 0 or more; got {cost!r}")
    tenant, key = pack(held.tenant), pack(held.key)
    return lambda s: ledger.spend(s, tenant, key, held.token, attempt, min(cost, MOST))


def _expire(tenant: str) -> Callable[[Session], int]:
    return lambda s: ledger.expire(s, tenant, s.now())


def _reservation(tenant: str, key: str, entry: Entry, own: bool) -> Reservation:
    return Reservation(
        unpack(tenant), unpack(key), entry.token, unpack(entry.person), unpack(entry.model), entry.amount,
        entry.captured, entry.state, entry.expires / MICROS, own,  # type: ignore[arg-type]
    )  # fmt: skip


def _refuse_odd(what: str, value: Any, least: int) -> None:
    """Only whole numbers are counted, and none that a sum of many would not fit with: databases round in different ways."""
    if type(value) is not int or not least <= value <= MOST:
        raise ValueError(f"{what} is a whole number from {least} to {MOST:,}; got {value!r}")


def _refuse_bad_limit(limit: Limit) -> None:
    for word, known, what in (
        (limit.scope, SCOPES, "scope"), (limit.unit, UNITS, "unit"), (limit.period, PERIODS, "period"),
    ):  # fmt: skip
        if word not in known:
            raise ValueError(f"{what} is one of {', '.join(known)}; got {word!r}")
    if limit.amount != UNLIMITED:
        _refuse_odd("a limit (-1 for none)", limit.amount, 0)
    if (limit.scope == "tenant") != (limit.name == ""):
        raise QuotaError("a limit of a user or a model needs its name (or `*` for each); one of a tenant has none")


def _standings(session: Session, tenant: str | None) -> list[Standing]:
    where, values = ("", ()) if tenant is None else ("WHERE tenant = ?", (tenant,))
    rows = session.run(
        f"SELECT tenant, scope, name, unit, period, start, used, held FROM buckets {where} ORDER BY start",  # noqa: S608
        values,
    )
    limits: dict[tuple[str, str, str, str, str], int] = {
        row[:5]: row[5] for row in session.run("SELECT tenant, scope, name, unit, period, amount FROM limits")
    }
    newest = {row[:5]: row for row in rows}
    found = []
    for (owner, scope, name, unit, period), row in newest.items():
        places = [(whose, scope, which, unit, period) for whose in (owner, "*") for which in dict.fromkeys((name, "*"))]
        amount = next((limits[place] for place in places if place in limits), UNLIMITED)
        limit = None if amount == UNLIMITED else amount
        start, used, held = row[5:]
        found.append(Standing(unpack(owner), scope, unpack(name), unit, period, start, used, held, limit))
    return sorted(found, key=lambda standing: standing[:5])


def _audit(session: Session, tenant: str | None) -> list[str]:
    where, values = ("", ()) if tenant is None else ("WHERE tenant = ?", (tenant,))

    def rows(columns: str, table: str) -> list[Row]:
        return session.run(f"SELECT {columns} FROM {table} {where}", values)  # noqa: S608 - our own texts

    should: dict[tuple[Any, ...], list[int]] = {}
    for owner, state, amount, captured, cost_held, buckets in rows(
        "tenant, state, amount, captured, cost_held, buckets", "ledger"
    ):
        for bucket in (Bucket(*parts) for parts in orjson.loads(buckets)):
            sums = should.setdefault((owner, *bucket), [0, 0])
            if bucket.unit == "cost":
                sums[1] += cost_held
            elif state == "held":
                sums[1] += amount
            else:
                sums[0] += captured
    for owner, cost, buckets in rows("tenant, cost, buckets", "attempts"):
        for parts in orjson.loads(buckets):
            should.setdefault((owner, *parts), [0, 0])[0] += cost
    faults = []
    for row in rows("tenant, scope, name, unit, period, start, used, held, folded", "buckets"):
        place, (used, held, folded) = row[:6], row[6:]
        right = should.pop(place, [0, 0])
        if [used - folded, held] != right:
            faults.append(f"{place}: used {used - folded}, held {held}; the ledger says {right[0]} and {right[1]}")
    faults += [f"{place}: no bucket; the ledger says {sums}" for place, sums in should.items() if sums != [0, 0]]
    return faults
