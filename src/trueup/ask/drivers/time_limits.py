"""Time limits: how long a call may take, and the failure of a call that took longer.

A call that was stopped is a timeout. A call that cannot be stopped, such as a function that sleeps, is abandoned. An event and the
failure report this, because the call keeps running in its thread.
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
    """The seconds that a call may take from now on; making the request has already taken some of its time."""
    left = loop.left
    if request.timeout is None or left is None:
        return request.timeout
    return min(request.timeout, left)


def late(loop: "Loop", seconds: float | None, *, stopped: bool) -> CallFailure:
    """The failure of a call that took longer than `seconds`; if the call could not be stopped, an event reports it."""
    if stopped:
        return _LATE
    abandoned(loop, seconds, stopped=stopped)
    return _LEFT


async def alate(loop: "Loop", jobs: "Sequence[WorkerJob]", seconds: float | None) -> CallFailure:
    """The same for a call that was awaited; `jobs` are the jobs that it began in workers."""
    return late(loop, seconds, stopped=all([await job.ais_stopped() for job in jobs]))


def abandoned(loop: "Loop", seconds: float | None = None, *, stopped: bool) -> None:
    """Report a call that was abandoned, if it could not be stopped."""
    if not stopped:
        loop.emit(Abandoned, timeout=seconds)
