"""Retry: moves failed units that may be asked about again into new chunks, with the errors as part of the next prompt.

It works by unit, not by chunk. Units that passed are left alone, and failures that asking cannot help stay. A unit without a
prompt is retried once the template renders. The failures are archived first; then one record in the journal moves the units, and
the files follow it. The attempts of a unit are counted across retries.
"""

import shutil
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from trueup.batch.counting import grounding_rates
from trueup.batch.judging.records import RETRYABLE
from trueup.batch.pipeline.config import PipelineStep
from trueup.batch.pipeline.prompts.templates import PromptError, Prompts, fields_of
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.rundir.disk import line, read_records
from trueup.batch.pipeline.running.results import publish
from trueup.batch.pipeline.steps.llm import LlmStep
from trueup.verdict.paths import folded

Row = dict[str, Any]
Choice = Callable[[Row], bool]


class Retried(NamedTuple):
    """The result of a retry: units moved, units without attempts left, and units that asking cannot help."""

    units: int = 0
    exhausted: int = 0
    kept: int = 0
    chunks: tuple[str, ...] = ()
    limit: int = 0


def everything(_: Row) -> bool:
    """Selects every failure."""
    return True


def caused_by(codes: tuple[str, ...] = (), paths: tuple[str, ...] = ()) -> Choice:
    """Selects failures with an error that has one of the codes and one of the paths; without codes or paths, any.

    >>> chosen = caused_by(("V001",), ("$.tags[]",))
    >>> (
    ...     chosen({"errors": [{"code": "V001", "path": "$.tags[3]"}]}),
    ...     chosen({"errors": [{"code": "V001", "path": "$.n"}]}),
    ... )
    (True, False)
    """
    places = set(map(folded, paths))

    def matches(error: Row) -> bool:
        return (not codes or error["code"] in codes) and (not places or folded(error.get("path", "$")) in places)

    return (lambda failure: any(map(matches, failure["errors"]))) if codes or paths else everything


def retry(
    run: OwnedRun,
    step: str = "",
    attempts: int | None = None,
    makers: dict[str, LlmStep] | None = None,
    choice: Choice = everything,
) -> Retried:
    """Move the units that may be retried into new chunks, which `trueup run` then asks about.

    `attempts` is how many replies a unit may have in total; the default is the configuration's.
    """
    total = Retried()
    for each in run.pipeline.steps:
        if each.asks and (not step or each.name == step):
            found = _retry_step(run, each, attempts, (makers or {}).get(each.name), choice)
            total = Retried(
                total.units + found.units, total.exhausted + found.exhausted, total.kept + found.kept,
                total.chunks + found.chunks, found.limit,
            )  # fmt: skip
        elif choice is everything and (not step or each.name == step):
            total = total._replace(kept=total.kept + _failed_at(run, each.name))
    if total.units:
        publish(run)  # the failures to retry have changed since
        run.write_manifest()
        run.log.say(f"retry: {total.units} units in {', '.join(total.chunks)}")
    return total


def would_retry(run: RunDir) -> Retried:
    """What `retry` would do to a run now. Nothing is changed, and no chunk gets a name."""
    total = Retried()
    for step in run.pipeline.steps:
        if step.asks:
            limit = limit_of(run)
            chosen, exhausted, kept = _sorted(run, step, limit)
            total = Retried(total.units + len(chosen), total.exhausted + exhausted, total.kept + kept, (), limit)
        else:
            total = total._replace(kept=total.kept + _failed_at(run, step.name))
    return total


def _failed_at(run: RunDir, step: str) -> int:
    return sum(chunk.done[step].failures for chunk in run.state.chunks.values() if step in chunk.done)


def limit_of(run: RunDir) -> int:
    """How many replies a unit may have, according to the configuration."""
    tries = run.pipeline.number(("api", "retry", "max_attempts"), 3, 1)
    return int(run.pipeline.number(("processing", "validation_retry", "max_attempts"), tries, 1))


def _retry_step(
    run: OwnedRun, step: PipelineStep, attempts: int | None, maker: LlmStep | None, choice: Choice
) -> Retried:
    limit = attempts or limit_of(run)
    chosen, exhausted, kept = _sorted(run, step, limit, choice)
    return Retried(len(chosen), exhausted, kept, _move(run, step, chosen, limit, maker), limit)


def _sorted(
    run: RunDir, step: PipelineStep, limit: int, choice: Choice = everything
) -> tuple[list[tuple[str, Row, int]], int, int]:
    """The failures of a step to retry, how many have no attempts left, and how many asking again cannot help."""
    chosen: list[tuple[str, Row, int]] = []
    exhausted = kept = 0
    prompts = _StepPrompts(run, step)
    for chunk, failure in _failures(run, step.name):
        if not choice(failure):
            continue
        more = limit - sum(number for kind, number in tries_of(failure).items() if kind != "transport")
        if _had_no_prompt(failure):
            may_help = prompts.can_be_made(failure["input"])
        else:
            may_help = failure["failure_stage"] in RETRYABLE or _had_no_reply(failure)
        if not may_help:
            kept += 1
        elif more < 1:
            exhausted += 1
        else:
            chosen.append((chunk, failure, more))
    return chosen, exhausted, kept


def tries_of(failure: Row) -> dict[str, int]:
    """The earlier replies of a unit, by the stage at which each failed."""
    if _had_no_prompt(failure):
        return {}
    return failure.get("tries") or {failure["failure_stage"]: failure.get("retry_count", 0) + 1}


def _had_no_prompt(failure: Row) -> bool:
    """Whether a unit was never asked about because the template did not render for it."""
    return any(error["code"] == "U030" for error in failure["errors"])


class _StepPrompts:
    """The prompts of a step with the current templates, which may have been corrected since units failed."""

    def __init__(self, run: RunDir, step: PipelineStep) -> None:
        self._pipeline = run.pipeline
        self._template = step.template
        self._prompts: Prompts | None = None

    def can_be_made(self, unit: Row) -> bool:
        """Whether the template renders for a unit."""
        pipeline = self._pipeline
        try:
            self._prompts = self._prompts or Prompts(pipeline.inside(pipeline.template_dir))
            self._prompts.render(
                self._template, fields_of(unit, pipeline.data, pipeline.section("prompts", "global_context"))
            )
        except PromptError:
            return False
        return True


def _had_no_reply(failure: Row) -> bool:
    """Whether a unit failed only because of the provider or the connection, so asking again may help later."""
    return failure["failure_stage"] == "pipeline_internal" and set(failure.get("tries") or ()) == {"transport"}


def _move(
    run: OwnedRun, step: PipelineStep, chosen: list[tuple[str, Row, int]], limit: int, maker: LlmStep | None
) -> tuple[str, ...]:
    """Move failed units into new chunks, and return the names of these chunks."""
    if not chosen:
        return ()
    rows: list[tuple[Row, Row]] = []  # the unit, and the record of its earlier tries
    moved: dict[str, dict[str, int]] = {}
    codes: dict[str, dict[str, int]] = {}
    evidence: dict[str, grounding_rates.Table] = {}
    for chunk, failure, more in chosen:
        earlier = {"unit_id": failure["unit_id"], "chunk": chunk, "step": step.name, "attempts": more}
        raw = "" if _had_no_reply(failure) else failure["raw_response"]  # an error page is not a reply
        earlier |= {"tries": tries_of(failure), "raw_response": raw, "errors": failure["errors"]}
        rows.append((failure["input"], earlier))
        _add(moved.setdefault(chunk, {}), failure["failure_stage"])
        for code in {error["code"] for error in failure["errors"]}:
            _add(codes.setdefault(chunk, {}), code)
        if failure.get("evidence"):
            grounding_rates.note_record(evidence.setdefault(chunk, {}), failure)
    for source in moved:
        run.archive(run.file(source, step.name, "failures"))
    chunks = write_chunks(run, rows, run.pipeline.chunk_size, run.state.next_number("retry"), maker)
    told: Row = {"grounds": evidence} if evidence else {}
    run.commit("retried", step=step.name, chunks=chunks, moved=moved, codes=codes, attempts=limit, **told)
    run.take_out(run.state.retries[-1])
    return tuple(name for name, _ in chunks)


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1


def _failures(run: RunDir, step: str) -> Iterator[tuple[str, Row]]:
    for chunk in run.state.ordered():
        done = chunk.done.get(step)
        if done is not None and done.failures:
            for failure in read_records(run.file(chunk.name, step, "failures")):
                yield chunk.name, failure


def write_chunks(
    run: OwnedRun, rows: list[tuple[Row, Row]], size: int, first: int, maker: LlmStep | None = None
) -> list[tuple[str, int]]:
    """Write units and the records of their earlier tries into retry chunks from number `first` on; with `maker`, also their requests."""
    chunks = []
    for number, start in enumerate(range(0, len(rows), size), first):
        name = f"retry_{number:03d}"
        part = rows[start : start + size]
        folder = run.folder(name)
        shutil.rmtree(folder, ignore_errors=True)  # left by a command that was killed before its chunks counted
        folder.mkdir()
        run.disk.place(folder / "units.jsonl", [line(unit) for unit, _ in part])
        run.disk.place(folder / "retries.jsonl", [line(earlier) for _, earlier in part])
        if maker is not None:
            from trueup.batch.pipeline.providers.batch_requests import retry_requests

            run.disk.place(run.file(name, maker.name, "batch"), retry_requests(run, name, maker, part))
        run.disk.sync_folder(folder)
        chunks.append((name, len(part)))
    run.disk.sync_folder(run.path / "chunks")
    return chunks
