"""Adopt: replaces the pipeline of a run, and updates its files, counts and results to agree with it.

Outcomes that the new pipeline refuses become failures, and later results made from them are withdrawn. Outcomes that it now
accepts, or accepts with another value, move into retry chunks and resume at that step from the stored reply. Files are archived
first. One record in the journal makes all changes count, so a crash leaves either the old run or the new one.
"""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.retrying.retry import tries_of, write_chunks
from trueup.batch.pipeline.revalidating.rejudging import RejudgedUnit
from trueup.batch.pipeline.revalidating.reviewing import ChunkReview, StepReview, review
from trueup.batch.pipeline.rundir.create import HASHES, CannotCreate, pipeline_files
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import line, read_records
from trueup.batch.pipeline.rundir.replies import RETRIES
from trueup.batch.pipeline.rundir.staging import Staged, put_in_place
from trueup.batch.pipeline.rundir.state import Chunk, StepOutcome
from trueup.batch.pipeline.running.metadata import grounds_of, notes_of
from trueup.batch.pipeline.steps.fan_out import PARENT

Row = dict[str, Any]
_OF_REPLY = ("raw_response", "finish", "refusal", "model", "at", "usage")


class Adopted(NamedTuple):
    """The changes made by adopting a pipeline."""

    units: int = 0  # units that resume, in the chunks
    chunks: tuple[str, ...] = ()
    refused: int = 0  # units that were valid and are failures now
    withdrawn: int = 0  # results of later steps that were made from refused or changed outcomes


def adopt(run: OwnedRun, pipeline: Pipeline) -> Adopted:
    """Adopt the schemas, rules and templates of a pipeline, and make everything that is stored agree with them."""
    steps = [(step.name, step.scope) for step in pipeline.steps]
    if steps != list(zip(run.state.steps, run.state.scopes, strict=True)):
        raise CannotCreate("the steps differ from the run's; make a new run of the pipeline")
    staged = Staged(run)
    counts: dict[str, Any] = {}
    resuming = _Resuming(run, pipeline.chunk_size)
    refused = withdrawn = 0
    for reviewed in review(run, pipeline):
        if not reviewed:
            continue
        _refuse_batches(run, reviewed)
        counts[reviewed.chunk.name] = _rewrite(run, staged, reviewed)
        refused += sum(len(step.refused) for step in reviewed.steps)
        for step in reviewed.steps:
            withdrawn += _withdrawn(reviewed.chunk, run.state.steps[step.index], step, run)
            for judged in (*step.changed.values(), *step.passing.values()):
                resuming.add(run.state.steps[step.index], reviewed.chunk.name, judged)
    retries = resuming.records()
    digest = _stage_copy(run, staged, pipeline)
    staged.sync()
    run.commit(
        "revalidated", config=pipeline.file.name, sha256=digest, folder=staged.name, chunks=counts, retries=retries
    )
    put_in_place(run, staged.folder)
    chunks = tuple(name for retry in retries for name, _ in retry["chunks"])
    units = sum(units for retry in retries for _, units in retry["chunks"])
    run.log.say(f"revalidated: {refused} refused, {withdrawn} later results withdrawn, {units} resume")
    return Adopted(units, chunks, refused, withdrawn)


def _refuse_batches(run: OwnedRun, reviewed: ChunkReview) -> None:
    """The requests of an unfinished batch are paid for: they are collected before their units change."""
    lost = reviewed.steps[-1].out if reviewed.steps else reviewed.gone
    if lost and any(not batch.collected for batch in reviewed.chunk.batches):
        raise CannotCreate(
            f"{reviewed.chunk.name} waits for a batch of the provider whose units would change; "
            f"`trueup run {run.path}` collects it, then revalidate again"
        )


def _withdrawn(chunk: Chunk, name: str, step: StepReview, run: OwnedRun) -> int:
    """How many outcomes of a step are dropped because their unit no longer reaches it."""
    if not step.lost:
        return 0
    fans = run.state.scopes[step.index] == "fan_out"
    rows = (
        *read_records(run.file(chunk.name, name, "validated")),
        *read_records(run.file(chunk.name, name, "failures")),
    )
    return len({_unit_of(row, fans=fans) for row in rows} & step.lost)


def _unit_of(row: Row, *, fans: bool) -> str:
    """The unit that a row of a step was made from."""
    return str(row[PARENT]) if fans and PARENT in row else str(row["unit_id"])


def _rewrite(run: OwnedRun, staged: Staged, reviewed: ChunkReview) -> Row:
    """Stage the current files of a chunk, and return its counts."""
    chunk = reviewed.chunk
    folder = run.folder(chunk.name)
    if reviewed.gone:
        for name in ("units.jsonl", *([RETRIES] if chunk.origin == "retry" else ())):
            kept = [row for row in read_records(folder / name) if row["unit_id"] not in reviewed.gone]
            staged.put(folder / name, map(line, kept))
    done = {run.state.steps[step.index]: _rewrite_step(run, staged, chunk, step) for step in reviewed.steps if step}
    return {"units": chunk.units - len(reviewed.gone), "done": done}


def _rewrite_step(run: OwnedRun, staged: Staged, chunk: Chunk, step: StepReview) -> Row:
    """Stage the valid and failed units of a step, and return its counts."""
    name = run.state.steps[step.index]
    fans = run.state.scopes[step.index] == "fan_out"
    units = [unit["unit_id"] for unit in run.units(chunk, step.index) if unit["unit_id"] not in step.lost]
    passed, failed = run.file(chunk.name, name, "validated"), run.file(chunk.name, name, "failures")
    rows = [row for row in read_records(passed) if _unit_of(row, fans=fans) not in step.out]
    if not fans:
        rows = [step.noted[row["unit_id"]].rows[0] if row["unit_id"] in step.noted else row for row in rows]
    records = {row["unit_id"]: row for row in read_records(failed)}
    records |= {unit_id: judged.failure for unit_id, judged in step.refused.items() if judged.failure}
    failures = [records[unit_id] for unit_id in units if unit_id in records and unit_id not in step.passing]
    lines = [line(row) for row in rows]
    staged.put(passed, lines)
    if failures or failed.exists():
        staged.put(failed, map(line, failures))
    done = _counted(chunk.done[name], rows, failures, "" if fans else name)
    done.sha256 = hashlib.sha256(b"".join(lines)).hexdigest()
    done.units = len(units)
    done.moved = len(units) - len(failures) - len({_unit_of(row, fans=fans) for row in rows})  # the rest is in retries
    return dict(msgspec.to_builtins(done))


def _counted(before: StepOutcome, rows: list[Row], failures: list[Row], noted: str) -> StepOutcome:
    """The counts of a step over its rows; the cost stays. `noted` is the step whose fixes and warnings they have."""
    codes: Counter[str] = Counter()
    for failure in failures:
        codes.update({error["code"] for error in failure["errors"]})
    stages = Counter(failure["failure_stage"] for failure in failures)
    after = msgspec.structs.replace(
        before,
        valid=len(rows),
        failed=dict(stages),
        codes=dict(codes),
        fixed=0,
        warned=0,
        fixes={},
        warnings={},
        grounded={},
    )
    after.ground(failures)
    after.ground(grounds_of(row, noted) for row in (rows if noted else ()))
    for row in rows if noted else ():
        after.note(*notes_of(row, noted))
    return after


class _Resuming:
    """Writes the units that resume into retry chunks, each when it is full, so only one chunk per step is in memory."""

    def __init__(self, run: OwnedRun, size: int) -> None:
        self._run = run
        self._size = size
        self._next = run.state.next_number("retry")
        self._rows: dict[str, list[tuple[Row, Row]]] = {name: [] for name in run.state.steps}
        self._records: dict[str, Row] = {}

    def add(self, step: str, chunk: str, judged: RejudgedUnit) -> None:
        """Let a unit of a chunk resume at a step."""
        record = self._records.setdefault(
            step, {"step": step, "chunks": [], "moved": {}, "codes": {}, "attempts": 0}
        )  # fmt: skip
        record["moved"].setdefault(chunk, {})
        rows = self._rows[step]
        rows.append((judged.stored.unit, _earlier(chunk, step, judged)))
        if len(rows) == self._size:
            self._write(step)

    def records(self) -> list[Row]:
        """Write the rest, and return the records that make the chunks count, in the order of the steps."""
        for step in self._records:
            self._write(step)
        return [self._records[step] for step in self._rows if step in self._records]

    def _write(self, step: str) -> None:
        made = write_chunks(self._run, self._rows[step], self._size, self._next)
        self._next += len(made)
        self._records[step]["chunks"] += made
        self._rows[step].clear()


def _earlier(chunk: str, step: str, judged: RejudgedUnit) -> Row:
    """The record of a unit in a retry chunk: its last reply, which is judged again before anything is asked."""
    reply, failure = judged.reply or {}, judged.stored.failure
    earlier = {"unit_id": judged.unit_id, "chunk": chunk, "step": step, "attempts": 0, "raw_response": ""}
    earlier |= {name: reply[name] for name in _OF_REPLY if name in reply}
    earlier["tries"] = tries_of(failure) if failure else {"validation": 1}
    return earlier | {"errors": failure["errors"] if failure else []}


def _stage_copy(run: OwnedRun, staged: Staged, pipeline: Pipeline) -> str:
    """Stage the files of a pipeline as the run's new copy, keep the old one beside it, and return the hash of all."""
    root, target = pipeline.folder.resolve(), run.path / "config"
    if root == target.resolve():
        files = {name: (target / name).read_bytes() for name in _names(target)}
    else:
        files = {file.relative_to(root).as_posix(): file.read_bytes() for file in pipeline_files(pipeline)}
        _keep_copy(run, target)
        for name, raw in files.items():
            staged.put_over(target / name, [raw])
    hashes = line({name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()})
    staged.put_over(target / HASHES, [hashes])
    return hashlib.sha256(hashes).hexdigest()


def _keep_copy(run: OwnedRun, target: Path) -> None:
    kept = run.path / f"config.{run.state.number}"
    for name in (*_names(target), HASHES):
        if (target / name).is_file():
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            run.disk.put(kept / name, [(target / name).read_bytes()])


def _names(folder: Path) -> list[str]:
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != HASHES
    ]
