"""Judges one line after the other: writes its record as bytes, valid or failed, and counts it.

No line affects another: an exception or a lack of memory fails only its own unit. The path of a clean reply is short on purpose,
because it decides how fast files are sifted. All other lines are put aside and judged later in one go, which keeps the large code
for repairs in the processor's cache; their place among the valid ones is kept.
"""

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from trueup.batch.counting.tally import UnitTally
from trueup.batch.flips import Flip, flip_kind
from trueup.batch.input.ranges import LongLine, UnreadableRow
from trueup.batch.input.units import NEVER_UNITS, Row, Unit, read_unit, replaced, spoiled, too_long, unreadable
from trueup.batch.judging.records import failed_line, line_of, model_named, stage_of, unit_fields, valid_line
from trueup.contract.contract import Contract
from trueup.recover.json.clean import keeps_all_keys
from trueup.verdict.bugs import bug_of
from trueup.verdict.codec import encode
from trueup.verdict.facts import Finding, Fix, finding

ID_SIZE = 16
ID_ROW = ID_SIZE + 8  # the hash of an id, and the offset of its line, with its outcome in the highest bits
FAILED = 1 << 63
SILENT = 1 << 62  # the line has no reply: an error of a provider, for instance
STRANGE = 1 << 61  # the line is not a unit: its id is not compared
MARK = b"\xef\xbb\xbf"  # the UTF-8 byte order mark, at the start of a file
_BRACE = ord("}")
_TOGETHER = 128  # lines put aside before they are judged
_MOST = 2_048  # lines kept while they wait
_EMPTY_HASH = blake2b(digest_size=ID_SIZE)
_NO_FIELDS: dict[str, Any] = {}


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A plain unit; all other lines are read differently."""

    unit_id: str
    raw_response: str
    input: Any


_plain = msgspec.json.Decoder(_Line).decode


class Sieve:
    """Judges lines with one contract, and keeps the results until they are taken."""

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
        "_row",
        "_sees_fields",
        "_taken",
        "failed",
        "failed_at",
        "flips",
        "flips_at",
        "ids",
        "name",
        "notes",
        "tally",
        "valid",
        "warned",
    )

    def __init__(
        self, contract: Any, name: str, *, max_line: int, flips: bool = False, notes: bool = False,
        beat: MutableSequence[int] | None = None, row: Callable[[int], int] | None = None,
    ) -> None:  # fmt: skip
        # lines that were put aside: their place among the valid ones, the unit if it is plain, the line, its number and
        # its offset
        self._aside: list[tuple[int, Unit | None, bytes, int, int]] = []
        self._at = 0
        self._beat = [0] if beat is None else beat
        self._check = contract.check
        self._max_line = max_line
        self._flips = flips
        self._own = type(contract) is Contract
        # the data that another kind of contract returns is unknown
        way = contract.short_way if self._own and not flips else None
        self._clean = _never if way is None else way.judge
        self._sees_fields = way is not None and way.sees_fields
        self._notes = notes
        self._row = row
        self.name = name
        self._taken = 0
        self.valid: list[bytes] = []
        self.failed: list[bytes] = []
        self.flips: list[bytes] = []
        # the offset of the line of each
        self.failed_at: list[int] = []
        self.flips_at: list[int] = []
        self.notes: list[Fix] = []
        self.warned: list[tuple[str, Finding]] = []
        # a row for each line: the hash of its id, and its offset
        self.ids: list[bytes] = []
        self.tally = UnitTally()

    def sift(self, line: bytes, ordinal: int, offset: int) -> None:
        """Judge one line, as `sift_lines` does."""
        self.sift_lines((line,), ordinal, offset)

    def sift_lines(self, lines: Sequence[bytes], ordinal: int, offset: int) -> None:
        """Judge lines that follow each other, starting at a line number and an offset. Blank lines are counted.

        Clean replies of plain units are finished here; all others wait for `settle`.
        """
        beat, clean, sees_fields = self._beat, self._clean, self._sees_fields
        keep, claim = self.valid.append, self.ids.append
        for line in lines:
            beat[0] = ordinal
            try:
                row = _plain(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._put_aside(None, line, ordinal, offset)  # another kind of line, or not a unit: read with care
            else:
                uid, raw = row.unit_id, row.raw_response
                # a repeated name would hide one of its values
                if not uid or line.count(b'"unit_id"') != 1 or line.count(b'"raw_response"') != 1:
                    self._put_aside(None, line, ordinal, offset)
                else:
                    try:
                        data = clean(raw, unit_fields(uid, row.input) if sees_fields else _NO_FIELDS)
                    except Exception:  # noqa: BLE001 - what went wrong is seen again where the line is settled
                        data = None
                    if data is None:
                        whole = keeps_all_keys(line.decode(), encode(row))  # otherwise its input repeats a key
                        self._put_aside(Unit(uid, raw, raw, row.input) if whole else None, line, ordinal, offset)
                    else:
                        # no findings and no changes: the line is its own record
                        head = line[:-1] if line[-1] == _BRACE else line.rstrip()[:-1]
                        keep(b"".join((head, b',"data":', data, b',"fixes":[]}\n')))
                        claim(id_row(uid.encode(), offset))
            ordinal += 1
            offset += len(line) + 1

    def _put_aside(self, unit: Unit | None, line: bytes, ordinal: int, offset: int) -> None:
        if offset == 0 and line.startswith(MARK):
            self.sift_lines((line.removeprefix(MARK),), ordinal, offset)
            return
        if unit is None and not line.strip():
            self.tally.counts["blank"] += 1
            return
        self._aside.append((len(self.valid), unit, line, ordinal, offset))
        self.valid.append(b"")  # stays like this if the unit fails

    def settle(self) -> None:
        """Judge the lines that were put aside. Meanwhile the number of each is in the beat."""
        for at, unit, line, ordinal, offset in self._aside:
            self._at, self._beat[0] = at, ordinal
            try:
                self._sift_unit(self._read(line, offset) if unit is None else unit, offset)
            except RecursionError as error:
                self._fail_deep(line, offset, error)
        self._aside.clear()

    def is_ready(self) -> bool:
        """Whether to take the results: nothing waits, or enough waits to be judged together."""
        waiting = len(self._aside)
        return not waiting or waiting >= _TOGETHER or len(self.valid) >= _MOST

    def take(self) -> bytes:
        """The valid lines that were not taken yet, joined."""
        self.settle()
        lines = b"".join(self.valid)
        self._taken += len(self.valid) - self.valid.count(b"")
        self.valid.clear()
        return lines

    def counted(self) -> UnitTally:
        """The tally and the number of units, once all are taken."""
        counts = self.tally.counts
        counts["valid"], counts["failed"] = self._taken, len(self.failed)
        counts["lines"] = counts["units"] = counts["valid"] + counts["failed"]
        return self.tally

    def sift_long(self, head: bytes, size: int, offset: int) -> None:
        """A line that is too long to read."""
        self.settle()  # failures stay in order too
        unit = too_long(head, size, self._max_line, self._place(offset))
        self._fail(unit, unit.findings, None, offset)

    def sift_unread(self, line: LongLine | UnreadableRow, offset: int) -> None:
        """A line that is too long to read, or a row of a table that cannot be read."""
        if isinstance(line, LongLine):
            self.sift_long(line.head, line.size, offset)
            return
        self.settle()
        unit = spoiled(line, self._place(offset))
        self._fail(unit, unit.findings, None, offset)

    def condemn(self, line: bytes, offset: int, code: str) -> None:
        """Fail a line without judging it: its id is taken, or it ended a worker."""
        self.settle()
        line = line if offset else line.removeprefix(MARK)
        try:
            self._refuse(self._read(line, offset), offset, CONDEMNED[code]())
        except RecursionError as error:
            self._fail_deep(line, offset, error)

    def _place(self, offset: int) -> str:
        return f"{self.name}@{offset if self._row is None else self._row(offset)}"

    def _read(self, line: bytes, offset: int) -> Unit:
        return read_unit(line, self._place(offset))

    def _sift_unit(self, unit: Unit, offset: int) -> None:
        # a Contract decides about these findings itself
        broken_off = () if self._own else getattr(unit.reply, "findings", ())
        if broken_off or (unit.findings and any(found.level == "error" for found in unit.findings)):
            self._fail(unit, (*unit.findings, *broken_off), None, offset)
            return
        try:
            fields = unit_fields(unit.id, unit.input)
            verdict = self._check(unit.reply, {**unit.context, "input": fields} if unit.context else {"input": fields})
            self._settle(unit, verdict, offset)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bug of the user's or of ours: it fails this unit alone
            self._refuse(unit, offset, broke(error))

    def _settle(self, unit: Unit, verdict: Any, offset: int) -> None:
        """Put a judged unit in its place."""
        evidence = getattr(verdict, "evidence", None)
        if evidence:
            if "evidence" in unit.kept:
                unit = unit._replace(findings=(*unit.findings, *replaced(["evidence"])))
            self.tally.note_evidence(model_named(unit, verdict), evidence, verdict.findings)
        if not verdict.ok:
            self._fail(unit, (*unit.findings, *verdict.findings), verdict, offset)
            return
        line = valid_line(unit, verdict)
        self._note_id(unit, offset)
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
            self._note_flip(unit, offset, "valid", (), verdict.data)

    def _fail_deep(self, line: bytes, offset: int, error: RecursionError) -> None:
        """Fail a line that could just be read, but is nested too deep for a record."""
        unit = unreadable(line, self._place(offset), error)
        self._fail(unit, unit.findings, None, offset)

    def _refuse(self, unit: Unit, offset: int, why: Finding) -> None:
        self._fail(unit, (why,), None, offset)

    def _fail(self, unit: Unit, findings: tuple[Finding, ...], verdict: Any, offset: int) -> None:
        errors = tuple(found for found in findings if found.level == "error")
        stage = stage_of(errors)
        self.failed.append(failed_line(unit, stage, findings, verdict, self._place(offset)))
        self.failed_at.append(offset)
        strange = any(found.code in NEVER_UNITS for found in errors)
        self._note_id(unit, FAILED | (STRANGE if strange else 0 if unit.claims else SILENT) | offset)
        tally = self.tally
        tally.stages[stage] = tally.stages.get(stage, 0) + 1
        tally.note_findings(unit.id, findings)
        if verdict is not None and verdict.fixes:
            tally.note_fixes(unit.id, verdict.fixes)
        if self._flips:
            self._note_flip(unit, offset, "failed", errors, None)

    def _note_id(self, unit: Unit, offset: int) -> None:
        """Record the id of a line, and whether the line has the format of a provider's batch."""
        name = unit.id.encode("utf-8", "surrogatepass")
        self.ids.append(id_row(name, offset))
        if unit.provided:
            self.tally.counts["provided"] += 1
        elif offset & STRANGE:
            self.tally.counts["strange"] += 1

    def _note_flip(self, unit: Unit, offset: int, now: str, errors: tuple[Finding, ...], data: Any) -> None:
        """Record a flip: a unit whose outcome differs from an earlier sift."""
        before = unit.before
        if before is None:
            return
        was, kind = flip_of(before, now, data)
        self.tally.flips[kind] = self.tally.flips.get(kind, 0) + 1
        if kind == "same":
            return
        errors_now = tuple({"code": f.code, "path": f.path, "message": f.message} for f in errors)
        flip = Flip("", "", unit.id, was, now, tuple(before.get("errors") or ()), errors_now)
        if kind == "other_value":
            flip = flip._replace(data_before=before.get("data"), data_now=data)
        self.flips.append(line_of(flip.to_dict()))
        self.flips_at.append(offset)


def flip_of(before: Row, now: str, data: Any) -> tuple[str, str]:
    """The outcome of a unit in an earlier sift, `valid` or `failed`, and the kind of change.

    >>> flip_of({"data": 1}, "valid", 2), flip_of({"failure_stage": "parse"}, "failed", None)
    (('valid', 'other_value'), ('failed', 'same'))
    """
    was = "failed" if "failure_stage" in before else "valid"
    return was, flip_kind(was, now, same=before.get("data") == data)


def duplicate() -> Finding:
    hint = "Give each unit its own id; for attempts at the same unit, use --merge."
    return finding("U003", "$", "Another unit before this one has the same id", None, {}, hint)


def timed_out() -> Finding:
    return finding(
        "U006", "$", "Judging the unit took longer than allowed", None, {}, "Raise --unit-timeout, or check the unit."
    )


def out_of_memory() -> Finding:
    return finding("U007", "$", "Judging the unit took more memory than allowed", None, {}, "Raise --max-memory.")


def crashed() -> Finding:
    message = "Judging the unit ended its process, twice"
    return finding("U008", "$", message, None, {}, "Check the unit, and the custom checks of the contract.")


def broke(error: BaseException) -> Finding:
    """Why a unit could not be judged: a bug in the contract, with its line, or another error."""
    if isinstance(error, MemoryError):
        return out_of_memory()
    bug = bug_of(error)
    if bug is not None:
        return bug.finding()
    # only the kind of the error is reported: its text may quote the reply, or a secret
    message = f"Judging the unit raised {type(error).__name__}"
    return finding(
        "U009",
        "$",
        message,
        None,
        {"type": type(error).__name__},
        "If the contract has no custom code, report the error to trueup.",
    )


def _never(_text: str, _fields: Mapping[str, Any]) -> None:
    return None


def id_row(name: bytes, offset: int) -> bytes:
    """The hash of an id and the offset of its line. Copying an empty hash is cheaper than making a new one."""
    digest = _EMPTY_HASH.copy()
    digest.update(name)
    return digest.digest() + offset.to_bytes(8, "big")


CONDEMNED = {"U003": duplicate, "U006": timed_out, "U008": crashed}
