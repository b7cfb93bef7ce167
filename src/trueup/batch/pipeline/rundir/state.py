"""The state of a run, computed from its journal: its chunks, their progress, and the outcomes and cost of each step.

Records are applied one by one, in order; nothing else changes the state. Reading a journal twice gives the same state. The cost
of a step is counted once, in the record that ends it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from trueup.batch.counting import grounding_rates
from trueup.batch.pipeline.rundir.journal import Record

Status = Literal["ready", "running", "paused", "done", "failed"]
VALIDATED, FAILED = "VALIDATED", "FAILED"
Tally = dict[str, int]


class Money(msgspec.Struct):
    """The tokens and cost of calls. Calls with unknown prices are counted separately."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0  # calls whose cost is not known
    lost: int = 0  # calls that were not finished when the run was interrupted; their outcome is not known
    cached: int = 0  # replies that an earlier run paid for, from the file of --cache

    def add(self, other: "Money") -> None:
        self.calls += other.calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.usd += other.usd
        self.unpriced += other.unpriced
        self.lost += other.lost
        self.cached += other.cached


class StepOutcome(msgspec.Struct):
    """The outcome of one step for one chunk."""

    valid: int
    failed: Tally  # by stage
    codes: Tally = {}  # units by code; one unit may have several
    money: Money = msgspec.field(default_factory=Money)
    sha256: str = ""  # of the validated file
    moved: int = 0  # failures that moved into a retry chunk
    seconds: float = 0.0
    units: int = 0  # that came in; more than valid + failed where a list was fanned out
    fixed: int = 0  # units that passed after a fix
    warned: int = 0  # units that passed with a warning
    fixes: Tally = msgspec.field(default_factory=dict)  # their fixes and warnings: units by code
    warnings: Tally = msgspec.field(default_factory=dict)
    resent: Tally = msgspec.field(default_factory=dict)  # requests of batches that were sent again, by reason
    grounded: grounding_rates.Table = msgspec.field(default_factory=dict)  # evidence by model and field

    @property
    def failures(self) -> int:
        return sum(self.failed.values())

    def note(self, fixes: Iterable[Any], warnings: Iterable[Any]) -> None:
        """Count the fixes and warnings of a unit that passed."""
        for rows, counts in ((fixes, self.fixes), (warnings, self.warnings)):
            for code in sorted({str(row.get("code")) for row in rows if isinstance(row, dict)}):
                counts[code] = counts.get(code, 0) + 1
        self.fixed += bool(fixes)
        self.warned += bool(warnings)

    def ground(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Count the evidence of records."""
        for record in records:
            if record.get("evidence"):
                grounding_rates.note_record(self.grounded, record)


class SentBatch(msgspec.Struct):
    """A provider's batch: known by its key before it is sent, by its id after."""

    key: str
    round: int
    requests: int
    provider: str
    id: str = ""
    at: str = ""
    collected: bool = False


class Chunk(msgspec.Struct):
    """A number of units that go through the steps together."""

    name: str
    units: int  # at its start
    first: int  # the step at which it starts
    at: int  # the step that it waits for, or is in
    waiting: int = 0  # units that wait for that step
    origin: str = "init"
    done: dict[str, StepOutcome] = {}
    failed: bool = False  # no unit passed: the next step does not start
    split: bool = False  # its units continued in other chunks
    submitted: bool = False
    batches: list[SentBatch] = []

    def label(self, steps: list[str]) -> str:
        """The name of the state in the manifest."""
        if self.failed:
            return FAILED
        if self.split or self.at >= len(steps):
            return VALIDATED
        return f"{steps[self.at]}_{'SUBMITTED' if self.submitted else 'PENDING'}"


class RunState:
    """The content of the journal."""

    def __init__(self) -> None:
        self.run: Record = {}
        self.steps: list[str] = []
        self.scopes: list[str] = []
        self.chunks: dict[str, Chunk] = {}
        self.status: Status = "ready"
        self.reason = ""
        self.term = 0
        self.number = 0
        self.scripts: dict[str, str] = {}
        self.post: dict[str, str] = {}
        self.retries: list[Record] = []
        self.revalidated: list[str] = []  # folders with the files of a revalidation, while they are put in place
        self.last = ""
        self.began = ""
        self.mode = ""
        self.cap: float | None = None  # the cost cap of its last start

    @classmethod
    def of(cls, records: Iterable[Record]) -> "RunState":
        state = cls()
        for record in records:
            state.take(record)
        return state

    def take(self, record: Record) -> None:
        """Apply one record. A record of an unknown kind, from a later version, changes nothing."""
        self.number = record["n"] + 1
        self.term = record["term"]
        self.last = record["at"]
        handler = getattr(self, f"_{record['kind']}", None)
        if handler is not None:
            handler(record)

    # One method a kind of record -------------------------------------------------------------------------------------

    def _created(self, record: Record) -> None:
        self.run = record
        self.steps = [step["name"] for step in record["steps"]]
        self.scopes = [step["scope"] for step in record["steps"]]
        for name, units in record["chunks"]:
            self.chunks[name] = Chunk(name, units, 0, 0, units)

    def _began(self, record: Record) -> None:
        self.status, self.reason = "running", ""
        self.mode = record.get("mode", "")
        self.cap = record.get("cap")
        self.began = record["at"]

    def _ended(self, record: Record) -> None:
        self.status, self.reason = record["status"], record.get("reason", "")

    def _submitted(self, record: Record) -> None:
        self.chunks[record["chunk"]].submitted = True

    def _intent(self, record: Record) -> None:
        chunk = self.chunks[record["chunk"]]
        chunk.submitted = True
        chunk.batches.append(
            SentBatch(record["key"], record["round"], record["requests"], record["provider"], at=record["at"])
        )

    def _sent(self, record: Record) -> None:
        for batch in self.chunks[record["chunk"]].batches:
            if batch.key == record["key"]:
                batch.id = record["id"]

    def _dropped(self, record: Record) -> None:
        chunk = self.chunks[record["chunk"]]
        chunk.batches = [batch for batch in chunk.batches if batch.key != record["key"]]

    def _collected(self, record: Record) -> None:
        for batch in self.chunks[record["chunk"]].batches:
            if batch.key == record["key"]:
                batch.collected = True

    def _done(self, record: Record) -> None:
        chunk = self.chunks[record["chunk"]]
        done = msgspec.convert(record["done"], StepOutcome)
        chunk.done[record["step"]] = done
        chunk.at = self.steps.index(record["step"]) + 1
        chunk.submitted = False
        chunk.batches = []
        chunk.failed = done.valid == 0
        chunk.waiting = done.valid
        children = record.get("children") or []
        chunk.split = bool(children)
        for name, units in children:
            self.chunks[name] = Chunk(name, units, chunk.at, chunk.at, units, origin=chunk.name)

    def _script(self, record: Record) -> None:
        self.scripts[record["step"]] = record["status"]
        if record["status"] != "done":
            return
        index = self.steps.index(record["step"])
        for chunk in self.chunks.values():
            if self.is_open(chunk) and chunk.at == index:
                chunk.at += 1

    def _posted(self, record: Record) -> None:
        self.post[record["name"]] = record["status"]

    def _retried(self, record: Record) -> None:
        self.retries.append(record)
        index = self.steps.index(record["step"])
        for name, units in record["chunks"]:
            self.chunks[name] = Chunk(name, units, index, index, units, origin="retry")
        for source, moved in record["moved"].items():
            done = self.chunks[source].done[record["step"]]
            done.moved += sum(moved.values())
            _subtract(done.failed, moved)
            _subtract(done.codes, record.get("codes", {}).get(source, {}))
            grounding_rates.take(done.grounded, record.get("grounds", {}).get(source, {}))
        self._open_again("failed units will be retried; run it again to resume")

    def _adopted(self, record: Record) -> None:
        self.run = {**self.run, "config": record["config"]}

    def _revalidated(self, record: Record) -> None:
        """Another pipeline was adopted: the record has every count that changed, and the retries that were made."""
        self._adopted(record)
        self.revalidated.append(record["folder"])
        for name, entry in record["chunks"].items():
            chunk = self.chunks[name]
            chunk.units = entry["units"]
            for step, done in entry["done"].items():
                chunk.done[step] = msgspec.convert(done, StepOutcome)
            before = [chunk.done[step].valid for step in self.steps[: chunk.at] if step in chunk.done]
            chunk.waiting = before[-1] if before else chunk.units
            chunk.failed = chunk.waiting == 0
        for retry in record["retries"]:
            self.retries.append(retry)
            index = self.steps.index(retry["step"])
            for name, units in retry["chunks"]:
                self.chunks[name] = Chunk(name, units, index, index, units, origin="retry")
        if self.status in {"done", "failed"}:
            self._settle_status(changed=bool(record["chunks"]))

    def _placed(self, record: Record) -> None:
        self.revalidated = [folder for folder in self.revalidated if folder != record["folder"]]

    def _settle_status(self, *, changed: bool) -> None:
        """The state of a finished run whose outcomes changed."""
        if self._open_again("judged again with another pipeline; run it again to resume"):
            return
        if changed and self.post:
            self.status, self.reason = "paused", "the results have changed; run it again for its post-processing"
        elif self.valid():
            self.status, self.reason = "done", ""
        else:
            self.status, self.reason = "failed", "no unit is valid with the current pipeline"

    def _reopened(self, record: Record) -> None:
        chunk = self.chunks[record["chunk"]]
        index = self.steps.index(record["step"])
        for step in self.steps[index:]:
            chunk.done.pop(step, None)
        chunk.at = index
        chunk.failed = chunk.split = chunk.submitted = False
        chunk.batches = []
        before = [chunk.done[step].valid for step in self.steps[:index] if step in chunk.done]
        chunk.waiting = before[-1] if before else chunk.units
        self._open_again("repaired; run it again to resume")

    def _open_again(self, why: str) -> bool:
        """Pause a finished run that has work to do again. Returns whether it was."""
        unfinished = any(map(self.is_open, self.chunks.values()))
        if unfinished and self.status in {"done", "failed"}:
            self.status, self.reason = "paused", why
        return unfinished

    # Questions ------------------------------------------------------------------------------------------------------

    def ordered(self) -> Iterator[Chunk]:
        """The chunks in the order of the input, not of the work: each one, followed by those made from it."""
        children: dict[str, list[Chunk]] = {}
        for chunk in self.chunks.values():
            children.setdefault(chunk.origin, []).append(chunk)
        stack = [*children.get("init", ()), *children.get("retry", ())][::-1]
        while stack:
            chunk = stack.pop()
            yield chunk
            stack += children.get(chunk.name, ())[::-1]

    def label(self, chunk: Chunk) -> str:
        return chunk.label(self.steps)

    def is_open(self, chunk: Chunk) -> bool:
        return not chunk.failed and not chunk.split and chunk.at < len(self.steps)

    def source_of(self, chunk: Chunk, index: int) -> str:
        """The file with a chunk's units for a step: those that passed the step before."""
        for before in range(index - 1, chunk.first - 1, -1):
            if self.scopes[before] != "run":
                return f"{self.steps[before]}_validated.jsonl"
        return "units.jsonl"

    def next_number(self, kind: str) -> int:
        """The number of the next chunk or retry chunk."""
        taken = [int(name.rpartition("_")[2]) for name in self.chunks if name.startswith(f"{kind}_")]
        return max(taken, default=-1) + 1

    def valid(self) -> int:
        """How many units have passed the last step."""
        final = (chunk for chunk in self.chunks.values() if not chunk.split and chunk.at >= len(self.steps))
        return sum(chunk.waiting for chunk in final if not chunk.failed)

    def step_rows(self) -> list[dict[str, Any]]:
        """The funnel: the units that reached each step, those that passed, failed and wait, and the cost."""
        rows = []
        for index, name in enumerate(self.steps):
            row: dict[str, Any] = {"step": name, "scope": self.scopes[index], "valid": 0, "failed": 0, "pending": 0}
            row |= {"retried": 0, "fixed": 0, "warned": 0, "stages": {}, "codes": {}, "fixes": {}, "warnings": {}}
            row["resent"] = {}
            evidence: grounding_rates.Table = {}
            row["seconds"] = 0.0
            money = Money()
            for chunk in self.chunks.values():
                done = chunk.done.get(name)
                if done is None:
                    row["pending"] += chunk.waiting if self.is_open(chunk) and chunk.at == index else 0
                    continue
                row["valid"] += done.valid
                row["failed"] += done.failures
                row["retried"] += done.moved
                for count in ("fixed", "warned", "seconds"):
                    row[count] += getattr(done, count)
                money.add(done.money)
                grounding_rates.add(evidence, done.grounded)
                tallies = {
                    "stages": done.failed, "codes": done.codes, "fixes": done.fixes, "warnings": done.warnings,
                    "resent": done.resent,
                }  # fmt: skip
                for target, counts in tallies.items():
                    for key, number in counts.items():
                        row[target][key] = row[target].get(key, 0) + number
            row["money"] = money
            if rates := grounding_rates.account(evidence):
                row["grounded"] = rates
            rows.append(row)
        return rows

    def money(self) -> Money:
        """The cost of the run in finished steps."""
        total = Money()
        for chunk in self.chunks.values():
            for done in chunk.done.values():
                total.add(done.money)
        return total


def _subtract(counts: Tally, less: Tally) -> None:
    for key, number in less.items():
        counts[key] = counts.get(key, 0) - number
        if counts[key] <= 0:
            del counts[key]
