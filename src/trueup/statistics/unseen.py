"""Unseen values: takes the count of each value; returns the share of future values that will be new.

The estimate is Good and Turing's: the share of values seen exactly once. `missing_mass_bound` is valid for any
distribution and is wide. `missing_mass_upper` is the expected limit in practice; a simulation checks it.
"""

import math
from collections.abc import Iterable, Mapping

from trueup.statistics.proportions import check_confidence, upper_limit


def missing_mass(counts: Mapping[object, int] | Iterable[int]) -> float:
    """The estimated probability that the next value is new; 1 if there are no values.

    >>> missing_mass({"red": 60, "green": 39, "teal": 1}), missing_mass([])
    (0.01, 1.0)
    """
    n, once, _ = _seen(counts)
    return once / n if n else 1.0


def missing_mass_bound(counts: Mapping[object, int] | Iterable[int], confidence: float = 0.95) -> float:
    """An upper bound of the probability of a new value, valid for any distribution (McAllester, Schapire and Ortiz).

    >>> round(missing_mass_bound([500_000, 500_000]), 4)
    0.0046
    """
    n, once, _ = _seen(counts)
    check_confidence(confidence)
    if n == 0:
        return 1.0
    # Half of the risk each: one value moves the estimate by at most 2/n; the missing mass concentrates as exp(-n ε²).
    return min(1.0, once / n + (1 + math.sqrt(2)) * math.sqrt(math.log(2 / (1 - confidence)) / n))


def missing_mass_upper(counts: Mapping[object, int] | Iterable[int], confidence: float = 0.95) -> float:
    """An upper limit of the probability of a new value for ordinary use: `3 / n` if no value was seen exactly once.

    >>> round(missing_mass_upper({"red": 60, "green": 40}), 3)
    0.03
    """
    n, once, twice = _seen(counts)
    # Values seen twice show how many of the rare ones were missed by chance (the variance of Esty).
    return upper_limit(min(n, once + math.ceil(math.sqrt(2 * twice))), n, confidence)


def _seen(counts: Mapping[object, int] | Iterable[int]) -> tuple[int, int, int]:
    """The number of values in all, and of distinct values seen once and twice."""
    n = once = twice = 0
    for count in counts.values() if isinstance(counts, Mapping) else counts:
        if count < 0:
            raise ValueError(f"a count must not be negative, not {count}")
        n += count
        once += count == 1
        twice += count == 2
    return n, once, twice
