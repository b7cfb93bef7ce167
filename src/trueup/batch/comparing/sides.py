"""Reads one side of a comparison, the folder of a sift or a run directory: its counts, and its units in a stream.

Nothing is changed and nothing is locked: an unfinished sift or run is read as far as it has come. Lines that are not records are
counted, with the places of the first ones.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueup.batch.comparing.join import digest_of
from trueup.batch.counting.groups import Seen
from trueup.batch.counting.tally import UnitTally
from trueup.batch.judging.records import line_of, merged
from trueup.batch.pipeline.rundir.disk import decode
from trueup.batch.siftdir.directory import Moved, NotASift, RecordSpan, is_sifted, read_sifted

Row = dict[str, Any]
METADATA = "_metadata"
_PLACES = 5
_COUNTED = ("warnings", "fixes", "evidence")
_CLEAN = b',"fixes":[]}\n'  # the end of a record that has nothing to count


class SideChanged(Moved):
    """The files of a side changed while they were compared."""

    doing = "compared"


class ComparedSide(NamedTuple):
    """A sift or a run to compare: its path, its state, and the parts of files that contain its units."""

    path: Path
    kind: str
    state: str
    pieces: tuple[RecordSpan, ...]
    pending: int = 0
    seconds: float = 0.0
    money: Row | None = None

    @property
    def size(self) -> int:
        """The size of its records in bytes."""
        total = 0
        for piece in self.pieces:
            try:
                stop = piece.path.stat().st_size if piece.stop < 0 else piece.stop
            except FileNotFoundError:
                continue
            total += stop - piece.start
        return total


class SideUnit(NamedTuple):
    """A unit of a side: its id, whether it failed, a digest of its result, and the place of its record."""

    id: str
    failed: bool
    digest: bytes
    piece: int
    place: int


class _Error(msgspec.Struct):
    code: str
    path: str = "$"
    rule: str = ""
    message: str = ""
    span: Any = None


class _Fix(msgspec.Struct):
    code: str


class _Failed(msgspec.Struct):
    unit_id: str
    errors: list[_Error]
    warnings: list[_Error] | None = None
    fixes: list[_Fix] | None = None
    evidence: Any = None


class _Noted(msgspec.Struct):
    unit_id: str
    warnings: list[_Error] | None = None
    fixes: list[_Fix] | None = None
    evidence: Any = None


class _Valid(_Noted, kw_only=True):
    data: msgspec.Raw


_failed = msgspec.json.Decoder(_Failed).decode
_valid = msgspec.json.Decoder(_Valid).decode
FAULTS = (msgspec.MsgspecError, ValueError, TypeError, KeyError, RecursionError)


def open_side(path: Path) -> ComparedSide:
    """The sift or the run at a path."""
    side = _run(path) if (path / "journal.jsonl").is_file() else _sift(path)
    for piece in side.pieces:
        if piece.stop < 0 and not piece.path.is_file():
            raise NotASift(f"{piece.path} is missing: without it the units of {path} cannot be compared")
    return side


def _sift(path: Path) -> ComparedSide:
    if not is_sifted(path):
        raise NotASift(f"{path} is neither the folder of a `trueup sift` nor a run of a pipeline")
    sifted = read_sifted(path)
    state = sifted.state if sifted.state == "done" else "not finished"
    return ComparedSide(path, "sift", state, sifted.pieces, seconds=float(sifted.summary["timings"]["seconds"]))


def _run(path: Path) -> ComparedSide:
    from trueup.batch.pipeline.reporting.report import word_for
    from trueup.batch.pipeline.reporting.status import standing, status
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.batch.pipeline.running.results import final_file

    run = RunDir.look(path)
    state = run.state
    pieces = []
    for chunk in state.ordered():
        file = final_file(run, chunk)
        if file is not None:
            pieces.append(RecordSpan("valid", file))
        failing = [step for step, done in chunk.done.items() if done.failures]
        pieces += (RecordSpan("failed", run.file(chunk.name, step, "failures")) for step in failing)
    found = status(state)  # of the chunks that have passed a step: units of other chunks are not in any file yet
    money = standing(run, running=run.is_running)["money"]  # the cost of the others counts too
    seconds = sum(step["seconds"] for step in found["steps"])
    return ComparedSide(path, "run", word_for(run), tuple(pieces), found["pending"], seconds, money)


class SideReader:
    """Reads the units of a side and counts their findings and fixes. `flat` values can be compared with the values of a run."""

    def __init__(self, side: ComparedSide, *, flat: bool) -> None:
        self._side = side
        self._flat = flat
        self.tally = UnitTally()
        self.damaged = 0
        self.places: list[str] = []  # places of the first lines that are not records

    def units(self) -> Iterator[SideUnit]:
        """Every unit; within each file, the valid ones in order."""
        counts = self.tally.counts
        for number, piece in enumerate(self._side.pieces):
            take = self._take_failed if piece.kind == "failed" else self._take_valid
            for place, line in self._lines(piece):
                try:
                    uid, digest = take(line)
                except FAULTS:
                    self._note_damage(piece, place)
                    continue
                counts[piece.kind] += 1
                yield SideUnit(uid, piece.kind == "failed", digest, number, place)
        counts["units"] = counts["valid"] + counts["failed"]

    def _lines(self, piece: RecordSpan) -> Iterator[tuple[int, bytes]]:
        try:
            yield from piece.lines()
        except FileNotFoundError:
            raise SideChanged(self._side.path) from None

    def read(self, piece: int, line: bytes) -> tuple[str, tuple[Row, ...], Any]:
        """The id, the errors and the value of the record in a line."""
        row = decode(line)
        if self._side.pieces[piece].kind == "failed":
            errors = msgspec.to_builtins(msgspec.convert(row, _Failed).errors)
            return row["unit_id"], tuple(errors), None
        return row["unit_id"], (), self._value(row)

    def _note_damage(self, piece: RecordSpan, place: int) -> None:
        self.damaged += 1
        if len(self.places) < _PLACES:
            self.places.append(f"{piece.path.name}@{place}")

    def _take_failed(self, line: bytes) -> tuple[str, bytes]:
        try:
            row = _failed(line)
        except msgspec.DecodeError:  # a lone surrogate, which this decoder refuses; or not a record
            row = msgspec.convert(decode(line), _Failed)
        self.tally.note_record(msgspec.to_builtins(row))
        facts = sorted(f"{error.code} {error.path} {error.rule}" for error in row.errors)
        return row.unit_id, digest_of("\n".join(facts).encode("utf-8", "surrogatepass"))

    def _take_valid(self, line: bytes) -> tuple[str, bytes]:
        if self._flat:
            whole = decode(line)
            self._note_flat(whole)
            return str(whole["unit_id"]), digest_of(line_of({"value": self._value(whole)}))
        row: _Noted
        try:
            row = judged = _valid(line)
            data = bytes(judged.data)
        except msgspec.DecodeError:  # as above
            whole = decode(line)
            row, data = msgspec.convert(whole, _Noted), line_of({"value": whole["data"]})
        if not line.endswith(_CLEAN):
            self.tally.note_record(
                {
                    "unit_id": row.unit_id, "warnings": _plain(row.warnings), "fixes": _plain(row.fixes),
                    "evidence": row.evidence,
                }
            )  # fmt: skip
        return row.unit_id, digest_of(data)

    def _note_flat(self, row: Row) -> None:
        """Count the fixes and warnings of a unit. A sift has them in the record, a run in its metadata by step."""
        told = [row] if self._side.kind == "sift" else [*(row.get(METADATA) or {}).values()]
        seen: Seen = {}
        for each in told:
            if isinstance(each, dict) and any(map(each.get, _COUNTED)):
                notes = {name: each.get(name) for name in _COUNTED}
                self.tally.note_record({"unit_id": row["unit_id"], **notes}, seen)

    def _value(self, row: Row) -> Any:
        """The result of a valid unit: the data of a sift or, if `flat`, the fields of the unit without those of the run."""
        if not self._flat:
            return row["data"]
        fields = merged(row["unit_id"], row.get("input"), row["data"]) if self._side.kind == "sift" else row
        return {name: value for name, value in fields.items() if name not in {METADATA, "unit_id"}}


def _plain(facts: list[Any] | None) -> Any:
    return msgspec.to_builtins(facts)
