"""How long a call may take, and what is told to the loop about one that took longer.

A call that was stopped is a timeout. One that cannot be stopped, such as a function that sleeps, is abandoned: it is reported as an event and
in the failure, because it still runs in its thread.
"""

from typing import TYPE_CHECKING

from trueup.ask.clients.request import CallFailure, Request
from trueup.verdict.events import Abandoned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trueup.ask.drivers.worker import WorkerJob
    from trueup.ask.loop.loop import Loop

_LATE = CallFailure("the call took too long", code="timeout")
_LEFT = CallFailure(
    "the call took too long and could not be stopped: it is still running in its thread", code="abandoned"
)


def limit(loop: "Loop", request: Request) -> float | None:
    """The seconds that a call may take from now on: making the request has taken some of what was left for it."""
    left = loop.left
    if request.timeout is None or left is None:
        return request.timeout
    return min(request.timeout, left)


def late(loop: "Loop", seconds: float | None, *, stopped: bool) -> CallFailure:
    """The failure of a call that took longer than `seconds`; one that could not be stopped is reported."""
    if stopped:
        return _LATE
    abandoned(loop, seconds, stopped=stopped)
    return _LEFT


async def alate(loop: "Loop", jobs: "Sequence[WorkerJob]", seconds: float | None) -> CallFailure:
    """The same after a call that was awaited; `jobs` are those that it began in workers."""
    return late(loop, seconds, stopped=all([await job.ais_stopped() for job in jobs]))


def abandoned(loop: "Loop", seconds: float | None = None, *, stopped: bool) -> None:
    """Report a call that was given up, if it could not be stopped."""
    if not stopped:
        loop.emit(Abandoned, timeout=seconds)
