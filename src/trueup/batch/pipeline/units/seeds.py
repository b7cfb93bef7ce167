"""Seeds of units, and random numbers drawn from them: the same unit draws the same numbers in every run.

The seed of a unit is the SHA-256 of its id read as one integer, of which it is the lowest 31 bits. `Dice` draws from CPython's
`random.Random` under the names that expressions use, and never from the global generator.
"""

import hashlib
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

_MASK = 0x7FFFFFFF
REPETITION_SEED = "_repetition_seed"
MOST_DRAWN = 1_000_000  # items of one sample or shuffle


def base_seed(unit_id: str) -> int:
    """The seed of a unit, before its repetition is added.

    >>> base_seed("start_at_5"), base_seed("the_pro")
    (1148893718, 1523599025)
    """
    return int(hashlib.sha256(unit_id.encode("utf-8", "surrogatepass")).hexdigest(), 16) & _MASK


def step_seed(unit: Mapping[str, Any], step: str) -> int:
    """The seed of one unit in one step: of its repetition, else a separate one for each step.

    >>> step_seed({"unit_id": "a", "_repetition_seed": 7}, "walk")
    7
    """
    given = unit.get(REPETITION_SEED)
    if type(given) is int:
        return given
    return base_seed(f"{unit['unit_id']}{step}")


class Dice:
    """`random` in expressions: draws from one seed, which is set again for each unit."""

    __slots__ = ("_random",)

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)  # noqa: S311 - reproducible on purpose, guards nothing

    def seed(self, seed: int) -> None:
        self._random.seed(seed)

    def choice(self, items: Any) -> Any:
        return self._random.choice(items)

    def choices(self, items: Any, weights: Any = None, k: int = 1) -> Any:
        return self._random.choices(items, weights=weights, k=_count(k))

    def randint(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def randrange(self, *bounds: int) -> int:
        return self._random.randrange(*bounds)

    def random(self) -> float:
        return self._random.random()

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return self._random.gauss(mu, sigma)

    def sample(self, items: Any, k: int) -> list[Any]:
        return self._random.sample(items, _count(k))

    def shuffle(self, items: Any) -> list[Any]:
        """A shuffled copy: expressions do not change their input."""
        copy = list(items)
        self._random.shuffle(copy)
        return copy

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions by their names in expressions."""
        names = ("choice", "choices", "randint", "randrange", "random", "uniform", "gauss", "sample", "shuffle")
        return {f"random.{name}": getattr(self, name) for name in names}


def _count(k: int) -> int:
    if k > MOST_DRAWN:
        raise ValueError(f"{k:,} draws at once; at most {MOST_DRAWN:,}")
    return k
