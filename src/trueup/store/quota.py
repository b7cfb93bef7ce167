"""Quota: reserve before asking, capture if the reply was worth it, release if it was not; spend for each attempt.

Each reservation, named by tenant and key, is settled exactly once, no matter how often and from which process that is
tried, and even after a crash. A reservation that nobody settles is given back after five minutes by the store's clock.
An early capture can be refunded once. A charged reply can be kept with its capture, for a client that asks again.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from trueup.store import ledger, replays
from trueup.store.books import LedgerEntry, Place
from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS, MOST, QuotaError, StoreError
from trueup.store.ledger import Wish
from trueup.store.limits import PERIODS, SCOPES, UNITS, UNLIMITED, BucketState, Limit, Period, Scope, Unit
from trueup.store.records import new_id
from trueup.store.redaction import Redaction
from trueup.store.replays import SentReply
from trueup.store.retention import Retention
from trueup.store.session import Row, Session
from trueup.store.writer import Waiter, WriteJob, Writer

T = TypeVar("T")
LIFETIME = 300.0
LONGEST = 366 * 86_400.0  # the longest hold, in seconds
_LIMITS_CHANGED = "INSERT INTO meta VALUES ('limits', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
State = Literal["held", "captured", "released", "expired"]


class Reservation(NamedTuple):
    """An amount on hold, and how it ended."""

    tenant: str
    """Whose quota it counts against."""
    key: str
    """The id of the request."""
    token: str
    """Proves that the hold is your own."""
    user: str
    """The user; empty if the caller named no user."""
    model: str
    """The model; empty if the caller named no model."""
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
    sending: bool = False
    """True if it was captured for a stream that has not ended yet."""


class Read(Protocol):
    """Does something with a read-only session."""

    def __call__(self, work: Callable[[Session], T], /) -> T: ...


class Quota:
    """The ledger of a store; `store.quota` is one. Methods that start with `a` are for asyncio.

    Built from the store's `writer` and a function to `read` with. `redaction` decides which replies are not kept with their
    capture; None: those with keys and tokens. `retention` decides how long the others are kept; None: a day.
    """

    def __init__(
        self, writer: Writer, read: "Read", redaction: Redaction | None = None, retention: Retention | None = None
    ) -> None:
        self._writer, self._read = writer, read
        self._redaction = redaction or Redaction()
        self._days = (retention or Retention()).replays

    @property
    def keeps(self) -> bool:
        """Whether replies are kept for clients that ask again."""
        return self._days != 0 and self._redaction.bodies == "all"

    def may_keep(self, body: bytes, stream: bool = False) -> bool:  # noqa: FBT001, FBT002 - public
        """Whether the reply with this `body` may be kept unchanged; `stream` means that it is one of many events."""
        return self.keeps and replays.is_keepable(self._redaction, body, stream=stream)

    def reserve(
        self, tenant: str, key: str = "", *, user: str = "", model: str = "", amount: int = 1, estimate: int = 0,
        lifetime: float = LIFETIME, token: str = "", digest: str = "",
    ) -> Reservation:  # fmt: skip
        """Put an `amount` of replies on hold for a `tenant`, or raise QuotaExceeded; `estimate` is the cost to put on hold
        with it.

        `key` is an id of the request; empty: a new one is generated. `user` and `model` count against their own limits;
        empty: they do not. After `lifetime` seconds, by default five minutes, the hold is given back. `token` proves that a
        hold is your own; empty: a new one is generated. `digest` identifies the request; the same key with another digest is
        refused; empty: not compared.

        The same tenant and key again return the existing reservation: `fresh` is then False, and `state` is its state. A
        released or expired one is opened again.
        """
        wish = _wish(
            tenant, key, user, model, amount=amount, estimate=estimate, lifetime=lifetime, token=token, digest=digest
        )
        return self._wait(lambda session: _reserved(session, wish), wish.place[0])

    async def areserve(
        self, tenant: str, key: str = "", *, user: str = "", model: str = "", amount: int = 1, estimate: int = 0,
        lifetime: float = LIFETIME, token: str = "", digest: str = "",
    ) -> Reservation:  # fmt: skip
        """Like `Quota.reserve`, for asyncio. If the caller is cancelled or the store fails, nothing stays on hold."""
        wish = _wish(
            tenant, key, user, model, amount=amount, estimate=estimate, lifetime=lifetime, token=token, digest=digest
        )
        place = None if wish.new else wish.place
        try:
            return await self._await(lambda session: _reserved(session, wish), wish.place, place, lasting=False)
        except QuotaError:
            raise
        except (asyncio.CancelledError, StoreError):
            self._owe(lambda session: ledger.refund(session.books, wish.place, wish.token), wish.place)
            raise

    def capture(self, held: Reservation, amount: int | None = None) -> Reservation:
        """Capture the hold `held`. A smaller `amount` gives the rest back; None captures all. Repeating a capture changes
        nothing.

        Raises NotHeld if it was released, expired or taken over: the reply must then not be delivered.
        """
        return self._wait(_capture(held, amount), pack(held.tenant))

    async def acapture(
        self, held: Reservation, amount: int | None = None, *, replay: SentReply | None = None, sending: bool = False
    ) -> Reservation:
        """Like `Quota.capture`, for asyncio.

        `replay` is the reply, kept in the same commit for a client that asks again with this key; None: it is not kept.
        `sending` means that the reply is a stream that has not been sent yet; call `afinish` afterwards.
        """
        place = _place(held)
        return await self._await(_capture(held, amount, replay, sending=sending), place, place)

    async def afinish(self, held: Reservation, replay: SentReply | None = None) -> Reservation:
        """Record that the stream of the captured `held` has ended; `replay` is what was sent of it, None if it is not kept."""
        place = _place(held)
        return await self._await(_finish(held, replay), place, place, owed=True)

    def release(self, held: Reservation) -> Reservation:
        """Give the hold `held` back. Repeating it, or calling it after the hold has expired, changes nothing; a captured one
        raises NotHeld.
        """
        return self._wait(_release(held), pack(held.tenant))

    async def arelease(self, held: Reservation) -> Reservation:
        """Like `Quota.release`, for asyncio."""
        place = _place(held)
        return await self._await(_release(held), place, place)

    def refund(self, held: Reservation) -> Reservation:
        """Give `held` back, whether on hold or captured too early. Repeating it, or calling it after it has expired, changes
        nothing.

        The key can then be used again, as after `release`. Raises NotHeld if a later request has taken it over.
        """
        return self._wait(_refund(held), pack(held.tenant))

    async def arefund(self, held: Reservation) -> Reservation:
        """Like `Quota.refund`, for asyncio. `held` is given back as soon as the store can write, even if no caller waits for
        it.
        """
        place = _place(held)
        return await self._await(_refund(held), place, place, lasting=False, owed=True)

    async def areplay(self, held: Reservation) -> SentReply | None:
        """The reply that was kept when `held` was captured; None if it was not kept, or if it has expired."""
        place = _place(held)
        age = None if self._days is None else int(self._days * 86_400 * MICROS)
        return await asyncio.to_thread(self._read, lambda session: replays.find(session, place, age))

    def spend(self, held: Reservation, attempt: int, cost: int) -> bool:
        """Count the `cost` of one `attempt` of `held`, once for each attempt number. Returns True if a cost budget is now
        used up.
        """
        return bool(self._wait(_spend(held, attempt, cost), pack(held.tenant)))

    async def aspend(self, held: Reservation, attempt: int, cost: int) -> bool:
        """Like `Quota.spend`, for asyncio."""
        place = _place(held)
        return bool(await self._await(_spend(held, attempt, cost), place, place))

    def expire(self) -> int:
        """Give back all expired holds of all tenants; return how many there were."""
        tenants = self._read(lambda s: s.run("SELECT DISTINCT tenant FROM ledger WHERE state = 'held'"))
        return sum(self._wait(_expire(row[0]), row[0]) for row in tenants)

    def set_limit(
        self, tenant: str, amount: int | None, *, scope: Scope = "tenant", name: str = "", unit: Unit = "replies",
        period: Period = "month",
    ) -> None:  # fmt: skip
        """Set the limit of a `tenant` to `amount`. None removes it; -1 means no limit, even if `*` has one.

        `scope` is what is limited (`tenant`, `user` or `model`), `name` which one of them (empty: the tenant itself), `unit`
        what is counted (`replies` or `cost`), and `period` for how long (`hour`, `day`, `month` or `total`).
        """
        limit = Limit(pack(tenant), scope, pack(name), unit, period, 0 if amount is None else amount)
        _refuse_bad_limit(limit)
        place = "tenant = ? AND scope = ? AND name = ? AND unit = ? AND period = ?"

        def work(session: Session) -> None:
            session.run(f"DELETE FROM limits WHERE {place}", limit[:-1])  # noqa: S608 - our own text
            if amount is not None:
                session.run("INSERT INTO limits VALUES (?, ?, ?, ?, ?, ?)", limit)
            session.run(_LIMITS_CHANGED, (secrets.token_hex(8),))
            session.books.close()

        self._wait(work, limit.tenant)

    def limits(self) -> list[Limit]:
        """Every limit that is set."""
        rows = self._read(lambda s: s.run("SELECT tenant, scope, name, unit, period, amount FROM limits"))
        return sorted(Limit(unpack(row[0]), row[1], unpack(row[2]), *row[3:]) for row in rows)

    def standings(self, tenant: str | None = None) -> list[BucketState]:
        """The state of every bucket: the total since the first day, and the newest period of each limit.

        For one `tenant`, or for all if None.
        """
        return self._read(lambda session: _standings(session, None if tenant is None else pack(tenant)))

    def audit(self, tenant: str | None = None) -> list[str]:
        """Every difference between buckets and ledger, for one `tenant` or, if None, for all. An empty list means that they
        agree.
        """
        return self._read(lambda session: _audit(session, None if tenant is None else pack(tenant)))

    def _wait(self, work: Callable[[Session], T], tenant: str) -> T:
        return self._writer.submit(work, tenant).result()

    async def _await(
        self,
        work: Callable[[Session], T],
        place: Place,
        load: Place | None,
        *,
        lasting: bool = True,
        owed: bool = False,
    ) -> T:
        waiter = Waiter()
        self._writer.give(WriteJob(work, place[0], waiter, load, lasting, owed))
        result: T = await waiter.future
        return result

    def _owe(self, work: Callable[[Session], Any], place: Place) -> None:
        """Queue work that must be done, without waiting for it."""
        with contextlib.suppress(StoreError):  # if the store is closed, holds expire on their own
            self._writer.give(WriteJob(work, place[0], None, place, lasting=False, owed=True))


def _place(held: Reservation) -> Place:
    return pack(held.tenant), pack(held.key)


def _wish(
    tenant: str,
    key: str,
    user: str,
    model: str,
    *,
    amount: int,
    estimate: int,
    lifetime: float,
    token: str,
    digest: str,
) -> Wish:
    _refuse_odd("amount", amount, 1)
    _refuse_odd("estimate", estimate, 0)
    if not 0 < lifetime <= LONGEST:
        raise ValueError(
            f"lifetime must be a number of seconds, more than 0 and at most {LONGEST:,.0f}; got {lifetime!r}"
        )
    return Wish(
        (pack(tenant), pack(key) if key else new_id()), token or secrets.token_hex(8), pack(user), pack(model),
        amount, estimate, int(lifetime * MICROS), digest, not key,
    )  # fmt: skip


def _reserved(session: Session, wish: Wish) -> Reservation:
    entry, own = ledger.reserve(session.books, wish)
    return _reservation(wish.place, entry, own=own)


def _capture(
    held: Reservation, amount: int | None, replay: SentReply | None = None, *, sending: bool = False
) -> Callable[[Session], Reservation]:
    if amount is not None and (type(amount) is not int or not 0 < amount <= held.amount):
        raise ValueError(f"of {held.amount} on hold, 1 to {held.amount} can be captured; got {amount}")
    place = _place(held)

    def work(session: Session) -> Reservation:
        entry = ledger.capture(session.books, place, held.token, amount, sending=sending)
        if replay is not None:
            replays.keep(session, place, replay, session.books.now)
        return _reservation(place, entry, own=held.fresh)

    return work


def _finish(held: Reservation, replay: SentReply | None) -> Callable[[Session], Reservation]:
    place = _place(held)

    def work(session: Session) -> Reservation:
        entry = ledger.finish(session.books, place, held.token)
        if replay is not None and entry.state == "captured":
            replays.keep(session, place, replay, session.books.now)
        return _reservation(place, entry, own=held.fresh)

    return work


def _release(held: Reservation) -> Callable[[Session], Reservation]:
    place = _place(held)
    return lambda s: _reservation(place, ledger.release(s.books, place, held.token), own=held.fresh)


def _refund(held: Reservation) -> Callable[[Session], Reservation]:
    place = _place(held)

    def work(session: Session) -> Reservation:
        entry = ledger.refund(session.books, place, held.token)
        if entry.digest:
            replays.drop(session, place)
        return _reservation(place, entry, own=held.fresh)

    return work


def _spend(held: Reservation, attempt: int, cost: int) -> Callable[[Session], bool]:
    _refuse_odd("attempt", attempt, 0)
    if type(cost) is not int or cost < 0:  # a larger cost is counted as the maximum
        raise ValueError(f"cost must be a whole number, 0 or more; got {cost!r}")
    place = _place(held)
    return lambda s: ledger.spend(s.books, s, place, held.token, attempt, min(cost, MOST))


def _expire(tenant: str) -> Callable[[Session], int]:
    return lambda s: ledger.expire(s.books, tenant)


def _reservation(place: Place, entry: LedgerEntry, *, own: bool) -> Reservation:
    return Reservation(
        unpack(place[0]), unpack(place[1]), entry.token, unpack(entry.person), unpack(entry.model), entry.amount,
        entry.captured, entry.state, entry.expires / MICROS, own, bool(entry.sending),  # type: ignore[arg-type]
    )  # fmt: skip


def _refuse_odd(what: str, value: Any, least: int) -> None:
    """Accept only whole numbers, small enough that a sum of many fits its column: databases round in different ways."""
    if type(value) is not int or not least <= value <= MOST:
        raise ValueError(f"{what} must be a whole number from {least} to {MOST:,}; got {value!r}")


def _refuse_bad_limit(limit: Limit) -> None:
    for word, known, what in (
        (limit.scope, SCOPES, "scope"), (limit.unit, UNITS, "unit"), (limit.period, PERIODS, "period"),
    ):  # fmt: skip
        if word not in known:
            raise ValueError(f"{what} must be one of {', '.join(known)}; got {word!r}")
    if limit.amount != UNLIMITED:
        _refuse_odd("a limit (-1 for none)", limit.amount, 0)
    if (limit.scope == "tenant") != (limit.name == ""):
        raise QuotaError("a limit of a user or a model needs its name (or `*` for each); one of a tenant has none")


def _standings(session: Session, tenant: str | None) -> list[BucketState]:
    where, values = ("", ()) if tenant is None else ("WHERE tenant = ?", (tenant,))
    rows = session.run(
        "SELECT b.tenant, b.scope, b.name, b.unit, b.period, b.start, b.used, b.held FROM buckets b JOIN "  # noqa: S608
        f"(SELECT tenant, scope, name, unit, period, max(start) AS start FROM buckets {where} "
        "GROUP BY tenant, scope, name, unit, period) n ON b.tenant = n.tenant AND b.scope = n.scope AND b.name = n.name "
        "AND b.unit = n.unit AND b.period = n.period AND b.start = n.start",
        values,
    )
    limits: dict[tuple[str, str, str, str, str], int] = {
        row[:5]: row[5] for row in session.run("SELECT tenant, scope, name, unit, period, amount FROM limits")
    }
    found = []
    for row in rows:
        owner, scope, name, unit, period = row[:5]
        places = [(whose, scope, which, unit, period) for whose in (owner, "*") for which in dict.fromkeys((name, "*"))]
        amount = next((limits[place] for place in places if place in limits), UNLIMITED)
        limit = None if amount == UNLIMITED else amount
        if limit is None and period != "total":
            continue
        start, used, held = row[5:]
        found.append(BucketState(unpack(owner), scope, unpack(name), unit, period, start, used, held, limit))
    return sorted(found, key=lambda standing: standing[:5])


def _audit(session: Session, tenant: str | None) -> list[str]:
    where, values = ("", ()) if tenant is None else ("WHERE tenant = ?", (tenant,))

    def rows(columns: str, table: str) -> list[Row]:
        return session.run(f"SELECT {columns} FROM {table} {where}", values)  # noqa: S608 - our own texts

    should: dict[tuple[Any, ...], list[int]] = {}
    for owner, *columns in rows(f"tenant, {', '.join(LedgerEntry._fields)}", "ledger"):
        entry = LedgerEntry._make(columns)
        for bucket in entry.counted_in("replies"):
            sums = should.setdefault((owner, *bucket), [0, 0])
            if entry.state == "held":
                sums[1] += entry.amount
            else:
                sums[0] += entry.captured
        if entry.cost_held:
            for bucket in entry.counted_in("cost"):
                should.setdefault((owner, *bucket), [0, 0])[1] += entry.cost_held
    for owner, cost, origin in rows("tenant, cost, buckets", "attempts"):
        for bucket in ledger.costs_in(origin):
            should.setdefault((owner, *bucket), [0, 0])[0] += cost
    faults = []
    for row in rows("tenant, scope, name, unit, period, start, used, held, folded", "buckets"):
        place, (used, held, folded) = row[:6], row[6:]
        right = should.pop(place, [0, 0])
        if [used - folded, held] != right:
            faults.append(f"{place}: used {used - folded}, held {held}; the ledger says {right[0]} and {right[1]}")
    faults += [f"{place}: no bucket; the ledger says {sums}" for place, sums in should.items() if sums != [0, 0]]
    return faults
