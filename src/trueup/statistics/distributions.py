"""Distributions: takes a point; returns a probability or a quantile, to about twelve digits for counts in the millions.

Binomial terms use Loader's saddle point form, and tails use the continued fraction of the incomplete beta function, so
nothing is summed term by term. Parameters out of range raise ValueError.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_EPSILON = 1e-16
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
_SERIES = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188, 691 / 360360)  # Stirling's series, with alternating signs


def normal_cdf(x: float) -> float:
    """The share of the standard normal distribution below `x`.

    >>> normal_cdf(0.0)
    0.5
    """
    return 0.5 * math.erfc(-x / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """The point that has a share `p` of the standard normal distribution below it.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    if not 0 < p < 1:
        raise ValueError(f"p must be between 0 and 1, not {p}")
    return _NORMAL.inv_cdf(p)


def binomial_pmf(k: int, n: int, p: float) -> float:
    """The probability of exactly `k` of `n`, each with probability `p`.

    >>> round(binomial_pmf(2, 4, 0.5), 12)
    0.375
    """
    _refuse_counts(n, p)
    return _term(k, n - k, p, 1 - p) if 0 <= k <= n else 0.0


def binomial_cdf(k: int, n: int, p: float) -> float:
    """The probability of at most `k` of `n`, each with probability `p`.

    >>> round(binomial_cdf(1, 4, 0.5), 12)
    0.3125
    """
    _refuse_counts(n, p)
    if k < 0:
        return 0.0
    return 1.0 if k >= n else _beta(n - k, k + 1, 1 - p, p)


def student_cdf(t: float, df: float) -> float:
    """The share of Student's t distribution with `df` degrees of freedom below `t`.

    >>> round(student_cdf(2.0, 5), 6)
    0.94903
    """
    if not df > 0:
        raise ValueError(f"degrees of freedom must be positive, not {df}")
    if math.isnan(t):
        raise ValueError("t must be a number, not NaN")
    if math.isinf(t):
        return 0.0 if t < 0 else 1.0
    square = t * t
    tail = 0.5 * _beta(df / 2, 0.5, df / (df + square), square / (df + square)) if math.isfinite(square) else 0.0
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=256)  # the same few quantiles are needed repeatedly
def student_quantile(p: float, df: float) -> float:
    """The point that has a share `p` of Student's t distribution with `df` degrees of freedom below it.

    >>> round(student_quantile(0.975, 5), 6)
    2.570582
    """
    if not 0 < p < 1:
        raise ValueError(f"p must be between 0 and 1, not {p}")
    if p == 0.5:
        return 0.0
    tail = min(p, 1 - p)
    low = -1.0
    while student_cdf(low, df) > tail:
        low *= 2
    high = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if student_cdf(middle, df) < tail else (low, middle)
    return high if p < 0.5 else -high


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function I_x(a, b).

    >>> round(incomplete_beta(2, 3, 0.5), 12)
    0.6875
    """
    if not (a > 0 and b > 0):
        raise ValueError(f"a and b must be positive, not {a} and {b}")
    if not 0 <= x <= 1:
        raise ValueError(f"x must be between 0 and 1, not {x}")
    return _beta(a, b, x, 1 - x)


def _refuse_counts(n: int, p: float) -> None:
    if n < 0:
        raise ValueError(f"n must not be negative, not {n}")
    if not 0 <= p <= 1:
        raise ValueError(f"p must be between 0 and 1, not {p}")


def _beta(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b), with y = 1 - x as another argument, so that neither loses digits."""
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    front = _term(a, b, x, y) * a * b / (a + b)
    if a * y - b * x > 0:
        return min(1.0, front * _fraction(a, b, x, y))
    return max(0.0, 1 - front * _fraction(b, a, y, x))


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """The continued fraction of Didonato and Morris, by Lentz's method, in about the square root of a or b steps."""
    start = 1 + (a * y - b * x)
    c1 = 1 + 1 / a
    value = c = start / c1
    d = 0.0
    for n in range(1, 200 + 20 * math.isqrt(int(max(a, b)) + 1)):
        before = 1 + (n - 1) / a
        w = n * (b - n) * x
        s = a + 2 * n - 1
        upper = before * (before + b / a) * (a / s) ** 2 * w * x
        lower = n + w / s + (1 + n / a) / (c1 + 2 * n / a) * (start + n * (1 + y))
        d = 1 / _apart(lower + upper * d)
        c = _apart(lower + upper / c)
        value *= c * d
        if abs(c * d - 1) <= 2 * _EPSILON:
            break
    return 1 / value


def _apart(value: float) -> float:
    """The value, or a tiny number to avoid a division by zero."""
    return value if abs(value) > _TINY else _TINY


def _term(k: float, rest: float, p: float, q: float) -> float:
    """The binomial term of `k` and `rest` at `p` and q = 1 - p. The counts may be fractional."""
    n = k + rest
    if p <= 0 or q <= 0:
        return 1.0 if (k if p <= 0 else rest) == 0 else 0.0
    if k == 0:
        return math.exp(n * math.log(q) if p > 0.1 else n * math.log1p(-p))
    if rest == 0:
        return math.exp(n * math.log(p) if q > 0.1 else n * math.log1p(-q))
    gap = k * q - rest * p  # k minus its mean n * p, without losing digits
    log = _rest_of_stirling(n) - _rest_of_stirling(k) - _rest_of_stirling(rest)
    log -= _deviance(k, n * p, gap) + _deviance(rest, n * q, -gap)
    return math.exp(log) * math.sqrt(n / (2 * math.pi * k * rest))


def _rest_of_stirling(n: float) -> float:
    """log Γ(n + 1) without Stirling's leading terms."""
    if n < 15:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TAU
    square = 1 / (n * n)
    total = 0.0
    for factor in reversed(_SERIES):
        total = factor - square * total
    return total / n


def _deviance(k: float, mean: float, gap: float) -> float:
    """`k log(k / mean) - gap`, where gap = k - mean, without losing digits if that is small."""
    if abs(gap) >= 0.1 * (k + mean):
        return k * math.log(k / mean) - gap
    v = gap / (k + mean)
    total = gap * v
    power = 2 * k * v
    for j in range(1, 1000):
        power *= v * v
        further = total + power / (2 * j + 1)
        if further == total:
            break
        total = further
    return total
