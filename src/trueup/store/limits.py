"""Limits and the buckets that count towards them: who, what, and over which period.

A limit belongs to a tenant, a user or a model, counts replies or cost, and starts again each hour, day or month (UTC) or
never. `*` means any tenant, user or model without its own limit. Cost is in millionths of a unit of money.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from trueup.store.errors import MICROS
from trueup.store.session import Row, Session

Scope = Literal["tenant", "user", "model"]
Unit = Literal["replies", "cost"]
Period = Literal["hour", "day", "month", "total"]
SCOPES, UNITS, PERIODS = get_args(Scope), get_args(Unit), get_args(Period)
UNLIMITED = -1
ANY = "*"
_HOUR = 3600 * MICROS
_MOST_PEOPLE = 100


class Bucket(NamedTuple):
    """A counter: one scope, one unit, one period of time. Texts are packed for the database."""

    scope: str
    name: str
    unit: str
    period: str
    start: int


class Limit(NamedTuple):
    """How much a tenant, a user or a model may use in a period; -1 means no limit."""

    tenant: str
    scope: str
    name: str
    unit: str
    period: str
    amount: int


class BucketState(NamedTuple):
    """The state of a bucket: used, on hold, and the limit, if there is one."""

    tenant: str
    scope: str
    name: str
    unit: str
    period: str
    start: int
    used: int
    held: int
    limit: int | None


def start_of(period: str, now: int) -> int:
    """When the current hour, day or month began.

    >>> start_of("day", 90_000_000_000), start_of("total", 5)
    (86400000000, 0)
    """
    if period == "total":
        return 0
    if period == "month":
        day = datetime.fromtimestamp(now // MICROS, UTC)
        return int(day.replace(day=1, hour=0, minute=0, second=0).timestamp()) * MICROS
    length = (3600 if period == "hour" else 86_400) * MICROS
    return now - now % length


def end_of(period: str, start: int) -> int | None:
    """When a period that began then starts again; None means never."""
    if period == "total":
        return None
    if period == "month":
        return start_of("month", start + 31 * 86_400 * MICROS)
    return start + (3600 if period == "hour" else 86_400) * MICROS


class TenantLimits:
    """Every limit that may apply to a tenant; looked up once, and kept until limits change."""

    __slots__ = ("_found", "_plain", "_rows")

    def __init__(self, rows: list[Row]) -> None:
        self._rows = sorted(rows, key=lambda row: (row[0] != ANY, row[2] != ANY))  # later rows are more specific
        self._plain = all(row[1] == "tenant" for row in rows)
        self._found: dict[tuple[str, str], dict[tuple[str, str, str], int]] = {}

    def applying(self, person: str, model: str) -> dict[tuple[str, str, str], int]:
        """The limits for a user and a model, by scope, unit and period; the most specific one wins."""
        place = ("", "") if self._plain else (person, model)
        found = self._found.get(place)
        if found is None:
            if len(self._found) >= _MOST_PEOPLE:
                self._found.clear()
            found = self._found[place] = self._chosen(*place)
        return found

    def _chosen(self, person: str, model: str) -> dict[tuple[str, str, str], int]:
        named = {"tenant": "", "user": person, "model": model}
        found: dict[tuple[str, str, str], int] = {}
        for _, scope, name, unit, period, amount in self._rows:
            if scope == "tenant" or (named[scope] and name in (named[scope], ANY)):
                found[scope, unit, period] = amount
        return {place: amount for place, amount in found.items() if amount != UNLIMITED}


def terms_of(session: Session, tenant: str) -> TenantLimits:
    """Every limit of a tenant, its users and models, and the limits for any tenant."""
    return TenantLimits(
        session.run("SELECT tenant, scope, name, unit, period, amount FROM limits WHERE tenant IN (?, '*')", (tenant,))
    )


def buckets_at(person: str, model: str, unit: str, at: int) -> tuple[Bucket, ...]:
    """Every bucket that counts this user and model: all periods, so a limit that is set in the middle of a period includes
    earlier use.
    """
    return _buckets(person, model, unit, at // _HOUR)


@lru_cache(2048)
def _buckets(person: str, model: str, unit: str, hour: int) -> tuple[Bucket, ...]:
    return tuple(
        Bucket(scope, name, unit, period, start_of(period, hour * _HOUR))
        for scope, name in (("tenant", ""), ("user", person), ("model", model))
        if name or scope == "tenant"
        for period in PERIODS
    )
