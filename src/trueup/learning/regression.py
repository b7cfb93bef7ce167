"""Logistic regression with an L2 penalty on sparse yes-or-no features, by dual coordinate descent, in plain Python.

Takes rows of feature numbers and their targets; returns weights. Each row is scaled to length one, so that long replies
do not outweigh short ones. The result depends only on the rows and the seed. (Yu, Huang and Lin, Machine Learning 85,
2011.)
"""

import math
import random
from collections.abc import Sequence

_PASSES = 60
_ENOUGH = 1e-3  # stop after a pass in which no row changes by more, relative to its bound
_STEPS = 30


def fit(rows: Sequence[Sequence[int]], targets: Sequence[bool], width: int, cost: float, seed: int = 0) -> list[float]:
    """The weights of `width` features, and the bias as the last one. `cost` is the weight of a row against the penalty.

    >>> weights = fit([[0], [0], [1], [1]], [True, True, False, False], 2, 10.0)
    >>> weights[0] > 0 > weights[1]
    True
    """
    weights = [0.0] * (width + 1)
    held = [[*row, width] for row in rows]
    pulls = [(1 if good else -1) / math.sqrt(len(row)) for row, good in zip(held, targets, strict=True)]
    duals = [1e-3 * cost] * len(held)
    for row, pull, dual in zip(held, pulls, duals, strict=True):
        _add(weights, row, dual * pull)
    order = list(range(len(held)))
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    for _ in range(_PASSES):
        chance.shuffle(order)
        largest = 0.0
        for place in order:
            row, pull, before = held[place], pulls[place], duals[place]
            margin = pull * sum(map(weights.__getitem__, row))
            after = _best(before, margin, cost)
            change = after - before
            if change:
                duals[place] = after
                largest = max(largest, abs(change))
                _add(weights, row, change * pull)
        if largest < _ENOUGH * cost:
            break
    return weights


def _add(weights: list[float], row: Sequence[int], amount: float) -> None:
    for feature in row:
        weights[feature] += amount


def _best(dual: float, margin: float, cost: float) -> float:
    """The best value of one dual variable, between 0 and `cost`, with the others fixed; by Newton's method."""
    at = dual
    for _ in range(_STEPS):
        slope = at - dual + margin + math.log(at / (cost - at))
        if abs(slope) < 1e-7:
            break
        step = at - slope / (1 + cost / (at * (cost - at)))
        at = 0.1 * at if step <= 0 else cost - 0.1 * (cost - at) if step >= cost else step
        if at <= 0 or at >= cost:  # as close to the bound as floats allow
            return dual
    return at
