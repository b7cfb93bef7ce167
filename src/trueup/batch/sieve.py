"""The sieve: one line enters, its record leaves as bytes, valid or failed, and is counted.

Whatever a line holds and whatever a check does, it costs no other line anything: an exception or a lack of memory fails its
own unit. The way of a clean reply is kept short on purpose: it decides how fast files are sifted. All other lines are put aside
and judged one after the other, their place among the valid ones kept: what repairs replies is large, and stays in the cache.
"""

from collections.abc import MutableSequence
from hashlib import blake2b
from typing import Any

import msgspec

from trueup.batch.records import failed_line, line_of, stage_of, unit_fields, valid_line
from trueup.batch.tally import Tally
from trueup.batch.units import Row, Unit, read_unit, too_long
from trueup.contract.contract import Contract
from trueup.verdict.bugs import bug_of
from trueup.verdict.facts import Finding, Fix, finding

ID_SIZE = 16
ID_ROW = ID_SIZE + 4
_BRACE = ord("}")
_TOGETHER = 128  # lines put aside before they are judged
_MOST = 2_048  # lines kept while they wait


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A plain unit; any other line is read in another way."""

    unit_id: str
    raw_response: str
    input: Any


_plain = msgspec.json.Decoder(_Line).decode


class Sieve:
    """Judges lines under one contract, and keeps what came of them until it is taken."""

    __slots__ = (
        "_aside",
        "_at",
        "_beat",
        "_check",
        "_clean",
        "_flips",
        "_max_line",
        "_notes",
        "_own",
        "_taken",
        "failed",
        "flips",
        "ids",
        "name",
        "notes",
        "tally",
        "valid",
        "warned",
    )

    def __init__(
        self, contract: Any, name: str, *, max_line: int, flips: bool = False, notes: bool = False,
        beat: MutableSequence[int] | None = None,
    ) -> None:  # fmt: skip
        # lines that were put aside: their place among the valid ones, the unit where it is plain, the line, its number and offset
        self._aside: list[tuple[int, Unit | None, bytes, int, int]] = []
        self._at = 0
        self._beat = [0] if beat is None else beat
        self._check = contract.check
        self._max_line = max_line
        self._flips = flips
        self._own = type(contract) is Contract
        # what another kind of contract gives as data is unknown
        self._clean = contract.clean if self._own and not flips else _never
        self._notes = notes
        self.name = name
        self._taken = 0
        self.valid: list[bytes] = []
        self.failed: list[bytes] = []
        self.flips: list[bytes] = []
        self.notes: list[Fix] = []
        self.warned: list[tuple[str, Finding]] = []
        # the id of each unit that has taken one, hashed, and the number of its line
        self.ids: list[bytes] = []
        self.tally = Tally()

    def sift(self, line: bytes, ordinal: int, offset: int) -> None:
        """Judge a line; clean replies of plain units end here, all others wait for `settle`."""
        try:
            row = _plain(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._put_aside(None, line, ordinal, offset)  # another kind of line, or none: read with care
            return
        # a name given twice would hide one of its values
        if not row.unit_id or line.count(b'"unit_id"') != 1 or line.count(b'"raw_response"') != 1:
            self._put_aside(None, line, ordinal, offset)
            return
        raw, uid, given = row.raw_response, row.unit_id, row.input
        try:
            data = self._clean(raw, unit_fields(uid, given))
        except Exception:  # noqa: BLE001 - what went wrong is seen again where the line is settled
            data = None
        if data is None:
            self._put_aside(Unit(uid, raw, raw, given), line, ordinal, offset)
            return
        # nothing was found and nothing changed: the line is its own record
        head = line[:-1] if line[-1] == _BRACE else line.rstrip()[:-1]
        self.valid.append(b"".join((head, b',"data":', data, b',"fixes":[]}\n')))
        self.ids.append(blake2b(uid.encode(), digest_size=ID_SIZE).digest() + ordinal.to_bytes(4, "big"))

    def _put_aside(self, unit: Unit | None, line: bytes, ordinal: int, offset: int) -> None:
        self._aside.append((len(self.valid), unit, line, ordinal, offset))
        self.valid.append(b"")  # it stays so where the unit fails

    def settle(self) -> None:
        """Judge what was put aside; the number of each line stands in the beat meanwhile."""
        for at, unit, line, ordinal, offset in self._aside:
            self._at, self._beat[0] = at, ordinal
            self._sift_unit(self._read(line, offset) if unit is None else unit, ordinal, offset)
        self._aside.clear()

    def is_ready(self) -> bool:
        """Whether to take what is there: nothing waits, or enough of it to be judged together."""
        waiting = len(self._aside)
        return not waiting or waiting >= _TOGETHER or len(self.valid) >= _MOST

    def take(self) -> bytes:
        """The valid lines that were not taken yet, as one piece."""
        self.settle()
        lines = b"".join(self.valid)
        self._taken += len(self.valid) - self.valid.count(b"")
        self.valid.clear()
        return lines

    def counted(self) -> Tally:
        """The tally, with how many units there were, all of them taken."""
        counts = self.tally.counts
        counts["valid"], counts["failed"] = self._taken, len(self.failed)
        counts["units"] = counts["valid"] + counts["failed"]
        return self.tally

    def sift_long(self, head: bytes, size: int, ordinal: int, offset: int) -> None:
        """A line that is too long to be read."""
        self.settle()  # failures stay in order too
        unit = too_long(head, size, self._max_line, self._place(offset))
        self._fail(unit, unit.findings, None, ordinal, offset)

    def condemn(self, line: bytes, ordinal: int, offset: int, code: str) -> None:
        """Fail a line that is not to be judged: its id is taken, or it has ended a worker."""
        self.settle()
        self._refuse(self._read(line, offset), ordinal, offset, CONDEMNED[code]())

    def _place(self, offset: int) -> str:
        return f"{self.name}@{offset}"

    def _read(self, line: bytes, offset: int) -> Unit:
        return read_unit(line, self._place(offset))

    def _sift_unit(self, unit: Unit, ordinal: int, offset: int) -> None:
        broken_off = () if self._own else getattr(unit.reply, "findings", ())  # for a contract of ours to decide on
        if broken_off or any(found.level == "error" for found in unit.findings):
            self._fail(unit, (*unit.findings, *broken_off), None, ordinal, offset)
            return
        try:
            verdict = self._check(unit.reply, {**unit.context, "input": unit_fields(unit.id, unit.input)})
            self._settle(unit, verdict, ordinal, offset)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bug of the user's or of ours: it fails this unit alone
            self._refuse(unit, ordinal, offset, broke(error))

    def _settle(self, unit: Unit, verdict: Any, ordinal: int, offset: int) -> None:
        """Put a judged unit where it belongs."""
        if not verdict.ok:
            self._fail(unit, (*unit.findings, *verdict.findings), verdict, ordinal, offset)
            return
        line = valid_line(unit, verdict)
        self._claim(unit._replace(claims=True), ordinal)
        self.valid[self._at] = line
        tally = self.tally
        if verdict.fixes:
            tally.note_fixes(unit.id, verdict.fixes)
            if self._notes:
                self.notes += verdict.fixes
        if verdict.findings or unit.findings:
            tally.counts["warned"] += 1
            tally.note_findings(unit.id, (*unit.findings, *verdict.findings))
            if self._notes:
                self.warned += [(unit.id, found) for found in (*unit.findings, *verdict.findings)]
        if self._flips:
            self._note_flip(unit, "valid", (), verdict.data)

    def _refuse(self, unit: Unit, ordinal: int, offset: int, why: Finding) -> None:
        self._fail(unit._replace(claims=unit.claims and why.code != "U003"), (why,), None, ordinal, offset)

    def _fail(self, unit: Unit, findings: tuple[Finding, ...], verdict: Any, ordinal: int, offset: int) -> None:
        errors = tuple(found for found in findings if found.level == "error")
        stage = stage_of(errors)
        self.failed.append(failed_line(unit, stage, findings, verdict, self._place(offset)))
        self._claim(unit, ordinal)
        tally = self.tally
        tally.stages[stage] = tally.stages.get(stage, 0) + 1
        tally.note_findings(unit.id, findings)
        if verdict is not None and verdict.fixes:
            tally.note_fixes(unit.id, verdict.fixes)
        if self._flips:
            self._note_flip(unit, "failed", errors, None)

    def _claim(self, unit: Unit, ordinal: int) -> None:
        if unit.claims:
            name = unit.id.encode("utf-8", "surrogatepass")
            self.ids.append(blake2b(name, digest_size=ID_SIZE).digest() + ordinal.to_bytes(4, "big"))

    def _note_flip(self, unit: Unit, now: str, errors: tuple[Finding, ...], data: Any) -> None:
        """Note a unit that an earlier sift judged otherwise."""
        before = unit.before
        if before is None:
            return
        was = "failed" if "failure_stage" in before else "valid"
        same = now == "failed" or before.get("data") == data
        kind = f"{was}_to_{now}" if was != now else "same" if same else "other_value"
        self.tally.flips[kind] = self.tally.flips.get(kind, 0) + 1
        if kind == "same":
            return
        row: Row = {"unit_id": unit.id, "was": was, "now": now}
        row["errors_before"] = before.get("errors") or []
        row["errors_now"] = [{"code": f.code, "path": f.path, "message": f.message} for f in errors]
        if kind == "other_value":
            row["data_before"], row["data_now"] = before.get("data"), data
        self.flips.append(line_of(row))


def duplicate() -> Finding:
    hint = "Give each unit an id of its own; the first one with an id has it."
    return finding("U003", "$", "Another unit before this one has the same id", None, {}, hint)


def timed_out() -> Finding:
    return finding(
        "U006", "$", "Judging the unit took longer than allowed", None, {}, "Raise --unit-timeout, or look at the unit."
    )


def out_of_memory() -> Finding:
    return finding("U007", "$", "Judging the unit took more memory than allowed", None, {}, "Raise --max-memory.")


def crashed() -> Finding:
    message = "Judging the unit ended its process, twice"
    return finding("U008", "$", message, None, {}, "Look at the unit, and at the custom checks of the contract.")


def broke(error: BaseException) -> Finding:
    """Why a unit could not be judged: a bug in the contract with its line, or an error of another kind."""
    if isinstance(error, MemoryError):
        return out_of_memory()
    bug = bug_of(error)
    if bug is not None:
        return bug.finding()
    # only the kind of the error is told: its text may quote what was being judged, or a secret
    message = f"Judging the unit raised {type(error).__name__}"
    return finding(
        "U009", "$", message, None, {"type": type(error).__name__}, "If the contract is trueup's own, report the error."
    )


def _never(_text: str, _fields: Row) -> None:
    return None


CONDEMNED = {"U003": duplicate, "U006": timed_out, "U008": crashed}
