"""Slots: how much long work one server does at once. A request that finds no slot within a moment is refused with a reason.

A page that changes its mind ends its work and asks again at once; that moment is for the end to get through.
"""

import threading

from trueup.studio.refusal import Refusal
from trueup.studio.working.work import Work

MOST = 2
_PATIENCE = 1.5  # seconds


class Slots:
    """The work under way; closing ends all of it."""

    def __init__(self, most: int = MOST, patience: float = _PATIENCE) -> None:
        self._most, self._patience = most, patience
        self._free = threading.Condition()
        self._works: set[Work] = set()
        self._closed = False

    def start(self, kind: str, spec: dict[str, object]) -> Work:
        """Begin some work; it ends by itself, or when it is closed."""
        work = Work(kind, spec, self._ended)
        with self._free:
            if not self._free.wait_for(lambda: self._closed or len(self._works) < self._most, self._patience):
                raise Refusal(
                    429, f"{self._most} backtests, tunings or comparisons are already running here, which is the limit. Try again when one is done.",
                    code="too_much_work",
                )  # fmt: skip
            if self._closed:
                raise Refusal(503, "The studio is stopping.", code="stopping")
            self._works.add(work)
        return work

    @property
    def works(self) -> list[Work]:
        """The work under way."""
        with self._free:
            return list(self._works)

    def close(self) -> None:
        """End all work, and begin no other."""
        with self._free:
            self._closed = True
        for work in self.works:
            work.close()

    def _ended(self, work: Work) -> None:
        with self._free:
            self._works.discard(work)
            self._free.notify()
