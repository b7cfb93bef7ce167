"""Training: takes examples; returns a calibrated model.

Cross-validation over conversations selects the penalty. The same held-out margins determine the calibration and the share of
unknown words that still counts as familiar. The least important features are dropped until the model's file is small
enough.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from trueup.checks.scoring import FORMAT, MOST_BYTES, Grams, Model, Scorer, buckets_of, grams
from trueup.learning.calibration import log_loss, platt, sigmoid
from trueup.learning.examples import LabelledReply
from trueup.learning.regression import fit
from trueup.learning.splitting import folds

BITS = 20
COSTS = (0.5, 4.0, 32.0, 256.0)
FOLDS = 5
_LARGEST = 9_999  # the largest weight in the file, in units of its scale
_FIRST_CUT = 40_000
_SURELY_SMALL = 15_000  # weights; each has at most 13 characters with its step
_FOR_FACTS = 5_000  # bytes
_MOST_FAMILIAR = 0.98  # the learned threshold makes this share of held-out replies familiar
_LEAST_UNFAMILIAR, _MOST_UNFAMILIAR = 0.3, 0.5  # if most words are new, the few known ones decide nothing
Step = Callable[[int, int], None]


class Trained(NamedTuple):
    """A model and its penalty."""

    model: Model
    cost: float


class _Held(NamedTuple):
    """The margin of every example under models trained on other conversations, for one penalty."""

    margins: list[float]
    unknown: list[float]


def train(examples: Sequence[LabelledReply], *, seed: int = 0, on_step: Step | None = None) -> Trained:
    """A model of the examples, which must include good and bad ones."""
    targets = [example.good for example in examples]
    by_state = len({example.state for example in examples}) > 1
    seen = [grams(example.text, example.state if by_state else "") for example in examples]
    held = _held_out(examples, seen, targets, seed, on_step or _silent)
    curves = {cost: platt(one.margins, targets) for cost, one in held.items()}
    losses = {
        cost: log_loss([sigmoid(slope * margin + shift) for margin in held[cost].margins], targets)
        for cost, (slope, shift) in curves.items()
    }
    cost = min(COSTS, key=lambda one: (losses[one], one))
    slope, shift = curves[cost]
    shares = sorted(held[cost].unknown)
    usual = shares[min(len(shares) - 1, int(_MOST_FAMILIAR * len(shares)))]
    unfamiliar = round(min(max(usual, _LEAST_UNFAMILIAR), _MOST_UNFAMILIAR), 4)
    model = msgspec.structs.replace(
        FeatureSheet(seen, targets).model(cost, seed),
        by_state=by_state, slope=slope, shift=shift, unfamiliar=unfamiliar,
    )  # fmt: skip
    return Trained(model, cost)


def _silent(done: int, total: int) -> None:
    """Show no progress."""


def _held_out(
    examples: Sequence[LabelledReply], seen: list[Grams], targets: list[bool], seed: int, on_step: Step
) -> dict[float, _Held]:
    """For each penalty, the margins of models that have not seen the conversation of an example."""
    held = {cost: _Held([0.0] * len(seen), [0.0] * len(seen)) for cost in COSTS}
    parts = folds(examples, FOLDS, seed)
    for number, part in enumerate(parts):
        inside = set(part)
        others = [place for place in range(len(seen)) if place not in inside]
        sheet = FeatureSheet([seen[place] for place in others], [targets[place] for place in others])
        for step, (cost, one) in enumerate(held.items(), 1):
            scorer = Scorer(sheet.model(cost, seed))
            for place in part:
                one.margins[place] = scorer.margin(seen[place])
                one.unknown[place] = scorer.unknown(seen[place])
            on_step(number * len(COSTS) + step, len(parts) * len(COSTS) + 1)
    return held


class FeatureSheet:
    """The numbered features of some examples."""

    def __init__(self, seen: Sequence[Grams], targets: Sequence[bool]) -> None:
        rows = [sorted(buckets_of(one.hashes, BITS)) for one in seen]
        self._counts = Counter(bucket for row in rows for bucket in row)
        self._words = {bucket for one in seen for bucket in buckets_of(one.words, BITS)}
        self._numbers = {bucket: number for number, bucket in enumerate(sorted(self._counts))}
        self._rows = [[self._numbers[bucket] for bucket in row] for row in rows]
        self._targets = targets

    def model(self, cost: float, seed: int) -> Model:
        """A model without calibration, small enough for its file."""
        weights = fit(self._rows, self._targets, len(self._numbers), cost, seed)
        scale = max(map(abs, weights), default=0.0) / _LARGEST or 1.0
        whole = {bucket: round(weights[number] / scale) for bucket, number in self._numbers.items()}
        most = _FIRST_CUT
        while True:
            kept = self._kept(whole, most)
            steps = [bucket - before for before, bucket in zip([0, *kept], kept, strict=False)]
            model = Model(FORMAT, steps, [whole[bucket] for bucket in kept], scale, weights[-1], 1.0, 0.0, 1.0, BITS)
            if len(kept) < _SURELY_SMALL or len(msgspec.json.encode(model)) <= MOST_BYTES - _FOR_FACTS:
                return model
            most = most * 9 // 10

    def _kept(self, whole: dict[int, int], most: int) -> list[int]:
        """The buckets to keep: frequent ones first, then words, which show familiar texts, then by weight."""
        if len(whole) <= most:
            return list(whole)
        counts, words = self._counts, self._words
        ranked = sorted(whole, key=lambda one: (counts[one] < 2, one not in words, -abs(whole[one]), one))
        return sorted(ranked[:most])
