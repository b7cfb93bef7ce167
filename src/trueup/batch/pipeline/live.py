"""How a run goes while it goes: counts, rates and what is under way, once a second, for the bar and for MANIFEST.json.

Nothing here decides anything but one: a request to pause, left as a file, and a time limit are looked for at each tick.
"""

import time
from collections.abc import Callable
from typing import Any, Protocol

from trueup.batch.pipeline.rundir import PAUSE, OwnedRun
from trueup.batch.pipeline.stop import Stop


class Watched(Protocol):
    """An engine as far as it is watched."""

    settled: dict[str, list[int]]
    on_tick: Callable[[Any], None] | None


class Live:
    """The picture of a run under way."""

    def __init__(
        self, run: OwnedRun, stop: Stop, providers: Any, options: Any, listener: Callable[["Live"], None] | None
    ) -> None:
        self.run = run
        self._stop = stop
        self._providers = providers
        self._limit = options.timeout
        self._listener = listener
        self._began = time.monotonic()
        self._engine: Watched | None = None
        self._written = 0.0
        self._cost_of_writing = 0.0
        self._lines: list[tuple[float, int]] = [(self._began, 0)]

    def watch(self, engine: Any) -> None:
        """Watch an engine from now on."""
        self._engine = engine
        engine.on_tick = self._tick
        if self._listener is not None:
            self._listener(self)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def settled(self) -> dict[str, list[int]]:
        """Units passed and failed since this start, by step."""
        return self._engine.settled if self._engine is not None else {}

    @property
    def under_way(self) -> int:
        return int(self._providers.under_way)

    @property
    def spent(self) -> float:
        return float(self._providers.purse.spent)

    @property
    def rate(self) -> float:
        """Units settled a second, over the last half minute."""
        (then, before), (now, after) = self._lines[0], self._lines[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def picture(self) -> dict[str, Any]:
        """What MANIFEST.json says beside the journal."""
        return {
            "seconds": round(self.seconds, 1),
            "settled": {step: {"valid": both[0], "failed": both[1]} for step, both in self.settled.items()},
            "under_way": self.under_way,
            "per_second": round(self.rate, 2),
            "usd": round(self.spent, 6),
        }

    def _tick(self, _: Any) -> None:
        now = time.monotonic()
        self._lines.append((now, sum(sum(both) for both in self.settled.values())))
        del self._lines[:-30]
        if (self.run.path / PAUSE).exists():
            self._stop.ask("paused", "paused by request; run it again to go on")
        if self._limit is not None and self.seconds > self._limit:
            self._stop.ask("timeout", f"the time limit of {self._limit:g} seconds is over; run it again to go on")
        self.run.log.flush()
        if now - self._written > max(1.0, 50 * self._cost_of_writing):
            self.run.write_manifest(self.picture())
            self._written = time.monotonic()
            self._cost_of_writing = self._written - now
        if self._listener is not None:
            self._listener(self)
