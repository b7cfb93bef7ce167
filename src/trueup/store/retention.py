"""Delete rows that are older than their retention, in small batches, so that no writer waits.

Rates outlive verdicts, and sums outlive the ledger: the counts of a deleted entry stay in its buckets.
"""

import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import msgspec

from trueup.store.books import LedgerEntry
from trueup.store.errors import MICROS
from trueup.store.ledger import costs_in
from trueup.store.limits import Bucket
from trueup.store.session import Session
from trueup.store.writer import Writer

_BITE = 500
OF_VERDICTS = ("replies", "contexts", "facts", "feedback")  # tables whose rows are deleted with their verdict
_DAY = 86_400 * MICROS
_MONTH = 31 * _DAY
_TENANTS = (
    "SELECT tenant FROM ledger WHERE state <> 'held' AND settled < ? UNION SELECT a.tenant FROM attempts a LEFT JOIN "  # noqa: S608
    "ledger l ON l.tenant = a.tenant AND l.key = a.key WHERE l.key IS NULL AND a.at < ? "
    f"UNION SELECT tenant FROM buckets WHERE period <> 'total' AND held = 0 AND start < ? - {_MONTH}"
)


class Retention(msgspec.Struct, frozen=True):
    """Days to keep data; None means forever. Feedback is deleted with its verdict."""

    replies: float | None = 30
    """How many days the texts of replies are kept; None: forever."""
    contexts: float | None = None
    """How many days the contexts of judgements are kept, if they are kept at all; None: as long as the replies, and never
    longer.
    """
    verdicts: float | None = 365
    """How many days verdicts are kept, with their feedback and the texts of contracts that no other verdict needs; None:
    forever.
    """
    tallies: float | None = None
    """How many days the hourly counts are kept; None: forever."""
    ledger: float | None = 90
    """How many days settled reservations of the quota are kept; None: forever."""
    replays: float | None = 1
    """How many days a reply is kept for a client that asks again with the same idempotency key; 0: not at all, None: forever."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            days = getattr(self, name)
            if days is not None and days < 0:
                raise ValueError(
                    f"{name} must be a number of days, 0 or more, or null to keep everything; got {days!r}"
                )

    @property
    def days_of_contexts(self) -> float | None:
        """How many days contexts are kept: without its reply, a context is useless."""
        return min((days for days in (self.contexts, self.replies) if days is not None), default=None)


def prune(writer: Writer, retention: Retention, rest: float = 0.0) -> dict[str, int]:
    """Delete expired rows; return how many of each kind. After each batch, rest `rest` times as long."""
    gone: Counter[str] = Counter()
    for days, bite in (
        (retention.replies, partial(_bodies, "replies")),
        (retention.days_of_contexts, partial(_bodies, "contexts")),
        (retention.verdicts, _verdicts),
        (retention.verdicts, _contracts),
        (retention.tallies, _tallies),
        (retention.replays, _replays),
    ):
        if days is not None:
            gone += _bites(writer, "", _aged(bite, days), rest)
    if retention.ledger is not None:
        age = int(retention.ledger * _DAY)
        for row in writer.submit(lambda s: s.run(_TENANTS, (s.now() - age,) * 3)).result():
            gone += _bites(writer, row[0], _aged(partial(_ledger, row[0]), retention.ledger), rest)
    return dict(gone)


def _aged(bite: Callable[[Session, int], Counter[str]], days: float) -> Callable[[Session], Counter[str]]:
    return lambda session: bite(session, session.now() - int(days * _DAY))


def _bites(writer: Writer, tenant: str, bite: Callable[[Session], Counter[str]], rest: float) -> Counter[str]:
    gone: Counter[str] = Counter()
    began = time.monotonic()
    while counts := writer.submit(bite, tenant).result():
        gone += counts
        time.sleep(rest * (time.monotonic() - began))
        began = time.monotonic()
    return gone


def _bodies(table: str, session: Session, before: int) -> Counter[str]:
    rows = session.run(
        f"DELETE FROM {table} WHERE verdict IN (SELECT verdict FROM {table} WHERE at < ? LIMIT ?) RETURNING verdict",  # noqa: S608
        (before, _BITE),
    )
    return +Counter({table: len(rows)})


def _verdicts(session: Session, before: int) -> Counter[str]:
    ids = [row[0] for row in session.run("SELECT id FROM verdicts WHERE at < ? LIMIT ?", (before, _BITE))]
    marks = ", ".join("?" * len(ids)) or "NULL"
    counts: Counter[str] = Counter(verdicts=len(ids))
    for table in OF_VERDICTS:
        counts[table] = len(session.run(f"DELETE FROM {table} WHERE verdict IN ({marks}) RETURNING verdict", ids))  # noqa: S608
    session.run(f"DELETE FROM verdicts WHERE id IN ({marks})", ids)  # noqa: S608
    return +counts


def _contracts(session: Session, before: int) -> Counter[str]:
    """Texts of contracts that no stored verdict uses any more."""
    rows = session.run(
        "DELETE FROM contracts WHERE at < ? AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.fingerprint = contracts.fingerprint "
        "AND v.fingerprint <> '') RETURNING fingerprint",
        (before,),
    )
    return +Counter(contracts=len(rows))


def _tallies(session: Session, before: int) -> Counter[str]:
    return +Counter(tallies=len(session.run("DELETE FROM tallies WHERE hour < ? RETURNING hour", (before,))))


def _replays(session: Session, before: int) -> Counter[str]:
    last = session.run("SELECT at FROM replays WHERE at < ? ORDER BY at LIMIT 1 OFFSET ?", (before, _BITE))
    rows = session.run("DELETE FROM replays WHERE at < ? RETURNING at", (last[0][0] + 1 if last else before,))
    return +Counter(replays=len(rows))


def _ledger(tenant: str, session: Session, before: int) -> Counter[str]:
    """Delete settled entries and their attempts; their counts are folded into their buckets."""
    session.books.close()
    folded: Counter[Bucket] = Counter()
    entries = session.run(
        "DELETE FROM ledger WHERE tenant = ? AND key IN "  # noqa: S608 - our own columns
        "(SELECT key FROM ledger WHERE tenant = ? AND state <> 'held' AND settled < ? LIMIT ?) "
        f"RETURNING {', '.join(LedgerEntry._fields)}",
        (tenant, tenant, before, _BITE),
    )
    for entry in map(LedgerEntry._make, entries):
        for bucket in entry.counted_in("replies"):
            folded[bucket] += entry.captured
    attempts = session.run(
        "DELETE FROM attempts WHERE tenant = ? AND (key, token, attempt) IN "
        "(SELECT a.key, a.token, a.attempt FROM attempts a LEFT JOIN ledger l "
        "ON l.tenant = a.tenant AND l.key = a.key WHERE a.tenant = ? AND l.key IS NULL AND a.at < ? LIMIT ?) "
        "RETURNING cost, buckets",
        (tenant, tenant, before, _BITE),
    )
    for cost, origin in attempts:
        for bucket in costs_in(origin):
            folded[bucket] += cost
    fold(session, tenant, folded)
    return +Counter(ledger=len(entries), attempts=len(attempts), buckets=_old_buckets(tenant, session, before))


def fold(session: Session, tenant: str, counted: Counter[Bucket]) -> None:
    """Keep the counts of deleted rows in the buckets, so that the sums still agree with the ledger."""
    for place, n in (+counted).items():
        session.run(
            "UPDATE buckets SET folded = folded + ? "
            "WHERE tenant = ? AND scope = ? AND name = ? AND unit = ? AND period = ? AND start = ?",
            (n, tenant, *place),
        )


def _old_buckets(tenant: str, session: Session, before: int) -> int:
    """Delete sums of long-past periods that nothing in the ledger uses any more."""
    old = "tenant = ? AND period <> 'total' AND held = 0 AND start < ?"
    if not session.run(f"SELECT 1 FROM buckets WHERE {old} LIMIT 1", (tenant, before - _MONTH)):  # noqa: S608
        return 0
    for table in ("ledger", "attempts"):
        first = session.run(f"SELECT min(at) FROM {table} WHERE tenant = ?", (tenant,))[0][0]  # noqa: S608
        before = before if first is None else min(before, first)
    rows = session.run(
        f"DELETE FROM buckets WHERE (scope, name, unit, period, start) IN (SELECT scope, name, unit, period, start "  # noqa: S608
        f"FROM buckets WHERE {old} LIMIT ?) AND tenant = ? RETURNING start",
        (tenant, before - _MONTH, _BITE, tenant),
    )
    return len(rows)
