"""Revalidate: compares the stored outcomes of a run with the current schemas and rules. No model is asked, and nothing is
changed.

Takes a run and a pipeline, and returns flips: units that passed a step and would fail now, units that failed and would pass, and
units with another value, each with its errors before and now. `adopting.adopt` applies the changes.
"""

from collections import Counter
from typing import NamedTuple

from trueup.batch.flips import Flip
from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.revalidating.reviewing import review
from trueup.batch.pipeline.rundir.directory import RunDir


class Revalidation(NamedTuple):
    """How many replies were judged again, the flips, and the warnings of units that stay valid: units by code."""

    replies: int
    flips: tuple[Flip, ...]
    warnings: dict[str, int] = {}


def revalidate(run: RunDir, pipeline: Pipeline) -> Revalidation:
    """Judge every stored outcome again, except those made from a unit that flips."""
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
    return Revalidation(replies, tuple(sorted(flips, key=lambda flip: order(flip.step))), dict(warnings))
