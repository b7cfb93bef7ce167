"""The solver and the calibration each find the optimum of their objective, and both always give the same result."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.learning.calibration import auc, calibration_error, log_loss, platt, sigmoid
from trueup.learning.regression import fit


def objective(weights: list[float], rows: list[list[int]], targets: list[bool], cost: float) -> float:
    """Half the squared weights, and the cost of each row."""
    loss = 0.0
    for row, good in zip(rows, targets, strict=True):
        margin = sum(weights[feature] for feature in [*row, len(weights) - 1]) / math.sqrt(len(row) + 1)
        loss += math.log1p(math.exp(-margin if good else margin))
    return sum(weight * weight for weight in weights) / 2 + cost * loss


def material(seed: int) -> tuple[list[list[int]], list[bool]]:
    chance = random.Random(seed)
    rows = [sorted(chance.sample(range(12), chance.randint(1, 6))) for _ in range(60)]
    return rows, [(0 in row) != (chance.random() < 0.1) for row in rows]


@pytest.mark.parametrize("cost", [0.5, 4.0, 64.0])
def test_the_weights_match_scipy(cost: float) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    rows, targets = material(1)
    best = optimize.minimize(lambda w: objective(list(w), rows, targets, cost), [0.0] * 13, tol=1e-12)
    found = objective(fit(rows, targets, 12, cost), rows, targets, cost)
    assert found == pytest.approx(best.fun, rel=1e-3)


def test_the_seed_decides() -> None:
    rows, targets = material(2)
    assert fit(rows, targets, 12, 4.0, seed=3) == fit(rows, targets, 12, 4.0, seed=3)


@given(st.lists(st.tuples(st.floats(-20, 20), st.booleans()), min_size=4, max_size=60))
def test_a_calibration_never_lowers_a_better_margin(pairs: list[tuple[float, bool]]) -> None:
    slope, shift = platt([margin for margin, _ in pairs], [good for _, good in pairs])
    assert slope >= 0
    assert math.isfinite(shift)
    ordered = sorted(margin for margin, _ in pairs)
    probabilities = [sigmoid(slope * margin + shift) for margin in ordered]
    assert probabilities == sorted(probabilities)
    assert all(0 <= p <= 1 for p in probabilities)


def test_a_calibration_finds_the_curve_that_made_the_targets() -> None:
    chance = random.Random(5)
    margins = [chance.gauss(0, 2) for _ in range(4000)]
    targets = [chance.random() < sigmoid(1.7 * margin - 0.4) for margin in margins]
    slope, shift = platt(margins, targets)
    assert slope == pytest.approx(1.7, abs=0.2)
    assert shift == pytest.approx(-0.4, abs=0.15)
    error = calibration_error([sigmoid(slope * margin + shift) for margin in margins], targets)
    assert error is not None
    assert error < 0.03


def test_calibration_error_and_auc_of_nothing() -> None:
    assert calibration_error([], []) is None
    assert auc([0.5], [True]) is None
    assert auc([], []) is None
    assert calibration_error([1.0], [False]) == 1.0
    assert log_loss([0.5, 0.5], [True, False]) == pytest.approx(math.log(2))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40))
def test_auc_counts_pairs(pairs: list[tuple[int, bool]]) -> None:
    good, bad = [s for s, is_good in pairs if is_good], [s for s, is_good in pairs if not is_good]
    wins = sum((g > b) + (g == b) / 2 for g in good for b in bad)
    expected = wins / (len(good) * len(bad)) if good and bad else None
    assert auc([s for s, _ in pairs], [is_good for _, is_good in pairs]) == pytest.approx(expected)
