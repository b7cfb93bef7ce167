"""Many tests at once: takes p-values; returns which of them count, with a limited share of false discoveries.

The method is Benjamini and Hochberg's. It is valid for independent and positively dependent tests. The order is kept.
"""

from collections.abc import Sequence


def benjamini_hochberg(ps: Sequence[float], q: float = 0.05) -> list[bool]:
    """Whether each p-value counts as a discovery. At most a share `q` of the discoveries is expected to be false.

    >>> benjamini_hochberg([0.01, 0.6, 0.02, 0.5])
    [True, False, True, False]
    """
    if not 0 < q < 1:
        raise ValueError(f"q must be between 0 and 1, not {q}")
    order = _ranked(ps)
    last = 0
    for rank, at in enumerate(order, 1):
        if ps[at] <= rank / len(ps) * q:
            last = rank
    counts = set(order[:last])
    return [at in counts for at in range(len(ps))]


def adjusted(ps: Sequence[float]) -> list[float]:
    """Each p-value, adjusted to the smallest `q` at which it would count.

    >>> adjusted([0.01, 0.6, 0.02, 0.5])
    [0.04, 0.6, 0.04, 0.6]
    """
    values = [1.0] * len(ps)
    least = 1.0
    for rank, at in reversed(list(enumerate(_ranked(ps), 1))):
        least = min(least, ps[at] * len(ps) / rank)
        values[at] = least
    return values


def _ranked(ps: Sequence[float]) -> list[int]:
    for p in ps:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value must be between 0 and 1, not {p}")
    return sorted(range(len(ps)), key=ps.__getitem__)
