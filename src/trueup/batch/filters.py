"""One phase as a filter: lines enter, valid units leave on one side and failure records on the other, each as a line.

A line is any that a sift takes, or a flat unit: an object whose own fields are the value, beside `unit_id` and what begins with `_`.
Every field is kept; coerced values take the place of the given ones, and a unit that nothing was changed in leaves as it came.
Ids are not compared: a stream has no end to wait for.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import starmap
from typing import Any, NamedTuple

from trueup.batch.ranges import Long
from trueup.batch.records import error_of, failed_line, line_of, stage_of, unit_fields
from trueup.batch.sieve import Sieve, broke
from trueup.batch.units import Row, Unit, read_row, twice, unit_of
from trueup.contract.meaning import RESERVED, record
from trueup.read.batch import is_line
from trueup.recover.json.clean import keeps_all_keys, repeats_a_key
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, Fix, finding
from trueup.verdict.paths import render

_CHUNK = 1 << 18
_HEAD = 65_536


class Sorted(NamedTuple):
    """What became of one line: a valid unit or a failure record; what a log tells of it: coercions and warnings."""

    valid: bytes
    failed: bytes
    notes: tuple[str, ...] = ()


class Filter:
    """Puts lines through one phase: a contract with a schema, or one with rules."""

    def __init__(self, contract: Any, max_line: int) -> None:
        self._contract = contract
        self._max_line = max_line

    def sort(self, line: bytes | Long, offset: int) -> Sorted:
        """Judge one line."""
        sieve = Sieve(self._contract, "stdin", max_line=self._max_line, notes=True)
        if isinstance(line, Long):
            sieve.sift_long(line.head, line.size, 0, offset)
        elif (row := _flat(line)) is not None:
            return self._sort_flat(row, line, offset)
        else:
            sieve.sift(line, 0, offset)
        return Sorted(
            sieve.take(), b"".join(sieve.failed), (*coerced_lines(sieve.notes), *starmap(warned_line, sieve.warned))
        )

    def _sort_flat(self, row: Row, line: bytes, offset: int) -> Sorted:
        """A unit whose own fields are the value; what belongs to the unit is not shown to the schema."""
        own = {name: value for name, value in row.items() if _is_own(name)}
        data = {name: value for name, value in row.items() if name not in own}
        place = f"stdin@{offset}"
        uid = str(own.get("unit_id") or place)
        text = line.decode("utf-8", "replace").strip()
        unit = Unit(uid, None, text, None, {name: own[name] for name in own if name != "unit_id"})
        slip = _slip(row, data, text)
        if slip is not None:
            return Sorted(b"", failed_line(unit, stage_of((slip,)), (slip,), None, place))
        try:
            verdict = self._contract.check_value(data, {"input": own})
        except Exception as error:  # noqa: BLE001 - a custom check, or a fault of ours: it fails this unit alone
            return Sorted(b"", failed_line(unit, "pipeline_internal", (broke(error),), None, place))
        if not verdict.ok:
            return Sorted(b"", failed_line(unit, stage_of(verdict.errors), verdict.findings, verdict, place))
        notes = (*coerced_lines(verdict.fixes), *(warned_line(uid, found) for found in verdict.findings))
        if not verdict.fixes and line[:1] == b"{":
            return Sorted(_ended(line), b"", notes)
        fields = record(verdict.data, {"input": own})
        return Sorted(line_of({name: fields[name] for name in row if name in fields} | fields), b"", notes)


class RulesFilter(Filter):
    """The second phase: what the first one stored under `data` is what the rules see; the line itself stays as it is."""

    def sort(self, line: bytes | Long, offset: int) -> Sorted:
        """Judge one line."""
        row = None if isinstance(line, Long) else _row(line)
        if not isinstance(row, dict) or "data" not in row or "raw_response" not in row or "failure_stage" in row:
            return super().sort(line, offset)
        unit = unit_of(row, f"stdin@{offset}")
        try:
            verdict = self._contract.check_value(row["data"], {"input": unit_fields(unit.id, unit.input)})
        except Exception as error:  # noqa: BLE001 - as above
            return Sorted(b"", failed_line(unit, "pipeline_internal", (broke(error),), None, f"stdin@{offset}"))
        if verdict.ok and verdict.findings:
            warned = [*(row.get("warnings") or ()), *map(error_of, verdict.findings)]
            notes = tuple(warned_line(unit.id, found) for found in verdict.findings)
            return Sorted(line_of({**row, "warnings": warned}), b"", notes)
        if verdict.ok:
            assert isinstance(line, bytes)
            return Sorted(_ended(line), b"")
        return Sorted(b"", failed_line(unit, stage_of(verdict.errors), verdict.findings, verdict, f"stdin@{offset}"))


def coerced_lines(fixes: Iterable[Fix]) -> tuple[str, ...]:
    """The coercions among fixes, as they are logged.

    >>> from trueup.verdict.facts import fix
    >>> coerced_lines([fix("C001", "$.score", None, '"5"', "5")])
    ('[COERCE] score: "5" → 5 (string → int)',)
    """
    return tuple(
        f"[COERCE] {fix.path.removeprefix('$.')}: {fix.before} → {fix.after} ({_kind(fix.before)} → {_kind(fix.after)})"
        for fix in fixes
        if fix.code[0] == "C"
    )


def warned_line(uid: str, found: Finding) -> str:
    """A warning about a unit that holds, as it is logged.

    >>> warned_line("u1", finding("B007", "$", "grown was skipped"))
    '[WARN] u1: B007 $ grown was skipped'
    """
    return f"[WARN] {uid}: {found.code} {found.path} {found.message}"


def _kind(text: str) -> str:
    """The type of a value by the text of it."""
    first = text[:1]
    known = {'"': "string", "[": "array", "{": "object", "t": "bool", "f": "bool", "n": "null", "": "nothing"}
    return known.get(first) or ("number" if any(sign in text for sign in ".eE") else "int")


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


def _flat(line: bytes) -> Row | None:
    """The unit of a line that is flat, else None."""
    row = _row(line)
    if not isinstance(row, dict) or "raw_response" in row or is_line(row):
        return None
    from trueup.read.detect import family

    return row if family(row) is None else None


def _is_own(name: str) -> bool:
    return name in RESERVED or name[:1] == "_"
