"""Collects the results of a run in two files: `validated.jsonl` with the units that passed the last step, `failures.jsonl` with
all that failed.

Takes the files of chunks, in the order of the chunks. The collected files replace earlier ones in one step.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trueup.batch.disk.full_disk import writing
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.rundir.disk import line
from trueup.batch.pipeline.rundir.state import Chunk

VALIDATED, FAILURES = "validated.jsonl", "failures.jsonl"
Row = dict[str, Any]


def gather(run: OwnedRun) -> tuple[int, int]:
    """Collect the results, and return how many units are valid and how many failed."""
    valid = _put(run, VALIDATED, valid_files(run))
    return valid, _put(run, FAILURES, failure_files(run))


def publish(run: OwnedRun, under_way: Iterable[Row] = ()) -> None:
    """Update the collected files while the run is not finished.

    Failures are collected from the start, including chunks in the middle of a step. Valid units are collected at the end; a file
    of an earlier end is collected again.
    """
    if (run.path / VALIDATED).exists():
        _put(run, VALIDATED, valid_files(run))
    _put(run, FAILURES, failure_files(run), under_way)


def add_failures(run: OwnedRun, chunk: str, step: str) -> None:
    """Add the failures of a chunk that has finished a step. After a crash, `publish` collects them again."""
    target = run.path / FAILURES
    with writing(target), target.open("ab") as opened:
        opened.write(run.file(chunk, step, "failures").read_bytes())


def _put(run: OwnedRun, name: str, files: Iterator[Path], more: Iterable[Row] = ()) -> int:
    count = 0

    def rows() -> Iterator[bytes]:
        nonlocal count
        for file in files:
            with file.open("rb") as opened:
                for raw in opened:
                    count += 1
                    yield raw
        yield from map(line, more)

    run.disk.put(run.path / name, rows())
    return count


def final_file(run: RunDir, chunk: Chunk) -> Path | None:
    """The file with the final units of a chunk; None if there are none."""
    state = run.state
    if chunk.failed or chunk.split or chunk.at < len(state.steps):
        return None
    return run.folder(chunk.name) / state.source_of(chunk, len(state.steps))


def valid_files(run: RunDir) -> Iterator[Path]:
    """The files with the units that passed the last step, in order."""
    for chunk in run.state.ordered():
        file = final_file(run, chunk)
        if file is not None:
            yield file


def failure_files(run: RunDir) -> Iterator[Path]:
    """The files with the units that failed, in order."""
    for chunk in run.state.ordered():
        for step, done in chunk.done.items():
            if done.failures:
                yield run.file(chunk.name, step, "failures")
