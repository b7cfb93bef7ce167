"""Why a run stops before its end. The first reason is reported, once.

A reason can come from anywhere (a signal, a file, a cap, a full disk); the workers check for it between calls.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from trueup.batch.disk.full_disk import describe

Kind = Literal["paused", "interrupted", "cost", "timeout", "provider", "disk", "failed", "config", "fenced", "internal"]


class StopReason(NamedTuple):
    """The cause that stops a run."""

    kind: Kind
    said: str | Callable[[], str]  # a function if its numbers still change while calls finish

    @property
    def text(self) -> str:
        """Why it stops, in words."""
        return self.said if isinstance(self.said, str) else self.said()


class Stop:
    """A stop that may have been requested."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._event = asyncio.Event()

    def __bool__(self) -> bool:
        return self.reason is not None

    def ask(self, kind: Kind, said: str | Callable[[], str]) -> None:
        """Request a stop; the first reason counts."""
        if self.reason is None:
            self.reason = StopReason(kind, said)
            self._event.set()

    async def wait(self) -> None:
        """Wait until a stop is requested."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Wait, at most until a stop is requested."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass


def no_room(run: Path, error: BaseException) -> str:
    """The reason for a stop on a full disk: the file that could not be written, and how to resume."""
    return f"{describe(error)}; free some space, then `trueup run {run}` resumes"
