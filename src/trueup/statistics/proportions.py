"""Proportions: takes counts; returns intervals and p-values. Nothing is rounded, and every edge case is defined.

`b` and `c` count discordant pairs of the same replies: only the new contract refuses the `b`, only the old one the `c`.
Contradictory counts raise ValueError.
"""

import math
from typing import NamedTuple

from trueup.statistics.distributions import binomial_cdf, normal_quantile, student_cdf


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: float
    high: float


class Equivalence(NamedTuple):
    """Two one-sided tests of whether a difference stays within a margin on both sides."""

    p: float
    """The larger of the two p-values. It belongs to the claim "within the margin"."""
    low_p: float
    """The p-value of "the difference is above minus the margin"."""
    high_p: float
    """The p-value of "the difference is below the margin"."""
    equivalent: bool
    """Whether `p` is below the requested level."""


def wilson(k: float, n: float, confidence: float = 0.95) -> Interval:
    """The Wilson interval of `k` of `n`; from 0 to 1 if n is 0. Effective counts may be fractional.

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    _refuse_share(k, n)
    check_confidence(confidence)
    z = normal_quantile(0.5 + confidence / 2)
    if n == 0:
        return Interval(0.0, 1.0)
    share, square = k / n, z * z / n
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt((share * (1 - share) + square / 4) / n) / (1 + square)
    return Interval(0.0 if k == 0 else max(0.0, middle - half), 1.0 if k == n else min(1.0, middle + half))


def effective(n: float, design: float) -> float:
    """The number of independent replies that `n` replies with this design effect are worth; never more than `n`.

    >>> effective(1000, 4.0), effective(1000, 0.9)
    (250.0, 1000.0)
    """
    if n < 0:
        raise ValueError(f"n must not be negative, not {n}")
    if not (design > 0 and math.isfinite(design)):
        raise ValueError(f"a design effect must be a positive number, not {design}")
    return n / max(design, 1.0)


def clustered_wilson(k: float, n: float, design: float, confidence: float = 0.95) -> Interval:
    """The Wilson interval of `k` of `n` replies in conversations, on effective counts.

    >>> clustered_wilson(8, 10, 1.0) == wilson(8, 10)
    True
    """
    _refuse_share(k, n)
    enough = effective(n, design)
    return wilson(min(enough, k * enough / n) if n else 0, enough, confidence)


def upper_limit(k: int, n: int, confidence: float = 0.95) -> float:
    """The one-sided exact upper limit (Clopper and Pearson) of a share with `k` of `n` observed; 1 if n is 0.

    >>> round(upper_limit(0, 100), 4)
    0.0295
    """
    _refuse_share(k, n)
    check_confidence(confidence)
    rest = 1 - confidence
    if k >= n:
        return 1.0
    if k == 0:
        return -math.expm1(math.log(rest) / n)
    low, high = k / n, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if binomial_cdf(k, n, middle) > rest else (low, middle)
    return high


def mcnemar(b: int, c: int) -> float:
    """The exact two-sided McNemar test: the p-value of "both directions are equally likely"; 1 without pairs.

    >>> mcnemar(0, 0), mcnemar(5, 5), round(mcnemar(10, 2), 6)
    (1.0, 1.0, 0.038574)
    """
    _refuse_pairs(b, c)
    n, fewer = b + c, min(b, c)
    if b == c:
        return 1.0
    if n <= 64:  # in whole numbers
        return min(1.0, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / (1 << n))
    return min(1.0, 2 * binomial_cdf(fewer, n, 0.5))


def tost_paired(b: int, c: int, n: int, margin: float, level: float = 0.05) -> Equivalence:
    """Two one-sided paired t tests: whether two contracts' refusal rates on the same `n` replies are within a margin.

    If all pairs are equal, the t test has no variance. Each p-value is then the largest probability of such a sample at
    the margin: without any flip, `(1 - margin) ** n`. With fewer than two pairs nothing is known, and p is 1.

    >>> (
    ...     tost_paired(3, 2, 1000, 0.01).equivalent,
    ...     tost_paired(0, 0, 1000, 0.01).equivalent,
    ...     tost_paired(0, 0, 10, 0.01).equivalent,
    ... )
    (True, True, False)
    """
    _refuse_pairs(b, c)
    if b + c > n:
        raise ValueError(f"{b} + {c} discordant pairs are more than n = {n}")
    if not margin > 0:
        raise ValueError(f"the margin must be above 0, not {margin}")
    if not 0 < level < 1:
        raise ValueError(f"the level must be between 0 and 1, not {level}")
    if n < 2:
        low_p = high_p = 1.0
    elif b == c == 0:
        low_p = high_p = max(0.0, 1 - margin) ** n
    elif n in (b, c):
        near, far = float(margin <= 1), max(0.0, (1 - margin) / 2) ** n
        low_p, high_p = (far, near) if b else (near, far)
    else:
        mean = (b - c) / n
        # b + c - n * mean², in whole numbers as long as possible
        error = math.sqrt(((b + c) * n - (b - c) ** 2) / n / (n - 1) / n)
        low_p = student_cdf(-(mean + margin) / error, n - 1)
        high_p = student_cdf((mean - margin) / error, n - 1)
    p = max(low_p, high_p)
    return Equivalence(p, low_p, high_p, p < level)


def check_confidence(confidence: float) -> None:
    """Raise ValueError for an invalid confidence level."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95, not {confidence}")


def _refuse_share(k: float, n: float) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n}: a count must be between 0 and the number of trials")


def _refuse_pairs(b: int, c: int) -> None:
    if b < 0 or c < 0:
        raise ValueError(f"counts of discordant pairs must not be negative: {b} and {c}")
