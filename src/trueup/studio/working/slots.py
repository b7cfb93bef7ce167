"""Slots: limits the long jobs that one server runs at the same time. A request that gets no slot within a moment is
refused with a reason.

A page may cancel a job and immediately start another; that moment lets the first one end.
"""

import threading

from trueup.studio.refusal import RequestRefused
from trueup.studio.working.work import LongJob

MOST = 2
_PATIENCE = 1.5  # seconds


class Slots:
    """The running jobs; closing ends all of them."""

    def __init__(self, most: int = MOST, patience: float = _PATIENCE) -> None:
        self._most, self._patience = most, patience
        self._free = threading.Condition()
        self._works: set[LongJob] = set()
        self._closed = False

    def start(self, kind: str, spec: dict[str, object]) -> LongJob:
        """Start a job; it ends when it is done or closed."""
        work = LongJob(kind, spec, self._ended)
        with self._free:
            if not self._free.wait_for(lambda: self._closed or len(self._works) < self._most, self._patience):
                raise RequestRefused(
                    429, f"{self._most} long jobs (backtests, drafts, tunings or comparisons) are already running here, which is the limit. Try again when one is done.",
                    code="too_much_work",
                )  # fmt: skip
            if self._closed:
                raise RequestRefused(503, "The studio is stopping.", code="stopping")
            self._works.add(work)
        return work

    @property
    def works(self) -> list[LongJob]:
        """The running jobs."""
        with self._free:
            return list(self._works)

    def close(self) -> None:
        """End all jobs, and start no others."""
        with self._free:
            self._closed = True
        for work in self.works:
            work.close()

    def _ended(self, work: LongJob) -> None:
        with self._free:
            self._works.discard(work)
            self._free.notify()
