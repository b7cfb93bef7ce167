"""The engine of a run in real time: starts chunks in order, asks about several units at the same time, and finishes steps as they
complete.

Takes a run that this process owns, and leaves it in a state recorded in its journal: done, failed, or stopped with a reason and
resumable. A fixed number of workers takes unit by unit; only chunks in progress are in memory.
"""

import asyncio
import contextlib
import heapq
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from trueup.batch.disk.full_disk import is_full
from trueup.batch.pipeline.providers.calling import ProviderCaller
from trueup.batch.pipeline.providers.reply_cache import ReplyCache
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.lock import RunTakenOver
from trueup.batch.pipeline.rundir.state import Chunk, StepOutcome
from trueup.batch.pipeline.running.jobs import ChunkJob
from trueup.batch.pipeline.running.local_steps import LocalSteps
from trueup.batch.pipeline.running.outcomes import Outcomes
from trueup.batch.pipeline.running.results import add_failures
from trueup.batch.pipeline.running.stop import Stop, no_room
from trueup.batch.pipeline.steps.llm import LlmStep

_TICK = 1.0  # seconds between two checks of the run
_SLICE = 0.02  # seconds that may pass before others get their turn
_GRACE = 20.0  # seconds that calls under way have to come in after a stop
_GUARD = 20  # units that fail a step, with none passing, before the run stops
_SURE = 3  # units that no reply can help, with none passing, before the configuration is blamed


class Engine:
    """Runs a pipeline in real time."""

    def __init__(
        self,
        run: OwnedRun,
        asking: Mapping[str, LlmStep],
        callers: Mapping[str, ProviderCaller],
        stop: Stop,
        workers: int = 8,
    ) -> None:
        self.run = run
        self.stop = stop
        self._asking = asking
        self._callers = callers
        self._workers = workers
        self._local = LocalSteps(run)
        self._heap: list[tuple[int, str]] = []
        self._order = {name: place for place, name in enumerate(run.state.chunks)}
        self._open: deque[ChunkJob] = deque()
        self.jobs: dict[str, ChunkJob] = {}
        self._active = 0
        self._wake = asyncio.Event()
        self._turn = time.monotonic()
        self.settled: dict[str, list[int]] = {step: [0, 0] for step in run.state.steps}  # passed, failed, by step
        self._in_vain: Counter[str] = Counter()  # units that no reply can help, by step
        self.on_tick: Callable[[Engine], None] | None = None
        self.foresee: Callable[[Iterable[Chunk], str], None] | None = None
        self.keeping: ReplyCache | None = None

    async def go(self) -> None:
        """Work until everything is done or a stop is requested."""
        for name, chunk in self.run.state.chunks.items():
            if self.run.state.is_open(chunk):
                heapq.heappush(self._heap, (self._order[name], name))
        workers = [asyncio.create_task(self._work()) for _ in range(self._workers)]
        ticker = asyncio.create_task(self._tick())
        watch = asyncio.create_task(self._patience(workers))
        try:
            await asyncio.gather(*workers)
        except asyncio.CancelledError:
            if not self.stop:
                raise
        finally:
            watch.cancel()
            if self.stop:
                self.run.given_up.set()
            for task in (*workers, ticker):
                task.cancel()
            await asyncio.gather(*workers, ticker, return_exceptions=True)
            self._close()

    async def _patience(self, workers: list[asyncio.Task[None]]) -> None:
        """Wait for unfinished calls after a stop is requested. Calls that take too long are given up.

        A run that stops because of its cost waits for each of them for as long as a call may take: they are paid for.
        """
        await self.stop.wait()
        if self.stop.reason is not None and self.stop.reason.kind == "cost":
            return
        await asyncio.sleep(_GRACE)
        self.run.log.say(f"calls not finished {_GRACE:g} seconds after the stop are abandoned")
        for worker in workers:
            worker.cancel()

    def _close(self) -> None:
        with (
            contextlib.suppress(OSError),
            contextlib.ExitStack() as closing,
        ):  # on a full disk, the written bytes are there
            for job in self.jobs.values():
                closing.callback(job.close)

    async def _tick(self) -> None:
        """From time to time: sync recorded replies, look for a pause request, and update the progress."""
        try:
            while True:
                await asyncio.sleep(_TICK)
                for job in list(self.jobs.values()):
                    await asyncio.to_thread(job.sync)
                if self.on_tick is not None:
                    self.on_tick(self)
        except OSError as error:  # a disk error about recorded replies is reported once
            unsynced = f"recorded replies cannot be synced: {error.strerror or error}"
            self.stop.ask("disk", no_room(self.run.path, error) if is_full(error) else unsynced)
        except Exception as error:  # noqa: BLE001 - without this nobody could pause the run any more
            self.stop.ask("internal", f"{type(error).__name__}: {str(error)[:300]}; run it again to resume")

    async def _work(self) -> None:
        try:
            while (taken := await self._next()) is not None:
                job, place = taken
                if await self._ask(job, place):
                    await self._finish(job)
                await self._breathe()
        except OSError as error:
            if not is_full(error):
                raise
            self.run.free_reserve()
            self.stop.ask("disk", no_room(self.run.path, error))
        except RunTakenOver as error:
            self.stop.ask("fenced", str(error))
        finally:
            self._wake.set()

    async def _next(self) -> tuple[ChunkJob, int] | None:
        """The next unit to ask about; None if nothing is left to do."""
        while not self.stop:
            while self._open:
                place = self._open[0].next_place()
                if place is not None:
                    return self._open[0], place
                self._open.popleft()
            if self._heap:
                await self._start(heapq.heappop(self._heap)[1])
            elif self._active:
                self._wake.clear()
                await self._wake.wait()
            elif not await self._pass_barrier():
                break
        self._wake.set()
        return None

    async def _start(self, name: str) -> None:
        """Start a chunk at its step: run the step immediately, or unit by unit."""
        chunk = self.run.state.chunks[name]
        step = self.run.state.steps[chunk.at]
        if self.run.state.scopes[chunk.at] == "run":
            return  # it waits for the others; the barrier starts it again
        self._active += 1
        llm = self._asking.get(step)
        if llm is None:
            record = await self._local.run(chunk, step, self._breathe)
            self.settled[step][0] += record["done"]["valid"]
            self.settled[step][1] += sum(record["done"]["failed"].values())
            await self._commit(chunk, step, record)
            return
        job = ChunkJob(self.run, chunk, llm, self.keeping)
        self.jobs[name] = job
        if not chunk.submitted:
            self.run.note("submitted", chunk=name, step=step)
        if job.outcomes.left:
            await self._begin(job)
        else:
            await self._finish(job)

    async def _begin(self, job: ChunkJob) -> None:
        """Hand the units of a job to free workers."""
        self._open.append(job)
        self._wake.set()

    async def _ask(self, job: ChunkJob, place: int) -> bool:
        """Ask about one unit until its outcome is known, or leave it unchanged. Returns whether it was the last one of its chunk."""
        unit_id = job.units[place]["unit_id"]
        ask = job.guarded(place, lambda: job.begin(place))
        while ask is not None and not ask.finished:
            request = ask.request()
            record = job.find_kept(place, request) or await self._callers[job.step.name].call(job, unit_id, request)
            if record is None:
                job.put_back(place)
                return False
            ask = job.guarded(place, partial(ask.answered, record))
        passed = ask is not None and job.guarded(place, partial(job.settle, place, ask)) is True
        self._count(job, passed=passed)
        return not job.outcomes.left

    def _count(self, job: ChunkJob, *, passed: bool) -> None:
        """Count a settled unit. Stop if only the configuration is at fault, for every unit so far."""
        step = job.step.name
        self.settled[step][0 if passed else 1] += 1
        fault, job.config_fault = job.config_fault, ""
        if passed or not fault:
            return
        self._in_vain[step] += 1
        done = (chunk.done[step].valid for chunk in self.run.state.chunks.values() if step in chunk.done)
        if self._in_vain[step] >= _SURE and not self.settled[step][0] and not any(done):
            self.stop.ask("config", f"step {step}: {fault}. The other units were not sent")

    async def _breathe(self) -> None:
        """Let other tasks run, from time to time."""
        now = time.monotonic()
        if now - self._turn > _SLICE:
            await asyncio.sleep(0)
            self._turn = time.monotonic()

    async def _finish(self, job: ChunkJob) -> None:
        """A chunk has finished its step."""
        del self.jobs[job.chunk.name]
        record = await asyncio.to_thread(job.finish)
        await self._commit(job.chunk, job.step.name, record)

    async def _commit(self, chunk: Chunk, step: str, record: dict[str, Any]) -> None:
        """Record in the journal that a chunk has finished a step, and continue with it."""
        taken = await asyncio.to_thread(lambda: self.run.journal.commit("done", **record))
        state = self.run.state
        state.take(taken)
        done = chunk.done[step]
        if done.failures:
            await asyncio.to_thread(add_failures, self.run, chunk.name, step)
        for name, _ in record.get("children") or ():
            self._order[name] = len(self._order)
        self._active -= 1  # nothing is awaited from here on: otherwise the chunk would seem to wait for a script
        self.run.log.say(f"{chunk.name} {step}: {done.valid} valid, {done.failures} failed in {done.seconds:.1f}s")
        if chunk.failed:
            self._guard(chunk, step)
        if chunk.split and self.foresee is not None:
            children = [state.chunks[name] for name, _ in record["children"]]
            self.foresee(children, f"{chunk.name} {step}: {done.units} units became {done.valid}")
        for name in (chunk.name, *(name for name, _ in record.get("children") or ())):
            if state.is_open(state.chunks[name]):
                heapq.heappush(self._heap, (self._order[name], name))
        self._wake.set()

    def _guard(self, chunk: Chunk, step: str) -> None:
        """No unit of a chunk passed: if no unit at all has passed this step, the run has failed."""
        state = self.run.state
        rows = [c.done[step] for c in state.chunks.values() if step in c.done]
        self.run.log.say(f"{chunk.name} FAILED: no unit passed {step} ({_reasons([chunk.done[step]])})")
        failed = sum(done.failures for done in rows)  # a unit that is retried counts in its current chunk
        if not any(done.valid for done in rows) and failed >= _GUARD and any(map(state.is_open, state.chunks.values())):
            self.stop.ask("failed", partial(self._guarded, step))

    def _guarded(self, step: str) -> str:
        """Why the guard stopped the run, with the numbers of its table; units in progress at the stop count too."""
        done = [chunk.done[step] for chunk in self.run.state.chunks.values() if step in chunk.done]
        under_way = [job.outcomes for job in self.jobs.values() if job.step.name == step]
        valid = sum(each.valid for each in done) + sum(each.valid for each in under_way)
        failed = sum(each.failures for each in done) + sum(sum(each.stages.values()) for each in under_way)
        passed = f"only {valid}" if valid else "none"
        units = f"{passed} of the first {valid + failed} units {'are' if valid > 1 else 'is'} valid"
        return f"step {step}: {units} ({_reasons((*done, *under_way))}); the rest was not started"

    async def _pass_barrier(self) -> bool:
        """If all chunks wait for a script, run it and let them continue. Returns False if none waits."""
        state = self.run.state
        waiting = [chunk for chunk in state.chunks.values() if state.is_open(chunk)]
        if not waiting or self.stop:
            return False
        step = state.steps[min(chunk.at for chunk in waiting)]
        self._active += 1
        error = await asyncio.to_thread(self._local.run_script, step)
        self._active -= 1
        if error:
            self.stop.ask("failed", f"step {step}: the script {error}")
            return False
        for chunk in waiting:
            if state.is_open(chunk):
                heapq.heappush(self._heap, (self._order[chunk.name], chunk.name))
        self._wake.set()
        return True


def _reasons(rows: Iterable[StepOutcome | Outcomes]) -> str:
    """Why units failed, by code, the most frequent first."""
    codes: Counter[str] = Counter()
    for row in rows:
        codes.update(row.codes)
    return ", ".join(f"{code} {number}" for code, number in codes.most_common(5))
