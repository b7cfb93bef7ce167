"""Errors of a store, as exceptions that say what, where and what to do.

A refusal by quota is one of them: it is an answer to the caller, not a fault of the store.
"""

from datetime import UTC, datetime

MICROS = 1_000_000
MOST = 10**15  # the largest count of tokens or money that is stored, so that a sum of many still fits its column


class StoreError(Exception):
    """The store could not do what was asked; the message says why and what to do."""


class StoreFull(StoreError):
    """The disk is full; nothing that was acknowledged is lost."""


class StoreBusy(StoreError):
    """The writer's queue stayed full, or another process held the database, for too long."""


class StoreClosed(StoreError):
    """The store is closed, or its writer has ended."""


class StoreUnavailable(StoreError):
    """The database cannot be opened or reached."""


class NotStorable(StoreError):
    """No table can store these values: a text is too long for its index, or a number too large. Retrying would not help."""


class UnknownVerdict(StoreError):
    """There is no verdict with this id."""


class QuotaError(StoreError):
    """A quota operation was refused; nothing was changed."""


class QuotaExceeded(QuotaError):
    """A limit leaves no room for this reservation.

    `scope` and `name` say whose limit it is, `unit` and `period` what it counts and for how long. `limit`, `used` and `held`
    are its numbers. `resets` is when it starts again, in microseconds since 1970, or None if it never does.
    """

    def __init__(
        self, scope: str, name: str, *, unit: str, period: str, limit: int, used: int, held: int, resets: int | None
    ) -> None:
        self.scope, self.name, self.unit, self.period = scope, name, unit, period
        self.limit, self.used, self.held, self.resets = limit, used, held, resets
        whose = f"{scope} {name!r}" if name else f"the {scope}"
        what = "replies" if unit == "replies" else "cost"
        when = "" if resets is None else f"; it starts again at {_said(resets)}"
        per = "in all" if period == "total" else f"per {period}"
        super().__init__(f"quota of {whose} is used up: {used} of {limit} {what} {per}, {held} on hold{when}")


class KeyReused(QuotaError):
    """The same key of the same tenant was used with another user, model or amount."""


class NotHeld(QuotaError):
    """A reservation can no longer be settled this way; `state` says how it ended."""

    def __init__(self, tenant: str, key: str, state: str) -> None:
        self.state = state
        super().__init__(f"reservation {key!r} of tenant {tenant!r} is not on hold: {state}")


def _said(micros: int) -> str:
    return datetime.fromtimestamp(micros / MICROS, UTC).isoformat(timespec="seconds")
