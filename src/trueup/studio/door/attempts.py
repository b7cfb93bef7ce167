"""Attempts: counts the recent wrong keys of each address, in this process. After too many, the address must wait."""

import math
import time
from collections import OrderedDict, deque

MOST = 10  # wrong keys of one address
_WITHIN = 60.0  # seconds
_ADDRESSES = 10_000  # addresses that are remembered


class Attempts:
    """The wrong keys of the last minute, by address."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str, now: float | None = None) -> int:
        """Seconds until this address may try again; 0: it may.

        >>> attempts = Attempts()
        >>> for _ in range(MOST):
        ...     attempts.wrong("a", 100.0)
        >>> attempts.wait("a", 130.0), attempts.wait("a", 161.0), attempts.wait("b", 130.0)
        (30, 0, 0)
        """
        seen = self._seen.get(address)
        if seen is None or len(seen) < MOST:
            return 0
        return max(0, math.ceil(_WITHIN - ((time.monotonic() if now is None else now) - seen[0])))

    def wrong(self, address: str, now: float | None = None) -> None:
        """Count a wrong key."""
        seen = self._seen.setdefault(address, deque(maxlen=MOST))
        seen.append(time.monotonic() if now is None else now)
        self._seen.move_to_end(address)
        while len(self._seen) > _ADDRESSES:
            self._seen.popitem(last=False)
