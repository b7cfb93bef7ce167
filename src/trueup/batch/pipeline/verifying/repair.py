"""Repair: fixes the problems that `verify` finds, from the recorded replies. No model is asked here.

A chunk whose files do not match the journal is opened again at the first wrong step: the recorded replies lead to the same
outcomes without a call, and only unrecorded ones are asked for. Damaged lines of the journal are put aside, not lost.
"""

import contextlib
from pathlib import Path
from typing import NamedTuple

from trueup.batch.pipeline.rundir.directory import MANIFEST, OwnedRun
from trueup.batch.pipeline.rundir.disk import Disk
from trueup.batch.pipeline.rundir.journal import JOURNAL, unsealed
from trueup.batch.pipeline.running.results import gather, publish
from trueup.batch.pipeline.verifying.verify import RunProblem, verify, verify_results


class Repaired(NamedTuple):
    """The repairs that were made, and the problems that cannot be repaired here."""

    done: tuple[str, ...]
    left: tuple[RunProblem, ...]


def repair(path: Path, disk: Disk | None = None) -> Repaired:
    """Repair a run as far as possible."""
    disk = disk or Disk()
    run = OwnedRun.open(path, disk, salvage=True)
    try:
        done = _mend_journal(run)
        if done:
            run.close()
            run = OwnedRun.open(path, disk)
        done += _mend_tails(run)
        done += _reopen(run)
        if done or any(verify_results(run)):
            done.append("the results were collected again from the chunks")
            with contextlib.suppress(FileNotFoundError):  # of a chunk that cannot be opened again, and is left as it is
                gather(run) if run.state.status == "done" else publish(run)
        if done or not (run.path / MANIFEST).exists():
            run.write_manifest()  # otherwise it is left as it is: it may describe chunks in the middle of a step
        left = tuple(verify(run))
        for message in done:
            run.log.say(f"repair: {message}")
        return Repaired(tuple(done), left)
    finally:
        run.close()


def _mend_journal(run: OwnedRun) -> list[str]:
    """Put damaged lines of the journal aside."""
    file = run.path / JOURNAL
    good: list[bytes] = []
    bad: list[bytes] = []
    with file.open("rb") as opened:
        for raw in opened:
            (good if unsealed(raw) is not None else bad).append(raw)
    if not bad:
        return []
    run.disk.put(run.path / f"{JOURNAL}.damaged", bad)
    run.disk.put(file, good)
    return [f"{len(bad)} damaged lines of the journal were put aside ({JOURNAL}.damaged)"]


def _mend_tails(run: OwnedRun) -> list[str]:
    done = []
    for file in sorted((run.path / "chunks").glob("*/*_results.jsonl")):
        torn = run.disk.mend(file)
        if torn:
            done.append(f"{file.parent.name}/{file.name}: a torn line of {len(torn)} bytes was cut off")
    return done


def _reopen(run: OwnedRun) -> list[str]:
    """Open chunks again at the first wrong step."""
    first: dict[str, int] = {}
    state = run.state
    for problem in verify(run):
        if problem.chunk and problem.step:
            index = state.steps.index(problem.step)
            first[problem.chunk] = min(index, first.get(problem.chunk, index))
    done = []
    for name, index in first.items():
        chunk, step = state.chunks[name], state.steps[index]
        went_on = chunk.split or any(name in record["moved"] for record in state.retries)
        if went_on:
            continue  # its units are already elsewhere; opening it again would duplicate them
        run.commit("reopened", chunk=name, step=step)
        done.append(f"{name} is open again at step {step}; `trueup run` computes it again from what is recorded")
    return done
