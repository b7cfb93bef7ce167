"""Writes the report of a sift as one HTML page that needs no other file.

The page has the complete counts and a sample of the units: the first ones of each code, field and rule. Its size is bounded for
any number of units. The report of an unfinished sift shows its progress so far.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from trueup.batch.counting.grounding_rates import KINDS, kinds_in
from trueup.batch.counting.tally import UnitTally, rule_of
from trueup.batch.pipeline.rundir.disk import decode
from trueup.batch.reporting.evidence import shown_evidence
from trueup.batch.reporting.explanations import explained
from trueup.batch.reporting.html import put_page, render, written_size
from trueup.batch.siftdir.directory import Moved, NotASift, RecordSpan, Sifted, read_sifted, settled
from trueup.verdict.paths import folded

__all__ = [
    "REPORT",
    "NotASift",
    "Row",
    "can_show",
    "collect",
    "left_out",
    "page_data",
    "rates_by_field",
    "render",
    "write_page",
    "write_report",
]

REPORT = "report.html"
_EACH = {"code": 12, "path": 3, "rule": 3, "merged": 12, "grounded": 12, "ground": 1}  # units shown for each
_UNITS = 600
_LINES = 200_000
_SHOWN = 20_000
_TOTAL = 8_000_000
_FACTS = 50  # findings and fixes of a unit
_EARLIER = 5  # replies that a unit was merged from
_MESSAGE = 1_000
_FIELDS = 200  # of a model, in the table of grounding
_CLEAN = b',"fixes":[]}\n'  # the end of a record without fixes and warnings

Row = dict[str, Any]


class _Fact(msgspec.Struct):
    code: str
    path: str = "$"
    rule: str = ""
    message: str = ""
    span: tuple[int, int] | None = None


class _Fix(msgspec.Struct):
    code: str
    before: str
    after: str
    grade: str = ""
    path: str = "$"
    span: tuple[int, int] | None = None


class _Earlier(msgspec.Struct):
    raw_response: str = ""
    place: str = ""
    errors: list[_Fact] | None = None


class _Told(msgspec.Struct):
    raw_response: str
    errors: list[_Fact] | None = None
    warnings: list[_Fact] | None = None
    fixes: list[_Fix] | None = None
    merged: list[_Earlier] | None = None


def write_report(folder: Path) -> Path:
    """Write `report.html` beside the files of a sift."""
    return write_page(folder, collect(folder))


def write_page(folder: Path, data: Row) -> Path:
    """Write the page with some data into a folder."""
    return put_page(folder / REPORT, render(data))


def collect(folder: Path) -> Row:
    """The summary of a sift, and the units that its page shows."""
    return settled(lambda: _collected(read_sifted(folder)))


def _collected(sifted: Sifted) -> Row:
    notes = []
    if sifted.state != "done":
        notes.append("This sift is not finished: the page shows the results so far.")
    summary = sifted.summary
    if "by_path" not in summary:
        summary = _counted_again(sifted)
    damaged: list[int] = []
    failing_first = sorted(sifted.pieces, key=lambda piece: piece.kind)
    rows = ((piece.kind, row) for piece in failing_first for row in _rows(sifted, piece, damaged))
    data = page_data("sift", summary, rows)
    missing = [piece.path.name for piece in sifted.pieces if sifted.state == "done" and not piece.path.is_file()]
    notes += (f"{name} is missing: its units are counted but not shown here." for name in missing)
    if damaged:
        notes.append(left_out(len(damaged), "a sift"))
    return {**data, "notes": notes, "files": "failures.jsonl and validated.jsonl"}


def left_out(damaged: int, what: str) -> str:
    """A note about lines that are not records.

    >>> left_out(2, "a run")
    '2 lines are not records of a run and are not shown here.'
    """
    if damaged == 1:
        return f"1 line is not a record of {what} and is not shown here."
    return f"{damaged:,} lines are not records of {what} and are not shown here."


def _counted_again(sifted: Sifted) -> Row:
    """The summary of an earlier version, with findings by level, path and rule counted from the records."""
    tally = UnitTally()
    for piece in sifted.pieces:
        for _, line in _lines(sifted, piece):
            row = None if line.endswith(_CLEAN) else _record(line)
            if row is not None:
                tally.note_record(row)
    found = tally.account()
    return {**sifted.summary, **{name: found[name] for name in ("codes", "rules", "by_path", "by_rule")}}


def page_data(kind: str, summary: Row, rows: Iterable[tuple[str, Row]]) -> Row:
    """The data of a page: a summary, and a sample of the records, each `failed` or `valid`."""
    units, sampled = _sample(_wanted(summary), rows)
    counts = summary["counts"]
    fixed_and_failed = sum(1 for unit in units if unit["kind"] == "failed" and unit["fixes"])
    shown = {fact["code"] for unit in units for part in ("errors", "warnings", "fixes") for fact in unit.get(part, ())}
    return {
        "kind": kind,
        "summary": {name: value for name, value in summary.items() if name not in {"by_path", "by_rule", "grounded"}},
        "paths": [{"key": path, **row} for path, row in summary["by_path"].items()],
        "rules": [{"key": rule, **row} for rule, row in summary["by_rule"].items()],
        "grounded": rates_by_field("", summary.get("grounded") or {}),
        "units": units,
        "sampled": sampled,
        "of": max(len(units), counts["failed"] + counts["fixed"] - fixed_and_failed),
        "notes": [],
        "explained": explained({*summary["codes"], *summary["fixes"], *shown}),
    }  # fmt: skip


def rates_by_field(step: str, rates: Row) -> list[Row]:
    """The rates of grounding as rows of a table: by model and field."""
    told = rates.get("models") or {"": rates}
    return [
        {"step": step, "model": model, "key": path, **row}
        for model, each in told.items()
        for path, row in list((each.get("fields") or {}).items())[:_FIELDS]
    ]


def _sample(wanted: dict[tuple[str, str], int], rows: Iterable[tuple[str, Row]]) -> tuple[list[Row], bool]:
    """The first units of each code, path and rule, and whether there are more."""
    units: list[Row] = []
    room = _TOTAL
    taken: dict[tuple[str, str], int] = {}
    sampled = False
    for kind, row in rows:
        keys = _keys(row)
        if not any(taken.get(key, 0) < wanted.get(key, _EACH[key[0]]) for key in keys):
            sampled = sampled or bool(keys)
            if sampled and not wanted:
                break  # no later unit adds anything to the page
            continue
        shown = _shown(kind, row)
        room -= written_size(shown)
        if room < 0 or len(units) >= _UNITS:
            return units, True
        units.append(shown)
        for key in keys:
            taken[key] = taken.get(key, 0) + 1
            if taken[key] >= wanted.get(key, _UNITS + 1):
                del wanted[key]
    return units, sampled


def _keys(row: Row) -> set[tuple[str, str]]:
    """The codes, path and rule that a unit is an example of."""
    findings = [fact for part in ("errors", "warnings") for fact in row.get(part) or ()]
    keys = {("code", fact["code"]) for fact in (*findings, *(row.get("fixes") or ()))}
    keys |= {("path", folded(fact.get("path", "$"))) for fact in findings}
    keys |= {("ground", f"{path} {kind}") for path, kind in kinds_in(row)}
    keys |= {("grounded", "")} if row.get("evidence") and not row.get("failure_stage") else set()
    keys |= {("merged", "")} if row.get("merged") else set()
    return keys | {("rule", rule) for fact in findings if (rule := rule_of(fact)) is not None}


def _wanted(summary: Row) -> dict[tuple[str, str], int]:
    """The tables whose rows the page shows examples of, with the number of units of each row."""
    tables = (
        ("code", summary["codes"]),
        ("code", summary["fixes"]),
        ("path", summary["by_path"]),
        ("rule", summary["by_rule"]),
    )
    merged = (summary.get("merged") or {}).get("units", 0)
    wanted = {("merged", ""): min(_EACH["merged"], merged)} if merged else {}
    rates = summary.get("grounded") or {}
    if rates and summary["counts"]["valid"]:
        wanted["grounded", ""] = min(_EACH["grounded"], summary["counts"]["valid"])
    wanted |= {
        ("ground", f"{path} {kind}"): 1
        for path, row in (rates.get("fields") or {}).items()
        for kind in KINDS
        if row.get(kind)
    }
    return wanted | {(kind, key): min(_EACH[kind], row["units"]) for kind, table in tables for key, row in table.items()}  # fmt: skip


def _rows(sifted: Sifted, piece: RecordSpan, damaged: list[int]) -> Iterator[Row]:
    """The records of a file that the report reads; the places of lines that are not records are noted."""
    for _, (place, line) in zip(range(_LINES), _lines(sifted, piece), strict=False):
        if line.endswith(_CLEAN):
            continue  # has nothing to show
        row = _record(line)
        if row is None:
            damaged.append(place)
        else:
            yield row


def _lines(sifted: Sifted, piece: RecordSpan) -> Iterator[tuple[int, bytes]]:
    """The lines of a file; empty if the file of a finished sift was deleted."""
    try:
        yield from piece.lines()
    except FileNotFoundError:
        if sifted.state != "done":
            raise Moved(sifted.path) from None


def _record(line: bytes) -> Row | None:
    """A record with everything that a page shows, or None."""
    try:
        row = decode(line)
    except (ValueError, RecursionError):
        return None
    return {**row, "unit_id": str(row.get("unit_id", ""))} if can_show(row) else None


def can_show(row: Any) -> bool:
    """Whether a record has everything that a page shows, with the right types."""
    try:
        msgspec.convert(row, _Told)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _shown(kind: str, row: Row) -> Row:
    """A record as the page needs it, with long replies cut."""
    told = msgspec.to_builtins(msgspec.convert(row, _Told))
    raw = row["raw_response"]
    unit: Row = {"kind": kind, "unit_id": row["unit_id"][:_MESSAGE], "raw_response": raw[:_SHOWN]}
    unit["errors"] = _findings(told["errors"])
    unit["fixes"] = [
        {**fix, "before": fix["before"][:300], "after": fix["after"][:300]} for fix in (told["fixes"] or ())[:_FACTS]
    ]
    if told["warnings"]:
        unit["warnings"] = _findings(told["warnings"])
    if told["merged"]:
        unit["merged"] = [
            {"place": each["place"], "raw_response": each["raw_response"][:_SHOWN], "errors": _findings(each["errors"])}
            for each in told["merged"][-_EARLIER:]
        ]
    for name in ("failure_stage", "place", "step"):
        if isinstance(row.get(name), str):
            unit[name] = row[name]
    if len(raw) > _SHOWN:
        unit["cut"] = len(raw)
    # as text: a browser would round long integers
    for name in ("input", "data"):
        if row.get(name) is not None:
            laid_out = json.dumps(row[name], indent=2, ensure_ascii=False)
            unit[name] = laid_out if len(laid_out) <= _SHOWN else laid_out[:_SHOWN] + "\n… (cut here)"
    unit |= shown_evidence(row)
    return unit  # fmt: skip


def _findings(facts: list[Row] | None) -> list[Row]:
    rows = facts or []
    shown = [{**fact, "message": fact["message"][:_MESSAGE]} for fact in rows[:_FACTS]]
    if len(rows) > _FACTS:
        shown[-1]["message"] += f" (and {len(rows) - _FACTS:,} more)"
    return shown
