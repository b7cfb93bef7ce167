"""Reviews a run with a pipeline: which outcomes change, chunk by chunk, and the effects on later steps.

If a step now refuses a unit, or passes it with another value, everything made from the unit changes with it: its results in later
steps, the children of a fan-out, its retries. Nothing is written here; `adopting` does that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.revalidating.rejudging import Rejudge, RejudgedUnit
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import read_records
from trueup.batch.pipeline.rundir.replies import RETRIES
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.running.metadata import notes_of
from trueup.batch.pipeline.steps.fan_out import PARENT

Row = dict[str, Any]


class StepReview:
    """The changes in one step of one chunk."""

    def __init__(self, index: int, lost: frozenset[str]) -> None:
        self.index = index
        self.lost = lost  # units that no longer reach the step
        self.refused: dict[str, RejudgedUnit] = {}  # valid → failed
        self.changed: dict[str, RejudgedUnit] = {}  # valid, with another value
        self.passing: dict[str, RejudgedUnit] = {}  # failed → valid
        self.noted: dict[str, RejudgedUnit] = {}  # valid with the same value, but other fixes or warnings
        self.judged = 0
        self.warnings: Counter[str] = Counter()

    def take(self, judged: RejudgedUnit, step: str) -> None:
        self.judged += 1
        if judged.was != judged.now:
            (self.refused if judged.failure else self.passing)[judged.unit_id] = judged
        elif judged.differs:
            self.changed[judged.unit_id] = judged
        elif judged.noted_anew:
            self.noted[judged.unit_id] = judged
        for row in judged.rows[:1]:
            self.warnings.update(_warned(row, step))

    @property
    def out(self) -> frozenset[str]:
        """The units that no longer reach the next step."""
        return self.lost | self.refused.keys() | self.changed.keys()

    @property
    def flips(self) -> Iterator[RejudgedUnit]:
        for kind in (self.refused, self.changed, self.passing):
            yield from kind.values()

    def __bool__(self) -> bool:
        return bool(self.lost or self.refused or self.changed or self.passing or self.noted)


class ChunkReview:
    """The changes in one chunk: units that are no longer in it, and its steps."""

    def __init__(self, chunk: Chunk, gone: frozenset[str], steps: list[StepReview]) -> None:
        self.chunk = chunk
        self.gone = gone
        self.steps = steps

    def __bool__(self) -> bool:
        return bool(self.gone) or any(self.steps)


def review(run: RunDir, pipeline: Pipeline) -> Iterator[ChunkReview]:
    """Review every chunk, each after the chunks that its units came from."""
    judges = {step.name: Rejudge(pipeline, step) for step in pipeline.steps if step.name in run.state.steps}
    gone: dict[str, set[str]] = defaultdict(set)
    for chunk in run.state.ordered():
        lost = frozenset(gone.pop(chunk.name, ()))
        if lost:
            lost &= {row["unit_id"] for row in read_records(run.folder(chunk.name) / "units.jsonl")}
        found = ChunkReview(chunk, lost, [])
        for index in range(chunk.first, min(chunk.at, len(run.state.steps))):
            name = run.state.steps[index]
            if name not in chunk.done:
                continue  # a script: it has no outcomes by unit
            step = StepReview(index, lost)
            if name in judges:
                for judged in judges[name].judge(run, chunk, skip=lost):
                    step.take(judged, name)
            found.steps.append(step)
            _follow(run, chunk, step, gone)
            lost = step.out
        yield found


def _follow(run: RunDir, chunk: Chunk, step: StepReview, gone: dict[str, set[str]]) -> None:
    """Record which units of other chunks were made from removed units."""
    name = run.state.steps[step.index]
    if step.lost:
        for record in run.state.retries:
            if record["step"] == name and chunk.name in record["moved"]:
                for other, _ in record["chunks"]:
                    rows = read_records(run.folder(other) / RETRIES)
                    gone[other].update(
                        r["unit_id"] for r in rows if r["chunk"] == chunk.name and r["unit_id"] in step.lost
                    )
    if step.out and chunk.split and run.state.scopes[step.index] == "fan_out":
        rows = read_records(run.file(chunk.name, name, "validated"))
        children = {row["unit_id"] for row in rows if str(row.get(PARENT)) in step.out}
        for other in run.state.chunks.values():
            if other.origin == chunk.name:
                gone[other.name] |= children


def _warned(row: Mapping[str, Any], step: str) -> set[str]:
    return {str(found.get("code")) for found in notes_of(row, step)[1]}
