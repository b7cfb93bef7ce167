"""Limits the requests and tokens per minute to a provider, and pauses all requests while the provider says to wait.

All steps that ask the same provider share one gate. Times come from the event loop, which does not depend on the system clock.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from trueup.batch.pipeline.running.stop import Stop

PATIENCE = 600.0  # seconds of only "too many requests" after which a run stops for now


class RateGate:
    """Lets requests through as fast as the provider accepts them."""

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self._requests = _Bucket(_rate(limits, "requests_per_minute"))
        self._tokens = _Bucket(_rate(limits, "tokens_per_minute"))
        self._closed_until = 0.0
        self._refused_since: float | None = None
        self.bursts = 0  # how often the gate was closed; each call keeps the number from when it was sent
        self._doublings = 0  # the wait since the last answer

    async def enter(self, tokens: int, stop: Stop) -> None:
        """Wait for a turn, or until a stop is requested."""
        loop = asyncio.get_running_loop()
        while not stop:
            now = loop.time()
            wait = max(self._closed_until - now, self._requests.wait(now, 1), self._tokens.wait(now, tokens))
            if wait <= 0:
                self._requests.take(now, 1)
                self._tokens.take(now, tokens)
                return
            await stop.sleep(min(wait, 5.0))

    def refused(self, burst: int, asked: float | None = None) -> float | None:
        """The provider answered "too many requests" to a call that was sent in `burst`. Returns how long to wait.

        `asked` is the wait that the provider asks for. Otherwise the wait doubles from burst to burst; calls that were sent
        together are refused together, and count as one burst. Returns None if the provider has given no other answer for too
        long.
        """
        now = asyncio.get_running_loop().time()
        if self._refused_since is None:
            self._refused_since = now
        if burst == self.bursts:
            self.bursts += 1
            if asked is None:
                self._closed_until = max(self._closed_until, now + min(30.0, 0.5 * 2.0 ** min(self._doublings, 6)))
                self._doublings += 1
        if asked is not None:
            self._closed_until = max(self._closed_until, now + asked)
        return max(0.0, self._closed_until - now) if now - self._refused_since < PATIENCE else None

    def answered(self) -> None:
        if self._refused_since is not None:
            self._refused_since = None
            self._doublings = 0

    @property
    def open(self) -> bool:
        """Whether there is no limit now, so a request may be sent immediately."""
        return self._requests.free and self._tokens.free and self._refused_since is None


class _Bucket:
    """Tokens that are added at a steady rate; at most the tokens of six seconds are kept."""

    def __init__(self, per_minute: float | None) -> None:
        self.free = per_minute is None
        self._rate = 0.0 if per_minute is None else per_minute / 60
        self._most = max(self._rate * 6, 1.0)
        self._level = self._most
        self._at: float | None = None

    def _fill(self, now: float) -> None:
        if self._at is not None:
            self._level = min(self._most, self._level + (now - self._at) * self._rate)
        self._at = now

    def wait(self, now: float, amount: float) -> float:
        if self.free:
            return 0.0
        self._fill(now)
        lacking = min(amount, self._most) - self._level
        return lacking / self._rate if lacking > 0 else 0.0

    def take(self, now: float, amount: float) -> None:
        if not self.free:
            self._fill(now)
            self._level -= amount


def _rate(limits: Mapping[str, Any], name: str) -> float | None:
    value = limits.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"api.rate_limit.{name} must be a number above 0; got {value!r}")
    return float(value)
