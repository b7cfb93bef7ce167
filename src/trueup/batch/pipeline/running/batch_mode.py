"""The engine of a run in batch mode: each chunk of an asking step becomes a provider's batch, round after round.

The journal records the intent before a batch is sent, and its id after. After a crash in between, the provider is asked. Answers
are recorded once each, before the batch counts as collected. Requests whose answers expired, were broken or are missing are sent
again alone, up to a limit; refused replies are asked about again with their errors.
"""

import secrets
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from trueup.ask.clients.request import CallFailure, TransportFailure
from trueup.batch.pipeline.estimating.cost import Prices, Purse
from trueup.batch.pipeline.providers.batch_requests import custom_id, requests_of, sorted_out
from trueup.batch.pipeline.providers.batches import Batches
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.journal import now
from trueup.batch.pipeline.rundir.state import SentBatch
from trueup.batch.pipeline.running.jobs import ChunkJob
from trueup.batch.pipeline.running.realtime import Engine
from trueup.batch.pipeline.running.stop import Stop
from trueup.batch.pipeline.steps.llm import LlmStep, UnitAsk

_POLL = 10.0
_TRIES = 8  # of one call to the provider's interface
_LOST = 3  # batches of a chunk that a provider may lose
Came = Literal["done", "lost", "stop"]


class BatchEngine(Engine):
    """Runs a pipeline through batches."""

    def __init__(
        self, run: OwnedRun, asking: Mapping[str, LlmStep], batches: Mapping[str, Batches], stop: Stop, *,
        prices: Prices, purse: Purse, poll: float | None = None,
    ) -> None:  # fmt: skip
        workers = int(run.pipeline.number(("api", "max_inflight_batches"), 10, 1))
        super().__init__(run, asking, {}, stop, workers)
        self._batches = batches
        self._prices = prices
        self._purse = purse
        given = poll if poll is not None else run.pipeline.number(("api", "poll_interval_seconds"), _POLL, 0)
        self._poll = max(0.001, float(given))
        self._found: set[str] = set()  # batches that were recognized only by their size
        self._strange: set[str] = set()  # those of them that belong to another run
        waited_for = {name for name, chunk in run.state.chunks.items() if not all(b.collected for b in chunk.batches)}
        first = sorted(run.state.chunks, key=lambda name: name not in waited_for)  # they are paid for
        self._order = {name: place for place, name in enumerate(first)}

    async def _begin(self, job: ChunkJob) -> None:
        """Take a chunk through its step: rounds of batches until every unit is settled."""
        asks = self._take_up(job)
        lost = 0
        while asks and not self.stop:
            batch = self._pending(job)
            if batch is None and self._answer_from_kept(job, asks):
                continue
            cost = self._estimate(job, asks)
            held = await self._purse.afford(cost, self.stop) if batch is None else self._purse.hold(cost, sent=True)
            if held is None:
                return
            try:
                came = await self._collect(job, batch or self._intend(job, asks), asks)
            finally:
                self._purse.pay(held, None)  # its answers are counted one by one
            lost += came == "lost"
            if came == "stop" or lost > _LOST:
                self.stop.ask("provider", f"{job.step.provider} lost {lost} batches; run it again to resend them")
                return
            self._settle(job, asks)
        if not asks and not self.stop:
            await self._finish(job)

    def _take_up(self, job: ChunkJob) -> dict[int, UnitAsk]:
        """The asks of a job, continued from the recorded answers. Finished ones are settled."""
        asks: dict[int, UnitAsk] = {}
        for place in list(job.open_places()):
            ask = job.guarded(place, partial(job.begin, place))
            if ask is not None:
                asks[place] = ask
        self._settle(job, asks)
        return asks

    def _settle(self, job: ChunkJob, asks: dict[int, UnitAsk]) -> None:
        for place in [place for place, ask in asks.items() if ask.finished]:
            passed = job.guarded(place, partial(job.settle, place, asks.pop(place))) is True
            self._count(job, passed=passed)

    def _answer_from_kept(self, job: ChunkJob, asks: dict[int, UnitAsk]) -> bool:
        """Answer requests from the cache. Returns whether there was any answer."""
        found = False
        for place, ask in list(asks.items()):
            record = job.find_kept(place, ask.request())
            if record is not None:
                found = True
                if job.guarded(place, partial(ask.answered, record)) is None:
                    del asks[place]
        self._settle(job, asks)
        return found

    def _pending(self, job: ChunkJob) -> SentBatch | None:
        """The batch that was sent, or about to be sent, and not collected yet."""
        return next((batch for batch in job.chunk.batches if not batch.collected), None)

    def _intend(self, job: ChunkJob, asks: dict[int, UnitAsk]) -> SentBatch:
        """Record the intent; `_collect` sends the batch."""
        name, step = job.chunk.name, job.step
        number = len(job.chunk.batches)
        key = f"tu-{secrets.token_hex(8)}"
        self.run.commit(
            "intent", chunk=name, step=step.name, round=number, key=key, requests=len(asks), provider=step.provider
        )
        return job.chunk.batches[-1]

    def _estimate(self, job: ChunkJob, asks: dict[int, UnitAsk]) -> float | None:
        """The estimated cost of a batch, if there is a cap."""
        if self._purse.cap is None:
            return None
        taken = sum(job.prompt_tokens(place) for place in asks)
        given = len(asks) * (job.step.policy.max_tokens or 400)
        cost = self._prices.estimate(job.step.provider, job.step.model, taken, given)
        return None if cost is None else cost / 2

    async def _collect(self, job: ChunkJob, batch: SentBatch, asks: dict[int, UnitAsk]) -> Came:
        """Send a batch unless it was sent, wait for it, and record its answers."""
        provider = self._batches[job.step.name]
        try:
            for turn in range(_LOST + 1):
                if not batch.id and not await self._submit(job, batch, asks, provider):
                    return "stop"
                came = await self._wait(job, batch, provider)
                if came != "done":
                    return came
                lines = await self._lines(batch, provider)
                if turn == _LOST or not self._is_strange(job, batch, lines):
                    self._record(job, batch, asks, lines)
                    break
        except TransportFailure as error:
            self.stop.ask("provider", f"{provider.name}: {error.failure.reason}")
            return "stop"
        self.run.commit("collected", chunk=job.chunk.name, key=batch.key)
        return "done"

    def _is_strange(self, job: ChunkJob, batch: SentBatch, lines: list[bytes]) -> bool:
        """Whether a batch that was recognized only by its size belongs to another run. If so, ours is looked for again."""
        key = batch.key.encode()
        if batch.id not in self._found or not lines or any(key in raw for raw in lines):
            return False
        self.run.log.say(f"{job.chunk.name} {job.step.name}: batch {batch.id} belongs to another run; looking again")
        self._strange.add(batch.id)
        batch.id = ""
        return True

    async def _submit(self, job: ChunkJob, batch: SentBatch, asks: dict[int, UnitAsk], provider: Batches) -> bool:
        """Send a batch once. If the provider already has one with this key, it counts as sent."""
        requests = requests_of(job, asks, batch.key)
        known = {other.id for chunk in self.run.state.chunks.values() for other in chunk.batches if other.id}
        known |= self._strange
        ident: str | None = None
        first = not (job.resumed or self._strange)
        for wait in self._waits():
            if self.stop:
                return False
            try:
                ident = None if first else await provider.find(batch.key, batch.requests, known)
                if ident is not None and not provider.keyed:
                    self._found.add(ident)
                ident = ident or await provider.submit(batch.key, job.step.name, requests)
                break
            except TransportFailure as error:
                await self._again(error.failure, wait, provider)
            first = False
        if ident is None:
            self.stop.ask("provider", f"{provider.name} did not accept the batch after {_TRIES} tries")
            return False
        self.run.commit("sent", chunk=job.chunk.name, key=batch.key, id=ident)
        self.run.log.say(f"{job.chunk.name} {job.step.name}: batch {ident} with {len(requests)} requests")
        return True

    def _waits(self) -> list[float]:
        return [min(60.0, self._poll * 2.0**number) for number in range(_TRIES)]

    async def _again(self, failure: CallFailure, wait: float, provider: Batches) -> None:
        """Wait before the next try. Errors that will not pass are raised."""
        if failure.kind not in {"rate", "transient"}:
            raise TransportFailure(failure)
        self.run.log.say(f"{provider.name}: {failure.reason}; trying again")
        await self.stop.sleep(max(wait, failure.retry_after or 0.0))

    async def _wait(self, job: ChunkJob, batch: SentBatch, provider: Batches) -> Came:
        """Wait until a batch has ended."""
        failures = 0
        while not self.stop:
            try:
                look = await provider.look(batch.id)
            except TransportFailure as error:
                if error.failure.status == 404:
                    self.run.commit("dropped", chunk=job.chunk.name, key=batch.key)
                    self.run.log.say(f"{provider.name} no longer knows batch {batch.id}; it is sent again")
                    return "lost"
                failures += 1
                if failures >= _TRIES:
                    raise
                await self._again(error.failure, self._waits()[failures - 1], provider)
                continue
            failures = 0
            if look.state == "ended":
                return "done"
            if look.state == "failed":
                self.run.commit("dropped", chunk=job.chunk.name, key=batch.key)
                self.stop.ask("provider", f"{provider.name} refused batch {batch.id}: {look.message}")
                return "stop"
            await self.stop.sleep(self._poll)
        return "stop"

    def _record(self, job: ChunkJob, batch: SentBatch, asks: dict[int, UnitAsk], lines: list[bytes]) -> None:
        """Record the answers of a batch, each once. A request without one is a transport failure, and counted."""
        places = {job.units[place]["unit_id"]: place for place in asks}
        owners = {
            custom_id(batch.key, unit_id, call): unit_id for unit_id in places for call in range(job.calls(unit_id) + 1)
        }
        answered = job.recorded_ids()
        found, odd = sorted_out(lines, owners, job.step.policy.modes[0])
        before = Counter(job.resent)
        for cid, record in found.items():
            if cid not in answered:
                answered.add(cid)
                self._take_answer(job, asks, places[owners[cid]], cid, record)
        if odd:
            self.run.log.say(
                f"{job.chunk.name} {job.step.name}: {odd} lines of {batch.id} are broken, repeated, or answer no request"
            )
        for unit_id, place in places.items():
            if not any(custom_id(batch.key, unit_id, call) in answered for call in range(job.calls(unit_id) + 1)):
                cid = custom_id(batch.key, unit_id, job.calls(unit_id))
                lost = {"reason": "the batch has no answer for it", "kind": "transient", "code": "no_answer"}
                self._take_answer(job, asks, place, cid, {"transport": lost})
        self._say_resent(job, batch, Counter(job.resent) - before)
        job.sync()

    def _say_resent(self, job: ChunkJob, batch: SentBatch, resent: Counter[str]) -> None:
        """Log which requests of a batch are sent again."""
        if resent:
            why = ", ".join(f"{number} {reason}" for reason, number in resent.most_common())
            said = f"{resent.total()} of {batch.requests} requests of batch {batch.id} are sent again: {why}"
            self.run.log.say(f"{job.chunk.name} {job.step.name}: {said}")

    async def _lines(self, batch: SentBatch, provider: Batches) -> list[bytes]:
        """The lines of a batch. An interrupted download starts again before any of its lines is used."""
        for wait in self._waits():
            try:
                return [raw async for raw in provider.results(batch.id)]
            except TransportFailure as error:
                await self._again(error.failure, wait, provider)
        raise TransportFailure(CallFailure(f"the results of {batch.id} could not be fetched"))

    def _take_answer(
        self, job: ChunkJob, asks: dict[int, UnitAsk], place: int, cid: str, record: dict[str, Any]
    ) -> None:
        """Record an answer and continue its ask."""
        unit_id = job.units[place]["unit_id"]
        ask = asks.get(place)
        if ask is not None:
            job.expect(place, ask, job.replies(unit_id))
        failure = record.get("failure")
        told: dict[str, Any] | None = record
        if failure is not None and failure["kind"] in {"mode", "feature"}:
            job.refused(unit_id, failure["kind"])  # not the unit's fault: it is asked in another way
        else:
            told = self._recorded(job, unit_id, cid, record)
        if told is not None and ask is not None and job.guarded(place, partial(ask.answered_late, told)) is None:
            del asks[place]

    def _recorded(self, job: ChunkJob, unit_id: str, cid: str, record: dict[str, Any]) -> dict[str, Any] | None:
        """Record an answer, and return what the plan gets: nothing while the transport may be tried again."""
        if "usage" in record:
            cost = self._prices.cost(job.step.provider, job.step.model, record["usage"], batch=True)
            if cost is not None:
                record["usd"] = cost
            if job.step.provider != "replay":  # as in `calling`
                record["at"] = now()
            self._purse.spend(cost)
        job.record(unit_id, {**record, "custom_id": cid})
        if "transport" not in record:
            return record
        if job.transport_failures(unit_id) <= job.step.policy.retries:
            return None
        final = {"failure": {**record["transport"], "kind": "fatal"}, "custom_id": f"{cid}-end"}
        if record.get("page"):
            final["page"] = record["page"]
        job.record(unit_id, final)
        return final
