"""Erasure: a tenant enters, or one of its users, and what the store knows about them is deleted; how many rows of what leaves.

Names, keys and texts go. What was used stays in the sums of the tenant and of the models, which bills are made of, unless these are to
go as well. Rows are deleted in small bites, under the locks that all writers take, so gateways go on. A request under way is left alone.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from trueup.store import ledger
from trueup.store.books import Entry
from trueup.store.cells import pack, unpack
from trueup.store.limits import ANY, Bucket, Limit
from trueup.store.quota import Quota
from trueup.store.retention import fold
from trueup.store.session import Backend, Row, Session
from trueup.store.writer import Writer

_BITE = 500
# On hold, or charged and still being sent: its request is under way.
_UNDER_WAY = "(state = 'held' OR (sending <> 0 AND expires > ?))"
_FIRST_ATTEMPT = ("", "", -1)


class Erased(NamedTuple):
    """What was deleted, or would be."""

    rows: dict[str, int]
    """How many rows of each table."""
    left: int
    """Requests that were under way or came meanwhile; a second erasure finds them."""


class Whose(NamedTuple):
    """Whose data it is; texts as the database holds them. Without a `person` it is all of the tenant."""

    tenant: str
    person: str | None

    def where(self, name: str = "person") -> tuple[str, tuple[str, ...]]:
        """The condition for a table with a tenant and a person."""
        if self.person is None:
            return "tenant = ?", (self.tenant,)
        return f"tenant = ? AND {name} = ?", (self.tenant, self.person)


class Eraser:
    """The erasure of one tenant or user, on the `writer` and the `quota` of a store; `sums` says that the sums go too."""

    def __init__(self, writer: Writer, quota: Quota, whose: Whose, sums: bool) -> None:
        self._writer, self._quota, self._whose, self._sums = writer, quota, whose, sums

    def run(self) -> Erased:
        """Delete everything, and say what that was."""
        whose = self._whose
        until = self._writer.submit(_begin(whose.tenant), whose.tenant).result()
        gone: Counter[str] = Counter()
        gone += self._bites("", 0, lambda session, after: _verdicts(session, whose, after, until))
        if whose.person is not None:
            gone += self._bites("", "", lambda session, after: _own_feedback(session, whose, after))
        gone += self._bites(whose.tenant, "", lambda session, after: _entries(session, whose, after, until))
        gone += self._bites(whose.tenant, _FIRST_ATTEMPT, lambda session, after: _attempts(session, whose, after))
        gone += self._bites(whose.tenant, "", lambda session, after: _replays(session, whose.tenant, after))
        gone += self._writer.submit(lambda session: _buckets(session, whose, self._sums), whose.tenant).result()
        gone += self._limits()
        left = self._writer.submit(lambda session: _left(session, whose), whose.tenant).result()
        return Erased(dict(sorted((+gone).items())), left)

    def _bites(self, lock: str, first: Any, bite: Callable[[Session, Any], tuple[Counter[str], Any]]) -> Counter[str]:
        """Go through a table in its own order, a bite at a time; each begins where the last one ended."""
        gone: Counter[str] = Counter()
        after = first
        while after is not None:
            counts, after = self._writer.submit(lambda session, at=after: bite(session, at), lock).result()  # type: ignore[misc]
            gone += counts
        return gone

    def _limits(self) -> Counter[str]:
        limits = [limit for limit in self._quota.limits() if _names(limit, self._whose, self._sums)]
        for limit in limits:
            self._quota.set_limit(
                limit.tenant, None, scope=limit.scope, name=limit.name, unit=limit.unit, period=limit.period  # type: ignore[arg-type]
            )  # fmt: skip
        return Counter(limits=len(limits))


def preview(session: Session, whose: Whose, sums: bool) -> Erased:
    """What an erasure would delete now."""
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
        "replies": (f"verdict IN ({ids})", values),
        "feedback": (feedback, named),
        "ledger": (settled, (*values, now)),
        "replays": (f"tenant = ? AND key IN ({keys})", (whose.tenant, *values, now)),
        "buckets": _of_buckets(whose, sums),
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
    rows["limits"] = sum(_names(Limit(unpack(row[0]), row[1], unpack(row[2]), *row[3:]), whose, sums) for row in limits)
    under_way = session.run(f"SELECT count(*) FROM ledger WHERE {where} AND {_UNDER_WAY}", (*values, now))  # noqa: S608
    return Erased(dict(sorted((+rows).items())), int(under_way[0][0]))


def _begin(tenant: str) -> Callable[[Session], int]:
    def begin(session: Session) -> int:
        session.shred()
        ledger.expire(session.books, tenant)
        return session.now()

    return begin


def _verdicts(session: Session, whose: Whose, after: int, until: int) -> tuple[Counter[str], int | None]:
    """Verdicts with all that belongs to them, by the index of their time; those that come meanwhile are left."""
    where, values = whose.where()
    sql = f"SELECT id, at FROM verdicts WHERE {where} AND at >= ? AND at <= ? ORDER BY at LIMIT ?"  # noqa: S608
    rows = session.run(sql, (*values, after, until, _BITE))
    if not rows:
        return Counter(), None
    ids = [row[0] for row in rows]
    counts = Counter({table: _delete(session, table, "verdict", ids) for table in ("replies", "feedback")})
    counts["verdicts"] = _delete(session, "verdicts", "id", ids)
    return counts, rows[-1][1]


def _own_feedback(session: Session, whose: Whose, after: str) -> tuple[Counter[str], str | None]:
    """What a user said about replies to others of the same tenant."""
    sql = (
        "SELECT f.verdict FROM feedback f JOIN verdicts v ON v.id = f.verdict "
        "WHERE f.person = ? AND v.tenant = ? AND f.verdict > ? ORDER BY f.verdict LIMIT ?"
    )
    ids = [row[0] for row in session.run(sql, (whose.person, whose.tenant, after, _BITE))]
    if not ids:
        return Counter(), None
    return Counter(feedback=_delete(session, "feedback", "verdict", ids, "person = ?", (whose.person,))), ids[-1]


def _entries(session: Session, whose: Whose, after: str, until: int) -> tuple[Counter[str], str | None]:
    """Settled entries of the ledger with the replies that were kept for them; what they counted stays in the sums."""
    session.books.close()
    where, values = whose.where()
    sql = f"SELECT key FROM ledger WHERE {where} AND key > ? AND NOT {_UNDER_WAY} ORDER BY key LIMIT ?"  # noqa: S608
    keys = [row[0] for row in session.run(sql, (*values, after, until, _BITE))]
    if not keys:
        return Counter(), None
    own = ("tenant = ?", (whose.tenant,))
    folded: Counter[Bucket] = Counter()
    for row in _deleted(session, "ledger", "key", keys, *own, ", ".join(Entry._fields)):
        entry = Entry._make(row)
        for bucket in entry.counted_in("replies"):
            folded[bucket] += entry.captured
    fold(session, whose.tenant, folded)
    return Counter(ledger=len(keys), replays=_delete(session, "replays", "key", keys, *own)), keys[-1]


def _attempts(session: Session, whose: Whose, after: Row) -> tuple[Counter[str], Row | None]:
    """What attempts have cost, where their entry is gone; the sums keep it."""
    session.books.close()
    rows = session.run(
        "SELECT a.key, a.token, a.attempt, a.cost, a.buckets FROM attempts a "
        "LEFT JOIN ledger l ON l.tenant = a.tenant AND l.key = a.key "
        "WHERE a.tenant = ? AND (a.key, a.token, a.attempt) > (?, ?, ?) AND l.key IS NULL "
        "ORDER BY a.key, a.token, a.attempt LIMIT ?",
        (whose.tenant, *after, _BITE),
    )
    if not rows:
        return Counter(), None
    folded: Counter[Bucket] = Counter()
    going = [row for row in rows if _is_of(row[4], whose)]
    for _, _, _, cost, origin in going:
        for bucket in ledger.costs_in(origin):
            folded[bucket] += cost
    fold(session, whose.tenant, folded)
    one = "DELETE FROM attempts WHERE tenant = ? AND key = ? AND token = ? AND attempt = ?"
    session.many(one, [(whose.tenant, *row[:3]) for row in going])
    return Counter(attempts=len(going)), rows[-1][:3]


def _replays(session: Session, tenant: str, after: str) -> tuple[Counter[str], str | None]:
    """Replies that were kept for an entry that is gone: nobody can tell whose they were, and nobody gets them any more."""
    sql = (
        "SELECT r.key FROM replays r LEFT JOIN ledger l ON l.tenant = r.tenant AND l.key = r.key "
        "WHERE r.tenant = ? AND r.key > ? AND l.key IS NULL ORDER BY r.key LIMIT ?"
    )
    keys = [row[0] for row in session.run(sql, (tenant, after, _BITE))]
    if not keys:
        return Counter(), None
    return Counter(replays=_delete(session, "replays", "key", keys, "tenant = ?", (tenant,))), keys[-1]


def _buckets(session: Session, whose: Whose, sums: bool) -> Counter[str]:
    """Sums that name a user, and with `sums` all of them; those that the ledger still counts in stay."""
    session.books.close()
    condition, values = _of_buckets(whose, sums)
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


def _of_buckets(whose: Whose, sums: bool) -> tuple[str, tuple[str, ...]]:
    if sums and whose.person is None:
        return "tenant = ?", (whose.tenant,)
    where, values = whose.where("name")
    return f"{where} AND scope = 'user'", values


def _names(limit: Limit, whose: Whose, sums: bool) -> bool:
    """Whether a limit is about somebody who is to be forgotten."""
    if pack(limit.tenant) != whose.tenant:
        return False
    if whose.person is None:
        return sums or (limit.scope == "user" and limit.name != ANY)
    return limit.scope == "user" and pack(limit.name) == whose.person


def _is_of(origin: str, whose: Whose) -> bool:
    """Whether an attempt is of the user: it was counted in a bucket of his."""
    if whose.person is None:
        return True
    return any(bucket.scope == "user" and bucket.name == whose.person for bucket in ledger.costs_in(origin))


def _delete(
    session: Session, table: str, column: str, values: list[str], also: str = "1 = 1", more: tuple[Any, ...] = ()
) -> int:
    return sum(1 for _ in _deleted(session, table, column, values, also, more, column))


def _deleted(
    session: Session, table: str, column: str, values: list[str], also: str, more: tuple[Any, ...], columns: str
) -> Iterator[Row]:
    """Delete the rows with these values of a column; what was in them."""
    marks = ", ".join("?" * len(values))
    sql = f"DELETE FROM {table} WHERE {also} AND {column} IN ({marks}) RETURNING {columns}"  # noqa: S608 - our own texts
    return iter(session.run(sql, (*more, *values)))


def shred_log(backend: Backend) -> bool:
    """Overwrite what is still in a write-ahead log of the database's own; whether nothing is left in it."""
    session = backend.connect(writing=True)
    try:
        return session.shred(log=True)
    finally:
        session.close()
