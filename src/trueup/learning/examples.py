"""Examples to learn from: takes labelled cases; returns replies that are known to be good or bad.

`right` and `wrong` say whether trueup's decision was correct. An accepted reply with a wrong verdict is bad. So is a
refused one with a right verdict. Your own labels can mean good or bad directly. Unusable cases are counted by reason.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from trueup.backtesting.needs import lost, needs
from trueup.checks.machines import state_name
from trueup.checks.quality import said
from trueup.checks.scoring import grams
from trueup.contract.contract import Contract
from trueup.contract.meaning.meaning import prose
from trueup.material.case import REASONS, RIGHT, WRONG, Case, Label
from trueup.verdict.bugs import tried
from trueup.verdict.verdict import Verdict

UNLABELLED = "nobody has labelled the reply"
DIVIDED = "people disagree about the reply"
WORDLESS = "the reply has no words"
TWICE = "the same reply was given before"


class LabelledReply(msgspec.Struct, frozen=True):
    """One labelled reply, as a model sees it."""

    id: str
    good: bool
    refused: bool
    """Whether the rules of the contract refuse it."""
    text: str
    state: str = ""
    conversation: str = ""
    at: float = 0.0
    authors: frozenset[str] = frozenset()


class GatheredExamples(msgspec.Struct):
    """The examples, and the number of unusable cases by reason."""

    examples: list[LabelledReply] = []
    left_out: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def total(self) -> int:
        """The number of cases."""
        return len(self.examples) + self.left_out.total()


def gather(
    cases: Iterable[Case], rules: Contract[Any], *, good: Collection[str] = (), bad: Collection[str] = ()
) -> GatheredExamples:
    """The examples among cases, checked by a contract's rules. `good` and `bad` are your own decisive labels."""
    gathered = GatheredExamples([], Counter())
    known: set[tuple[str, str]] = set()
    for case in cases:
        found = _example(case, rules, frozenset(good), frozenset(bad))
        if (
            isinstance(found, LabelledReply) and (found.id, found.text) in known
        ):  # for example, in a store and in its export
            gathered.left_out[TWICE] += 1
        elif isinstance(found, LabelledReply):
            known.add((found.id, found.text))
            gathered.examples.append(found)
        else:
            gathered.left_out[found] += 1
    return gathered


def _example(case: Case, rules: Contract[Any], good: frozenset[str], bad: frozenset[str]) -> LabelledReply | str:
    """An example, or the reason for none."""
    labels = [label for label in case.labels if not label.subject and label.outcome in {RIGHT, WRONG, *good, *bad}]
    if not labels:
        return UNLABELLED
    if case.unjudgeable is not None:
        return REASONS[case.unjudgeable]
    if lost(needs(rules), case.missing) is not None:
        return REASONS["context_not_kept"]
    context = case.context or {}
    verdict: Verdict[Any] | None = tried(rules.check, case.reply, context)
    if verdict is None:
        return REASONS["check_raised"]
    votes = Counter(_is_good(label, good, bad, accepted=case.was_accepted(label, now=verdict.ok)) for label in labels)
    if votes[True] == votes[False]:
        return DIVIDED
    text = said(prose(verdict))
    if not grams(text).words:
        return WORDLESS
    state = state_name(context.get("state")) or ""
    authors = frozenset(label.author for label in labels if label.author)
    at = case.at or max(label.at for label in labels)
    return LabelledReply(case.id, votes[True] > votes[False], not verdict.ok, text, state, case.cluster, at, authors)


def _is_good(label: Label, good: frozenset[str], bad: frozenset[str], *, accepted: bool) -> bool:
    """Whether a label means that the reply itself is good.

    >>> label = Label("1", "wrong")
    >>> [_is_good(label, frozenset(), frozenset(), accepted=accepted) for accepted in (True, False)]
    [False, True]
    """
    if label.outcome in good or label.outcome in bad:
        return label.outcome in good
    return accepted == (label.outcome == RIGHT)
