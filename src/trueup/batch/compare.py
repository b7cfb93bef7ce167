"""Compares two sifts or two runs: counts flips, changed values, findings, cost and speed.

Units are matched by id, in any order. Both sides are read once in a stream, and only units that differ are read again. Memory
does not grow with the number of units: short marks of them are written to a temporary folder.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Self

from trueup.batch.comparing.differences import ABSENT, differences
from trueup.batch.comparing.join import Mark, Spill, joined, parts_for
from trueup.batch.comparing.sides import FAULTS, ComparedSide, SideChanged, SideReader, open_side
from trueup.batch.counting import grounding_rates
from trueup.batch.disk.full_disk import writing
from trueup.batch.flips import Flip, Flips
from trueup.batch.reporting.explanations import explained
from trueup.batch.siftdir.directory import NotASift, line_at, settled
from trueup.verdict.catalogue import FINDINGS, FIXES, OWN
from trueup.verdict.paths import folded, render

__all__ = ["Comparison", "NotASift", "compare"]

_PATHS = 1000  # paths of changed values that are counted separately
_A_UNIT = 200  # paths that are counted in one unit
_SHOWN = 500  # characters of a value or a message in an example
_WHOLE = 2000  # characters of a whole value on the page
_OPEN = 16  # files kept open while units are read again
REST = "…"

Row = dict[str, Any]


class Comparison:
    """The differences between two sides, A and B. Every count is complete; examples are the first ones found."""

    def __init__(self, examples: int = 5) -> None:
        self.examples = examples
        """How many examples of each difference are kept."""
        self.sides: list[Row] = []
        """A and B: path, kind, state, counts, damaged lines, seconds, and for runs tokens and cost."""
        self.flips = Flips(examples)
        """Units that are valid on one side and failed on the other, or valid with another value."""
        self.same = 0
        """Units with the same outcome on both sides."""
        self.other_errors: Row = {"units": 0, "examples": []}
        """Units that failed on both sides with different errors: how many, and the first ids."""
        self.only_in_a: Row = {"units": 0, "examples": []}
        """Units that only A has."""
        self.only_in_b: Row = {"units": 0, "examples": []}
        """Units that only B has."""
        self.values: dict[str, Row] = {}
        """Changed values by path: units, how many were changed, added and removed, and an example."""
        self.findings: dict[str, list[Row]] = {}
        """Findings by code, by path and by rule, and fixes by code: units on both sides, and the difference."""

        self.grounded: list[Row] = []
        """The rates of grounding by field on both sides; empty if no value was looked up."""

    @property
    def differs(self) -> bool:
        """Whether a unit or a finding differs; cost and speed do not count."""
        others = (self.other_errors, self.only_in_a, self.only_in_b)
        flipped = any(self.flips.counts.values()) or any(other["units"] for other in others)
        return bool(flipped or any(row["differs"] for rows in self.findings.values() for row in rows))

    def to_dict(self) -> Row:
        """The comparison as JSON-able data."""
        return {
            "differs": self.differs,
            "a": self.sides[0],
            "b": self.sides[1],
            "same": self.same,
            "flips": self.flips.to_dict(),
            "other_errors": self.other_errors,
            "only_in_a": self.only_in_a,
            "only_in_b": self.only_in_b,
            "values": dict(sorted(self.values.items(), key=lambda item: (-item[1]["units"], item[0]))),
            "findings": self.findings,
            **({"grounded": self.grounded} if self.grounded else {}),
        }


def compare(a: str | Path, b: str | Path, *, examples: int = 5) -> Comparison:
    """Compare two folders, each of a sift or a run. Raises `NotASift` if one of them is neither."""
    return settled(lambda: _compared([open_side(Path(a)), open_side(Path(b))], examples))


def _compared(sides: list[ComparedSide], examples: int) -> Comparison:
    flat = any(side.kind == "run" for side in sides)
    found = Comparison(examples)
    with _temporary() as folder:
        parts = parts_for(sum(side.size for side in sides))
        readers, spills = [], []
        for number, side in enumerate(sides):
            reader, spill = SideReader(side, flat=flat), Spill(Path(folder) / str(number), parts)
            for unit in reader.units():
                spill.add(unit.id, Mark(*unit[1:]))
            readers.append(reader)
            spills.append(spill)
        with _Records(sides[0], readers[0]) as left, _Records(sides[1], readers[1]) as right:
            for pair in joined(spills[0], spills[1], parts):
                _take(found, pair, left, right)
    found.sides = [_account(side, reader) for side, reader in zip(sides, readers, strict=True)]
    found.findings = _findings(readers[0], readers[1])
    found.grounded = _grounded(readers[0], readers[1])
    return found


def _temporary() -> "tempfile.TemporaryDirectory[str]":
    """A folder for marks. If every disk is full, `tempfile` only says that there is no usable folder."""
    try:
        return tempfile.TemporaryDirectory(prefix="trueup-compare-")
    except FileNotFoundError:
        place = Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - nothing is left there
        with writing(place), tempfile.TemporaryFile(dir=place) as opened:
            opened.write(b"x")
            opened.flush()
        raise


class _Records:
    """Reads records of a side again, by their place."""

    def __init__(self, side: ComparedSide, reader: SideReader) -> None:
        self._side = side
        self._reader = reader
        self._opened: dict[int, BinaryIO] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for opened in self._opened.values():
            opened.close()

    def at(self, mark: Mark) -> tuple[str, tuple[Row, ...], Any]:
        """The id, the errors and the value of a unit."""
        opened = self._opened.get(mark.piece)
        if opened is None:
            while len(self._opened) >= _OPEN:
                self._opened.pop(next(iter(self._opened))).close()
            opened = self._opened[mark.piece] = self._open(mark.piece)
        try:
            return self._reader.read(mark.piece, line_at(opened, mark.place))
        except FAULTS:
            raise SideChanged(self._side.path) from None

    def _open(self, piece: int) -> BinaryIO:
        try:
            return self._side.pieces[piece].path.open("rb")
        except FileNotFoundError:
            raise SideChanged(self._side.path) from None


def _take(found: Comparison, pair: tuple[Mark | None, Mark | None], left: _Records, right: _Records) -> None:
    """Count one unit."""
    a, b = pair
    if a is None:
        _note(found.only_in_b, found.examples, right, b)
    elif b is None:
        _note(found.only_in_a, found.examples, left, a)
    elif a.failed != b.failed:
        _take_flip(found, (a, b), left, right)
    elif a.digest == b.digest:
        found.same += 1
    elif a.failed:
        _note(found.other_errors, found.examples, left, a)
    else:
        _take_values(found, left.at(a), right.at(b))


def _note(row: Row, examples: int, records: _Records, mark: Mark | None) -> None:
    row["units"] += 1
    if mark is not None and len(row["examples"]) < examples:
        row["examples"].append(records.at(mark)[0])


def _take_flip(found: Comparison, pair: tuple[Mark, Mark], left: _Records, right: _Records) -> None:
    a, b = pair
    was, now = ("failed", "valid") if a.failed else ("valid", "failed")
    if not found.flips.wants(f"{was}_to_{now}"):
        found.flips.counts[f"{was}_to_{now}"] += 1
        return
    uid, before, _ = left.at(a)
    errors = right.at(b)[1]
    found.flips.add(Flip("", "", uid, was, now, _short(before), _short(errors)))


def _take_values(found: Comparison, a: tuple[str, Any, Any], b: tuple[str, Any, Any]) -> None:
    """Count the paths at which the values of a unit differ. Equal values may be written in different ways."""
    uid, _, before = a
    now = b[2]
    places: set[str] = set()
    for number, each in enumerate(islice(differences(before, now), _A_UNIT)):
        path = folded(render(each.path))
        row = found.values.get(path)
        if row is None:
            path = path if len(found.values) < _PATHS else REST
            example = {"unit_id": uid, "before": _value(each.before), "now": _value(each.now)}
            row = found.values.setdefault(
                path, {"units": 0, "changed": 0, "added": 0, "removed": 0, "example": example}
            )
        row[each.kind] += 1
        row["units"] += path not in places
        places.add(path)
        if number == 0:
            found.flips.add(Flip("", "", uid, "valid", "valid", (), (), before, now))
    if not places:
        found.same += 1


def _value(value: Any) -> str:
    """A value in an example, as JSON; empty if there is none."""
    return "" if value is ABSENT else _cut(json.dumps(value, ensure_ascii=False), _SHOWN)


def _short(errors: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple({**error, "message": _cut(error["message"], _SHOWN)} for error in errors[:10])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _account(side: ComparedSide, reader: SideReader) -> Row:
    """A side in numbers."""
    counts = reader.tally.counts
    units = counts["units"]
    row: Row = {
        "path": str(side.path),
        "kind": side.kind,
        "state": side.state,
        "counts": {"units": units, "valid": counts["valid"], "failed": counts["failed"], "pending": side.pending},
        "damaged": {"lines": reader.damaged, "places": reader.places},
        "seconds": side.seconds,
        "units_per_second": units / side.seconds if side.seconds else 0.0,
    }
    if side.money is not None:
        row["money"] = side.money
    return row


def _findings(left: SideReader, right: SideReader) -> dict[str, list[Row]]:
    """The findings of both sides, with the largest differences first."""
    tables: dict[str, tuple[Row, Row]] = {
        "codes": (left.tally.codes, right.tally.codes),
        "paths": (left.tally.paths, right.tally.paths),
        "rules": (left.tally.rules, right.tally.rules),
    }
    found = {
        name: _ranked(_row(key, name, [_grouped(table.get(key)) for table in both]) for key in {**both[0], **both[1]})
        for name, both in tables.items()
    }
    fixes = (left.tally.fixes, right.tally.fixes)
    found["fixes"] = _ranked(
        _row(key, "fixes", [{"fixed": table.get(key, [0])[0]} for table in fixes]) for key in {**fixes[0], **fixes[1]}
    )
    return found


def _grounded(left: SideReader, right: SideReader) -> list[Row]:
    """The values of each field on both sides, and how many of them are grounded, with the largest differences first."""
    both = [grounding_rates.account(reader.tally.grounds).get("fields", {}) for reader in (left, right)]
    rows = [
        {"key": path, **{name: {"a": a.get(name), "b": b.get(name)} for name in ("values", "rate")}}
        for path in {**both[0], **both[1]}
        for a, b in [[side.get(path, {"values": 0, "rate": None}) for side in both]]
    ]
    return sorted(rows, key=lambda row: (-abs((row["rate"]["b"] or 0) - (row["rate"]["a"] or 0)), row["key"]))


def _grouped(row: list[Any] | None) -> Row:
    return {"failed": row[3], "warned": row[4]} if row else {"failed": 0, "warned": 0}


def _row(key: str, kind: str, both: list[Row]) -> Row:
    row: Row = {"key": key}
    known = (FINDINGS.get(key) or FIXES.get(key) or OWN.get(key)) if kind in {"codes", "fixes"} else None
    if known is not None:
        row["name"] = known.name
    for name in both[0]:
        row[name] = {"a": both[0][name], "b": both[1][name], "difference": both[1][name] - both[0][name]}
    return {**row, "differs": both[0] != both[1]}


def _ranked(rows: Iterator[Row]) -> list[Row]:
    def weight(row: Row) -> tuple[Any, ...]:
        counts = [row[name] for name in ("failed", "warned", "fixed") if name in row]
        return *(-abs(count["difference"]) for count in counts), *(-count["a"] for count in counts), row["key"]

    return sorted(rows, key=weight)


def page_data(found: Comparison) -> Row:
    """The data of the comparison page."""
    told = found.to_dict()
    codes = {row["key"] for name in ("codes", "fixes") for row in told["findings"][name]}
    flips = {
        kind: {**row, "examples": [_as_text(flip) for flip in row["examples"]]} for kind, row in told["flips"].items()
    }
    return {**told, "flips": flips, "explained": explained(codes)}


def _as_text(flip: Row) -> Row:
    """A flip with its values as text: a browser would round long integers, and a value may have any size."""
    values = {name: flip[name] for name in ("data_before", "data_now") if name in flip}
    return flip | {name: _cut(json.dumps(value, ensure_ascii=False), _WHOLE) for name, value in values.items()}
