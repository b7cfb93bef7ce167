"""The results of a run in two files: `validated.jsonl` with what passed the last step, `failures.jsonl` with all that failed.

Files of chunks enter, in the order of the chunks; the gathered ones replace those of an earlier time in one step.
"""

from collections.abc import Iterator
from pathlib import Path

from trueup.batch.pipeline.rundir import OwnedRun
from trueup.batch.pipeline.state import Chunk

VALIDATED, FAILURES = "validated.jsonl", "failures.jsonl"


def gather(run: OwnedRun) -> tuple[int, int]:
    """Gather the results; gives how many units are valid and how many failed."""
    counts = [0, 0]
    run.disk.put(run.path / VALIDATED, _counted(_valid_files(run), counts, 0))
    run.disk.put(run.path / FAILURES, _counted(_failure_files(run), counts, 1))
    return counts[0], counts[1]


def final_file(run: OwnedRun, chunk: Chunk) -> Path | None:
    """The file with what a chunk gave in the end; None when it gave nothing."""
    state = run.state
    if chunk.failed or chunk.split or chunk.at < len(state.steps):
        return None
    return run.folder(chunk.name) / state.source_of(chunk, len(state.steps))


def _valid_files(run: OwnedRun) -> Iterator[Path]:
    for chunk in run.state.ordered():
        file = final_file(run, chunk)
        if file is not None:
            yield file


def _failure_files(run: OwnedRun) -> Iterator[Path]:
    for chunk in run.state.ordered():
        for step, done in chunk.done.items():
            if done.failures:
                yield run.file(chunk.name, step, "failures")


def _counted(files: Iterator[Path], counts: list[int], place: int) -> Iterator[bytes]:
    for file in files:
        with file.open("rb") as opened:
            for raw in opened:
                counts[place] += 1
                yield raw
