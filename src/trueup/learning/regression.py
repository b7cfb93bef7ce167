"""Logistic regression with an L2 penalty on sparse yes-or-no features, by dual coordinate descent, in plain Python.

Rows of feature numbers and their targets enter, weights leave. Each row counts with length one, so that long replies do not outweigh
short ones. The result depends on the rows and the seed alone. (Yu, Huang and Lin, Machine Learning 85, 2011.)
"""

import math
import random
from collections.abc import Sequence

_PASSES = 60
_ENOUGH = 1e-3  # a pass that changes no row by more, relative to its bound, is the last
_STEPS = 30


def fit(rows: Sequence[Sequence[int]], targets: Sequence[bool], width: int, cost: float, seed: int = 0) -> list[float]:
    """The weights of `width` features and, as the last one, the bias; `cost` is what a row counts against the penalty.

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
    """The value of one dual variable, between 0 and `cost`, that is best while the others stay; by Newton's method."""
    at = dual
    for _ in range(_STEPS):
        slope = at - dual + margin + math.log(at / (cost - at))
        if abs(slope) < 1e-7:
            break
        step = at - slope / (1 + cost / (at * (cost - at)))
        at = 0.1 * at if step <= 0 else cost - 0.1 * (cost - at) if step >= cost else step
        if at <= 0 or at >= cost:  # as near to the bound as a number gets
            return dual
    return at
