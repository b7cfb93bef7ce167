"""A deadline for a part of a task, as `asyncio.timeout` gives it, in fewer steps: each request passes several.

    with Within(5):
        ...

What takes longer is cancelled, and leaves as a TimeoutError. None means no deadline.
"""

import asyncio
from types import TracebackType
from typing import Any


class Within:
    """Cancels the present task when its time is over; used once."""

    __slots__ = ("_before", "_late", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._late = False
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "a deadline is set inside a task"
        self._task: asyncio.Task[Any] = task
        self._before = task.cancelling()
        if self._seconds is not None:
            self._timer = task.get_loop().call_later(self._seconds, self._end)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._late and self._task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _end(self) -> None:
        self._late = True
        self._task.cancel()
