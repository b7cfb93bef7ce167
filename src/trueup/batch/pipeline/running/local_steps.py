"""Steps that do not ask a model: expressions, fan-out, scripts. Takes a chunk, and returns the journal's record of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from trueup.batch.pipeline.config import PipelineStep
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.running.outcomes import Outcomes, broken
from trueup.batch.pipeline.steps.expression import ExpressionStep, UnitError
from trueup.batch.pipeline.steps.fan_out import FanOut
from trueup.batch.pipeline.steps.script import args_of, run_script


class LocalSteps:
    """Runs the steps that do not ask a model."""

    def __init__(self, run: OwnedRun) -> None:
        self._run = run
        self._steps: dict[str, PipelineStep] = {step.name: step for step in run.pipeline.steps}
        self._made: dict[str, ExpressionStep | FanOut] = {}

    async def run(self, chunk: Chunk, step: str, breathe: Callable[[], Awaitable[None]]) -> dict[str, Any]:
        """Take a chunk through a step, and return the record for the journal. `breathe` lets other tasks run."""
        began = time.monotonic()
        worker = self._worker(step)
        units = list(self._run.units(chunk, chunk.at))
        outcomes = Outcomes(len(units))
        for place, unit in enumerate(units):
            try:
                if isinstance(worker, FanOut):
                    outcomes.passed(place, worker.run(unit))
                else:
                    outcomes.passed(place, [worker.run(unit)])
            except UnitError as error:
                outcomes.failed(place, broken(unit, error.code, str(error)))
            await breathe()
        last = chunk.at + 1 >= len(self._run.state.steps)
        size = self._run.pipeline.chunk_size if isinstance(worker, FanOut) and not last else 0
        return await asyncio.to_thread(outcomes.write, self._run, chunk, step, time.monotonic() - began, size)

    def _worker(self, step: str) -> ExpressionStep | FanOut:
        found = self._made.get(step)
        if found is None:
            config = self._steps[step]
            made = FanOut if config.scope == "fan_out" else ExpressionStep
            found = self._made[step] = made(step, config.config)
        return found

    def run_script(self, step: str) -> str:
        """Run the script of a step, and return its error, if any."""
        run, config = self._run, self._steps[step].config
        name = str(config.get("script") or "")
        timeout = float(run.pipeline.number(("api", "subprocess_timeout_seconds"), 600, 0.001))
        try:
            script = run.pipeline.inside(name)
        except ValueError as error:
            return str(error)
        run.commit("script", step=step, status="started")
        args = args_of(config)
        result = run_script(script, run.path, args, step, timeout, run.given_up)
        target = str(config.get("output") or f"{step}_output.txt")
        if result.output:
            folder = run.path / "outputs"
            folder.mkdir(exist_ok=True)
            run.disk.put(folder / target.replace("/", "_"), [result.output])
        run.commit("script", step=step, status="failed" if result.error else "done", error=result.error)
        run.log.say(f"{step}: the script {result.error or 'is done'}")
        return result.error
