"""Labels of flips: takes people's labels for a case and the change of its outcome, and returns whether it is better or
worse.

`right` and `wrong` are about a decision: the one that the label names, or otherwise the recorded one. They show whether
the reply should pass, and this shows whether a flip is an improvement. Labels that disagree as often as they agree do
not count.
"""

from typing import Literal

from trueup.backtesting.judging import CaseOutcome
from trueup.material.case import RIGHT, WRONG, Case, Label
from trueup.material.selection import rule_of

Mark = Literal["better", "worse", "unlabelled"]


def mark_of(case: Case, judged: CaseOutcome) -> Mark:
    """Whether a flip is better or worse than before, if labels show it.

    >>> refused = Case("1", "x", labels=(Label("1", "wrong"),))
    >>> mark_of(refused, CaseOutcome("newly_accepted", was=False))
    'better'
    """
    passes = ought_to_pass(case, was=judged.was)
    if passes is None:
        return "unlabelled"
    if judged.kind == "value_changed":  # a right value became another one; the correct form of a wrong value is unknown
        return "worse" if passes else "unlabelled"
    return "better" if passes is judged.now else "worse"


def ought_to_pass(case: Case, *, was: bool) -> bool | None:
    """Whether a reply should be accepted according to people; None if unknown. `was` is the decision if the label names
    none.
    """
    if not case.labels:
        return None
    whole = [label for label in case.labels if not label.subject and label.outcome in (RIGHT, WRONG)]
    if whole:
        accept = sum(case.was_accepted(label, now=was) is (label.outcome == RIGHT) for label in whole)
        return None if 2 * accept == len(whole) else 2 * accept > len(whole)
    return None if any(case.was_accepted(label, now=was) for label in case.labels) else _by_findings(case)


def _by_findings(case: Case) -> bool | None:
    """The same for a refused reply from labels of its findings: it should pass if every error is wrong."""
    said: dict[str, list[bool]] = {}
    for label in case.labels:
        if label.subject and label.outcome in (RIGHT, WRONG):
            said.setdefault(label.subject, []).append(label.outcome == RIGHT)
    if any(sum(votes) * 2 > len(votes) for votes in said.values()):
        return False
    if case.recorded is None:
        return None
    errors = [found for found in case.recorded.findings if found.get("level", "error") == "error"]
    wrong = {subject for subject, votes in said.items() if sum(votes) * 2 < len(votes)}
    covered = all(wrong & {f"code:{found.get('code')}", f"rule:{rule_of(found)}"} for found in errors)
    return True if errors and covered else None


def words_of(labels: tuple[Label, ...]) -> set[str]:
    """People's own labels, and downstream outcomes.

    >>> sorted(words_of((Label("1", "right"), Label("1", "refunded"))))
    ['refunded']
    """
    return {label.outcome for label in labels if label.outcome not in (RIGHT, WRONG)}
