"""Erase the data of a tenant, or of one of its users, and report how many rows of each table were deleted.

Names, keys and texts are deleted. Usage stays in the sums of the tenant and of the models, which bills are made from, unless
these are erased as well. Rows are searched without a lock and deleted a few at a time, under the locks that all writers take,
so gateways keep running. A request in progress is left alone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from trueup.store import ledger
from trueup.store.books import LedgerEntry
from trueup.store.cells import pack, unpack
from trueup.store.limits import ANY, Bucket, Limit
from trueup.store.quota import Quota
from trueup.store.retention import OF_VERDICTS, fold
from trueup.store.session import Backend, Row, Session
from trueup.store.writer import Writer

_BITE = 500
# On hold, or charged and still being sent: the request is in progress.
_UNDER_WAY = "(state = 'held' OR (sending <> 0 AND expires > ?))"
_OWN_FEEDBACK = (
    "SELECT f.verdict FROM feedback f JOIN verdicts v ON v.id = f.verdict WHERE f.person = ? AND v.tenant = ?"
)
_LEFT_ATTEMPTS = (
    "SELECT a.key, a.token, a.attempt, a.buckets FROM attempts a "
    "LEFT JOIN ledger l ON l.tenant = a.tenant AND l.key = a.key WHERE a.tenant = ? AND l.key IS NULL"
)
_LEFT_REPLAYS = (
    "SELECT r.key FROM replays r LEFT JOIN ledger l ON l.tenant = r.tenant AND l.key = r.key "
    "WHERE r.tenant = ? AND l.key IS NULL"
)
Reading = Callable[[], AbstractContextManager[Session]]


class Erased(NamedTuple):
    """The data that was deleted, or would be."""

    rows: dict[str, int]
    """The number of rows of each table."""
    left: int
    """Requests that were in progress or arrived meanwhile; a second erasure finds them."""


class Whose(NamedTuple):
    """Whose data to erase, with names as the database stores them. Without a `person`, the whole tenant."""

    tenant: str
    person: str | None

    def where(self, name: str = "person") -> tuple[str, tuple[str, ...]]:
        """The condition for a table with a tenant and a person."""
        if self.person is None:
            return "tenant = ?", (self.tenant,)
        return f"tenant = ? AND {name} = ?", (self.tenant, self.person)


class Eraser:
    """The erasure of one tenant or user. `reading` opens a session for searching, so that no writer waits for the search."""

    def __init__(self, writer: Writer, reading: Reading, quota: Quota, whose: Whose, *, sums: bool) -> None:
        self._writer, self._reading, self._quota, self._whose, self._sums = writer, reading, quota, whose, sums

    def run(self) -> Erased:
        """Delete everything, and report what was deleted."""
        whose = self._whose
        now = self._writer.submit(_begin(whose.tenant), whose.tenant).result()
        where, values = whose.where()
        gone: Counter[str] = Counter()
        gone += self._each("", f"SELECT id FROM verdicts WHERE {where}", values, _verdicts)  # noqa: S608 - our own texts, as below
        if whose.person is not None:
            gone += self._each("", _OWN_FEEDBACK, (whose.person, whose.tenant), partial(_own_feedback, whose.person))
        settled = f"SELECT key FROM ledger WHERE {where} AND NOT {_UNDER_WAY}"  # noqa: S608
        gone += self._each(whose.tenant, settled, (*values, now), partial(_entries, whose, now))
        gone += self._each(whose.tenant, _LEFT_ATTEMPTS, (whose.tenant,), partial(_attempts, whose))
        gone += self._each(whose.tenant, _LEFT_REPLAYS, (whose.tenant,), partial(_replays, whose.tenant))
        gone += self._writer.submit(lambda session: _buckets(session, whose, sums=self._sums), whose.tenant).result()
        gone += self._limits()
        left = self._writer.submit(lambda session: _left(session, whose), whose.tenant).result()
        return Erased(dict(sorted((+gone).items())), left)

    def _each(
        self, lock: str, sql: str, values: Sequence[Any], bite: Callable[[list[Row], Session], Counter[str]]
    ) -> Counter[str]:
        """Search rows at one instant and delete them in batches; rows that changed meanwhile are checked again."""
        gone: Counter[str] = Counter()
        with self._reading() as session:
            found = session.stream(sql, values)
            while rows := list(islice(found, _BITE)):
                gone += self._writer.submit(partial(bite, rows), lock).result()
        return gone

    def _limits(self) -> Counter[str]:
        limits = [limit for limit in self._quota.limits() if _names(limit, self._whose, sums=self._sums)]
        for limit in limits:
            self._quota.set_limit(
                limit.tenant, None, scope=limit.scope, name=limit.name, unit=limit.unit, period=limit.period  # type: ignore[arg-type]
            )  # fmt: skip
        return Counter(limits=len(limits))


def preview(session: Session, whose: Whose, *, sums: bool) -> Erased:
    """The data that an erasure would delete now."""
    now = session.now()
    where, values = whose.where()
    ids = f"SELECT id FROM verdicts WHERE {where}"  # noqa: S608 - our own texts, as below
    feedback, named = f"verdict IN ({ids})", values
    if whose.person is not None:
        feedback += " OR (person = ? AND verdict IN (SELECT id FROM verdicts WHERE tenant = ?))"
        named = (*values, whose.person, whose.tenant)
    settled = f"{where} AND NOT {_UNDER_WAY}"
    keys = f"SELECT key FROM ledger WHERE {settled}"  # noqa: S608
    conditions: dict[str, tuple[str, tuple[Any, ...]]] = {
        "verdicts": (where, values),
        **dict.fromkeys(OF_VERDICTS, (f"verdict IN ({ids})", values)),
        "feedback": (feedback, named),
        "ledger": (settled, (*values, now)),
        "replays": (f"tenant = ? AND key IN ({keys})", (whose.tenant, *values, now)),
        "buckets": _of_buckets(whose, sums=sums),
    }
    rows = Counter({
        table: int(session.run(f"SELECT count(*) FROM {table} WHERE {condition}", given)[0][0])  # noqa: S608
        for table, (condition, given) in conditions.items()
    })  # fmt: skip
    going = f"(l.key IS NULL OR NOT {_UNDER_WAY})"
    found = session.run(
        f"SELECT a.buckets FROM attempts a LEFT JOIN ledger l ON l.tenant = a.tenant AND l.key = a.key "  # noqa: S608
        f"WHERE a.tenant = ? AND {going}",
        (whose.tenant, now),
    )
    rows["attempts"] = sum(_is_of(origin, whose) for (origin,) in found)
    limits = session.run(
        "SELECT tenant, scope, name, unit, period, amount FROM limits WHERE tenant = ?", (whose.tenant,)
    )
    rows["limits"] = sum(
        _names(Limit(unpack(row[0]), row[1], unpack(row[2]), *row[3:]), whose, sums=sums) for row in limits
    )
    under_way = session.run(f"SELECT count(*) FROM ledger WHERE {where} AND {_UNDER_WAY}", (*values, now))  # noqa: S608
    return Erased(dict(sorted((+rows).items())), int(under_way[0][0]))


def _begin(tenant: str) -> Callable[[Session], int]:
    def begin(session: Session) -> int:
        session.shred()
        ledger.expire(session.books, tenant)
        return session.now()

    return begin


def _verdicts(rows: list[Row], session: Session) -> Counter[str]:
    """Verdicts and everything that belongs to them."""
    ids = [row[0] for row in rows]
    counts = Counter({table: len(_delete(session, table, "verdict", ids)) for table in OF_VERDICTS})
    counts["verdicts"] = len(_delete(session, "verdicts", "id", ids))
    return counts


def _own_feedback(person: str, rows: list[Row], session: Session) -> Counter[str]:
    """Feedback of a user on replies to others of the same tenant."""
    return Counter(
        feedback=len(
            _delete(session, "feedback", "verdict", [row[0] for row in rows], also="person = ?", more=(person,))
        )
    )


def _entries(whose: Whose, now: int, rows: list[Row], session: Session) -> Counter[str]:
    """Settled entries of the ledger and the replies kept for them; the sums keep their counts."""
    session.books.close()
    where, values = whose.where()
    keys = [row[0] for row in rows]
    columns = ", ".join(("key", *LedgerEntry._fields))
    deleted = _delete(
        session, "ledger", "key", keys, also=f"{where} AND NOT {_UNDER_WAY}", more=(*values, now), columns=columns
    )
    folded: Counter[Bucket] = Counter()
    for row in deleted:
        entry = LedgerEntry._make(row[1:])
        for bucket in entry.counted_in("replies"):
            folded[bucket] += entry.captured
    fold(session, whose.tenant, folded)
    kept = _delete(session, "replays", "key", [row[0] for row in deleted], also="tenant = ?", more=(whose.tenant,))
    return Counter(ledger=len(deleted), replays=len(kept))


def _attempts(whose: Whose, rows: list[Row], session: Session) -> Counter[str]:
    """Costs of attempts whose entry is gone; the sums keep them."""
    going = [row[:3] for row in rows if _is_of(row[3], whose)]
    if not going:
        return Counter()
    session.books.close()
    marks = ", ".join(["(?, ?, ?)"] * len(going))
    deleted = session.run(
        f"DELETE FROM attempts WHERE tenant = ? AND (key, token, attempt) IN (VALUES {marks}) RETURNING cost, buckets",  # noqa: S608
        (whose.tenant, *chain.from_iterable(going)),
    )
    folded: Counter[Bucket] = Counter()
    for cost, origin in deleted:
        for bucket in ledger.costs_in(origin):
            folded[bucket] += cost
    fold(session, whose.tenant, folded)
    return Counter(attempts=len(deleted))


def _replays(tenant: str, rows: list[Row], session: Session) -> Counter[str]:
    """Replies kept for entries that are gone: their owner is unknown, and nobody can fetch them."""
    unowned = (
        "tenant = ? AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.tenant = replays.tenant AND l.key = replays.key)"
    )
    return Counter(
        replays=len(_delete(session, "replays", "key", [row[0] for row in rows], also=unowned, more=(tenant,)))
    )


def _buckets(session: Session, whose: Whose, *, sums: bool) -> Counter[str]:
    """Sums that name a user, and all of them with `sums`; those that the ledger still uses stay."""
    session.books.close()
    condition, values = _of_buckets(whose, sums=sums)
    if sums and whose.person is None:
        condition += " AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.tenant = buckets.tenant)"
        condition += " AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.tenant = buckets.tenant)"
    else:
        condition += " AND name NOT IN (SELECT person FROM ledger WHERE tenant = ?)"
        values = (*values, whose.tenant)
    return Counter(buckets=len(session.run(f"DELETE FROM buckets WHERE {condition} RETURNING start", values)))  # noqa: S608


def _left(session: Session, whose: Whose) -> int:
    where, values = whose.where()
    return int(session.run(f"SELECT count(*) FROM ledger WHERE {where}", values)[0][0])  # noqa: S608


def _of_buckets(whose: Whose, *, sums: bool) -> tuple[str, tuple[str, ...]]:
    if sums and whose.person is None:
        return "tenant = ?", (whose.tenant,)
    where, values = whose.where("name")
    return f"{where} AND scope = 'user'", values


def _names(limit: Limit, whose: Whose, *, sums: bool) -> bool:
    """Whether a limit belongs to the erased data."""
    if pack(limit.tenant) != whose.tenant:
        return False
    if whose.person is None:
        return sums or (limit.scope == "user" and limit.name != ANY)
    return limit.scope == "user" and pack(limit.name) == whose.person


def _is_of(origin: str, whose: Whose) -> bool:
    """Whether an attempt belongs to the user: it was counted in one of the user's buckets."""
    if whose.person is None:
        return True
    return any(bucket.scope == "user" and bucket.name == whose.person for bucket in ledger.costs_in(origin))


def _delete(
    session: Session, table: str, column: str, values: list[str], *, also: str = "1 = 1", more: tuple[Any, ...] = (), columns: str = ""
) -> list[Row]:  # fmt: skip
    """Delete the rows with these values of a column; return their `columns`."""
    if not values:
        return []
    marks = ", ".join("?" * len(values))
    sql = f"DELETE FROM {table} WHERE {also} AND {column} IN ({marks}) RETURNING {columns or column}"  # noqa: S608 - our own texts
    return session.run(sql, (*more, *values))


def shred_log(backend: Backend) -> bool:
    """Overwrite what is left in the database's own write-ahead log; return whether nothing is left in it."""
    session = backend.connect(writing=True)
    try:
        return session.shred(log=True)
    finally:
        session.close()
