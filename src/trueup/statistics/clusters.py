"""Clusters: replies of one conversation are similar, so a thousand of them prove less than a thousand separate ones.

Takes values one by one with their conversation; returns a mean with a standard error for clusters, a design effect and
a test. It stores one small entry per conversation, and only sums for single replies.
"""

import math
from collections import Counter
from typing import NamedTuple

from trueup.statistics.distributions import binomial_pmf, normal_cdf, student_cdf, student_quantile
from trueup.statistics.proportions import Interval, check_confidence, clustered_wilson, mcnemar

_WORK = 2_000_000
"""The most steps of an exact test. Beyond them, the normal approximation is as good."""


class ClusteredMean(NamedTuple):
    """A mean of values in clusters."""

    value: float
    """The mean; for differences of refusals (new - old), the difference of the refusal rates."""
    low: float
    high: float
    p: float
    """The p-value of "the mean is 0", from the same standard error as the interval."""
    clusters: int
    """The number of clusters. A single value counts as one."""
    design_effect: float
    """The variance, as a multiple of the variance of equally many independent values."""
    error: float = 0.0
    """The standard error."""
    n: int = 0
    """The number of values."""


class Clustered:
    """Values between -1 and 1, added one by one, by cluster.

    >>> seen = Clustered()
    >>> for reply in range(100):
    ...     seen.add(f"conversation {reply // 4}", 1 if reply < 8 else 0)
    >>> round(seen.difference().value, 2), seen.difference().clusters
    (0.08, 25)
    """

    def __init__(self) -> None:
        self.clusters: dict[str, tuple[int, int]] = {}
        """The number of values in each cluster, and their sum."""
        self.alone: Counter[int] = Counter()
        """The count of each value without a cluster."""
        self.n = 0
        self.total = 0
        self.squares = 0
        # Sums over clusters, as whole numbers: sizes², sums², and sizes times sums.
        self._sizes = self._sums = self._both = 0

    def add(self, cluster: str, value: int, times: int = 1) -> None:
        """Add a value of -1, 0 or 1. An empty cluster name means that the value is independent."""
        if value not in (-1, 0, 1):
            raise ValueError(f"a value must be -1, 0 or 1, not {value}")
        if times < 0:
            raise ValueError(f"times must not be negative, not {times}")
        self.squares += value * value * times
        if cluster:
            self._grow(cluster, times, value * times)
        else:
            self._stand_alone(value, times)

    def merge(self, other: "Clustered") -> None:
        """Add all values of another instance, for example from another process."""
        self.squares += other.squares
        for cluster, (n, total) in other.clusters.items():
            self._grow(cluster, n, total)
        for value, times in other.alone.items():
            self._stand_alone(value, times)

    def difference(self, confidence: float = 0.95) -> ClusteredMean:
        """The mean with its interval: the ratio estimator over k clusters, with Student's t and k - 1 degrees.

        Without variance between clusters, the interval is Wilson's, with each cluster as one observation. With fewer
        than two clusters, the variance is unknown: the interval has its full width and p is 1.
        """
        n, clusters = self.n, self.count
        check_confidence(confidence)
        mean = self.total / n if n else 0.0
        error, design = self._error(), self._design()
        if clusters < 2:
            return ClusteredMean(mean, -1.0, 1.0, 1.0, clusters, design, 0.0, n)
        if error == 0:
            low, high = _without_variance(mean, n, design, confidence)
            p = 1.0 if mean == 0 else 2 * 0.5**clusters
            return ClusteredMean(mean, low, high, p, clusters, design, 0.0, n)
        reach = student_quantile(0.5 + confidence / 2, clusters - 1) * error
        p = min(1.0, 2 * student_cdf(-abs(mean) / error, clusters - 1))
        return ClusteredMean(mean, max(-1.0, mean - reach), min(1.0, mean + reach), p, clusters, design, error, n)

    def mcnemar(self) -> float:
        """The McNemar test for clusters: the two-sided p-value of "both directions are equally likely".

        Each cluster counts with its net difference, which is equally likely to be + or -. The test is exact. It equals
        the exact McNemar test if each cluster has at most one discordant reply. For very many flips, it is a normal
        approximation.
        """
        sizes = Counter(abs(total) for _, total in self.clusters.values() if total)
        if alone := self.alone[1] + self.alone[-1]:
            sizes[1] += alone
        total = abs(self.total)
        if total == 0:
            return 1.0
        if len(sizes) == 1:
            ((size, n),) = sizes.items()
            fewer = (n - total // size) // 2
            return mcnemar(fewer, n - fewer)
        if sum(size * n for size, n in sizes.items()) * sizes.total() <= _WORK:
            return _sign_flips(sizes, total)
        return 2 * normal_cdf(-total / math.sqrt(sum(size * size * n for size, n in sizes.items())))

    def wilson(self, confidence: float = 0.95) -> Interval:
        """The Wilson interval of a share (values 0 and 1), on effective counts with Korn and Graubard's correction."""
        if self.total != self.squares:
            raise ValueError("an interval of a share needs values of 0 and 1 only")
        check_confidence(confidence)
        design = max(1.0, self._design())
        if 2 <= self.count < self.n:
            level = 0.5 + confidence / 2
            design *= (student_quantile(level, self.count - 1) / student_quantile(level, self.n - 1)) ** 2
        return clustered_wilson(self.total, self.n, design, confidence)

    @property
    def count(self) -> int:
        """The number of clusters. A single value counts as one."""
        return len(self.clusters) + self.alone.total()

    def _grow(self, cluster: str, times: int, sum_of_values: int) -> None:
        n, total = self.clusters.get(cluster, (0, 0))
        self._count(n, total, -1)
        n, total = n + times, total + sum_of_values
        if n:
            self.clusters[cluster] = (n, total)
        self._count(n, total, 1)

    def _stand_alone(self, value: int, times: int) -> None:
        self.alone[value] += times
        self._count(1, value, times)

    def _count(self, n: int, total: int, times: int) -> None:
        """Add clusters of one size and sum to the sums, or subtract them."""
        self.n += n * times
        self.total += total * times
        self._sizes += n * n * times
        self._sums += total * total * times
        self._both += n * total * times

    def _error(self) -> float:
        """The standard error of the mean, robust to similar values in a cluster."""
        n, clusters = self.n, self.count
        if clusters < 2:
            return 0.0
        # The squared residuals of the clusters, each times n: exact, because these are whole numbers.
        squares = self._sums * n * n - 2 * n * self.total * self._both + self.total**2 * self._sizes
        return math.sqrt(clusters / (clusters - 1) * (squares / (n * n))) / n

    def _design(self) -> float:
        """The design effect. Without variance to compare, the one for clusters of equal values."""
        n = self.n
        if n == 0:
            return 1.0
        variance = (self.squares * n - self.total**2) / n
        error = self._error()
        if variance == 0 or error == 0:
            return self._sizes / n
        return error**2 * n * (n - 1) / variance


def _without_variance(mean: float, n: int, design: float, confidence: float) -> Interval:
    if mean == 0:
        reach = clustered_wilson(0, n, design, confidence).high
        return Interval(-reach, reach)
    low = clustered_wilson(n, n, design, confidence).low if abs(mean) == 1 else abs(mean)
    return Interval(low, 1.0) if mean > 0 else Interval(-1.0, -low)


def _sign_flips(sizes: Counter[int], total: int) -> float:
    """The probability of a sum at least as far from 0 as `total`, if each size has a random sign."""
    chances = {0: 1.0}
    for size, n in sizes.items():
        steps = [(size * (2 * k - n), binomial_pmf(k, n, 0.5)) for k in range(n + 1)]
        further: dict[int, float] = {}
        for at, chance in chances.items():
            for step, part in steps:
                further[at + step] = further.get(at + step, 0.0) + chance * part
        chances = further
    return min(1.0, math.fsum(chance for at, chance in chances.items() if abs(at) >= total))
