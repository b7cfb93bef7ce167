"""Limits and the buckets they are counted in: who, for what, over which period.

A limit belongs to a tenant, a user or a model, counts replies or cost, and starts anew each hour, day or month (UTC)
or never. `*` stands for any tenant, user or model that has no limit of its own. Cost is in millionths of a unit of money.
"""

from datetime import UTC, datetime
from typing import Literal, NamedTuple, get_args

from trueup.store.errors import MICROS
from trueup.store.session import Session

Scope = Literal["tenant", "user", "model"]
Unit = Literal["replies", "cost"]
Period = Literal["hour", "day", "month", "total"]
SCOPES, UNITS, PERIODS = get_args(Scope), get_args(Unit), get_args(Period)
UNLIMITED = -1
ANY = "*"


class Bucket(NamedTuple):
    """Where something is counted: one scope, one unit, one stretch of time. Texts are as the database holds them."""

    scope: str
    name: str
    unit: str
    period: str
    start: int


class Limit(NamedTuple):
    """How much a tenant, a user or a model may use in a period; -1 means that there is no bound."""

    tenant: str
    scope: str
    name: str
    unit: str
    period: str
    amount: int


class Standing(NamedTuple):
    """How a bucket stands: what was used, what is on hold, and the limit, when there is one."""

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
    """When the running hour, day or month began.

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
    """When a period that began then starts anew; None means never."""
    if period == "total":
        return None
    if period == "month":
        return start_of("month", start + 31 * 86_400 * MICROS)
    return start + (3600 if period == "hour" else 86_400) * MICROS


def limits_for(session: Session, tenant: str, person: str, model: str) -> dict[tuple[str, str, str], int]:
    """The limits that apply, by scope, unit and period; the most particular one wins."""
    rows = session.run(
        "SELECT tenant, scope, name, unit, period, amount FROM limits WHERE tenant IN (?, '*') AND "
        "(scope = 'tenant' OR (scope = 'user' AND name IN (?, '*')) OR (scope = 'model' AND name IN (?, '*')))",
        (tenant, person, model),
    )
    found: dict[tuple[str, str, str], int] = {}
    for row in sorted(rows, key=lambda row: (row[0] != ANY, row[2] != ANY)):  # later rows are more particular
        if (row[1] == "user" and not person) or (row[1] == "model" and not model):
            continue
        found[row[1], row[3], row[4]] = row[5]
    return {place: amount for place, amount in found.items() if amount != UNLIMITED}


def buckets_for(person: str, model: str, unit: str, limits: dict[tuple[str, str, str], int], now: int) -> list[Bucket]:
    """Every bucket in which something of this user and model is counted, in one order for all."""
    found = []
    for scope, name in (("tenant", ""), ("user", person), ("model", model)):
        if scope != "tenant" and not name:
            continue
        periods = {"total"} | {period for (place, what, period) in limits if place == scope and what == unit}
        found += [Bucket(scope, name, unit, period, start_of(period, now)) for period in sorted(periods)]
    return found
