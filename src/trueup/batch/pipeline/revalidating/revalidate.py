"""Revalidate: the stored outcomes of a run under schemas and rules as they are now; no model is asked, and nothing is changed.

A run and a pipeline enter; flips leave: units that passed a step and would not, failed it and would pass, or have another value,
each with its errors before and now. `adopting.adopt` lets the run agree with the pipeline.
"""

from collections import Counter
from typing import NamedTuple

from trueup.batch.flips import Flip
from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.revalidating.reviewing import review
from trueup.batch.pipeline.rundir.directory import RunDir


class Looked(NamedTuple):
    """How many replies were judged again, what flips, and the warnings of those that hold: units by code."""

    replies: int
    flips: tuple[Flip, ...]
    warnings: dict[str, int] = {}


def revalidate(run: RunDir, pipeline: Pipeline) -> Looked:
    """Judge every stored outcome again, but for what was made from a unit that flips."""
    replies = 0
    flips: list[Flip] = []
    warnings: Counter[str] = Counter()
    asking = {step.name for step in pipeline.steps if step.asks}
    for reviewed in review(run, pipeline):
        for step in reviewed.steps:
            name = run.state.steps[step.index]
            replies += step.judged if name in asking else 0
            warnings += step.warnings
            for judged in step.flips:
                before, now = ((row or {}).get("errors", ()) for row in (judged.stored.failure, judged.failure))
                flips.append(
                    Flip(name, reviewed.chunk.name, judged.unit_id, judged.was, judged.now, tuple(before), tuple(now))
                )
    order = run.state.steps.index
    return Looked(replies, tuple(sorted(flips, key=lambda flip: order(flip.step))), dict(warnings))
