"""Judges the stored units, replies and outcomes of a step again, and returns the outcomes they would have now.

No model is asked, and nothing is written. A step that asks is judged by its last reply; expressions and fan-outs are evaluated
again. `revalidate` uses another pipeline, and `verify` the run's own. Scripts cannot be judged again.
"""

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from trueup.batch.judging.records import stage_of
from trueup.batch.judging.sieve import broke
from trueup.batch.pipeline.config import Pipeline, PipelineStep
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import decode, line, read_records
from trueup.batch.pipeline.rundir.replies import last_replies, reply_counts, rows_in
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.running.metadata import METADATA, metadata
from trueup.batch.pipeline.running.outcomes import broken, failure_record
from trueup.batch.pipeline.steps.expression import ExpressionStep, UnitError
from trueup.batch.pipeline.steps.fan_out import PARENT, FanOut
from trueup.batch.pipeline.steps.llm import Recorded, context_of, evidence_told, passed_row, reply_of, step_contract
from trueup.verdict.facts import Findings
from trueup.verdict.verdict import Verdict

Row = dict[str, Any]


class StoredUnit(NamedTuple):
    """A unit that went into a step, and its outcome: rows that passed, or a failure record."""

    unit: Row
    rows: tuple[Row, ...]
    failure: Row | None


class RejudgedUnit(NamedTuple):
    """A stored unit and its new outcome."""

    stored: StoredUnit
    rows: tuple[Row, ...]
    failure: Row | None
    reply: Row | None = None  # the recorded reply that was judged

    @property
    def unit_id(self) -> str:
        return str(self.stored.unit["unit_id"])

    @property
    def was(self) -> str:
        return "failed" if self.stored.failure else "valid"

    @property
    def now(self) -> str:
        return "failed" if self.failure else "valid"

    @property
    def differs(self) -> bool:
        """Whether a unit that passed before and now has another value."""
        return self.was == self.now == "valid" and _values(self.rows) != _values(self.stored.rows)

    @property
    def noted_anew(self) -> bool:
        """Whether a unit that passed with the same value has other fixes or warnings now."""
        return self.was == self.now == "valid" and list(map(line, self.rows)) != list(map(line, self.stored.rows))


class Rejudge:
    """Judges the stored units of a step again, with the step of a pipeline."""

    def __init__(self, pipeline: Pipeline, step: PipelineStep) -> None:
        self.step = step
        self._local = _LOCAL[step.scope](step.name, step.config) if step.scope in _LOCAL else None
        self._contract = step_contract(pipeline, step) if step.asks else None

    def judge(
        self, run: RunDir, chunk: Chunk, *, skip: Container[str] = (), only: Container[int] | None = None
    ) -> Iterator[RejudgedUnit]:
        """Judge the units of a chunk: all except those to `skip`, or `only` those at some places among the stored ones."""
        name = self.step.name
        if self._contract is None and self._local is None:
            return
        replies = last_replies(run, chunk, name) if self._contract else {}
        prompts = {row["unit_id"]: row.get("prompt") for row in rows_in(run.file(chunk.name, name, "prompts"))}
        counts = reply_counts(run, chunk, name)
        for place, stored in enumerate(stored_units(run, chunk, name)):
            unit_id = stored.unit["unit_id"]
            if unit_id in skip or (only is not None and place not in only):
                continue
            if self._local is not None:
                yield _worked_out(self._local, stored)
            elif unit_id in replies:
                yield self._replied(stored, replies[unit_id], prompts.get(unit_id), counts[unit_id])

    def _replied(self, stored: StoredUnit, record: Recorded, prompt: str | None, count: int) -> RejudgedUnit:
        assert self._contract is not None
        unit, name = stored.unit, self.step.name
        seen = {**unit, METADATA: metadata(unit, name, record)}
        verdict = self._verdict(record, context_of(self._contract, seen, prompt))
        if verdict.ok:
            row = decode(line(passed_row(unit["unit_id"], seen, name, verdict)))  # as it would come back from the disk
            return RejudgedUnit(stored, (row,), None, record)
        count = max(1, count)
        tries = {stage_of(verdict.findings.errors): count}
        raw = record["raw_response"]
        failure = failure_record(unit, verdict.findings, raw, verdict.fixes, count - 1, tries=tries)
        failure |= evidence_told(verdict, seen, name)
        return RejudgedUnit(stored, (), failure, record)

    def _verdict(self, record: Recorded, context: Row) -> Verdict:
        """The verdict on a stored reply. If it cannot be judged, it is refused, and the others are still judged."""
        assert self._contract is not None
        try:
            return self._contract.check(reply_of(record), context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as where the reply is judged first
            return Verdict("", None, Findings((broke(error),)))


_LOCAL: dict[str, type[ExpressionStep] | type[FanOut]] = {"expression": ExpressionStep, "fan_out": FanOut}


def _worked_out(step: ExpressionStep | FanOut, stored: StoredUnit) -> RejudgedUnit:
    try:
        made = step.run(stored.unit)
    except UnitError as error:
        return RejudgedUnit(stored, (), broken(stored.unit, error.code, str(error)))
    rows = made if isinstance(made, list) else [made]
    return RejudgedUnit(stored, tuple(decode(line(row)) for row in rows), None)


def stored_units(run: RunDir, chunk: Chunk, step: str) -> Iterator[StoredUnit]:
    """The units of a chunk in a finished step, in order. Units that were moved into a retry are reviewed there."""
    index = run.state.steps.index(step)
    fans = run.state.scopes[index] == "fan_out"
    passed: dict[str, list[Row]] = {}
    for row in read_records(run.file(chunk.name, step, "validated")):
        passed.setdefault(str(row.get(PARENT)) if fans else row["unit_id"], []).append(row)
    failed = {row["unit_id"]: row for row in read_records(run.file(chunk.name, step, "failures"))}
    for unit in run.units(chunk, index):
        unit_id = unit["unit_id"]
        if unit_id in passed or unit_id in failed:
            yield StoredUnit(unit, tuple(passed.get(unit_id, ())), failed.get(unit_id))


def _values(rows: tuple[Row, ...]) -> list[bytes]:
    return [line({name: value for name, value in row.items() if name != METADATA}) for row in rows]
