"""Tally: what came of the units of a range, or of a whole run: counts by stage, by code, by fix, with a few ids as examples.

Tallies of ranges are added in the order of the input, so that the same input gives the same examples on any engine.
"""

from collections.abc import Iterable
from typing import Any

from trueup.verdict.catalogue import FINDINGS, FIXES, OWN, FindingKind
from trueup.verdict.facts import Finding, Fix

EXAMPLES = 5
_SHOWN_ID = 200

COUNTS = ("units", "valid", "failed", "fixed", "warned", "blank", "bytes")


class Tally:
    """Counts that only grow."""

    __slots__ = ("codes", "counts", "fixes", "flips", "rules", "stages")

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
        self.stages: dict[str, int] = {}
        # code → [units, times, [ids]]
        self.codes: dict[str, list[Any]] = {}
        self.fixes: dict[str, list[Any]] = {}
        self.rules: dict[str, int] = {}
        self.flips: dict[str, int] = {}

    def note_findings(self, uid: str, findings: Iterable[Finding], seen: set[str] | None = None) -> None:
        """Count findings about a unit; `seen` holds the codes it was counted under before, and is added to."""
        seen = set() if seen is None else seen
        for found in findings:
            _note(self.codes, found.code, uid, seen)
            rule = found.data.get("rule")
            if isinstance(rule, str) and found.code[0] == "B":
                self.rules[rule] = self.rules.get(rule, 0) + 1

    def note_fixes(self, uid: str, fixes: Iterable[Fix], seen: set[str] | None = None) -> None:
        """The same for the fixes of a unit."""
        self.counts["fixed"] += 1
        seen = set() if seen is None else seen
        for fix in fixes:
            _note(self.fixes, fix.code, uid, seen)

    def add(self, other: dict[str, Any]) -> None:
        """Add the tally of the range that follows, as `to_dict` gave it."""
        for name, n in other["counts"].items():
            self.counts[name] += n
        for mine, theirs in (
            (self.stages, other["stages"]),
            (self.rules, other["rules"]),
            (self.flips, other["flips"]),
        ):
            for name, n in theirs.items():
                mine[name] = mine.get(name, 0) + n
        for table, rows in ((self.codes, other["codes"]), (self.fixes, other["fixes"])):
            for code, (units, times, ids) in rows.items():
                row = table.setdefault(code, [0, 0, []])
                row[0] += units
                row[1] += times
                row[2] += ids[: EXAMPLES - len(row[2])]

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Tally":
        made = cls()
        made.add(data)
        return made

    def account(self) -> dict[str, Any]:
        """The tally as `summary.json` tells it."""
        grades = {"lossless": 0, "guess": 0, "lossy": 0}
        for code, row in self.fixes.items():
            grades[FIXES[code].grade] += row[1]
        return {
            "counts": {name: n for name, n in self.counts.items() if name != "bytes"},
            "stages": dict(sorted(self.stages.items())),
            "codes": {code: _code_row(code, row) for code, row in _ranked(self.codes)},
            "rules": dict(sorted(self.rules.items(), key=lambda item: (-item[1], item[0]))),
            "fixes": {code: _fix_row(code, row) for code, row in _ranked(self.fixes)},
            "grades": grades,
        }


def _note(table: dict[str, list[Any]], code: str, uid: str, seen: set[str]) -> None:
    row = table.get(code)
    if row is None:
        row = table[code] = [0, 0, []]
    row[1] += 1
    if code not in seen:
        seen.add(code)
        row[0] += 1
        if len(row[2]) < EXAMPLES:
            row[2].append(writable(uid if len(uid) <= _SHOWN_ID else f"{uid[: _SHOWN_ID - 1]}…"))


def writable(text: str) -> str:
    r"""A text that any JSON can hold: half a surrogate pair is spelt out.

    >>> writable("a\ud800"), writable("é")
    ('a\\ud800', 'é')
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _ranked(table: dict[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    return sorted(table.items(), key=lambda item: (-item[1][0], item[0]))


def _code_row(code: str, row: list[Any]) -> dict[str, Any]:
    kind = FINDINGS.get(code) or OWN.get(code) or FindingKind(code, code.lower(), "error", "")
    return {
        "name": kind.name, "level": kind.level, "title": kind.title, "units": row[0], "times": row[1], "examples": row[2],
    }  # fmt: skip


def _fix_row(code: str, row: list[Any]) -> dict[str, Any]:
    kind = FIXES[code]
    return {
        "name": kind.name, "grade": kind.grade, "title": kind.title, "units": row[0], "times": row[1], "examples": row[2],
    }  # fmt: skip
