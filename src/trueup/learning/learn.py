"""Learning: takes labelled cases and a contract; returns a model, with its results on the latest labels and the rules'.

It needs 80 labels, with good and bad replies on both sides of the split. Otherwise `TooFew` says how many are missing.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import msgspec

from trueup import __version__
from trueup.checks.quality import BELOW
from trueup.checks.scoring import LEAST_LABELS, Evaluation, Facts, HeldOutScore, Model, Scorer
from trueup.contract.contract import Contract
from trueup.learning.calibration import auc, calibration_error, chance_error
from trueup.learning.examples import UNLABELLED, GatheredExamples, LabelledReply, gather
from trueup.learning.splitting import by_time, conversations, unseen
from trueup.learning.training import train
from trueup.material.case import Case
from trueup.statistics.clusters import Clustered
from trueup.statistics.proportions import Interval, wilson

LEVEL = 0.05  # a difference counts if its p-value is below this
CALIBRATED = 0.05  # the largest calibration error that passes, unless chance explains more
_LEAST_EACH = 5  # good and bad replies, on either side of the split
Progress = Callable[[str, int, int], None]


class TooFew(ValueError):
    """There are not enough labels to learn from; the message says how many are missing."""


class Confusion(NamedTuple):
    """Bad replies that a judge found and missed, and good ones that it refused and passed."""

    found: int = 0
    missed: int = 0
    refused: int = 0
    passed: int = 0

    @property
    def precision(self) -> Interval:
        """The interval of the share of refused replies that are bad."""
        return wilson(self.found, self.found + self.refused)

    @property
    def recall(self) -> Interval:
        """The interval of the share of bad replies that are refused."""
        return wilson(self.found, self.found + self.missed)

    @property
    def part(self) -> HeldOutScore:
        """The shares, as stored in a model's file."""
        told, there = self.found + self.refused, self.found + self.missed
        precision = round(self.found / told, 4) if told else None
        recall = round(self.found / there, 4) if there else None
        f1 = round(2 * self.found / (told + there), 4) if told + there else None
        return HeldOutScore(precision, recall, f1, self.missed + self.refused)


class Learned(NamedTuple):
    """A model with its training and test results."""

    model: Model
    gathered: GatheredExamples
    trained: int
    tested: int
    rules: Confusion
    alone: Confusion
    together: Confusion
    repeated: int = 0
    """Replies that are not in the test, because they repeat others except for numbers."""

    @property
    def evaluation(self) -> Evaluation:
        """The model's results on the latest labels."""
        return self.model.evaluation


def learn(
    contract: Contract[Any],
    cases: Iterable[Case],
    *,
    good: Collection[str] = (),
    bad: Collection[str] = (),
    below: float = BELOW,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Learned:
    """Train a model on the labels of cases, and test it on the latest of them."""
    rules = contract.without_scores()
    gathered = gather(_counted(cases, on_progress) if on_progress else cases, rules, good=good, bad=bad)
    _refuse_few(gathered)
    early, latest = by_time(gathered.examples)
    if not latest:
        raise TooFew(
            "all labels are from one conversation, but a model is tested on others; label replies from more conversations"
        )
    late = unseen(early, latest)
    _refuse_one_sided(early, late, len(latest) - len(late))
    trained = train(early, seed=seed, on_step=partial(on_progress, "training") if on_progress else None)
    model = msgspec.structs.replace(
        trained.model, facts=_facts(gathered.examples, trained.cost, seed, rules.fingerprint, contract.language)
    )
    return evaluate(model, early, late, gathered, below)._replace(repeated=len(latest) - len(late))


def evaluate(
    model: Model,
    early: Sequence[LabelledReply],
    late: Sequence[LabelledReply],
    gathered: GatheredExamples,
    below: float = BELOW,
) -> Learned:
    """A model with its results on examples that it has not seen."""
    scorer = Scorer(model)
    seen = [scorer.grams(one.text, one.state) for one in late]
    familiar = [scorer.unknown(one) <= model.unfamiliar for one in seen]
    scores = [scorer.probability(scorer.margin(one)) for one in seen]
    low = [knows and score < below for knows, score in zip(familiar, scores, strict=True)]
    rules = confusion(late, [one.refused for one in late])
    together = [one.refused or is_low for one, is_low in zip(late, low, strict=True)]
    both = confusion(late, together)
    changes = Clustered()  # replies of one conversation are similar, so each conversation counts once
    better = worse = 0
    for one, now in zip(late, together, strict=True):
        change = (now != one.good) - (one.refused != one.good)
        changes.add(one.conversation, change)
        better, worse = better + (change > 0), worse + (change < 0)
    judged = [(score, one.good) for score, one, knows in zip(scores, late, familiar, strict=True) if knows]
    known = [score for score, _ in judged], [is_good for _, is_good in judged]
    p = changes.mcnemar()
    error, chance = calibration_error(*known), chance_error(known[0])
    evaluation = Evaluation(
        passed=better > worse and p < LEVEL and is_calibrated(error, chance),
        labels=len(late), below=below, rules=rules.part, model=confusion(late, low).part, together=both.part,
        better=better, worse=worse, p=p, calibration_error=error, calibration_chance=chance, auc=auc(*known),
        abstained=len(late) - len(judged),
    )  # fmt: skip
    whole = msgspec.structs.replace(model, evaluation=evaluation)
    return Learned(whole, gathered, len(early), len(late), rules, confusion(late, low), both)


def is_calibrated(error: float | None, chance: float | None) -> bool:
    """Whether probabilities are calibrated well enough, or no worse than chance explains in a sample of this size.

    >>> is_calibrated(0.04, 0.01), is_calibrated(0.09, 0.11), is_calibrated(0.09, 0.03), is_calibrated(None, None)
    (True, True, False, False)
    """
    return error is not None and error <= max(CALIBRATED, chance or 0.0)


def confusion(examples: Sequence[LabelledReply], refused: Sequence[bool]) -> Confusion:
    """The agreement of refusals with the labels."""
    pairs = [(one.good, no) for one, no in zip(examples, refused, strict=True)]
    return Confusion(*(pairs.count(pair) for pair in ((False, True), (False, False), (True, True), (True, False))))


def _counted(cases: Iterable[Case], on_progress: Progress) -> Iterable[Case]:
    for count, case in enumerate(cases, 1):
        yield case
        on_progress("reading", count, 0)


def _refuse_few(gathered: GatheredExamples) -> None:
    labels = len(gathered.examples)
    if labels >= LEAST_LABELS:
        return
    others = [(why, count) for why, count in gathered.left_out.most_common(3) if why != UNLABELLED]
    also = "".join(f"; {count:,} more cannot be used: {why}" for why, count in others)
    raise TooFew(
        f"{labels:,} labelled replies, but a model needs {LEAST_LABELS}; label {LEAST_LABELS - labels:,} more with `trueup label`{also}"
    )


def _refuse_one_sided(early: list[LabelledReply], late: list[LabelledReply], repeated: int) -> None:
    without = f" (without {repeated:,} that repeat others except for numbers)" if repeated else ""
    for name, side in (("earlier", early), ("latest", late)):
        good = sum(one.good for one in side)
        for kind, count in (("good", good), ("bad", len(side) - good)):
            if count < _LEAST_EACH:
                raise TooFew(
                    f"only {count} {kind} {'reply' if count == 1 else 'replies'} among the {len(side)} {name} labels"
                    f"{without if side is late else ''}: a model needs {_LEAST_EACH} of each kind to learn from and "
                    f"{_LEAST_EACH} to be tested on; label more {kind} replies"
                )


def _facts(examples: list[LabelledReply], cost: float, seed: int, fingerprint: str, language: str) -> Facts:
    good = sum(one.good for one in examples)
    authors: frozenset[str] = frozenset().union(*(one.authors for one in examples))
    times = [one.at for one in examples if one.at > 0]
    return Facts(
        labels=len(examples), good=good, bad=len(examples) - good, authors=len(authors),
        conversations=len(conversations(examples)), since=_day(min(times, default=0)), until=_day(max(times, default=0)),
        seed=seed, penalty=1 / cost, trueup=__version__, contract=fingerprint, language=language,
    )  # fmt: skip


def _day(seconds: float) -> str:
    """The day of a time; empty if the time is unknown.

    >>> _day(86_400.0), _day(0)
    ('1970-01-02', '')
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat() if seconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""
