"""Jobs: one chunk in one step that asks a model. Takes units and recorded replies, and returns asks to continue.

Every reply is appended to the results of the chunk before it is used. A job that is opened again finds the replies there and
continues: paid calls are not repeated, and counts are not reset.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from trueup.ask.clients.request import Request
from trueup.batch.judging.sieve import broke
from trueup.batch.pipeline.estimating.cost import money_of
from trueup.batch.pipeline.prompts.templates import PromptError
from trueup.batch.pipeline.providers.reply_cache import ReplyCache
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import Appender, line, read_records
from trueup.batch.pipeline.rundir.replies import is_reply, read_calls
from trueup.batch.pipeline.rundir.state import Chunk, Money
from trueup.batch.pipeline.running.outcomes import Outcomes, Unit, broken, failure_record
from trueup.batch.pipeline.running.phases import Phases
from trueup.batch.pipeline.steps.llm import LlmStep, Recorded, UnitAsk
from trueup.verdict.facts import Finding

T = TypeVar("T")
_OF_REPLY = ("raw_response", "finish", "refusal", "model", "at")  # without its cost, which is counted already
_WHY = {"batch_expired": "expired", "canceled": "cancelled", "no_answer": "no answer"}


def why_resent(failure: Mapping[str, Any]) -> str:
    """A word for why a request of a batch has no answer.

    >>> why_resent({"code": "batch_expired", "kind": "transient"}), why_resent({"code": None, "kind": "rate"})
    ('expired', 'rate')
    """
    code = str(failure.get("code") or failure.get("kind") or "unknown")
    return _WHY.get(code, code)


class ChunkJob:
    """A chunk in a step that asks a model."""

    def __init__(self, run: OwnedRun, chunk: Chunk, step: LlmStep, keeping: ReplyCache | None = None) -> None:
        self.run = run
        self.chunk = chunk
        self.step = step
        self.units: list[Unit] = list(run.units(chunk, chunk.at))
        self.keeping = keeping
        self.outcomes = Outcomes(len(self.units))
        self.began = time.monotonic()
        self.config_fault = ""  # why no reply can help the unit that was settled last, or any other unit
        self._phases = Phases()
        self._results = Appender(run.file(chunk.name, step.name, "results"), run.disk)
        self._before: dict[str, Recorded] = {}
        if chunk.origin == "retry" and chunk.at == chunk.first:
            rows = read_records(run.folder(chunk.name) / "retries.jsonl")
            self._before = {row["unit_id"]: row for row in rows}
        self._recorded: dict[str, list[Recorded]] = {}
        self._settled_ids: set[str] = set()
        self._keys: dict[str, str] = {}  # the cache keys of replies that are not judged yet
        self._spent = Money()
        self._resent: Counter[str] = Counter()  # requests of batches that are sent again, by reason
        self.resumed = chunk.submitted
        self._prompts: list[str] = []
        self._ready: deque[int] = deque()
        try:
            self._read_results()
            self._render()
        except BaseException:
            self._results.close()
            raise

    def _read_results(self) -> None:
        """Load the recorded answers. Calls that were sent and never answered are counted as lost."""
        calls = read_calls(read_records(self._results.path), {unit["unit_id"] for unit in self.units})
        self._recorded = calls.recorded
        for row in (row for rows in calls.recorded.values() for row in rows):
            self._count_resent(row)
        self._spent.add(calls.money)
        lost = calls.unanswered.total()
        self._spent.add(Money(calls=lost, unpriced=lost, lost=lost))

    def _count(self, record: Recorded) -> None:
        if "usage" in record:
            self._spent.add(money_of(record["usage"], record.get("usd")))
        elif record.get("cached"):
            self._spent.add(Money(cached=1))

    def _count_resent(self, record: Recorded) -> None:
        """A request of a batch that came back without an answer is sent again, unless it had all its tries."""
        cid = record.get("custom_id", "")
        if cid and "transport" in record:
            self._resent[why_resent(record["transport"])] += 1
        elif cid.endswith("-end"):
            self._resent[why_resent(record["failure"])] -= 1

    def _render(self) -> None:
        """Render the prompts. A unit without one fails here, without a call."""
        lines = []
        for place, unit in enumerate(self.units):
            try:
                prompt = self.step.prompt(unit)
            except PromptError as error:
                where = f" (line {error.line} of the template)" if error.line else ""
                self.outcomes.failed(place, broken(unit, "U030", f"The prompt cannot be made{where}: {error}"))
                prompt = ""
            else:
                self._ready.append(place)
            self._prompts.append(prompt)
            lines.append(line({"unit_id": unit["unit_id"], "prompt": prompt}))
        target = self.run.file(self.chunk.name, self.step.name, "prompts")
        if not target.exists():
            self.run.disk.place(target, lines)

    @property
    def resent(self) -> Mapping[str, int]:
        """Requests of batches that are sent again, by reason."""
        return self._resent

    @property
    def money(self) -> Money:
        return self._spent

    def next_place(self) -> int | None:
        """The next unit that is not being asked about."""
        return self._ready.popleft() if self._ready else None

    def put_back(self, place: int) -> None:
        """A unit that was taken and not finished."""
        self._ready.appendleft(place)

    def begin(self, place: int) -> UnitAsk:
        """The ask about a unit, continued from its recorded answers."""
        unit = self.units[place]
        ask = self.step.ask(unit, self._prompts[place], more=self._more(unit["unit_id"]))
        before = self._before.get(unit["unit_id"])
        decided: Recorded | None = None
        if before is not None and before["raw_response"] and not ask.finished:
            ask.repeat(before)
            ask.given = 1
            decided = before
        records = [record for record in self._recorded.get(unit["unit_id"], ()) if "transport" not in record]
        earlier = self.replies(unit["unit_id"]) - len(records)
        for number, record in enumerate(records, earlier):
            if not ask.finished:
                self.expect(place, ask, number)
                ask.repeat(record)
                decided = record
        if decided is not None and ask.passed:
            self._put_last(unit["unit_id"], decided, records)
        return ask

    def _put_last(self, unit_id: str, decided: Recorded, records: Iterable[Recorded]) -> None:
        """Record a reply again if later replies exist, which another pipeline had asked for: the last one decides."""
        last = [record["raw_response"] for record in records if is_reply(record)][-1:]
        if last and last[0] != decided["raw_response"]:
            self.record(unit_id, {name: decided[name] for name in _OF_REPLY if name in decided})

    def _more(self, unit_id: str) -> int | None:
        before = self._before.get(unit_id)
        if before is None:
            return None
        more = int(before["attempts"])
        return more if before["raw_response"] else max(0, more - 1)

    def transport_failures(self, unit_id: str) -> int:
        """How often the transport has failed for a unit since its last reply."""
        count = 0
        for record in self._recorded.get(unit_id, ()):
            count = count + 1 if "transport" in record else 0
        return count

    def calls(self, unit_id: str) -> int:
        return len(self._recorded.get(unit_id, ()))

    def replies(self, unit_id: str) -> int:
        """How many replies a unit had so far, including earlier tries."""
        before = self._before.get(unit_id)
        earlier = sum(before["tries"].values()) - before["tries"].get("transport", 0) if before else 0
        return earlier + sum("transport" not in record for record in self._recorded.get(unit_id, ()))

    def sent(self, unit_id: str) -> None:
        """A call that costs money is about to be made."""
        self._results.append(line({"unit_id": unit_id, "call": self.calls(unit_id), "sent": True}))

    def refused(self, unit_id: str, why: str) -> None:
        """A call came back without a reply, and it is not the unit's fault."""
        self._results.append(line({"unit_id": unit_id, "call": self.calls(unit_id), "refused": why}))

    def record(self, unit_id: str, record: Recorded) -> None:
        """Record a reply or failure."""
        record = {"unit_id": unit_id, "call": self.calls(unit_id), **record}
        self._results.append(line(record))
        self._recorded.setdefault(unit_id, []).append(record)
        self._count(record)
        self._count_resent(record)

    def find_kept(self, place: int, request: Request) -> Recorded | None:
        """The reply to an identical request from the cache, recorded. Otherwise the new reply is cached once it is valid."""
        if self.keeping is None:
            return None
        unit = self.units[place]
        unit_id = unit["unit_id"]
        key = self._keys[unit_id] = self.keeping.key(self.step, unit, self.replies(unit_id), request) or ""
        found = self.keeping.find(key, self.step, unit, self._prompts[place]) if key else None
        if found is not None:
            self.record(unit_id, found)
        return found

    def expect(self, place: int, ask: UnitAsk, number: int) -> None:
        """Cache the reply to a request, which another process may have sent, once it is valid; `number` counts the replies before it."""
        if self.keeping is not None and not ask.finished:
            unit = self.units[place]
            self._keys[unit["unit_id"]] = self.keeping.key(self.step, unit, number, ask.request()) or ""

    def guarded(self, place: int, judge: Callable[[], T]) -> T | None:
        """Judge a reply. A unit that cannot be judged fails alone and is not asked about again; the result is then None."""
        self.step.contract.phases = self._phases
        try:
            return judge()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - one unit must not end the run for all, whatever it brings up
            why, unit = broke(error), self.units[place]
            self.run.log.say(f"{self.chunk.name} {self.step.name} {unit['unit_id']}: {why.message}")
            replies = [row for row in self._recorded.get(unit["unit_id"], ()) if is_reply(row)]
            raw = replies[-1]["raw_response"] if replies else ""  # kept, to be judged again once the cause is gone
            self.outcomes.failed(place, failure_record(unit, [why], raw))
            return None

    def settle(self, place: int, ask: UnitAsk) -> bool:
        """Take the outcome of a finished ask; whether the unit passed."""
        unit_id = self.units[place]["unit_id"]
        unit, failure, notes = ask.outcome(self._before.get(unit_id))
        records = self._recorded.pop(unit_id, [])
        self._settled_ids.update(row["custom_id"] for row in records if "custom_id" in row)
        key = self._keys.pop(unit_id, "")
        if unit is not None:
            if key and self.keeping is not None:
                self.keeping.put(key, records[-1])
            self.outcomes.passed(place, [unit], notes)
            return True
        assert failure is not None
        self.outcomes.failed(place, failure)
        fault = ask.fault
        self.config_fault = fault.message if fault is not None and self._is_of_all(fault) else ""
        return False

    def _is_of_all(self, fault: Finding) -> bool:
        """Whether a fault of the configuration affects every unit, regardless of its fields."""
        if fault.data["varies"]:
            return False
        return not any(fault.data["field"] in unit for unit in self.units)

    def recorded_ids(self) -> set[str]:
        """The custom ids of all records."""
        rows = (row.get("custom_id", "") for records in self._recorded.values() for row in records)
        return {*rows, *self._settled_ids}

    def prompt_tokens(self, place: int) -> int:
        """An estimate of the tokens of a unit's prompt: one for three characters."""
        return len(self._prompts[place]) // 3 + 8

    def open_places(self) -> Iterable[int]:
        """The units that are still unasked, all taken."""
        while self._ready:
            yield self._ready.popleft()

    def sync(self) -> None:
        """Make the recorded replies durable."""
        self._results.sync()

    def finish(self) -> dict[str, Any]:
        """Everything is settled: put the files in place, and return the record for the journal."""
        self.close()
        self.outcomes.money = self._spent
        self.outcomes.resent = dict(+self._resent)
        record = self.outcomes.write(self.run, self.chunk, self.step.name, time.monotonic() - self.began)
        where = f"{self.chunk.name} {self.step.name}"
        self.run.log.note([f"{where} {said}" for said in (*self.outcomes.notes, str(self._phases))])
        return record

    def close(self) -> None:
        """Leave the job unchanged, to be continued later."""
        try:
            self._results.sync()
        finally:
            self._results.close()
