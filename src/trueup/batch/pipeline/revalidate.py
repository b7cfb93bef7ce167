"""Revalidate: the stored replies of a run under schemas and rules as they are now; no model is asked, and nothing is changed.

A run and a pipeline enter; flips leave: units that passed a step and would not, or failed it and would pass, each with its
errors before and now. A flip to valid can be taken on by `adopt`: the run's copy becomes the new one, and the units go on.
"""

import hashlib
import shutil
from typing import Any, NamedTuple

from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.create import CannotCreate, pipeline_files
from trueup.batch.pipeline.disk import line, read_records
from trueup.batch.pipeline.metadata import METADATA, metadata
from trueup.batch.pipeline.retry import Retried, retry_units
from trueup.batch.pipeline.rundir import OwnedRun, RunDir
from trueup.batch.pipeline.state import Chunk
from trueup.batch.pipeline.steps.llm import reply_of, step_contract
from trueup.batch.records import error_of
from trueup.batch.sieve import broke
from trueup.contract.contract import Contract
from trueup.verdict.facts import Findings
from trueup.verdict.verdict import Verdict

Row = dict[str, Any]


class Flip(NamedTuple):
    """A unit whose outcome in a step would be another one now."""

    step: str
    chunk: str
    unit_id: str
    was: str
    now: str
    errors_before: tuple[Row, ...]
    errors_now: tuple[Row, ...]


class Looked(NamedTuple):
    """How many replies were judged again, what flips, and the warnings of those that hold: units by code."""

    replies: int
    flips: tuple[Flip, ...]
    warnings: dict[str, int] = {}


def revalidate(run: RunDir, pipeline: Pipeline) -> Looked:
    """Judge the last reply of each unit in each step again."""
    replies = 0
    flips: list[Flip] = []
    warnings: dict[str, int] = {}
    for step in pipeline.steps:
        if not step.asks or step.name not in run.state.steps:
            continue
        contract = step_contract(pipeline, step)
        for chunk in run.state.ordered():
            if step.name not in chunk.done:
                continue
            units = {unit["unit_id"]: unit for unit in run.units(chunk, run.state.steps.index(step.name))}
            failed = {row["unit_id"]: row for row in read_records(run.file(chunk.name, step.name, "failures"))}
            gone = _moved(run, chunk, step.name)
            for unit_id, record in last_replies(run, chunk, step.name).items():
                if unit_id not in units or unit_id in gone:
                    continue
                replies += 1
                before = failed.get(unit_id)
                about = metadata(units[unit_id], step.name, record)
                verdict = _judged(contract, reply_of(before or record), {**units[unit_id], METADATA: about})
                for code in {found.code for found in verdict.findings.warnings} if verdict.ok else ():
                    warnings[code] = warnings.get(code, 0) + 1
                if verdict.ok != (before is None):
                    was, now = ("valid", "failed") if before is None else ("failed", "valid")
                    told = tuple(before["errors"]) if before else ()
                    errors = tuple(error_of(found) for found in verdict.errors)
                    flips.append(Flip(step.name, chunk.name, unit_id, was, now, told, errors))
    return Looked(replies, tuple(flips), warnings)


def _judged(contract: Contract, reply: Any, unit: Row) -> Verdict:
    """The verdict on a stored reply; one that cannot be judged is refused, and the others are judged on."""
    try:
        return contract.check(reply, {"input": unit})
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as where the reply is judged first
        return Verdict("", None, Findings((broke(error),)))


def last_replies(run: RunDir, chunk: Chunk, step: str) -> dict[str, Row]:
    """The reply that decided, by unit: the last one, of an earlier try where there was none since."""
    found: dict[str, Row] = {}
    if chunk.origin == "retry" and run.state.steps[chunk.first] == step:
        rows = read_records(run.folder(chunk.name) / "retries.jsonl")
        found = {row["unit_id"]: row for row in rows if row["raw_response"]}
    for row in read_records(run.file(chunk.name, step, "results")):
        if "raw_response" in row:
            found[row["unit_id"]] = row
    return found


def _moved(run: RunDir, chunk: Chunk, step: str) -> set[str]:
    """The units that went on into a retry: they are judged there."""
    return {
        row["unit_id"]
        for record in run.state.retries
        if record["step"] == step and chunk.name in record["moved"]
        for name, _ in record["chunks"]
        for row in read_records(run.folder(name) / "retries.jsonl")
        if row["chunk"] == chunk.name
    }


def adopt(run: OwnedRun, pipeline: Pipeline, flips: tuple[Flip, ...]) -> Retried:
    """Take the new schemas, rules and templates over, and let the units go on that would pass now; nothing is asked of them again."""
    steps = [(step.name, step.scope) for step in pipeline.steps]
    if steps != list(zip(run.state.steps, run.state.scopes, strict=True)):
        raise CannotCreate("the steps are not those of the run; make a new run of the pipeline")
    _take_over(run, pipeline)
    total = Retried()
    for name, _ in steps:
        wanted = {(flip.chunk, flip.unit_id) for flip in flips if flip.now == "valid" and flip.step == name}
        if wanted:
            found = retry_units(run, run.pipeline.steps[run.state.steps.index(name)], wanted)
            total = Retried(total.units + found.units, 0, 0, total.chunks + found.chunks)
    return total


def _take_over(run: OwnedRun, pipeline: Pipeline) -> None:
    """Put the files of a pipeline in place of the run's copy; the copy that was is kept beside it."""
    root = pipeline.folder.resolve()
    target = run.path / "config"
    if root == target.resolve():
        files = {name: (target / name).read_bytes() for name in _names(target)}
    else:
        files = {file.relative_to(root).as_posix(): file.read_bytes() for file in pipeline_files(pipeline)}
        kept = run.path / f"config.{run.state.number}"
        if not kept.exists():
            shutil.copytree(target, kept)
    for name, raw in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        run.disk.put(target / name, [raw])
    hashes = {name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()}
    run.disk.put(target / "HASHES.json", [line(hashes)])
    run.commit("adopted", config=pipeline.file.name, sha256=hashlib.sha256(line(hashes)).hexdigest())
    run.forget_pipeline()


def _names(folder: Any) -> list[str]:
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "HASHES.json"
    ]
