"""A summary of labels: takes cases with labels and returns counts by author and subject, agreement, and missing labels.

Agreement is κ over the verdicts and findings that several people judged. The only estimate is the share of wrong
accepted replies, from the random sample.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from trueup.labelling.subjects import DECISIONS, RANDOM, SKIPPED, WHOLE, decisions, subjects
from trueup.material.case import RIGHT, WRONG, Case
from trueup.statistics.agreement import Agreement, agreement
from trueup.statistics.proportions import Interval, wilson

NEEDED = 10
"""With fewer labels for a rule or code, `trueup tune` suggests nothing about it."""


class Subject(NamedTuple):
    """A rule or code: how often it fired, and how people labelled it."""

    name: str
    fired: int
    right: int
    wrong: int

    @property
    def needed(self) -> int:
        """The number of missing labels, at most the number of replies to label."""
        return max(0, min(NEEDED, self.fired) - self.right - self.wrong)

    @property
    def precision(self) -> Interval | None:
        """The interval of the share of right alarms; None without labels."""
        n = self.right + self.wrong
        return wilson(self.right, n) if n else None


class RandomSample(NamedTuple):
    """The random sample of accepted replies."""

    right: int
    wrong: int
    skipped: int

    @property
    def missed(self) -> Interval | None:
        """The interval of the share of accepted replies that are wrong; None without labels."""
        n = self.right + self.wrong
        return wilson(self.wrong, n) if n else None


class Summary(NamedTuple):
    """The labels of some replies."""

    replies: int
    labelled: int
    """The number of replies with any label."""
    authors: dict[str, Counter[str]]
    """How often each author gave each outcome."""
    subjects: list[Subject]
    words: Counter[str]
    """People's own labels."""
    agreement: Agreement
    sample: RandomSample

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON-able data."""
        found = self.agreement._asdict()
        return {
            "replies": self.replies,
            "labelled": self.labelled,
            "authors": {author: dict(counts) for author, counts in self.authors.items()},
            "subjects": [
                {**each._asdict(), "precision": each.precision, "needed": each.needed} for each in self.subjects
            ],
            "labels": dict(self.words),
            "agreement": found,
            "random_sample": {**self.sample._asdict(), "missed": self.sample.missed},
        }


def summarise(cases: Iterable[Case]) -> Summary:
    """Count the labels of `cases`.

    >>> from trueup.material.case import Label, Recorded
    >>> refused = Recorded(False, ("V005",), ({"code": "V005", "level": "error"},))
    >>> found = summarise([Case("1", "{}", recorded=refused, labels=(Label("1", "right", "ada"),))])
    >>> found.subjects
    [Subject(name='code:V005', fired=1, right=1, wrong=0)]
    """
    replies = labelled = 0
    authors: dict[str, Counter[str]] = defaultdict(Counter)
    words: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    said: dict[str, Counter[str]] = defaultdict(Counter)
    shared: list[tuple[tuple[str, str], str, str]] = []
    sample: Counter[str] = Counter()
    for case in cases:
        replies += 1
        labelled += any(label.outcome != SKIPPED for label in case.labels)
        fired.update(subjects(case))
        if not case.labels:
            continue
        for label in case.labels:
            authors[label.author][label.outcome] += 1
            if label.outcome not in (*DECISIONS, SKIPPED):
                words[label.outcome] += 1
        for decision in decisions(case):
            shared.append(((case.id, decision.subject), decision.author, decision.outcome))
            if decision.subject != WHOLE:
                said[decision.subject][decision.outcome] += 1
        sample[_sampled(case)] += 1
    rows = [Subject(name, n, said[name][RIGHT], said[name][WRONG]) for name, n in fired.items()]
    rows.sort(key=lambda each: (-each.fired, each.name))
    whole = [(case, author, outcome) for (case, subject), author, outcome in shared if subject == WHOLE]
    return Summary(
        replies, labelled, dict(authors), rows, words, agreement(whole or shared),
        RandomSample(sample[RIGHT], sample[WRONG], sample[SKIPPED]),
    )  # fmt: skip


def _sampled(case: Case) -> str:
    """The result of a case in the random sample: wrong if anybody called it wrong; empty if the case is not in the
    sample.
    """
    if case.recorded is None or not case.recorded.ok:
        return ""
    drawn = {label.outcome for label in case.labels if label.drawn == RANDOM and label.subject == WHOLE}
    return next((word for word in (WRONG, RIGHT, SKIPPED) if word in drawn), "")
