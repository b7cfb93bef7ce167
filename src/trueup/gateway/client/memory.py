"""Returns the memory of large answers to the system soon after they are released.

Freed blocks stay with the C library: one small object after them keeps megabytes in the process. glibc returns them on
request; elsewhere nothing is done, and nothing is needed.
"""

import asyncio
import ctypes
from collections.abc import Callable
from typing import Any

LARGE = 1_000_000  # bytes of an answer; for less, walking the heap is not worth it
_PAUSE = 0.5  # seconds to wait: one walk serves all answers that end meanwhile
_due: dict[asyncio.AbstractEventLoop, asyncio.TimerHandle] = {}


def give_back(size: int) -> None:
    """Report that `size` bytes were released; the memory of large answers is returned within a second."""
    if size < LARGE:
        return
    loop = asyncio.get_running_loop()
    if loop not in _due:
        for old in [each for each in _due if each.is_closed()]:
            del _due[old]
        _due[loop] = loop.call_later(_PAUSE, _start, loop)


def _start(loop: asyncio.AbstractEventLoop) -> None:
    _due.pop(loop, None)
    trim = _trim()
    if trim is not None:
        loop.run_in_executor(None, trim, 0)  # it takes milliseconds, without the interpreter's lock


def _trim() -> Callable[[int], Any] | None:
    try:
        found: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return found
