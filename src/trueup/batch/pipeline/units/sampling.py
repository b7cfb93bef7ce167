"""Takes a sample of a pipeline's units, in their own order.

The same units, size and seed give the same sample. A stratified sample has every value of a field in proportion, and at least one
unit of each. Only the sample is in memory; for a stratified one the units are read twice.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trueup.batch.pipeline.units.items import Unit

Units = Callable[[], Iterable[Unit]]


class BadSample(ValueError):
    """The units have no such sample: the command is wrong, not the pipeline."""


def sampled(units: Units, size: int, by: str = "", seed: int = 0) -> Iterator[Unit]:
    """A number of units, chosen at random; with `by`, in proportion to the values of that field.

    >>> rows = [{"unit_id": f"u{n}", "kind": "rare" if n == 7 else "common"} for n in range(10)]
    >>> [unit["unit_id"] for unit in sampled(lambda: rows, 3)]
    ['u1', 'u5', 'u6']
    >>> [unit["kind"] for unit in sampled(lambda: rows, 2, by="kind")]
    ['common', 'rare']
    """
    shares = _shares(Counter(_stratum(unit, by) for unit in units()), size, by) if by else {"": size}
    return _drawn(units(), shares, by, random.Random(seed))  # noqa: S311 - a sample, not a secret


def _drawn(units: Iterable[Unit], shares: Mapping[str, int], by: str, dice: random.Random) -> Iterator[Unit]:
    """A reservoir for each stratum, filled in one pass."""
    kept: dict[str, list[tuple[int, Unit]]] = {stratum: [] for stratum in shares}
    seen: Counter[str] = Counter()
    for place, unit in enumerate(units):
        stratum = _stratum(unit, by) if by else ""
        reservoir, share = kept[stratum], shares[stratum]
        seen[stratum] += 1
        if len(reservoir) < share:
            reservoir.append((place, unit))
        elif (at := dice.randrange(seen[stratum])) < share:
            reservoir[at] = (place, unit)
    chosen = [entry for reservoir in kept.values() for entry in reservoir]
    return (unit for _, unit in sorted(chosen, key=lambda entry: entry[0]))


def _shares(counts: Mapping[str, int], size: int, by: str) -> dict[str, int]:
    """How many units of each stratum to take: one each, and the rest in proportion, by largest remainder."""
    total = sum(counts.values())
    if size >= total:
        return dict(counts)
    if len(counts) > size:
        message = f"--by: {by!r} has {len(counts):,} values; a sample of {size:,} cannot hold one unit of each"
        raise BadSample(f"{message}: take at least {len(counts):,}, or sample without --by")
    left, more = total - len(counts), size - len(counts)
    extra = {stratum: divmod((number - 1) * more, left) for stratum, number in counts.items()}
    missing = more - sum(whole for whole, _ in extra.values())
    most = set(sorted(counts, key=lambda stratum: (-extra[stratum][1], stratum))[:missing])
    return {stratum: 1 + whole + (stratum in most) for stratum, (whole, _) in extra.items()}


def _stratum(unit: Unit, by: str) -> str:
    """The value of a field, which may be inside another, such as `city` or `item.city`."""
    value: Any = unit
    for name in by.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise BadSample(f"--by: unit {unit['unit_id']!r} has no field {by!r} to sample by")
        value = value[name]
    return repr(value)
