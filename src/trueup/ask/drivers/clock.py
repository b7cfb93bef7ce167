"""Time and randomness as a parameter: drivers use the real clock, tests use their own.

Nothing else in `ask` reads a clock or makes random numbers, except the code that waits for calls (`worker`, and the local model).
"""

import random
import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds, seconds since 1970, and a random number from 0 to below 1."""

    def now(self) -> float: ...
    def date(self) -> float: ...
    def chance(self) -> float: ...


class System:
    """The machine's clock and random numbers."""

    __slots__ = ()

    def now(self) -> float:
        return time.monotonic()

    def date(self) -> float:
        return time.time()

    def chance(self) -> float:
        return random.random()  # noqa: S311 - it spreads retries and hides no secret


SYSTEM = System()
