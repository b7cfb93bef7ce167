"""Pieces: takes a run or a sift and returns the ranges of files with its records, in a fixed order: failed units, then
valid ones.

A place in them is written as `failed~chunk_003~score~1200`: the kind, the chunk or file, the step, and the offset of the line.
Lines are bytes with their offsets. Every file is checked before it is opened; a missing one has no lines.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueup.batch.pipeline.rundir.disk import Damaged, decode
from trueup.batch.pipeline.running.metadata import notes_of
from trueup.batch.pipeline.running.results import final_file
from trueup.studio.refusal import RequestRefused
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.following import following
from trueup.studio.runs.guarding import GuardedRun, open_plain
from trueup.studio.runs.pictures import sifted_at

Row = dict[str, Any]
MOST_LINE = 64 << 20


class RecordRange(NamedTuple):
    """A range of a file with records of one kind; `stop` is -1 for the end of the file."""

    kind: str
    """`failed` or `valid`."""
    where: str
    """The chunk of a run, or the name of a sift's file."""
    step: str
    path: Path
    start: int = 0
    stop: int = -1
    whole: bool = False
    """Whether its units have passed all steps."""

    @property
    def key(self) -> str:
        """The key of the piece, for a place; no part contains a tilde."""
        return f"{self.kind}~{self.where}~{self.step}"

    def lines(self, root: Path, at: int = 0) -> Iterator[tuple[int, bytes]]:
        """The lines from an offset on, each with its own offset."""
        try:
            opened = open_plain(root, self.path)
        except FileNotFoundError:
            return
        with opened:
            at = max(at, self.start)
            opened.seek(at)
            while (self.stop < 0 or at < self.stop) and (line := opened.readline(MOST_LINE)):
                yield at, line
                at += len(line)


def pieces_of(place: RunPlace, *, kind: str = "", step: str = "") -> list[RecordRange]:
    """The pieces of a run or a sift, of one kind or all, and of one step or all."""
    found = _of_run(place, step) if place.kind == "run" else _of_sift(place)
    return sorted(
        (piece for piece in found if not kind or piece.kind == kind), key=lambda piece: piece.kind != "failed"
    )


def _of_run(place: RunPlace, step: str) -> list[RecordRange]:
    found: list[RecordRange] = []
    with following(place.path) as (state, _):
        run = GuardedRun(place.path, state)
        for chunk in state.ordered():
            for name, done in chunk.done.items():
                if step and name != step:
                    continue
                if done.failures:
                    found.append(RecordRange("failed", chunk.name, name, _file(run, chunk.name, name, "failures")))
                if step and done.valid:
                    found.append(RecordRange("valid", chunk.name, name, _file(run, chunk.name, name, "validated")))
            last = None if step else final_file(_Unchecked(run), chunk)
            if last is not None:
                found.append(RecordRange("valid", chunk.name, state.steps[-1], last, whole=True))
    return found


class _Unchecked(GuardedRun):
    """A run whose files are named here, and checked when they are opened."""

    def __init__(self, run: GuardedRun) -> None:
        super().__init__(run.path, run.state)

    def folder(self, chunk: str) -> Path:
        return self.path / "chunks" / _plain(chunk)


def _file(run: GuardedRun, chunk: str, step: str, kind: str) -> Path:
    return run.path / "chunks" / _plain(chunk) / f"{_plain(step)}_{kind}.jsonl"


def _plain(name: str) -> str:
    if not name.replace("_", "").replace("-", "").isalnum():
        raise Damaged(f"{name[:80]!r} is not the name of a chunk or a step")
    return name


def _of_sift(place: RunPlace) -> list[RecordRange]:
    sifted = sifted_at(place)
    return [RecordRange(each.kind, each.path.name, "", each.path, each.start, each.stop) for each in sifted.pieces]


def split_place(at: str) -> tuple[str, int]:
    """The key of a piece and an offset, from a place."""
    key, _, offset = at.rpartition("~")
    if key.count("~") != 2 or not offset.isdigit() or len(offset) > 15:
        raise RequestRefused(400, "That is not a place in a run.", code="bad_place")
    return key, int(offset)


# Records --------------------------------------------------------------------------------------------------------------


class Fact(msgspec.Struct):
    """The parts of a finding or a fix that a list shows."""

    code: str
    path: str = "$"
    message: str = ""


class RecordSummary(msgspec.Struct):
    """The parts of a record that a list shows."""

    unit_id: str
    errors: list[Fact] = []
    warnings: list[Fact] | None = None
    fixes: list[Fact] | None = None
    failure_stage: str = ""
    raw_response: str = ""
    tries: dict[str, Any] | None = None
    metadata: dict[str, Any] = msgspec.field(name="_metadata", default_factory=dict)


_quick = msgspec.json.Decoder(RecordSummary).decode


def record_of(line: bytes) -> RecordSummary | None:
    """A line as a record; None if it is not one."""
    try:
        return _quick(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    try:  # half a surrogate pair, which this decoder refuses
        return msgspec.convert(decode(line), RecordSummary)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def codes_of(record: RecordSummary, piece: RecordRange) -> list[str]:
    """The counted codes of a unit: a run counts warnings and fixes of units that passed, a sift those of all."""
    facts = [*record.errors]
    if piece.kind == "valid" or not piece.step:
        facts += [*(record.warnings or ()), *(record.fixes or ())]
    codes = [fact.code for fact in facts]
    if piece.kind == "failed":
        return list(dict.fromkeys(codes))
    for step in record.metadata if piece.whole else [piece.step]:
        fixes, warnings = notes_of({"_metadata": record.metadata}, step)
        codes += [str(fact.get("code", "")) for fact in (*warnings, *fixes) if isinstance(fact, dict)]
    return list(dict.fromkeys(codes))


# fields that trueup adds to a unit, and fields that a sift adds
_OURS = frozenset({
    "unit_id", "input", "raw_response", "errors", "warnings", "fixes", "data", "merged", "failure_stage", "tries", "_metadata",
})  # fmt: skip
_OF_SIFT = _OURS | {"retry_count", "place"}


def fields_of(record: Row, piece: RecordRange) -> Row:
    """The fields of a record that belong to the unit."""
    ours = _OURS if piece.step else _OF_SIFT
    return {name: value for name, value in record.items() if name not in ours}


def full_record(line: bytes) -> Row | None:
    """A line as all of its data; None if it is not a record."""
    try:
        found = decode(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("unit_id"), str) else None
