"""Makes cases of the replies recorded for a step in a chunk of a run directory.

The last reply of a unit has the outcome of the unit. The ones before it were refused, since the model was asked again. Calls that
a provider did not answer have no reply, and are left out.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.replies import replies_in, rows_in
from trueup.batch.pipeline.running.metadata import METADATA, metadata
from trueup.batch.pipeline.steps.llm import reply_of
from trueup.material.case import Case, Recorded
from trueup.material.lines import seconds

Row = dict[str, Any]
MILLION = 1_000_000


def asking_steps(run: RunDir) -> list[str]:
    """The steps of a run that ask a model."""
    asking = {step.name for step in run.pipeline.steps if step.asks}
    return [name for name in run.state.steps if name in asking]


def steps_of(path: Path) -> Iterator[tuple[str, str]]:
    """The chunks and steps of a run that have replies."""
    run = RunDir.look(path)
    for chunk in run.state.chunks.values():
        for step in asking_steps(run):
            if run.file(chunk.name, step, "results").exists():
                yield chunk.name, step


def cases_of_step(path: Path, chunk_name: str, step: str) -> Iterator[Case]:
    """The replies of a step in a chunk."""
    run = RunDir.look(path)
    chunk = run.state.chunks[chunk_name]
    units = {str(unit["unit_id"]): unit for unit in run.units(chunk, run.state.steps.index(step))}
    prompts = {row["unit_id"]: row.get("prompt") for row in rows_in(run.file(chunk_name, step, "prompts"))}
    failed = {row["unit_id"]: row for row in rows_in(run.file(chunk_name, step, "failures"))}
    results = run.file(chunk_name, step, "results")
    counts = Counter(str(row["unit_id"]) for row in replies_in(results))
    done = step in chunk.done
    several = len(asking_steps(run)) > 1
    seen: Counter[str] = Counter()
    for row in replies_in(results):
        unit_id = str(row["unit_id"])
        unit = units.get(unit_id)
        if unit is None:
            continue  # withdrawn from the run
        seen[unit_id] += 1
        about = {**unit, METADATA: metadata(unit, step, row)}
        context: Row = {"input": about}
        if prompts.get(unit_id):
            context["question"] = prompts[unit_id]
        name = f"{step}/{unit_id}" if several else unit_id
        last = seen[unit_id] == counts[unit_id]
        usage = row.get("usage") or {}
        yield Case(
            name if seen[unit_id] == 1 else f"{name}#{seen[unit_id]}",
            reply_of(row),
            context,
            recorded=_recorded(failed.get(unit_id)) if last and done else None if last else Recorded(ok=False),
            model=str(row.get("model") or ""),
            contract=step,
            conversation=unit_id,
            at=seconds(row.get("at")),
            attempt=seen[unit_id],
            attempts=counts[unit_id],
            tokens_in=_count(usage.get("input_tokens")),
            tokens_out=_count(usage.get("output_tokens")),
            cost=round(MILLION * row["usd"]) if isinstance(row.get("usd"), int | float) else 0,
            place=f"{path.name}/{chunk_name}/{step}",
        )


def _recorded(failure: Row | None) -> Recorded:
    if failure is None:
        return Recorded(ok=True)
    errors = tuple(row for row in failure.get("errors", ()) if isinstance(row, dict))
    codes = tuple(dict.fromkeys(str(row.get("code")) for row in errors))
    return Recorded(ok=False, codes=codes, findings=errors)


def _count(value: Any) -> int:
    return value if type(value) is int else 0
