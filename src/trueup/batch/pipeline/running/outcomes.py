"""Collects the outcomes of the units of a chunk in a step: lines for units that passed, failure records for the others.

Takes outcomes in any order, and returns them in the order of the units, each unit exactly once. The files are put in place before
the journal says so; after a crash in between, this is repeated with the same result.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from trueup.batch.judging.records import error_of, stage_of
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import line
from trueup.batch.pipeline.rundir.journal import Record
from trueup.batch.pipeline.rundir.state import Chunk, Money, StepOutcome
from trueup.batch.pipeline.running.metadata import grounds_of, notes_of
from trueup.verdict.facts import Finding, finding

Unit = dict[str, Any]


def failure_record(
    unit: Unit, findings: Sequence[Finding], raw: str = "", fixes: Iterable[Any] = (), retries: int = 0, **more: Any
) -> dict[str, Any]:
    """The record of a unit that failed (B10)."""
    errors = [found for found in findings if found.level == "error"]
    record = {
        "unit_id": unit["unit_id"],
        "failure_stage": stage_of(errors),
        "input": unit,
        "raw_response": raw,
        "errors": [error_of(found) for found in errors],
        "fixes": [fix.to_dict() for fix in fixes],
        "retry_count": retries,
        **more,
    }
    warnings = [error_of(found) for found in findings if found.level == "warning"]
    if warnings:
        record["warnings"] = warnings
    return record


def broken(unit: Unit, code: str, message: str, hint: str = "") -> dict[str, Any]:
    """The record of a unit that failed without a reply being judged."""
    return failure_record(unit, [finding(code, "$", message, hint=hint)])


class Outcomes:
    """The outcomes of one step for one chunk, by the place of the unit."""

    def __init__(self, units: int) -> None:
        self._passed: list[list[Unit] | None] = [None] * units
        self._failed: list[dict[str, Any] | None] = [None] * units
        self.left = units
        self.valid = 0
        self.money = Money()
        self.resent: dict[str, int] = {}  # requests that were sent again, by reason
        self.stages: dict[str, int] = {}
        self.codes: dict[str, int] = {}
        self._notes: dict[int, tuple[str, ...]] = {}

    def passed(self, place: int, units: list[Unit], notes: tuple[str, ...] = ()) -> None:
        """A unit passed, as one unit or as its children; `notes` are for the log."""
        self._settle(place)
        self._passed[place] = units
        self.valid += len(units)
        if notes:
            self._notes[place] = notes

    @property
    def notes(self) -> list[str]:
        """The log lines of units that passed, in their order."""
        return [note for place in sorted(self._notes) for note in self._notes[place]]

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The records of the units that failed so far, in their order."""
        return [record for record in self._failed if record is not None]

    def failed(self, place: int, record: dict[str, Any]) -> None:
        self._settle(place)
        self._failed[place] = record
        stage = record["failure_stage"]
        self.stages[stage] = self.stages.get(stage, 0) + 1
        for code in dict.fromkeys(error["code"] for error in record["errors"]):
            self.codes[code] = self.codes.get(code, 0) + 1

    def _settle(self, place: int) -> None:
        if self._passed[place] is not None or self._failed[place] is not None:
            raise RuntimeError(f"unit {place} of a chunk has two outcomes")
        self.left -= 1

    def write(self, run: OwnedRun, chunk: Chunk, step: str, seconds: float, size: int = 0) -> Record:
        """Put the files in place, and return the record for the journal; with `size`, divide the units that passed into new chunks."""
        lines = [line(unit) for units in self._passed if units for unit in units]
        failures = [line(record) for record in self.failures]
        folder = run.folder(chunk.name)
        run.disk.place(run.file(chunk.name, step, "validated"), lines)
        target = run.file(chunk.name, step, "failures")
        if failures or target.exists():
            run.disk.place(target, failures)
        run.disk.sync_folder(folder)
        digest = hashlib.sha256(b"".join(lines)).hexdigest()
        done = StepOutcome(
            self.valid, self.stages, self.codes, self.money, digest, 0, round(seconds, 3), len(self._passed)
        )
        done.resent = self.resent
        for place in self._notes:
            done.note(*notes_of((self._passed[place] or [{}])[0], step))
        done.ground(grounds_of(units[0], step) for units in self._passed if units)
        done.ground(self.failures)
        record: Record = {"chunk": chunk.name, "step": step, "done": msgspec.to_builtins(done)}
        if size and lines:
            record["children"] = _split(run, lines, size)
        return record


def _split(run: OwnedRun, lines: list[bytes], size: int) -> list[tuple[str, int]]:
    """Write lines into new chunks of at most `size` units."""
    parts = [lines[start : start + size] for start in range(0, len(lines), size)]
    children = []
    for number, part in zip(run.new_chunks(len(parts)), parts, strict=True):
        name = f"chunk_{number:03d}"
        run.folder(name).mkdir(exist_ok=True)
        run.disk.put(run.folder(name) / "units.jsonl", part)
        children.append((name, len(part)))
    run.disk.sync_folder(run.path / "chunks")
    return children
