"""Calibration: takes margins and outcomes; returns a curve from margin to probability, and the calibration error.

The curve is Platt's: a slope and a shift, fitted with Newton's method and smoothed targets, so that no probability is 0
or 1.
"""

import math
import random
from collections.abc import Sequence

BINS = 10
_DRAWS = 1_000_000  # single labels, shared by the samples of `chance_error`


def platt(margins: Sequence[float], targets: Sequence[bool]) -> tuple[float, float]:
    """The slope and shift that turn margins into probabilities. The slope is never negative.

    >>> slope, shift = platt([-2.0, -1.0, 1.0, 2.0], [False, False, True, True])
    >>> slope > 0
    True
    """
    good = sum(targets)
    bad = len(targets) - good
    high, low = (good + 1) / (good + 2), 1 / (bad + 2)
    wanted = [high if target else low for target in targets]
    slope, shift = 1.0, math.log((good + 1) / (bad + 1))
    for _ in range(100):
        g1 = g2 = h11 = h12 = h22 = 0.0
        for margin, target in zip(margins, wanted, strict=True):
            p = sigmoid(slope * margin + shift)
            error, weight = p - target, max(p * (1 - p), 1e-12)
            g1 += error * margin
            g2 += error
            h11 += weight * margin * margin
            h12 += weight * margin
            h22 += weight
        h11 += 1e-9
        h22 += 1e-9
        area = h11 * h22 - h12 * h12
        if area <= 0:
            break
        d1, d2 = (h22 * g1 - h12 * g2) / area, (h11 * g2 - h12 * g1) / area
        size = max(abs(d1), abs(d2))
        damp = min(1.0, 5.0 / size) if size else 1.0
        slope, shift = slope - damp * d1, shift - damp * d2
        if size < 1e-9:
            break
    return (slope, shift) if slope > 0 and math.isfinite(slope + shift) else (0.0, math.log((good + 1) / (bad + 1)))


def sigmoid(z: float) -> float:
    """A number between 0 and 1, for any size of `z`."""
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def log_loss(probabilities: Sequence[float], targets: Sequence[bool]) -> float:
    """The mean log loss, in nats."""
    losses = [-math.log(max(p if target else 1 - p, 1e-12)) for p, target in zip(probabilities, targets, strict=True)]
    return math.fsum(losses) / max(1, len(losses))


def calibration_error(probabilities: Sequence[float], targets: Sequence[bool], bins: int = BINS) -> float | None:
    """The expected calibration error: the mean distance between probability and share, over bins of equal width.

    >>> calibration_error([0.9, 0.9, 0.1, 0.1], [True, True, False, False])
    0.1
    """
    if not targets:
        return None
    sums: dict[int, list[float]] = {}
    for p, target in zip(probabilities, targets, strict=True):
        one = sums.setdefault(min(bins - 1, int(p * bins)), [0.0, 0.0])
        one[0] += p
        one[1] += target
    return round(math.fsum(abs(said - was) for said, was in sums.values()) / len(targets), 12)


def chance_error(probabilities: Sequence[float], level: float = 0.05, seed: int = 0) -> float | None:
    """The calibration error that chance alone exceeds with probability `level`, if every probability is correct.

    A small sample always has some error, so an error means little without this one.

    >>> few, many = chance_error([0.8] * 20), chance_error([0.8] * 2000)
    >>> few > 0.15, many < 0.02
    (True, True)
    """
    if not probabilities:
        return None
    draw = random.Random(seed).random  # noqa: S311 - a simulation, not a secret
    samples = min(1000, max(200, _DRAWS // len(probabilities)))
    errors = sorted(
        calibration_error(probabilities, [draw() < p for p in probabilities]) or 0.0 for _ in range(samples)
    )
    return errors[math.ceil((1 - level) * samples) - 1]


def auc(scores: Sequence[float], targets: Sequence[bool]) -> float | None:
    """How often a good reply scores higher than a bad one; None without both kinds.

    >>> auc([0.9, 0.2, 0.2], [True, True, False])
    0.75
    """
    ordered = sorted(zip(scores, targets, strict=True), key=lambda pair: pair[0])
    good = bad = 0
    won = 0.0
    at = 0
    while at < len(ordered):
        stop = at
        while stop < len(ordered) and ordered[stop][0] == ordered[at][0]:
            stop += 1
        here = sum(target for _, target in ordered[at:stop])
        won += here * (bad + (stop - at - here) / 2)
        good += here
        bad += stop - at - here
        at = stop
    return won / (good * bad) if good and bad else None
