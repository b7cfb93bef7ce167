"""The tab of one request: quota reserved before asking, captured before a reply leaves, given back when none does.

    async with metered(store, config, route, tenant=…, key=…, user=…, model=…) as tab:
        ...
        await tab.settle(reply.status < 300)  # before the first byte of the reply leaves

Whatever happens, it is settled at most once. Without a store or without quota it does nothing. A store that cannot write is
an error for the client before anything is asked: nothing is given away.
"""

import asyncio
from types import TracebackType
from typing import Any, Self

from trueup.gateway.config import Config, Route
from trueup.gateway.errors import NO_RETRY, Refused
from trueup.store.errors import KeyReused, NotHeld, QuotaError, QuotaExceeded, StoreError
from trueup.store.quota import Quota, Reservation
from trueup.store.store import Store

MICRO = 1_000_000


def metered(
    store: Store | None, config: Config, route: Route | None, *, tenant: str, key: str = "", user: str = "",
    model: str = "",
) -> "Tab":  # fmt: skip
    """The tab of a request on this route; entering it reserves one reply, leaving it gives back what was not captured."""
    if store is None or not config.charges(route):
        return Tab(None)
    if store.trouble is not None:
        raise unavailable(store.trouble, "store_full")
    return Tab(store.quota, tenant, key, user, model, config.limits.total_seconds)


class Tab:
    """What one request owes."""

    __slots__ = ("_held", "_key", "_model", "_quota", "_seconds", "_settled", "_tenant", "_user")

    def __init__(
        self,
        quota: Quota | None,
        tenant: str = "",
        key: str = "",
        user: str = "",
        model: str = "",
        seconds: float = 0.0,
    ) -> None:
        self._quota = quota
        self._tenant, self._key, self._user, self._model = tenant, key, user, model
        self._seconds = seconds
        self._held: Reservation | None = None
        self._settled = False

    @property
    def charges(self) -> bool:
        """Whether there is anything to count."""
        return self._quota is not None

    async def __aenter__(self) -> Self:
        if self._quota is not None:
            await self._open(self._quota)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _open(self, quota: Quota) -> None:
        """Put one reply on hold, or refuse the request."""
        lifetime = max(300.0, self._seconds + 60)
        try:
            held = await quota.areserve(self._tenant, self._key, user=self._user, model=self._model, lifetime=lifetime)
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

    async def settle(self, charged: bool) -> None:
        """Capture or give back, before the reply leaves: whoever then asks again with the same key finds it settled."""
        await (self.capture() if charged else self.close())

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


NO_TAB = Tab(None)


def unavailable(error: Any, code: str = "") -> Refused:
    """A store that cannot do its work, as an error for the client; the details are for the log."""
    return Refused(
        503, "verdicts cannot be stored at the moment; try again later", "server_error", code or type(error).__name__
    )
