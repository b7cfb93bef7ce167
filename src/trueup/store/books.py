"""The books of one transaction: entries, buckets and limits are read once, changed in memory, and written once before the
commit.

Many moves share a transaction, so each counter is written once, no matter how many moves change it. Call `close` before
you change these tables with other SQL. If a transaction is rolled back, its books are discarded.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from trueup.store.limits import Bucket, TenantLimits, buckets_at, terms_of
from trueup.store.session import Row, Session

Place = tuple[str, str]  # a tenant and a key
_COLUMNS = (
    "token", "person", "model", "amount", "captured", "estimate", "cost_held", "state", "at", "expires", "settled",
    "buckets", "digest", "sending",
)  # fmt: skip
_FIND = f"SELECT tenant, key, {', '.join(_COLUMNS)} FROM ledger WHERE "  # noqa: S608 - our own columns
_FIND_ALL = (  # each row in this order is one index search; a list of pairs with IN would scan the table
    f"SELECT tenant, key, {', '.join(_COLUMNS)} FROM wanted CROSS JOIN ledger WHERE tenant = whose AND key = which"  # noqa: S608
)
_ENTRIES = f"ledger (tenant, key, {', '.join(_COLUMNS)})"
_CHANGED = "ON CONFLICT (tenant, key) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
_COUNTED = (
    "ON CONFLICT (tenant, scope, name, unit, period, start) "
    "DO UPDATE SET used = buckets.used + excluded.used, held = buckets.held + excluded.held"
)
_STANDING = (
    "SELECT used, held FROM buckets "
    "WHERE tenant = ? AND scope = ? AND name = ? AND unit = ? AND period = ? AND start = ?"
)
_MOST = 64  # places looked up in one statement
_MOST_TENANTS = 10_000  # tenants whose last scan is remembered
_MOST_TERMS = 1000  # tenants whose limits are remembered
SCAN = 1_000_000  # microseconds between two searches for a tenant's expired holds


class LedgerEntry(NamedTuple):
    """One row of the ledger; texts are packed for the database."""

    token: str
    person: str
    model: str
    amount: int
    captured: int
    estimate: int
    cost_held: int
    state: str
    at: int
    expires: int
    settled: int
    buckets: str  # only for entries from 0.1; later entries derive it from their other columns
    digest: str
    sending: int  # 1: captured before its whole reply was sent

    def counted_in(self, unit: str) -> "tuple[Bucket, ...] | list[Bucket]":
        """Every bucket that counts this entry."""
        if self.buckets:
            return [bucket for bucket in _old(self.buckets) if bucket.unit == unit]
        return buckets_at(self.person, self.model, unit, self.at)


class Memo:
    """Data that is cached between transactions: unchanged limits, and when each tenant's holds were last searched."""

    def __init__(self) -> None:
        self.version: Any = None
        self.limits: dict[str, TenantLimits] = {}
        self.scanned: dict[str, int] = {}

    def scan_due(self, tenant: str, now: int) -> bool:
        """Whether to search a tenant's holds again; records the search as done."""
        if 0 <= now - self.scanned.get(tenant, -SCAN) < SCAN:
            return False
        if len(self.scanned) >= _MOST_TENANTS:
            self.scanned.clear()
        self.scanned[tenant] = now
        return True


class Books:
    """Entries, buckets and limits as the moves of one transaction see and change them."""

    __slots__ = ("_changed", "_counts", "_entries", "_memo", "_now", "_session", "_standings", "_version")

    def __init__(self, session: Session, memo: Memo) -> None:
        self._session, self._memo = session, memo
        self._now = 0
        self._version: Any = None
        self._entries: dict[Place, LedgerEntry | None] = {}
        self._changed: set[Place] = set()
        self._counts: dict[tuple[str, Bucket], list[int]] = {}
        self._standings: dict[tuple[str, Bucket], tuple[int, int]] = {}

    @property
    def now(self) -> int:
        """The time of this transaction, by the store's clock."""
        if not self._now:
            self._now = self._session.now()
        return self._now

    def load(self, places: Iterable[Place]) -> None:
        """Look up several entries in one statement."""
        wanted = [place for place in dict.fromkeys(places) if place not in self._entries]
        for at in range(0, len(wanted), _MOST):
            some = wanted[at : at + _MOST]
            if len(some) == 1:
                rows = self._session.run(f"{_FIND}tenant = ? AND key = ?", some[0])
            else:
                size = 1 << (len(some) - 1).bit_length()  # few distinct statements, each prepared once
                marks = ", ".join(["(?, ?)"] * size)
                values = [text for place in some + [some[-1]] * (size - len(some)) for text in place]
                rows = self._session.run(f"WITH wanted (whose, which) AS (VALUES {marks}) {_FIND_ALL}", values)
            self._entries.update(dict.fromkeys(some))
            for row in rows:
                self._entries[row[:2]] = LedgerEntry._make(row[2:])

    def find(self, place: Place) -> LedgerEntry | None:
        """The entry of a key, or None."""
        if place not in self._entries:
            self.load((place,))
        return self._entries[place]

    def put(self, place: Place, entry: LedgerEntry) -> LedgerEntry:
        """Change an entry, or add it."""
        self._entries[place] = entry
        self._changed.add(place)
        return entry

    def count(self, tenant: str, buckets: Iterable[Bucket], used: int, held: int) -> None:
        """Add to the used and held amounts."""
        counts = self._counts
        for bucket in buckets:
            sums = counts.get((tenant, bucket))
            if sums is None:
                counts[tenant, bucket] = [used, held]
            else:
                sums[0] += used
                sums[1] += held

    def standing(self, tenant: str, bucket: Bucket) -> tuple[int, int]:
        """The used and held amounts, including the changes of this transaction."""
        place = (tenant, bucket)
        stored = self._standings.get(place)
        if stored is None:
            rows = self._session.run(_STANDING, (tenant, *bucket))
            stored = self._standings[place] = (rows[0][0], rows[0][1]) if rows else (0, 0)
        used, held = self._counts.get(place, (0, 0))
        return stored[0] + used, stored[1] + held

    def limits(self, tenant: str, person: str, model: str) -> dict[tuple[str, str, str], int]:
        """The limits that apply, by scope, unit and period; the most specific one wins."""
        memo = self._memo
        if self._version is None:
            rows = self._session.run("SELECT value FROM meta WHERE name = 'limits'")
            self._version = rows[0][0] if rows else ""
            if self._version != memo.version or len(memo.limits) >= _MOST_TERMS:
                memo.version = self._version
                memo.limits = {}
        terms = memo.limits.get(tenant)
        if terms is None:
            terms = memo.limits[tenant] = terms_of(self._session, tenant)
        return terms.applying(person, model)

    def overdue(self, tenant: str) -> list[tuple[Place, LedgerEntry]]:
        """Holds whose time is over."""
        rows = self._session.run(f"{_FIND}tenant = ? AND state = 'held' AND expires <= ?", (tenant, self.now))
        found = []
        for row in rows:
            place: Place = row[:2]
            entry = self._entries.setdefault(place, LedgerEntry._make(row[2:]))
            if entry is not None and entry.state == "held":
                found.append((place, entry))
        return found

    def scan_due(self, tenant: str) -> bool:
        """Whether it is time to search for expired holds."""
        return self._memo.scan_due(tenant, self.now)

    def write(self) -> None:
        """Write all changes; call it before the commit."""
        if self._changed:
            rows: list[Row] = []
            for place in self._changed:
                entry = self._entries[place]
                assert entry is not None
                rows.append((*place, *entry))
            self._session.insert(_ENTRIES, rows, _CHANGED)
            self._changed = set()
        if self._counts:
            sums = [(t, *bucket, used, held, 0) for (t, bucket), (used, held) in self._counts.items() if used or held]
            self._session.insert("buckets", sums, _COUNTED)
            self._counts = {}
            self._standings = {}

    def close(self) -> None:
        """Write all changes and forget everything, before other code changes the tables."""
        self.write()
        self._entries = {}
        self._version = None


def _old(written: str) -> list[Bucket]:
    return msgspec.json.decode(written, type=list[Bucket])
