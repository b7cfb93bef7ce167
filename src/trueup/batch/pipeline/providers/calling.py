"""Calls a provider: takes a request, and returns the record of the answer, or None if the run is to stop.

If the provider reports too many requests, all calls wait, and it does not count against a unit. Other transport failures are
recorded and tried again, up to a limit for each unit, across restarts. A refused key stops the run immediately.
"""

import asyncio
import time
from typing import Any, NamedTuple

import msgspec

from trueup.ask.clients.request import CallFailure, Request, failure_in, failure_of
from trueup.batch.pipeline.estimating.cost import FREE, Prices, Purse
from trueup.batch.pipeline.providers.http import page_of
from trueup.batch.pipeline.providers.provider import Provider
from trueup.batch.pipeline.providers.rate_limits import RateGate
from trueup.batch.pipeline.rundir.journal import now
from trueup.batch.pipeline.running.jobs import ChunkJob
from trueup.batch.pipeline.running.stop import Stop
from trueup.batch.pipeline.steps.llm import Recorded, recorded
from trueup.read.reader import read
from trueup.verdict.codec import written
from trueup.verdict.reply import Reply

_STOPPING = frozenset({401, 402, 403})
_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "invalid_api_key"})
_OUTAGE = 20  # failures in a row, over all units, after which no unit is the cause
_GUESSED_REPLY = 400  # tokens, if no limit is set
_TOLD_EVERY = 30.0  # seconds between two log lines about transport failures


class ProviderCaller:
    """Makes the calls of a run to one provider."""

    def __init__(self, provider: Provider, gate: RateGate, prices: Prices, purse: Purse, stop: Stop) -> None:
        self.name = provider.name
        self.provider = provider
        self._gate = gate
        self._prices = prices
        self._purse = purse
        self._stop = stop
        self._failing = 0  # failures in a row, over all units
        self._free = self.name in FREE
        self._told_at = -_TOLD_EVERY
        self.under_way = 0

    async def call(self, job: ChunkJob, unit_id: str, request: Request) -> Recorded | None:
        """Send a request until there is an answer to record; None if the run is to stop."""
        while not self._stop:
            await self._gate_in(request)
            held = await self._purse.afford(self._estimate(request), self._stop)
            if held is None or self._stop:
                return None
            burst = self._gate.bursts
            found = await self._once(job, unit_id, request, held)
            if isinstance(found, dict):
                self._failing = 0
                self._gate.answered()
                return found
            again = await self._after(job, unit_id, found, burst)
            if again is not None:
                return again
        return None

    async def _once(self, job: ChunkJob, unit_id: str, request: Request, held: float) -> "Recorded | _Missing":
        """One call: a recorded reply, or the reason why there is none."""
        if not self._free:
            job.sent(unit_id)
        began = time.perf_counter()
        cost: float | None = None
        self.under_way += 1
        try:
            raw = await self._send(job, unit_id, request)
            found = self._read(raw)
            if isinstance(found, _Missing):
                return found
            if self.name != "replay":  # earlier records have no time
                found["at"] = now()
            found["ms"] = round((time.perf_counter() - began) * 1000)
            cost = self._prices.cost(self.name, request.model, found["usage"])
            if cost is not None:
                found["usd"] = cost
            job.record(unit_id, found)
            job.run.log.trace(f"{job.step.name} {unit_id} ok {found['ms']}ms")
            return found
        except Exception as error:
            failure = failure_of(error, request.mode)
            if failure is None:
                raise
            return _Missing(failure, getattr(error, "page", ""))
        finally:
            self.under_way -= 1
            self._purse.pay(held, cost)

    async def _send(self, job: ChunkJob, unit_id: str, request: Request) -> Any:
        number = job.replies(unit_id)
        if self._free:
            return await self.provider.send(job.step.name, unit_id, number, request)
        async with asyncio.timeout(request.timeout):
            return await self.provider.send(job.step.name, unit_id, number, request)

    def _read(self, raw: Any) -> "Recorded | _Missing":
        if type(raw) is str:
            return {"raw_response": raw, "usage": {}}
        reply = raw
        if not isinstance(raw, Reply):
            reading = read(raw)
            failed = next((found for found in reading.findings if found.code == "R002"), None)
            if failed is not None:
                return _Missing(failure_in(failed), page_of(written(raw)))
            reply = reading.reply
        return recorded(reply)

    async def _after(self, job: ChunkJob, unit_id: str, missing: "_Missing", burst: int) -> Recorded | None:
        """Handle a failure: wait, record an end of the asking, or stop the run."""
        failure = missing.failure
        job.run.log.trace(f"{job.step.name} {unit_id} {failure.kind} {failure.status or ''} {failure.reason}"[:300])
        if failure.status in _STOPPING or failure.code in _CODES:
            self._not_counted(job, unit_id, failure)
            self._stop.ask("provider", f"{self.name} rejects the calls: {failure.reason}")
            return None
        if failure.kind in {"mode", "feature"}:  # not the unit's fault: the plan asks in another way
            self._not_counted(job, unit_id, failure)
            return {"failure": msgspec.to_builtins(failure)}
        self._failing += failure.kind == "transient"
        if failure.kind == "rate" or self._failing > _OUTAGE:
            self._not_counted(job, unit_id, failure)
            self._close_gate(job, failure, burst)
            return None
        if failure.kind != "transient":
            return self._give_up(job, unit_id, missing)
        job.record(unit_id, {"transport": msgspec.to_builtins(failure)})
        policy = job.step.policy
        tries = job.transport_failures(unit_id)
        if tries > policy.retries:
            return self._give_up(job, unit_id, missing)
        wait = max(min(policy.backoff_cap, policy.backoff * 2.0 ** (tries - 1)), failure.retry_after or 0.0)
        self._tell(job, failure, f"trying again in {wait:g} s")
        await self._stop.sleep(wait)
        return None

    def _tell(self, job: ChunkJob, failure: CallFailure, what: str) -> None:
        """Write to the log why the run does not progress, from time to time rather than for every call."""
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EVERY:
            self._told_at = now
            job.run.log.say(f"{self.name}: {failure.reason[:200]}; {what}")

    def _not_counted(self, job: ChunkJob, unit_id: str, failure: CallFailure) -> None:
        """Handle a call without a reply, for a reason that does not concern the unit."""
        if not self._free:
            job.refused(unit_id, failure.kind)

    def _close_gate(self, job: ChunkJob, failure: CallFailure, burst: int) -> None:
        wait = self._gate.refused(burst, failure.retry_after)
        if wait is None:
            self._stop.ask("provider", f"{self.name} has returned nothing but errors for too long: {failure.reason}")
        else:
            self._tell(job, failure, f"waiting {wait:.3g} s; this does not count against any unit")

    def _give_up(self, job: ChunkJob, unit_id: str, missing: "_Missing") -> Recorded:
        record: Recorded = {"failure": msgspec.to_builtins(msgspec.structs.replace(missing.failure, kind="fatal"))}
        if missing.page:
            record["page"] = missing.page
        job.record(unit_id, record)
        return record

    async def _gate_in(self, request: Request) -> None:
        if self._gate.open:
            return
        await self._gate.enter(_tokens(request), self._stop)

    def _estimate(self, request: Request) -> float | None:
        if self._purse.cap is None:
            return None
        given = request.max_tokens or _GUESSED_REPLY
        return self._prices.estimate(self.name, request.model, _tokens(request), given)


class _Missing(NamedTuple):
    """The reason why there is no reply, and what the server sent instead."""

    failure: CallFailure
    page: str = ""


def _tokens(request: Request) -> int:
    """An estimate of the tokens of a request: one for three characters, which is more than most requests have."""
    return sum(len(str(message.get("content") or "")) for message in request.messages) // 3 + 8
