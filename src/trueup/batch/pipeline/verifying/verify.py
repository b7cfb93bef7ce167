"""Verify: whether every unit of a run is there exactly once: expected = valid + failed, at every step.

Takes a run and changes nothing. Returns problems, each with its chunk and step. Files are counted line by line and compared with
the journal, hashes with the snapshot, and costs with the recorded replies.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from trueup.batch.pipeline.rundir.create import HASHES
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Damaged, decode, is_record, read_lines, read_records
from trueup.batch.pipeline.rundir.state import Chunk, StepOutcome
from trueup.batch.pipeline.running.metadata import notes_of
from trueup.batch.pipeline.running.results import FAILURES, VALIDATED, failure_files, valid_files
from trueup.batch.pipeline.steps.fan_out import PARENT

Kind = Literal[
    "missing", "duplicate", "orphan", "changed", "damaged", "count", "cost", "unfinished", "refused", "differs"
]  # fmt: skip


class RunProblem(NamedTuple):
    """One difference from the journal."""

    kind: Kind
    chunk: str
    step: str
    message: str
    units: tuple[str, ...] = ()


def verify(run: RunDir) -> Iterator[RunProblem]:
    """The problems with the files of a run; `recheck` judges their contents."""
    if any((run.path / folder).is_dir() for folder in run.state.revalidated):
        yield RunProblem(
            "unfinished", "", "", "a revalidation was interrupted; the next command that opens the run finishes it"
        )
        return
    yield from verify_copy(run)
    starts: Counter[str] = Counter()
    wrong = False
    for chunk in run.state.chunks.values():
        for problem in _chunk(run, chunk, starts):
            wrong = True
            yield problem
    yield from _input(run, starts)
    if not wrong:  # otherwise the collected files cannot match the chunks
        yield from verify_results(run)


def verify_copy(run: RunDir) -> Iterator[RunProblem]:
    """Whether the run's copy of its pipeline is unchanged."""
    folder = run.path / "config"
    try:
        hashes: Any = next(iter(read_lines(folder / HASHES)), {})
    except Damaged as error:
        yield RunProblem("damaged", "", "", str(error))
        return
    if not isinstance(hashes, dict):
        yield RunProblem("damaged", "", "", f"config/{HASHES} is not a list of files and their hashes")
        return
    for name, digest in hashes.items():
        file = folder / name
        if not file.is_file():
            yield RunProblem("missing", "", "", f"config/{name} is gone")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            yield RunProblem("changed", "", "", f"config/{name} was changed after the run was made")


def _input(run: RunDir, starts: Counter[str]) -> Iterator[RunProblem]:
    """Every unit of the input is in exactly one chunk at the start."""
    try:
        expected = Counter(unit["unit_id"] for unit in read_records(run.path / "input" / "units.jsonl"))
    except Damaged as error:
        yield RunProblem("damaged", "", "", str(error))
        return
    yield from _compared(expected, starts, "", "", "the chunks")


def verify_results(run: RunDir) -> Iterator[RunProblem]:
    """Whether the collected results match the chunks: completely at the end, and without additional valid units at any time."""
    at_end = run.state.status == "done" and not any(map(run.state.is_open, run.state.chunks.values()))
    try:
        yield from _gathered(run, VALIDATED, valid_files(run), at_end=at_end)
        if at_end:
            yield from _gathered(run, FAILURES, failure_files(run), at_end=True)
    except Damaged as error:
        yield RunProblem("damaged", "", "", str(error))


def _gathered(run: RunDir, name: str, files: Iterator[Path], *, at_end: bool) -> Iterator[RunProblem]:
    """Compare a collected file with the files of the chunks, by unit."""
    if not (run.path / name).exists():
        if at_end:
            yield RunProblem("missing", "", "", f"{name} is missing; `trueup run` collects it again")
        return
    expected = Counter(row["unit_id"] for file in files for row in read_records(file))
    gathered = Counter(row["unit_id"] for row in read_records(run.path / name))
    if at_end:
        yield from _compared(expected, gathered, "", "", name)
    elif stale := tuple((gathered - expected).keys()):
        yield RunProblem("orphan", "", "", f"{len(stale)} units in {name} are not valid in any chunk", stale[:20])


def _chunk(run: RunDir, chunk: Chunk, starts: Counter[str]) -> Iterator[RunProblem]:
    state = run.state
    try:
        units = _ids(run, chunk.name, "units.jsonl")
        if chunk.origin == "init":
            starts.update(units)
        if units.total() != chunk.units:
            yield RunProblem(
                "count", chunk.name, "", f"units.jsonl has {units.total()} units, the journal says {chunk.units}"
            )
        for index in range(chunk.first, min(chunk.at, len(state.steps))):
            if state.scopes[index] != "run":
                yield from _outcome(run, chunk, index)
                yield from _money(run, chunk, state.steps[index])
    except Damaged as error:  # units and recorded replies cannot be rebuilt from anything else
        yield RunProblem("damaged", chunk.name, "", str(error))


def _outcome(run: RunDir, chunk: Chunk, index: int) -> Iterator[RunProblem]:
    """The output of a step. A damaged file of it can be rebuilt from the records."""
    try:
        yield from _step(run, chunk, index)
    except Damaged as error:
        yield RunProblem("damaged", chunk.name, run.state.steps[index], str(error))


def _step(run: RunDir, chunk: Chunk, index: int) -> Iterator[RunProblem]:
    """The units that reached a step are those that passed, failed, or moved into a retry."""
    state, step = run.state, run.state.steps[index]
    done = chunk.done.get(step)
    if done is None:
        yield RunProblem("missing", chunk.name, step, "the journal has no record of this step")
        return
    expected = _ids(run, chunk.name, state.source_of(chunk, index))
    passed: Counter[str] = Counter()
    digest = hashlib.sha256()
    fans = state.scopes[index] == "fan_out"
    file = run.file(chunk.name, step, "validated")
    seen: Counter[str] = Counter()
    carried = StepOutcome(0, {})
    for raw, unit in _lines(file):
        digest.update(raw)
        if not fans:
            carried.note(*notes_of(unit, step))
        seen[unit["unit_id"]] += 1
        passed[str(unit.get(PARENT)) if fans else unit["unit_id"]] += 1
    twice = tuple(unit for unit, number in seen.items() if number > 1)
    if twice:
        yield RunProblem("duplicate", chunk.name, step, f"{len(twice)} units passed twice", twice[:20])
    failed = _ids(run, chunk.name, f"{step}_failures.jsonl")
    moved = _moved(run, chunk.name, step)
    found = Counter(passed.keys()) if fans else passed
    yield from _compared(expected, found + failed + moved, chunk.name, step, "its outcomes")
    if digest.hexdigest() != done.sha256:
        yield RunProblem("changed", chunk.name, step, f"{file.name} has changed since it was written")
    for what, number, told in (
        ("valid", seen.total(), done.valid),
        ("failed", failed.total(), done.failures),
        ("fixed", carried.fixed, done.fixed),
        ("with a warning", carried.warned, done.warned),
    ):
        if number != told:
            yield RunProblem("count", chunk.name, step, f"{number} units {what}, the journal says {told}")


def _money(run: RunDir, chunk: Chunk, step: str) -> Iterator[RunProblem]:
    """Every recorded reply was counted exactly once."""
    done = chunk.done.get(step)
    if done is None:
        return
    replies = [row for row in read_records(run.file(chunk.name, step, "results")) if "usage" in row]
    usd = sum(row.get("usd", 0.0) for row in replies)
    if len(replies) != done.money.calls - done.money.lost or abs(usd - done.money.usd) > 1e-9 * max(1.0, usd):
        message = f"{len(replies)} replies for ${usd:.6f} are recorded, the journal says {done.money.calls} for ${done.money.usd:.6f}"
        yield RunProblem("cost", chunk.name, step, message)


def _compared(expected: Counter[str], found: Counter[str], chunk: str, step: str, where: str) -> Iterator[RunProblem]:
    if expected == found:
        return
    missing = tuple((expected - found).keys())
    if missing:
        yield RunProblem("missing", chunk, step, f"{len(missing)} units are missing in {where}", missing[:20])
    more = found - expected
    twice = tuple(unit for unit in more if unit in expected)
    if twice:
        yield RunProblem("duplicate", chunk, step, f"{len(twice)} units are more than once in {where}", twice[:20])
    orphans = tuple(unit for unit in more if unit not in expected)
    if orphans:
        yield RunProblem("orphan", chunk, step, f"{len(orphans)} units in {where} are not in the input", orphans[:20])


def _lines(file: Path) -> Iterator[tuple[bytes, Any]]:
    try:
        opened = file.open("rb")
    except FileNotFoundError:
        return
    with opened:
        for number, raw in enumerate(opened, 1):
            try:
                row = decode(raw)
            except (ValueError, RecursionError) as error:
                raise Damaged(f"{file}:{number}: not a line of JSON ({error})") from None
            if not is_record(row):
                raise Damaged(f"{file}:{number}: the line names no unit")
            yield raw, row


def _ids(run: RunDir, chunk: str, name: str) -> Counter[str]:
    return Counter(row["unit_id"] for row in read_records(run.folder(chunk) / name))


def _moved(run: RunDir, chunk: str, step: str) -> Counter[str]:
    """The units that left a chunk for a retry."""
    moved: Counter[str] = Counter()
    for record in run.state.retries:
        if record["step"] == step and chunk in record["moved"]:
            for name, _ in record["chunks"]:
                rows = read_records(run.folder(name) / "retries.jsonl")
                moved.update(row["unit_id"] for row in rows if row["chunk"] == chunk)
    return moved
