"""One phase as a filter: takes lines, gives valid units on one side and failure records on the other, one line each.

A line is any that a sift takes, or a flat unit: an object whose fields are the value, except `unit_id` and names that begin with `_`.
Every field is kept: coerced values take the place of the given ones, an envelope such as `response` is opened in place, and an
unchanged unit is passed through as it is. Ids are not compared: a stream has no end to wait for.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import starmap
from typing import Any, NamedTuple

from trueup.batch.notes import fix_lines, warned_line
from trueup.batch.ranges import Long
from trueup.batch.records import Stage, error_of, failed_line, line_of, stage_of, unit_fields
from trueup.batch.sieve import Sieve, broke
from trueup.batch.units import Row, Unit, id_of, read_row, twice, unit_of
from trueup.contract.contract import Contract
from trueup.contract.meaning import RESERVED, record
from trueup.read.batch import is_line
from trueup.recover.json.clean import keeps_all_keys, repeats_a_key
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, finding
from trueup.verdict.paths import render
from trueup.verdict.verdict import Verdict

_OBJECT = Contract({"type": "object"}, accept="lossless", coerce="off", strict=True)
_CHUNK = 1 << 18
_HEAD = 65_536


class Sorted(NamedTuple):
    """The outcome of one line: a valid unit or a failure record, log lines of fixes and warnings, whether the id is missing."""

    valid: bytes
    failed: bytes
    notes: tuple[str, ...] = ()
    unnamed: bool = False


class Filter:
    """Puts lines through one phase: a contract with a schema, or one with rules."""

    def __init__(self, contract: Any, max_line: int) -> None:
        self._contract = contract
        self._max_line = max_line

    def sort(self, line: bytes | Long, offset: int) -> Sorted:
        """Judge one line; faults of its syntax that lose nothing, such as a trailing comma, are mended first."""
        if isinstance(line, Long):
            return self._sort(line, None, offset)
        row = _row(line)
        fixes = _faults(line) if row is None else None
        if fixes is None:
            return self._sort(line, row, offset)
        mended = line_of(fixes.data)
        found = self._sort(mended, fixes.data, offset)
        if found.valid:
            return found._replace(notes=(*fix_lines(fixes.fixes), *found.notes))
        record = read_row(found.failed)
        if record["raw_response"] == mended.decode().strip():
            record["raw_response"] = line.decode().strip()
        record["fixes"] = [*(fix.to_dict() for fix in fixes.fixes), *record["fixes"]]
        return found._replace(failed=line_of(record))

    def _sort(self, line: bytes | Long, row: Any, offset: int) -> Sorted:
        """Judge one line; `row` is its JSON."""
        sieve = Sieve(self._contract, "stdin", max_line=self._max_line, notes=True)
        if isinstance(line, Long):
            sieve.sift_long(line.head, line.size, 0, offset)
        elif _is_flat(row):
            return self._sort_flat(row, line, offset)
        else:
            sieve.sift(line, 0, offset)
        valid, failed = sieve.take(), b"".join(sieve.failed)
        notes = (*fix_lines(sieve.notes), *starmap(warned_line, sieve.warned))
        return Sorted(valid, failed, notes, "U005" in sieve.tally.codes)

    def _sort_flat(self, row: Row, line: bytes, offset: int) -> Sorted:
        """Judge a unit whose fields are the value; the schema does not see the fields that belong to the unit."""
        own = {name: value for name, value in row.items() if _is_own(name)}
        data = {name: value for name, value in row.items() if name not in own}
        place = f"stdin@{offset}"
        uid, remarks = id_of({"unit_id": own.get("unit_id")}, place)
        text = line.decode("utf-8", "replace").strip()
        unit = Unit(uid, None, text, None, {name: own[name] for name in own if name != "unit_id"}, remarks)
        slip = _slip(row, data, text)
        if slip is not None:
            return _failed(unit, stage_of((slip,)), (slip,), None, place)
        try:
            verdict = self._contract.check_value(data, {"input": own}, keep_fields=True)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bug of the user's or of ours: it fails this unit alone
            return _failed(unit, "pipeline_internal", (broke(error),), None, place)
        if not verdict.ok:
            return _failed(unit, stage_of(verdict.errors), verdict.findings, verdict, place)
        notes = (*fix_lines(verdict.fixes), *(warned_line(uid, found) for found in (*remarks, *verdict.findings)))
        if not verdict.fixes and line[:1] == b"{":
            return Sorted(_ended(line), b"", notes, bool(remarks))
        # a value that is not an object goes beside the fields, under the name `value`
        fields = record(verdict.data, {"input": own if isinstance(verdict.data, dict) else row})
        ordered = {name: fields[name] for name in row if name in fields} | fields
        return Sorted(line_of(ordered), b"", notes, bool(remarks))


class RulesFilter(Filter):
    """The second phase: rules see what the first phase stored under `data`; the line itself stays as it is."""

    def _sort(self, line: bytes | Long, row: Any, offset: int) -> Sorted:
        """Judge one line."""
        if not isinstance(row, dict) or "data" not in row or "raw_response" not in row or "failure_stage" in row:
            return super()._sort(line, row, offset)
        unit = unit_of(row, f"stdin@{offset}")
        try:
            verdict = self._contract.check_value(row["data"], {"input": unit_fields(unit.id, unit.input)})
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            return _failed(unit, "pipeline_internal", (broke(error),), None, f"stdin@{offset}")
        unnamed = any(found.code == "U005" for found in unit.findings)
        if verdict.ok and verdict.findings:
            warned = [*(row.get("warnings") or ()), *map(error_of, verdict.findings)]
            notes = tuple(warned_line(unit.id, found) for found in verdict.findings)
            return Sorted(line_of({**row, "warnings": warned}), b"", notes, unnamed)
        if verdict.ok:
            assert isinstance(line, bytes)
            return Sorted(_ended(line), b"", (), unnamed)
        return _failed(unit, stage_of(verdict.errors), verdict.findings, verdict, f"stdin@{offset}")


def _failed(unit: Unit, stage: Stage, findings: Iterable[Finding], verdict: Any, place: str) -> Sorted:
    line = failed_line(unit, stage, (*unit.findings, *findings), verdict, place)
    return Sorted(b"", line, (), any(found.code == "U005" for found in unit.findings))


def stream_lines(read: Callable[[int], bytes], limit: int) -> Iterator[tuple[int, bytes | Long] | None]:
    """The lines of a stream, each with its offset, as soon as they are there; None when it may be long until the next.

    >>> pieces = iter([b'{"a"', b": 1}" + bytes([10]) + b"2", b""])
    >>> [found for found in stream_lines(lambda _: next(pieces), 100) if found]
    [(0, b'{"a": 1}\\n'), (9, b'2')]
    """
    held: list[bytes] = []
    size = at = 0
    while chunk := read(_CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield at, _whole([*held, line, b"\n"], size + len(line) + 1, limit)
            at += size + len(line) + 1
            held, size = [], 0
        if rest:
            size += len(rest)
            if size <= limit or not held:
                held.append(rest)
        yield None
    if size:
        yield at, _whole(held, size, limit)


def _whole(pieces: list[bytes], size: int, limit: int) -> bytes | Long:
    return b"".join(pieces) if size <= limit + 1 else Long(b"".join(pieces)[:_HEAD], size)


def _row(line: bytes) -> Any:
    try:
        return read_row(line)
    except (ValueError, RecursionError):
        return None


def _faults(line: bytes) -> Verdict | None:
    """The verdict on a line that is an object apart from faults of its syntax that lose nothing; else None."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        verdict = _OBJECT.check(line.decode())
    except UnicodeDecodeError:
        return None
    return verdict if verdict.ok and all(fix.code[0] == "S" for fix in verdict.fixes) else None


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"


def _slip(row: Row, data: Row, text: str) -> Finding | None:
    """What makes a flat unit none that can be judged: a key that it gives twice, half a surrogate pair in a value."""
    if not keeps_all_keys(text, line_of(row)) and repeats_a_key(text):
        name = twice(text.encode())
        said = f"The line gives {name!r} twice" if name else "An object of the line gives a key twice"
        return finding("U002", "$", said, None, {}, "Give each key once.")
    for name, value in data.items():
        try:
            written({name: value})
        except UnicodeEncodeError:
            hint = "Write the character itself, or a full \\uXXXX\\uXXXX pair."
            return finding("P006", render((name,)), "Text holds half of a surrogate pair", None, {}, hint)
    return None


def _is_flat(row: Any) -> bool:
    """Whether the JSON of a line is a flat unit."""
    if not isinstance(row, dict) or "raw_response" in row or is_line(row):
        return False
    from trueup.read.detect import family

    return family(row) is None


def _is_own(name: str) -> bool:
    return name in RESERVED or name[:1] == "_"
