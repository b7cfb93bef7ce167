"""Units: takes a run or a sift and filters, and returns one page of its units, with a cursor to the next.

The time of a request is limited: if the page is not full by then, it is returned anyway, and the cursor says where to
continue.
"""

import json
import time
from typing import Any, NamedTuple

from trueup.studio.refusal import RequestRefused
from trueup.studio.runs.causes import excerpt
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.guarding import cut
from trueup.studio.runs.pieces import (
    RecordRange,
    RecordSummary,
    codes_of,
    fields_of,
    full_record,
    pieces_of,
    record_of,
    split_place,
)
from trueup.verdict.paths import folded

Row = dict[str, Any]
MOST = 200
_SECONDS = 0.25
_BETWEEN = 64
_KNOWN = ("unit_id", "_metadata")  # a row shows the one, and lists do not need the other
_MOST_LINE = 64 << 10  # bytes of a record that is decoded for the line in a list


class UnitSelection(NamedTuple):
    """A selection of units; an empty value matches all. The step of a sift is the stage at which a unit failed."""

    kind: str = ""
    step: str = ""
    code: str = ""
    path: str = ""
    text: str = ""


def page_of(place: RunPlace, wanted: UnitSelection, cursor: str = "", limit: int = 50) -> Row:
    """A page of units: failed ones first."""
    pieces = pieces_of(place, kind=wanted.kind, step=wanted.step)
    first, offset = _start(pieces, cursor)
    rows: list[Row] = []
    read = damaged = 0
    end = time.monotonic() + _SECONDS
    for piece in pieces[first:]:
        for at, line in piece.lines(place.path, offset):
            if len(rows) >= min(limit, MOST) or (read % _BETWEEN == _BETWEEN - 1 and time.monotonic() > end):
                complete = len(rows) >= min(limit, MOST)
                return _page(rows, f"{piece.key}~{at}", read, damaged, complete=complete)
            read += 1
            record = record_of(line)
            if record is None:
                damaged += 1
            elif _fits(record, piece, wanted):
                rows.append(_row(record, piece, at, line))
        offset = 0
    return _page(rows, None, read, damaged, complete=True)


def _page(rows: list[Row], after: str | None, read: int, damaged: int, *, complete: bool) -> Row:
    return {"rows": rows, "next": after, "searched": {"complete": complete, "read": read, "damaged": damaged}}


def _start(pieces: list[RecordRange], cursor: str) -> tuple[int, int]:
    if not cursor:
        return 0, 0
    key, offset = split_place(cursor)
    for number, piece in enumerate(pieces):
        if piece.key == key:
            return number, offset
    raise RequestRefused(409, "The units have changed since then; start from the top.", code="changed")


def _fits(record: RecordSummary, piece: RecordRange, wanted: UnitSelection) -> bool:
    if wanted.step and not piece.step and record.failure_stage != wanted.step:
        return False
    if wanted.code and wanted.code not in codes_of(record, piece):
        return False
    if wanted.path:
        at_path = (error for error in record.errors if folded(error.path) == wanted.path)
        if not any(not wanted.code or error.code == wanted.code for error in at_path):
            return False
    if not wanted.text:
        return True
    text = wanted.text.lower()
    return (
        text in record.unit_id.lower()
        or text in record.raw_response.lower()
        or any(text in error.message.lower() for error in record.errors)
    )


def _row(record: RecordSummary, piece: RecordRange, at: int, line: bytes) -> Row:
    shown = record.raw_response or _value(line, piece)
    codes = [error.code for error in record.errors] if piece.kind == "failed" else codes_of(record, piece)
    return {
        "unit": cut(record.unit_id, 400), "at": f"{piece.key}~{at}", "state": piece.kind, "step": piece.step,
        "chunk": piece.where if piece.step else "", "codes": [cut(code, 40) for code in list(dict.fromkeys(codes))[:20]],
        "message": cut(record.errors[0].message, 300) if record.errors else "",
        "path": cut(record.errors[0].path, 200) if record.errors else "", "excerpt": excerpt(shown),
    }  # fmt: skip


def _value(line: bytes, piece: RecordRange) -> str:
    """The excerpt of a record without a reply: the unit's own fields, or its input."""
    record = full_record(line) if len(line) <= _MOST_LINE else None
    if record is None:
        return line[:1000].decode("utf-8", "replace")
    given = record.get("input")
    fields = fields_of(record, piece) if piece.kind == "valid" else given if isinstance(given, dict) else {}
    return json.dumps({name: value for name, value in fields.items() if name not in _KNOWN}, ensure_ascii=False)
