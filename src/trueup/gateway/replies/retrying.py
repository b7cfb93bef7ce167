"""The retry budget of a worker: counts requests and retries, and decides whether one more call may be repeated.

When an upstream is down, every request wants to repeat its calls, and the repetitions keep it down. So the retries of all
requests together are limited to a share of the requests, plus a few that are always allowed. A step to another upstream is
not a retry.
"""

import time
from collections.abc import Callable

FLOOR = 10  # retries per window that are always allowed, so that a gateway with little traffic can repeat calls too
_SECONDS = 30.0  # seconds of a window; the current one and the previous one count


class RetryBudget:
    """Counts requests and retries over the last 30 to 60 seconds.

    >>> budget = RetryBudget(0.5, floor=1, now=lambda: 0.0)
    >>> budget.count(0.0), budget.count(0.0), budget.allows(), budget.take(), budget.take(), budget.allows()
    (None, None, True, None, None, False)
    """

    __slots__ = ("_asked", "_before", "_floor", "_now", "_share", "_taken", "_turn")

    def __init__(self, share: float, floor: int = FLOOR, now: Callable[[], float] = time.perf_counter) -> None:
        self._share = share
        self._floor = floor
        self._now = now
        self._turn = now() + _SECONDS
        self._asked = self._taken = 0
        self._before = (0, 0)  # requests and retries of the previous window

    def count(self, at: float) -> None:
        """Count a request that arrived at this time."""
        if at >= self._turn:
            self._next(at)
        self._asked += 1

    def allows(self) -> bool:
        """Whether a failed call may be repeated."""
        now = self._now()
        if now >= self._turn:
            self._next(now)
        asked, taken = self._before
        return self._taken + taken < self._floor + self._share * (self._asked + asked)

    def take(self) -> None:
        """Count a failed call that will be repeated."""
        self._taken += 1

    def _next(self, now: float) -> None:
        """Begin another window; one that ended long ago no longer counts."""
        recent = now < self._turn + _SECONDS
        self._before = (self._asked, self._taken) if recent else (0, 0)
        self._asked = self._taken = 0
        self._turn = now + _SECONDS
