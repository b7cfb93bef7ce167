"""Runs one phase as a filter: takes lines, and returns valid units and failure records, one line each.

A line can be any line that a sift takes, or a flat unit: an object whose fields are the value, except `unit_id` and names that
begin with `_`. Every field is kept: coerced values replace the original ones, an envelope such as `response` is opened in place,
and unchanged units are passed through as they are. Changes travel with the unit, so the failure records of a later phase have
every fix and the original text. Ids are not compared, since a stream has no end to wait for.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import starmap
from typing import Any, NamedTuple

from trueup.batch.input.ranges import LongLine
from trueup.batch.input.units import Row, Unit, given_twice, id_of, is_record, read_row, unit_of, unreadable
from trueup.batch.judging.log_lines import fix_lines, warned_line
from trueup.batch.judging.records import STAGES, Stage, error_of, failed_line, line_of, stage_of, unit_fields
from trueup.batch.judging.sieve import Sieve, broke
from trueup.batch.judging.spelling import respelled
from trueup.batch.judging.trace import TRACE, UnitTrace, earlier_fixes, not_a_trace, read_trace
from trueup.contract.contract import Contract
from trueup.contract.meaning.meaning import RESERVED, record
from trueup.read.batch import is_line
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, finding
from trueup.verdict.paths import render
from trueup.verdict.verdict import Verdict

_OBJECT = Contract({"type": "object"}, accept="lossless", coerce="off", strict=True)
_CHUNK = 1 << 18
_HEAD = 65_536


class FilteredLine(NamedTuple):
    """The outcome of one line: a valid unit or a failure record, log lines about fixes and warnings, and whether the id is missing."""

    valid: bytes
    failed: bytes
    notes: tuple[str, ...] = ()
    unnamed: bool = False


class FilterLine(NamedTuple):
    """One line to judge: its JSON, its current text, and its trace with fixes of the syntax and of earlier phases."""

    row: Any
    text: bytes
    trace: UnitTrace
    mended: bool = False


class Filter:
    """Judges lines in one phase: with a contract that has a schema, or with one that has rules."""

    def __init__(self, contract: Any, max_line: int) -> None:
        self._contract = contract
        self._max_line = max_line

    def sort(self, line: bytes | LongLine, offset: int) -> FilteredLine:
        """Judge one line. Faults of its syntax that lose nothing, such as a trailing comma, are repaired first."""
        if isinstance(line, LongLine):
            sieve = self._sieve()
            sieve.sift_long(line.head, line.size, offset)
            return _sifted(sieve)
        try:
            return self._sort_line(line, offset)
        except RecursionError as error:  # the line could just be read, but its record cannot be written
            unit = unreadable(line, f"stdin@{offset}", error)
            return _failed(unit, stage_of(unit.findings), (), f"stdin@{offset}", ())

    def _sort_line(self, line: bytes, offset: int) -> FilteredLine:
        text = line.decode("utf-8", "replace").strip()
        row = _row(line)
        mended = _faults(line) if row is None else None
        if mended is None:
            return self._sort(FilterLine(row, line, UnitTrace(text)), offset)
        fixes = UnitTrace(text).with_fixes(mended.fixes, placed=True)
        found = self._sort(FilterLine(mended.data, line_of(mended.data), fixes, mended=True), offset)
        return found._replace(notes=(*fix_lines(mended.fixes), *found.notes)) if found.valid else found

    def _sort(self, line: FilterLine, offset: int) -> FilteredLine:
        """Judge one line."""
        if isinstance(line.row, dict):
            lost = _given_twice(line.row, line.trace.raw)
            if lost is not None:
                return _refused(line, lost, offset)
            if _is_flat(line.row):
                return self._sort_flat(line, offset)
        return self._sift(line, offset)

    def _sieve(self) -> Sieve:
        return Sieve(self._contract, "stdin", max_line=self._max_line, notes=True)

    def _sift(self, line: FilterLine, offset: int) -> FilteredLine:
        """Judge a line that is not a flat unit like a sift does, and keep the fields that a sift leaves out."""
        sieve = self._sieve()
        sieve.sift(line.text, 0, offset)
        found = _sifted(sieve)
        record = read_row(found.valid or found.failed)
        more: Row = {}
        if line.mended:
            more["fixes"] = [*line.trace.fixes, *record["fixes"]]
            if record["raw_response"] == line.text.decode().strip():
                more["raw_response"] = line.trace.raw
        if isinstance(line.row, dict) and _is_left_out(line.row, record):
            more["response"] = line.row
        if not more:
            return found
        written = line_of({**record, **more})
        return found._replace(valid=written) if found.valid else found._replace(failed=written)

    def _sort_flat(self, line: FilterLine, offset: int) -> FilteredLine:
        """Judge a unit whose fields are the value. The schema does not see fields such as `unit_id`, which belong to the unit."""
        row, place = line.row, f"stdin@{offset}"
        earlier = read_trace(row, line.trace.raw)
        if earlier is None:
            return _refused(line, not_a_trace(), offset)
        own = {name: value for name, value in row.items() if _is_own(name) and name != TRACE}
        data = {name: value for name, value in row.items() if not _is_own(name)}
        trace = earlier._replace(fixes=(*earlier.fixes, *line.trace.fixes))
        uid, remarks = id_of({"unit_id": own.get("unit_id")}, place)
        unit = Unit(uid, None, trace.raw, None, {name: own[name] for name in own if name != "unit_id"}, remarks)
        half = _half_character(data)
        if half is not None:
            return _failed(unit, stage_of((half,)), (half,), place, trace.fixes)
        try:
            verdict = self._contract.check_value(data, {"input": own}, keep_fields=True)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bug of the user's or of ours: it fails this unit alone
            return _failed(unit, "pipeline_internal", (broke(error),), place, trace.fixes)
        made = trace.with_fixes(verdict.fixes)
        if not verdict.ok:
            return _failed(unit, stage_of(verdict.errors), verdict.findings, place, made.fixes)
        notes = (*fix_lines(verdict.fixes), *(warned_line(uid, found) for found in (*remarks, *verdict.findings)))
        if not verdict.fixes and not line.mended and line.text[:1] == b"{":
            return FilteredLine(_ended(line.text), b"", notes, bool(remarks))
        # a value that is not an object becomes the field `value`, beside the others
        fields = record(verdict.data, {"input": own if isinstance(verdict.data, dict) else row})
        changed = {name: fields[name] for name in row if name in fields} | fields
        if made.fixes:
            changed = {**changed, TRACE: made.field()}
        return FilteredLine(respelled(line.text, row, changed) + b"\n", b"", notes, bool(remarks))


class RulesFilter(Filter):
    """The second phase: rules see the data that the first phase stored under `data`; the line itself stays unchanged."""

    def _sift(self, line: FilterLine, offset: int) -> FilteredLine:
        """Judge a line that is not a flat unit. A unit that an earlier phase refused stays refused: rules cannot tell whether it
        fits now.
        """
        row = line.row
        if _is_refused_record(row):
            return FilteredLine(b"", line_of(row) if line.mended else _ended(line.text))
        if not _is_valid_record(row):
            return super()._sift(line, offset)
        unit = unit_of(row, f"stdin@{offset}")
        fixes, warnings = [*line.trace.fixes, *earlier_fixes(row)], _listed(row.get("warnings"))
        try:
            verdict = self._contract.check_value(row["data"], {"input": unit_fields(unit.id, unit.input)})
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            return _failed(unit, "pipeline_internal", (broke(error),), f"stdin@{offset}", fixes, warnings)
        if not verdict.ok:
            fixes += [fix.to_dict() for fix in verdict.fixes]
            return _failed(unit, stage_of(verdict.errors), verdict.findings, f"stdin@{offset}", fixes, warnings)
        more: Row = {"fixes": fixes} if line.mended else {}
        notes = tuple(warned_line(unit.id, found) for found in verdict.findings)
        if verdict.findings:
            more["warnings"] = [*warnings, *map(error_of, verdict.findings)]
        unnamed = any(found.code == "U005" for found in unit.findings)
        if not more:
            return FilteredLine(_ended(line.text), b"", notes, unnamed)
        return FilteredLine(respelled(line.text, row, {**row, **more}) + b"\n", b"", notes, unnamed)


def _sifted(sieve: Sieve) -> FilteredLine:
    valid, failed = sieve.take(), b"".join(sieve.failed)
    notes = (*fix_lines(sieve.notes), *starmap(warned_line, sieve.warned))
    return FilteredLine(valid, failed, notes, "U005" in sieve.tally.codes)


def _is_left_out(row: Row, record: Row) -> bool:
    """Whether a provider's line has fields that its record lacks."""
    if "raw_response" in row or "response" in record:
        return False
    # the text of a line that is not a unit has everything
    return all(error["code"] != "U002" for error in _listed(record.get("errors")))


def _is_valid_record(row: Any) -> bool:
    """Whether the JSON of a line is a unit that an earlier phase accepted."""
    return (
        isinstance(row, dict)
        and {"raw_response", "data"} <= row.keys()
        and "failure_stage" not in row
        and is_record(row)
    )


def _is_refused_record(row: Any) -> bool:
    """Whether the JSON of a line is the failure record of a phase before the rules."""
    return (
        isinstance(row, dict)
        and "raw_response" in row
        and row.get("failure_stage") in STAGES
        and row["failure_stage"] != "validation"
        and isinstance(row.get("errors"), list)
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _refused(line: FilterLine, why: Finding, offset: int) -> FilteredLine:
    """A line that is not judged."""
    uid, remarks = id_of(line.row, f"stdin@{offset}")
    unit = Unit(uid, None, line.trace.raw, None, {}, remarks)
    return _failed(unit, stage_of((why,)), (why,), f"stdin@{offset}", line.trace.fixes)


def _failed(
    unit: Unit,
    stage: Stage,
    findings: Iterable[Finding],
    place: str,
    fixes: Iterable[Row],
    warnings: Iterable[Any] = (),
) -> FilteredLine:
    """The failure record of a unit; `fixes` are from all phases, `warnings` from the earlier ones."""
    line = failed_line(unit, stage, (*unit.findings, *findings), None, place)
    made, warned = list(fixes), list(warnings)
    if made or warned:
        row = read_row(line)
        if warned:
            row["warnings"] = [*warned, *_listed(row.get("warnings"))]
        line = line_of({**row, "fixes": made})
    return FilteredLine(b"", line, (), any(found.code == "U005" for found in unit.findings))


def stream_lines(read: Callable[[int], bytes], limit: int) -> Iterator[tuple[int, bytes | LongLine] | None]:
    """The lines of a stream as they arrive, each with its offset. None comes before a wait that may be long.

    >>> pieces = iter([b'{"a"', b": 1}" + bytes([10]) + b"2", b""])
    >>> [found for found in stream_lines(lambda _: next(pieces), 100) if found]
    [(0, b'{"a": 1}\\n'), (9, b'2')]
    """
    held: list[bytes] = []
    size = at = 0
    while chunk := read(_CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield at, _whole([*held, line, b"\n"], size + len(line) + 1, limit + 1)
            at += size + len(line) + 1
            held, size = [], 0
        if rest:
            size += len(rest)
            if size <= limit or not held:
                held.append(rest)
        yield None
    if size:
        yield at, _whole(held, size, limit)


def _whole(pieces: list[bytes], size: int, most: int) -> bytes | LongLine:
    """A line with its size. Only the start of a line that is too long was kept."""
    return b"".join(pieces) if size <= most else LongLine(b"".join(pieces)[:_HEAD], size)


def _row(line: bytes) -> Any:
    try:
        return read_row(line)
    except (ValueError, RecursionError):
        return None


def _faults(line: bytes) -> Verdict | None:
    """The verdict on a line that is an object except for faults of its syntax that lose nothing; else None."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        verdict = _OBJECT.check(line.decode())
    except UnicodeDecodeError:
        return None
    return verdict if verdict.ok and all(fix.code[0] == "S" for fix in verdict.fixes) else None


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"


def _given_twice(row: Row, text: str) -> Finding | None:
    """A repeated key in the line: one of its values would be lost."""
    said = given_twice(row, text.encode())
    return finding("U002", "$", said, None, {}, "Give each key once.") if said else None


def _half_character(data: Row) -> Finding | None:
    """A lone surrogate in a value, which cannot be judged."""
    for name, value in data.items():
        try:
            written({name: value})
        except UnicodeEncodeError:
            hint = "Write the character itself, or a full \\uXXXX\\uXXXX pair."
            return finding("P006", render((name,)), "Text has half of a surrogate pair", None, {}, hint)
    return None


def _is_flat(row: Any) -> bool:
    """Whether the JSON of a line is a flat unit."""
    if not isinstance(row, dict) or "raw_response" in row or is_line(row):
        return False
    from trueup.read.detect import family

    return family(row) is None


def _is_own(name: str) -> bool:
    return name in RESERVED or name[:1] == "_"
