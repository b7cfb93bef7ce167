"""Recheck: whether the valid outcomes of a run are still valid with the run's own pipeline, with the same value.

Takes a run and changes nothing. A sample of its stored outcomes is judged again, the same sample each time; outcomes that are
refused now, or have another value, are returned as problems. A failure that would pass now is not a problem: it is not lost, and
`revalidate` shows it.
"""

import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from itertools import accumulate
from typing import NamedTuple

from trueup.batch.pipeline.revalidating.rejudging import Rejudge
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.verifying.verify import RunProblem

SAMPLE = 200  # outcomes of each step that are judged again by default
_NAMED = 20


class Rechecked(NamedTuple):
    """How many outcomes were judged again, out of how many, and their problems."""

    judged: int
    stored: int
    problems: tuple[RunProblem, ...]


def recheck(run: RunDir, sample: int | None = SAMPLE) -> Rechecked:
    """Judge `sample` stored outcomes of each step again, or all of them."""
    judged = stored = 0
    problems: list[RunProblem] = []
    try:
        pipeline = run.pipeline
        judges = [Rejudge(pipeline, step) for step in pipeline.steps if step.scope != "run"]
    except (OSError, ValueError, TypeError) as error:  # a copy that was changed
        why = " ".join(str(error).split())[:300]
        return Rechecked(0, 0, (RunProblem("damaged", "", "", f"the run's own pipeline cannot be used: {why}"),))
    for judge in judges:
        name = judge.step.name
        chunks = [chunk for chunk in run.state.ordered() if name in chunk.done]
        sizes = [chunk.done[name].units - chunk.done[name].moved for chunk in chunks]
        stored += sum(sizes)
        for chunk, places in _sampled(chunks, sizes, sample, name):
            found = _recheck_chunk(run, judge, chunk, places)
            judged += found.judged
            problems += found.problems
    return Rechecked(judged, stored, tuple(problems))


def _recheck_chunk(run: RunDir, judge: Rejudge, chunk: Chunk, places: Container[int]) -> Rechecked:
    """Judge the outcomes of a chunk in a step at some places again."""
    judged = 0
    refused: list[str] = []
    differs: list[str] = []
    codes: Counter[str] = Counter()
    try:
        for found in judge.judge(run, chunk, only=places):
            judged += 1
            if found.was == "valid" and found.failure:
                refused.append(found.unit_id)
                codes.update({error["code"] for error in found.failure["errors"]})
            elif found.differs:
                differs.append(found.unit_id)
    except Damaged:
        pass  # `verify` names the file
    return Rechecked(judged, judged, tuple(_problems(chunk.name, judge.step.name, refused, differs, codes)))


def _problems(
    chunk: str, step: str, refused: list[str], differs: list[str], codes: Counter[str]
) -> Iterator[RunProblem]:
    if refused:
        why = ", ".join(f"{code} {number}" for code, number in codes.most_common(5))
        said = f"{len(refused)} stored as valid, but refused by the run's own contract ({why})"
        yield RunProblem("refused", chunk, step, said, tuple(refused[:_NAMED]))
    if differs:
        said = f"{len(differs)} stored with another value than the run's own contract gives"
        yield RunProblem("differs", chunk, step, said, tuple(differs[:_NAMED]))


def _sampled(
    chunks: list[Chunk], sizes: list[int], sample: int | None, step: str
) -> list[tuple[Chunk, range | set[int]]]:
    """The chunks with the places in each that are judged: drawn over all units of the step, the same ones each time."""
    total = sum(sizes)
    if sample is None or sample >= total:
        return [(chunk, range(size)) for chunk, size in zip(chunks, sizes, strict=True) if size]
    ends = list(accumulate(sizes))
    places: dict[int, set[int]] = defaultdict(set)
    for number in random.Random(step).sample(range(total), sample):  # noqa: S311 - a sample, not a secret
        at = bisect_right(ends, number)
        places[at].add(number - (ends[at] - sizes[at]))
    return [(chunks[at], places[at]) for at in sorted(places)]
