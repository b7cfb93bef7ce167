"""Wait for something that another thread, process or server does.

A test waits for a condition, never for a length of time, and never looks at a clock: a busy machine may take long to get
there. The pause between two tests of the condition is short, so a fast machine loses no time.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE = 0.01
LOOKS = 12_000  # two minutes of pauses: only a condition that never becomes true takes that long


def wait_for(condition: Callable[[], T], what: str = "the condition never became true") -> T:
    """The first true value that `condition` returns."""
    for _ in range(LOOKS):
        if seen := condition():
            return seen
        time.sleep(PAUSE)
    raise AssertionError(what)


async def await_for(condition: Callable[[], T], what: str = "the condition never became true") -> T:
    """The same in a coroutine; other tasks run in the pauses."""
    for _ in range(LOOKS):
        if seen := condition():
            return seen
        await asyncio.sleep(PAUSE)
    raise AssertionError(what)
