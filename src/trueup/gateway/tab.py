"""The tab of one request: quota reserved before asking, captured before a reply leaves, released when none does.

Whatever happens, it is settled at most once. Without a store or without quota it does nothing. A store that cannot write is
an error for the client before anything is asked: nothing is given away.
"""

import asyncio
from typing import Any

from trueup.gateway.errors import NO_RETRY, Refused
from trueup.store.errors import KeyReused, NotHeld, QuotaError, QuotaExceeded, StoreError
from trueup.store.quota import Quota, Reservation

MICRO = 1_000_000


class Tab:
    """What one request owes."""

    __slots__ = ("_held", "_quota", "_settled", "_spent")

    def __init__(self, quota: Quota | None) -> None:
        self._quota = quota
        self._held: Reservation | None = None
        self._settled = False
        self._spent = 0

    @property
    def charges(self) -> bool:
        """Whether there is anything to count."""
        return self._quota is not None

    async def open(self, tenant: str, key: str, user: str, model: str, seconds: float) -> None:
        """Put one reply on hold, or refuse the request."""
        if self._quota is None:
            return
        try:
            held = await self._quota.areserve(tenant, key, user=user, model=model, lifetime=max(300.0, seconds + 60))
        except QuotaExceeded as full:
            facts = {
                "scope": full.scope,
                "unit": full.unit,
                "period": full.period,
                "limit": full.limit,
                "used": full.used,
            }
            raise Refused(
                429, str(full), "insufficient_quota", "insufficient_quota", headers=NO_RETRY, more={"quota": facts}
            ) from None
        except KeyReused as reused:
            raise Refused(409, str(reused), code="idempotency_key_reused", headers=NO_RETRY) from None
        except StoreError as error:
            raise unavailable(error) from None
        if not held.fresh:
            done = held.state == "captured"
            said = "has been answered already" if done else "is being answered"
            raise Refused(
                409, f"a request with this idempotency key {said}", code="idempotency_key_in_use", headers=NO_RETRY
            )
        self._held = held

    async def spend(self, attempt: int, cost: float | None) -> bool:
        """Count what an attempt cost, whatever became of its reply; True when a cost budget is used up."""
        if self._quota is None or self._held is None or not cost:
            return False
        try:
            return await self._quota.aspend(self._held, attempt, round(cost * MICRO))
        except StoreError as error:
            raise unavailable(error) from None

    async def capture(self) -> None:
        """Turn the hold into use; without this no reply may leave."""
        if self._settled or self._held is None or self._quota is None:
            return
        try:
            await self._quota.acapture(self._held)
        except NotHeld as late:
            raise Refused(
                503, f"the quota for this reply was not kept: {late.state}", "server_error", "quota_lost"
            ) from None
        except StoreError as error:
            raise unavailable(error) from None
        self._settled = True

    async def close(self) -> None:
        """Give the hold back, unless it was captured; also when the request is being cancelled."""
        if self._settled or self._held is None or self._quota is None:
            return
        self._settled = True
        try:
            await asyncio.shield(self._quota.arelease(self._held))
        except QuotaError:
            pass  # it expired, or was settled: there is nothing left to give back
        except StoreError:
            pass  # the store says so in its own log; the hold expires by itself


def unavailable(error: Any) -> Refused:
    """A store that cannot do its work, as an error for the client; the details are for the log."""
    return Refused(
        503, "verdicts cannot be stored at the moment; try again later", "server_error", type(error).__name__
    )
