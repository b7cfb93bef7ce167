"""Counts the results of the units of a range or a whole run: by stage, by code and by fix, with a few ids as examples.

Tallies of ranges are added in the order of the input, so the same input gives the same examples on any engine.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from trueup.batch.counting import grounding_rates, groups
from trueup.batch.counting.groups import EXAMPLES, Seen, shown_id
from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.evidence import Evidence
from trueup.verdict.facts import Finding, Fix
from trueup.verdict.paths import folded

RULED = frozenset("BDQ")  # families of findings that name the broken rule
COUNTS = ("lines", "units", "valid", "failed", "merged", "fixed", "warned", "blank", "bytes", "provided", "strange")
_INSIDE = frozenset({"lines", "merged", "bytes", "provided", "strange"})  # counts that only a sift has


class UnitTally:
    """Counts of some units."""

    __slots__ = ("codes", "counts", "fixes", "flips", "grounds", "merged", "paths", "rules", "stages")

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
        self.stages: dict[str, int] = {}
        # findings by code, by path and by the name of a rule
        self.codes: groups.Table = {}
        self.paths: groups.Table = {}
        self.rules: groups.Table = {}
        # code → [units, times, [ids]]
        self.fixes: dict[str, list[Any]] = {}
        self.flips: dict[str, int] = {}
        self.grounds: grounding_rates.Table = {}
        # units merged from several lines; and those lines, by the outcome before and after
        self.merged: dict[str, int] = {}

    def note_findings(self, uid: str, findings: Iterable[Finding], seen: Seen | None = None) -> None:
        """Count findings about a unit. `seen` has the facts that were already counted, and is added to."""
        seen = {} if seen is None else seen
        for found in findings:
            rule = found.data.get("rule") if found.code[0] in RULED else None
            self.note_finding(uid, (found.code, found.path, rule, found.level), seen)

    def note_finding(self, uid: str, facts: tuple[str, str, Any, str], seen: Seen) -> None:
        """Count one finding, given as its code, its path, the name of its rule if it has one, and its level."""
        code, path, rule, level = facts
        finding = uid, code, level
        groups.note(self.codes, code, finding, seen)
        groups.note(self.paths, folded(path), finding, seen)
        if isinstance(rule, str):
            groups.note(self.rules, rule, finding, seen)

    def note_record(self, row: dict[str, Any], seen: Seen | None = None) -> None:
        """Count the findings and fixes in a record of `validated.jsonl` or `failures.jsonl`."""
        seen = {} if seen is None else seen
        uid = str(row["unit_id"])
        for name, level in (("errors", "error"), ("warnings", "warning")):
            for fact in row.get(name) or ():
                self.note_finding(uid, (fact["code"], fact.get("path", "$"), rule_of(fact), level), seen)
        fixes = [fix for fix in row.get("fixes") or () if fix["code"] in FIXES]
        for fix in fixes:
            _note(self.fixes, fix["code"], uid, seen)
        self.counts["fixed"] += bool(fixes)
        if row.get("evidence"):
            grounding_rates.note_record(self.grounds, row)

    def note_evidence(self, model: str, evidence: Mapping[str, Evidence], findings: Iterable[Finding]) -> None:
        """Count the evidence for the values of a unit. `model` is the one that replied; empty if it is not known."""
        facts = ((found.code, found.path, found.span) for found in findings)
        grounding_rates.note(self.grounds, model, ((path, one.grade) for path, one in evidence.items()), facts)

    def note_fixes(self, uid: str, fixes: Iterable[Fix], seen: Seen | None = None) -> None:
        """Count the fixes of a unit."""
        self.counts["fixed"] += 1
        seen = {} if seen is None else seen
        for fix in fixes:
            _note(self.fixes, fix.code, uid, seen)

    def add(self, other: dict[str, Any]) -> None:
        """Add the tally of the next range, in the form of `to_dict`."""
        for name, n in other["counts"].items():
            self.counts[name] += n
        for mine, theirs in (
            (self.stages, other["stages"]),
            (self.flips, other["flips"]),
            (self.merged, other["merged"]),
        ):
            for name, n in theirs.items():
                mine[name] = mine.get(name, 0) + n
        for table, rows in (
            (self.codes, other["codes"]),
            (self.paths, other["paths"]),
            (self.rules, other["rules"]),
        ):
            groups.add(table, rows)
        grounding_rates.add(self.grounds, other.get("grounds", {}))
        for code, (units, times, ids) in other["fixes"].items():
            row = self.fixes.setdefault(code, [0, 0, []])
            row[0] += units
            row[1] += times
            row[2] += ids[: EXAMPLES - len(row[2])]

    def take(self, other: "UnitTally") -> None:
        """Subtract units that were counted; the examples stay."""
        for name, n in other.counts.items():
            self.counts[name] -= n
        for mine, theirs in ((self.stages, other.stages), (self.flips, other.flips)):
            for name, n in theirs.items():
                mine[name] -= n
                if not mine[name]:
                    del mine[name]
        for table, rows in ((self.codes, other.codes), (self.paths, other.paths), (self.rules, other.rules)):
            groups.take(table, rows)
        grounding_rates.take(self.grounds, other.grounds)
        for code, (units, times, _) in other.fixes.items():
            row = self.fixes[code]
            row[0] -= units
            row[1] -= times
            if not row[0]:
                del self.fixes[code]

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of(cls, data: dict[str, Any]) -> "UnitTally":
        made = cls()
        made.add(data)
        return made

    def account(self) -> dict[str, Any]:
        """The tally for `summary.json`."""
        grades = {"lossless": 0, "guess": 0, "lossy": 0}
        for code, row in self.fixes.items():
            grades[FIXES[code].grade] += row[1]
        grounded = grounding_rates.account(self.grounds)
        return {
            "counts": {name: n for name, n in self.counts.items() if name not in _INSIDE},
            "stages": dict(sorted(self.stages.items())),
            "codes": groups.by_code(self.codes),
            "rules": {rule: row[1] for rule, row in groups.ranked(self.rules) if row[3]},
            "by_path": groups.account(self.paths),
            "by_rule": groups.account(self.rules),
            "fixes": {code: _fix_row(code, row) for code, row in _ranked(self.fixes)},
            "grades": grades,
            **({"grounded": grounded} if grounded else {}),
        }


def rule_of(fact: dict[str, Any]) -> str | None:
    """The rule of the contract that a finding in a record names; other kinds of findings name none.

    >>> rule_of({"code": "B005", "rule": "grown"}), rule_of({"code": "V001", "rule": "wrong-type"})
    ('grown', None)
    """
    kind = FINDINGS.get(fact["code"])
    rule = fact.get("rule")
    return rule if kind is not None and kind.code[0] in RULED and rule != kind.name else None


def _note(table: dict[str, list[Any]], code: str, uid: str, seen: Seen) -> None:
    row = table.get(code)
    if row is None:
        row = table[code] = [0, 0, []]
    row[1] += 1
    if groups.is_new(seen, (code, uid)):
        row[0] += 1
        if len(row[2]) < EXAMPLES:
            row[2].append(shown_id(uid))


def _ranked(table: dict[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    return sorted(table.items(), key=lambda item: (-item[1][0], item[0]))


def _fix_row(code: str, row: list[Any]) -> dict[str, Any]:
    kind = FIXES[code]
    return {
        "name": kind.name, "grade": kind.grade, "title": kind.title, "units": row[0], "times": row[1], "examples": row[2],
    }  # fmt: skip
