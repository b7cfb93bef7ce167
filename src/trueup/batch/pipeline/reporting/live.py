"""The progress of a running run: counts, rates, and the expected time and cost, once a second, for the progress bar and for
MANIFEST.json.

It only decides two things: at each tick it checks for a pause request, which is a file, and for the time limit.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from trueup.batch.pipeline.estimating.estimate import GUESSED_PROMPT, GUESSED_REPLY
from trueup.batch.pipeline.estimating.forecast import cost_of_all, progress, seconds_left
from trueup.batch.pipeline.reporting.status import status
from trueup.batch.pipeline.rundir.directory import PAUSE, OwnedRun
from trueup.batch.pipeline.running.jobs import ChunkJob
from trueup.batch.pipeline.running.stop import Stop

_WINDOW = 30  # ticks over which the rate is measured


class Watched(Protocol):
    """The parts of an engine that are watched."""

    settled: dict[str, list[int]]
    jobs: dict[str, ChunkJob]
    on_tick: Callable[[Any], None] | None


class Live:
    """The status of a running run."""

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
        self._looked = 0.0
        self._cost_of_looking = 0.0  # a run with very many chunks is checked less often
        self._points: deque[tuple[float, int]] = deque([(self._began, 0)], maxlen=_WINDOW)
        self._before = progress(run.state.step_rows())[0]
        self._guesses: dict[str, float | None] | None = None
        self.status = status(run.state)

    def watch(self, engine: Any) -> None:
        """Start to watch an engine."""
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
        """Calls that were sent and not answered yet."""
        return int(self._providers.under_way)

    @property
    def spent(self) -> float:
        return float(self._providers.purse.spent)

    @property
    def cap(self) -> float | None:
        """The cost cap of the run, in dollars."""
        cap: float | None = self._providers.purse.cap
        return cap

    @property
    def done(self) -> int:
        """Known outcomes over all steps, including earlier starts."""
        return self._before + self._now()

    @property
    def total(self) -> int:
        """The expected number of outcomes, as far as it is known."""
        return max(int(self.status["total"]), self.done)

    @property
    def failed(self) -> int:
        return int(self.status["failed"])

    @property
    def codes(self) -> dict[str, int]:
        """Failed units by code, over all steps."""
        found: dict[str, int] = {}
        for row in self.status["steps"]:
            for code, number in row["codes"].items():
                found[code] = found.get(code, 0) + number
        return found

    @property
    def rate(self) -> float:
        """Units settled per second, over the last half minute, or over the whole time if there were none."""
        (then, before), (now, after) = self._points[0], self._points[-1]
        if after > before and now > then:
            return (after - before) / (now - then)
        return after / (now - self._began) if after and now > self._began else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The time left; None if it is not known, for example while the run waits for batches."""
        return seconds_left(self.done, self.total, self.rate) if not self.status["batches"] else None

    @property
    def estimated(self) -> float | None:
        """The cost of the run at its end; None if a price is not known."""
        estimated: float | None = self.status["estimated_usd"]
        return estimated if estimated is None else max(estimated, self.spent)

    def look(self) -> None:
        """Update `status` and all numbers from the run."""
        self.status = status(self.run.state, {"open": self._open()})
        self.status["estimated_usd"] = cost_of_all(self.status["steps"], self._guessed())

    def picture(self) -> dict[str, Any]:
        """The part of MANIFEST.json that is not in the journal."""
        left = self.seconds_left
        return {
            "term": self.run.state.term,
            "seconds": round(self.seconds, 1),
            "settled": {step: {"valid": both[0], "failed": both[1]} for step, both in self.settled.items()},
            "under_way": self.under_way,
            "per_second": round(self.rate, 2),
            "usd": round(self.spent, 6),
            "done": self.done,
            "total": self.total,
            "seconds_left": None if left is None else round(left, 1),
            "estimated_usd": self.estimated,
            "open": self._open(),
        }

    def _now(self) -> int:
        return sum(sum(both) for both in self.settled.values())

    def _open(self) -> dict[str, Any]:
        """The chunks in the middle of a step: the outcomes known so far, and their cost."""
        found = {}
        for name, job in list(self._engine.jobs.items()) if self._engine is not None else ():
            outcomes = job.outcomes
            found[name] = {
                "step": job.step.name, "valid": outcomes.valid, "failed": sum(outcomes.stages.values()),
                "codes": dict(outcomes.codes), "money": msgspec.to_builtins(job.money),
            }  # fmt: skip
        return found

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The failure records of the chunks in the middle of a step."""
        jobs = self._engine.jobs.values() if self._engine is not None else ()
        return [record for job in jobs for record in job.outcomes.failures]

    def _guessed(self) -> Mapping[str, float | None]:
        """The estimated cost of one unit in each step that asks, before any unit is settled there."""
        if self._guesses is None:
            prices = self._providers.prices
            self._guesses = {
                name: prices.estimate(
                    step.provider, step.model, GUESSED_PROMPT, step.policy.max_tokens or GUESSED_REPLY
                )
                for name, step in self._providers.asking.items()
            }
        return self._guesses

    def _tick(self, _: Any) -> None:
        now = time.monotonic()
        self._points.append((now, self._now()))
        if now - self._looked > 20 * self._cost_of_looking:
            self.look()
            self._looked = time.monotonic()
            self._cost_of_looking = self._looked - now
        if (self.run.path / PAUSE).exists():
            self._stop.ask("paused", "paused by request; run it again to resume")
        if self._limit is not None and self.seconds > self._limit:
            self._stop.ask("timeout", f"the time limit of {self._limit:g} seconds was reached; run it again to resume")
        self.run.log.flush()
        if now - self._written > max(1.0, 50 * self._cost_of_writing):
            self.run.write_manifest(self.picture())
            self._written = time.monotonic()
            self._cost_of_writing = self._written - now
        if self._listener is not None:
            self._listener(self)
