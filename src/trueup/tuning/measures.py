"""Measures: how good each code, rule and pattern of a contract is according to labels.

Takes evidence and returns each unit's precision with an interval, and its recall if there is a random sample of
accepted replies. Without such a sample, recall is None, never a guess.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from trueup.material.case import RIGHT, WRONG
from trueup.statistics.agreement import Agreement, agreement
from trueup.statistics.clusters import Clustered
from trueup.statistics.proportions import Interval, wilson
from trueup.tuning.evidence import JudgedCase, JudgedCases, finding_vote
from trueup.tuning.patterns import Tried
from trueup.tuning.units import RefusingUnit, unit_of


class Recall(NamedTuple):
    """The share of bad replies that are refused."""

    value: float
    low: float
    high: float


class UnitMeasures(NamedTuple):
    """The measures of one unit."""

    unit: RefusingUnit
    fired: int
    right: int
    wrong: int
    precision: Interval | None
    recall: Recall | None

    @property
    def labelled(self) -> int:
        """The number of labels about the unit."""
        return self.right + self.wrong

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-able data."""
        share = None if self.precision is None else self.right / self.labelled
        return {
            "unit": self.unit.key, "kind": self.unit.kind, "name": self.unit.name, "fired": self.fired, "labels": self.labelled,
            "right": self.right, "wrong": self.wrong, "precision": share,
            "interval": None if self.precision is None else [self.precision.low, self.precision.high],
            "recall": None if self.recall is None else self.recall.value,
            "recall_interval": None if self.recall is None else [self.recall.low, self.recall.high],
        }  # fmt: skip


class Measured(NamedTuple):
    """All measures of a contract."""

    whole: UnitMeasures
    """The contract as a whole: each refusal is right or wrong."""
    codes: list[UnitMeasures]
    units: list[UnitMeasures]
    patterns: dict[str, list[UnitMeasures]]
    """For each unit with several terms or patterns, the measures of each of them."""
    agreement: Agreement
    sample: int
    """The number of labelled replies in the random sample of accepted replies."""


def measure(evidence: JudgedCases, tried: Mapping[str, list[Tried]] = MappingProxyType({})) -> Measured:
    """The measures of a contract: as a whole, of each code, of each unit, and of the patterns that were `tried`."""
    fired: Counter[str] = Counter()
    votes: dict[str, tuple[list[int], list[int]]] = {}
    known = dict(evidence.units)
    for one in evidence.seen:
        keys: set[str] = set()
        for found in one.findings:
            vote = finding_vote(one, found)
            for unit in (unit_of(found, evidence.units), RefusingUnit(found.code, "code", found.code)):
                known.setdefault(unit.key, unit)
                if unit.key not in keys:
                    keys.add(unit.key)
                    fired[unit.key] += 1
                    if vote is not None:
                        votes.setdefault(unit.key, ([], []))[not vote].append(one.number)
    misses = Misses(evidence)
    rows = [_row(unit, fired[key], votes.get(key, ([], [])), evidence, misses) for key, unit in known.items()]
    rows.sort(key=lambda row: (-row.labelled, -row.fired, row.unit.key))
    refused = [one for one in evidence.labelled if not one.ok]
    said = tuple([one.number for one in refused if one.said.should is wrong] for wrong in (False, True))
    count = sum(not one.ok for one in evidence.seen)
    whole = _row(RefusingUnit("", "contract", "every refusal"), count, (said[0], said[1]), evidence, misses)
    codes, others = [r for r in rows if r.unit.kind == "code"], [r for r in rows if r.unit.kind != "code"]
    patterns = {key: [_pattern(each, evidence) for each in listed] for key, listed in tried.items()}
    return Measured(whole, codes, others, patterns, _agreement(evidence), misses.sample)


def _pattern(tried: Tried, evidence: JudgedCases) -> UnitMeasures:
    """A row for a pattern. It is never known which pattern should have caught a miss."""
    right, wrong = len(tried.right), len(tried.wrong)
    pattern = tried.pattern
    unit = RefusingUnit(f"{pattern.kind} {pattern.text}", "pattern", pattern.text, pattern.at)
    return UnitMeasures(
        unit, tried.fired, right, wrong, share_of(tried.right, tried.wrong, evidence) if right + wrong else None, None
    )


def share_of(right: Sequence[int], wrong: Sequence[int], evidence: JudgedCases) -> Interval:
    """The interval of the share of right decisions among labelled replies, by conversation, since its replies are
    similar.
    """
    counted = Clustered()
    for numbers, value in ((right, 1), (wrong, 0)):
        for number in numbers:
            counted.add(evidence.seen[number].cluster, value)
    return counted.wilson()


def _row(
    unit: RefusingUnit, fired: int, votes: tuple[list[int], list[int]], evidence: JudgedCases, misses: "Misses"
) -> UnitMeasures:
    right, wrong = map(len, votes)
    labelled = right + wrong
    precision = share_of(*votes, evidence) if labelled else None
    recall = misses.recall(unit, fired * right / labelled) if labelled else None
    return UnitMeasures(unit, fired, right, wrong, precision, recall)


class Misses:
    """The random sample's information about accepted replies that should have been refused."""

    def __init__(self, evidence: JudgedCases) -> None:
        drawn = [one for one in evidence.labelled if one.ok and one.said.is_random]
        self.sample = len(drawn)
        self._accepted = sum(one.ok for one in evidence.seen)
        missed = [one for one in drawn if one.said.should is False]
        self._missed = len(missed)
        self._named: Counter[str] = Counter(name for one in missed for name in _blamed(one))
        self._unnamed = sum(not _blamed(one) for one in missed)

    def recall(self, unit: RefusingUnit, caught: float) -> Recall | None:
        """The recall of a unit with a number of right refusals; None if the sample does not show it.

        A miss counts against a rule or a code that its label names. If labels of misses name nothing, only the recall
        of the whole contract is known.
        """
        if not self.sample or not caught:
            return None
        if unit.kind == "contract":
            missed = self._missed
        elif self._unnamed:
            return None
        else:
            code = unit.key.partition(" ")[0]
            missed = self._named[f"rule:{unit.name}"] + self._named[f"code:{code}"]
        bounds = wilson(missed, self.sample)
        low, high = (caught / (caught + share * self._accepted) for share in (bounds.high, bounds.low))
        return Recall(caught / (caught + missed / self.sample * self._accepted), low, high)


def _blamed(one: JudgedCase) -> list[str]:
    """The rules or codes that should have refused a miss, according to its labels."""
    return [subject for subject, is_right in one.said.subjects.items() if not is_right]


def _agreement(evidence: JudgedCases) -> Agreement:
    return agreement(
        ((label.verdict, label.subject), label.author, label.outcome)
        for one in evidence.seen
        for label in one.case.labels
        if label.outcome in (RIGHT, WRONG) and label.author
    )
