"""Time and chance, handed in: the drivers read the real ones, a test its own.

Nothing else in this room reads a clock or throws dice, except what waits for calls in real time (`worker`, and the local model).
"""

import random
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that only go forward, seconds since 1970, and a number from 0 to below 1."""

    def now(self) -> float: ...
    def date(self) -> float: ...
    def chance(self) -> float: ...


class System:
    """The clock and the dice of the machine."""

    __slots__ = ()

    def now(self) -> float:
        return time.monotonic()

    def date(self) -> float:
        return time.time()

    def chance(self) -> float:
        return random.random()  # noqa: S311 - it spreads retries and hides no secret


SYSTEM = System()
