"""The gate before a provider: at most so many requests and tokens a minute, and none while it says to wait.

All steps that ask the same provider pass the same gate. Time is the loop's own, which no change of the clock moves.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from trueup.batch.pipeline.running.stop import Stop

PATIENCE = 600.0  # seconds of nothing but "too many requests" before a run gives up for now


class Gate:
    """Lets requests through as fast as the provider takes them."""

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self._requests = _Bucket(_rate(limits, "requests_per_minute"))
        self._tokens = _Bucket(_rate(limits, "tokens_per_minute"))
        self._closed_until = 0.0
        self._refused_since: float | None = None
        self.bursts = 0  # how often the gate was closed; a call takes the number along when it is sent
        self._doublings = 0  # of the wait, since something was answered

    async def enter(self, tokens: int, stop: Stop) -> None:
        """Wait for a turn, or until a stop is asked for."""
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
        """The provider said that there are too many requests, to a call that was sent in `burst`; gives how long to wait.

        `asked` is the wait that the provider asks for. Without it the wait doubles from burst to burst: calls that were sent together
        are refused together, and that is one burst. None when the provider has said nothing else for too long.
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
        """Whether nothing is limited: a request may go at once."""
        return self._requests.free and self._tokens.free and self._refused_since is None


class _Bucket:
    """Tokens that flow in at a steady rate, as many as flow in six seconds kept at most."""

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
        raise ValueError(f"api.rate_limit.{name} is a number above 0; got {value!r}")
    return float(value)
