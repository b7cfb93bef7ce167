"""Why a run stops before its end, and how that is told: once, by the first reason.

A reason enters from anywhere (a signal, a file, a cap, a full disk); the workers look at it between calls.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from trueup.batch.disk.full_disk import describe

Kind = Literal["paused", "interrupted", "cost", "timeout", "provider", "disk", "failed", "config", "fenced", "internal"]


class Reason(NamedTuple):
    """What stops a run."""

    kind: Kind
    said: str | Callable[[], str]  # a function if it names numbers that calls under way still change

    @property
    def text(self) -> str:
        """Why it stops, in words."""
        return self.said if isinstance(self.said, str) else self.said()


class Stop:
    """A stop that has been asked for, or not yet."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self._event = asyncio.Event()

    def __bool__(self) -> bool:
        return self.reason is not None

    def ask(self, kind: Kind, said: str | Callable[[], str]) -> None:
        """Ask for a stop; the first reason counts."""
        if self.reason is None:
            self.reason = Reason(kind, said)
            self._event.set()

    async def wait(self) -> None:
        """Wait until a stop is asked for."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until a stop is asked for."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass


def no_room(run: Path, error: BaseException) -> str:
    """The reason for a stop on a full disk: what could not be written, and how to resume."""
    return f"{describe(error)}; free some space, then `trueup run {run}` resumes"
