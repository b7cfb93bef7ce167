"""Exports the pairs of a run for fine-tuning: the prompt of every unit that passed a step, and the valid reply to it.

Takes a run, which another process may own, and returns pairs in the order of its units. The run's own contract judges every reply
again, so every exported reply is valid.
"""

from collections.abc import Iterator

from trueup.batch.exporting.pairs import Skipped, TrainingPair, written
from trueup.batch.pipeline.prompts.templates import Prompts
from trueup.batch.pipeline.providers.choose import chosen
from trueup.batch.pipeline.rundir.directory import NoRun, RunDir
from trueup.batch.pipeline.rundir.disk import read_records
from trueup.batch.pipeline.rundir.replies import RETRIES, Row, last_replies, replies_in, rows_in
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.steps.llm import LlmStep


class NoStep(NoRun):
    """The run has no step of that name with replies to export."""


def pairs_of(run: RunDir, step: str = "", *, as_written: bool = False) -> Iterator[TrainingPair | Skipped]:
    """The pairs of a step; without a name, of the only step that asks a model."""
    pipeline = run.pipeline
    asking = {each.name: each for each in pipeline.steps if each.asks}
    if step not in asking and (step or len(asking) != 1):
        what = (
            f"no step {step!r} asks a model"
            if step
            else "several steps ask a model; name one with --step"
            if asking
            else "no step asks a model"
        )
        raise NoStep(f"{run.path}: {what}{': ' * bool(asking)}{', '.join(asking)}")
    found = asking[step] if step else next(iter(asking.values()))
    prompts = Prompts(pipeline.inside(pipeline.template_dir))
    judge = LlmStep(pipeline, found, prompts, *chosen(pipeline, found, run.state.run.get("wanted", {})))
    for chunk in run.state.ordered():
        if found.name in chunk.done:
            yield from _pairs(run, chunk, judge, found.index, as_written=as_written)


def _pairs(
    run: RunDir, chunk: Chunk, step: LlmStep, index: int, *, as_written: bool
) -> Iterator[TrainingPair | Skipped]:
    prompts = {row["unit_id"]: row["prompt"] for row in read_records(run.file(chunk.name, step.name, "prompts"))}
    replies = last_replies(run, chunk, step.name)
    refused = _first_replies(run, chunk, step.name)
    units = {unit["unit_id"]: unit for unit in run.units(chunk, index)}
    for row in read_records(run.file(chunk.name, step.name, "validated")):
        unit_id = row["unit_id"]
        reply, prompt = replies.get(unit_id), prompts.get(unit_id)
        if reply is None or not prompt or unit_id not in units:
            yield Skipped(unit_id, "its prompt or its reply is not recorded")
            continue
        verdict = step.judge(reply, units[unit_id], prompt)
        if not verdict.ok:
            yield Skipped(unit_id, "the contract refuses its reply")
            continue
        text = reply["raw_response"] if as_written else written(verdict.data)
        first = refused.get(unit_id)
        other = first["raw_response"] if first is not None and first["raw_response"] != reply["raw_response"] else None
        yield TrainingPair(unit_id, [{"role": "user", "content": prompt}], text, other)


def _first_replies(run: RunDir, chunk: Chunk, step: str) -> dict[str, Row]:
    """The first reply to the prompt of each unit; later replies answered requests for a correction."""
    found: dict[str, Row] = {}
    for row in replies_in(run.file(chunk.name, step, "results")):
        found.setdefault(row["unit_id"], row)
    if chunk.origin == "retry" and run.state.steps[chunk.first] == step:
        found |= {row["unit_id"]: row for row in rows_in(run.folder(chunk.name) / RETRIES) if row["raw_response"]}
    return found
