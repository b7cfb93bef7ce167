"""A deadline for a part of a task, like `asyncio.timeout` but in fewer steps: each request passes several.

    with Within(5):
        ...

Work that takes longer is cancelled and raises TimeoutError. None means no deadline. All deadlines of a loop share one timer,
set for the first of them; most deadlines have been left by then.
"""

import asyncio
import math
from types import TracebackType
from typing import Any


class _Watch:
    """The deadlines of one loop, and the timer of the first."""

    __slots__ = ("at", "live", "loop", "timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.live: dict[Within, float] = {}
        self.at = math.inf
        self.timer: asyncio.TimerHandle | None = None

    def set(self, at: float) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.at = at
        self.timer = self.loop.call_at(at, self.look)

    def look(self) -> None:
        """Cancel what is overdue, and schedule the next check."""
        self.timer, self.at = None, math.inf
        now = self.loop.time() + 0.001  # loops count in milliseconds
        for each in [each for each, at in self.live.items() if at <= now]:
            del self.live[each]
            each.end()
        if self.live:
            self.set(min(self.live.values()))


_watches: dict[asyncio.AbstractEventLoop, _Watch] = {}


def _watch(loop: asyncio.AbstractEventLoop) -> _Watch:
    for old in list(_watches):
        if old.is_closed():
            _watches.pop(old, None)
    return _watches.setdefault(loop, _Watch(loop))


class Within:
    """Cancels the current task when its time is over; used once."""

    __slots__ = ("_before", "_late", "_seconds", "_task", "_watch")

    def __init__(self, seconds: float | None, task: "asyncio.Task[Any] | None" = None) -> None:
        self._seconds = seconds
        self._task = task
        self._late = False

    def __enter__(self) -> None:
        task = self._task
        if task is None:
            task = self._task = asyncio.current_task()
            assert task is not None, "a deadline is set inside a task"
        self._before = task.cancelling()
        self._watch: _Watch | None = None
        if self._seconds is not None:
            loop = task.get_loop()
            watch = self._watch = _watches.get(loop) or _watch(loop)
            at = watch.live[self] = loop.time() + self._seconds
            if at < watch.at:
                watch.set(at)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._watch is not None:
            self._watch.live.pop(self, None)
        if self._late and self._task is not None:
            over = self._task.uncancel() <= self._before
            if over and kind is asyncio.CancelledError:
                raise TimeoutError from error

    def extend(self, seconds: float) -> None:
        """Postpone the deadline by at least this many seconds."""
        watch = self._watch
        if watch is not None and self in watch.live:
            watch.live[self] = max(watch.live[self], watch.loop.time() + seconds)

    def end(self) -> None:
        """The time is over."""
        self._late = True
        assert self._task is not None
        self._task.cancel()
