"""Logs a warning when a model must be asked again too often.

Counts the last requests of each model. Warns once, and again only after the rate has dropped below the limit.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable

from trueup.store.records import Note

log = logging.getLogger("trueup.store")

RETRY_RATE = 0.2
LEAST = 20
_MODELS = 1000  # the most models to watch; names can come from outside


def _warn(message: str) -> None:
    log.warning("%s", message)


class Alarm:
    """Watches the retry rate of each model over its last requests. `tell` gets one sentence at each crossing."""

    def __init__(
        self, rate: float = RETRY_RATE, window: int = 200, least: int = LEAST, tell: Callable[[str], None] = _warn
    ) -> None:
        self.rate, self.window, self.least, self.tell = rate, window, least, tell
        self._last: dict[str, deque[bool]] = {}
        self._again: dict[str, int] = {}
        self._raised: set[str] = set()

    def note(self, notes: Iterable[Note]) -> None:
        """Count verdicts that were written."""
        for note in notes:
            if note.final:
                for each in note.given_up:
                    self.count(each.model, retried=True)
                self.count(note.model, retried=note.own_attempts > 1)

    def raised(self) -> list[str]:
        """The models that are over the rate now."""
        return sorted(self._raised)

    def count(self, model: str, *, retried: bool) -> None:
        """Count one request. `retried` is true if the first call of `model` was not enough."""
        if model not in self._last and len(self._last) >= _MODELS:
            return
        last = self._last.setdefault(model, deque())
        again = self._again.get(model, 0) + retried
        last.append(retried)
        if len(last) > self.window:
            again -= last.popleft()
        self._again[model] = again
        rate = again / len(last)
        if len(last) >= self.least and rate > self.rate and model not in self._raised:
            self._raised.add(model)
            self.tell(
                f"model {model!r} is asked again for {rate:.0%} of its last {len(last)} requests, over {self.rate:.0%}"
            )
        elif rate < self.rate * 0.75:
            self._raised.discard(model)
