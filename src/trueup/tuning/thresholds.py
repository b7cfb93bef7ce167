"""Thresholds: better values for the numeric bounds of a contract, according to labels.

For each bound, takes labelled replies with the compared number and whether they should pass. Returns the bound that
judges most of them correctly, with a permutation test: by chance, the wrong labels of one side would be anywhere on
that side, not next to the bound.
"""

import random
from collections.abc import Iterator, Sequence
from math import ceil, floor
from typing import NamedTuple

from trueup.tuning.bounds import LabelledBound, Numbered, limits
from trueup.tuning.edits import Put
from trueup.tuning.proposals import NEEDED, Proposal, Workshop, of

_LEAST = 3  # a move needs this many more labels for it than against it
_ROUNDS = (200, 2_000, 10_000)
_CLEAR = 0.05  # the p-value of the first rounds: above it, testing stops


class Move(NamedTuple):
    """A better place for a bound."""

    value: int | float
    gain: int
    better: tuple[int, ...]
    worse: tuple[int, ...]
    p: float
    labels: int


def thresholds(shop: Workshop) -> Iterator[Proposal]:
    """A proposal for each bound and each direction, if there are enough labels."""
    for limit in limits(shop):
        for refused in (True, False):
            every = [one for one in limit.cases if one.passes is not refused]
            side = _independent(shop, limit, every)
            if len(side) < NEEDED:
                continue
            move = best_move(limit, side, refused=refused)
            if move is None:
                yield Proposal("threshold", limit.at, "", "", 1.0, unit=limit.unit, labels=len(side))
            else:
                proposal = _proposal(limit, move, refused=refused)
                once = "" if len(side) == len(every) else " One reply of each conversation counts."
                yield proposal._replace(why=proposal.why + once)


def _independent(shop: Workshop, limit: LabelledBound, side: Sequence[Numbered]) -> list[Numbered]:
    """One reply of each conversation, the nearest to the bound, because replies of one conversation are similar."""
    nearest: dict[str, Numbered] = {}
    for one in sorted(side, key=lambda each: (abs(each.number - limit.value), each.which)):
        nearest.setdefault(shop.cluster(one.which), one)
    return list(nearest.values())


def _proposal(limit: LabelledBound, move: Move, *, refused: bool) -> Proposal:
    how = "is too strict" if refused else "is too lax"
    title = f"{limit.name} {how}: {limit.shown(limit.value)} → {limit.shown(move.value)}"
    verb = "refused" if refused else "accepted"
    why = (
        f"Of {of(move.labels, 'label')} on replies that it {verb}, the change corrects {len(move.better)} and "
        f"breaks {len(move.worse)}."
    )
    edits = (Put(limit.edit_at, limit.written(move.value)),)
    facts = {"from": limit.value, "to": move.value, "gain": move.gain}
    return Proposal(
        "threshold", limit.at, title, why, move.p, edits, move.labels, move.better, move.worse, limit.note, limit.unit, facts,
        also=refused and move.p <= _CLEAR and move.gain > 0,
    )  # fmt: skip


def best_move(limit: LabelledBound, side: Sequence[Numbered], *, refused: bool) -> Move | None:
    """The best move of a bound over the replies of one side; None if no move helps."""
    # The replies nearest to the bound come first. Distances make both sides and both directions one case.
    ordered = sorted(side, key=lambda one: abs(one.number - limit.value))
    groups = _grouped(ordered)
    gains = [+1 if one.should is refused else -1 for one in ordered]
    best, upto = _best_prefix(gains, groups)
    if best < _LEAST:
        return None
    inside, outside = ordered[:upto], ordered[upto:]
    value = _between(limit, inside, outside, refused=refused)
    if value is None or value == limit.value:
        return None
    better = tuple(one.which for one in inside if one.should is refused)
    worse = tuple(one.which for one in inside if one.should is not refused)
    return Move(value, best, better, worse, _chance(gains, groups, best), len(ordered))


def _grouped(ordered: Sequence[Numbered]) -> list[int]:
    """The positions at which a prefix may end: after the last of equal numbers."""
    ends = [at for at in range(1, len(ordered)) if ordered[at].number != ordered[at - 1].number]
    return [*ends, len(ordered)]


def _best_prefix(gains: Sequence[int], ends: Sequence[int]) -> tuple[int, int]:
    best = upto = total = at = 0
    for end in ends:
        while at < end:
            total += gains[at]
            at += 1
        if total > best:
            best, upto = total, end
    return best, upto


def _chance(gains: Sequence[int], ends: Sequence[int], observed: int) -> float:
    """How often randomly ordered labels gain at least as much."""
    rng = random.Random(len(gains) * 1_000_003 + observed)  # noqa: S311 - the same p-value in every run
    mixed = list(gains)
    as_good = done = 0
    for rounds in _ROUNDS:
        while done < rounds:
            rng.shuffle(mixed)
            as_good += _best_prefix(mixed, ends)[0] >= observed
            done += 1
        if (as_good + 1) / (done + 1) > _CLEAR:
            break
    return (as_good + 1) / (done + 1)


def _between(
    limit: LabelledBound, inside: Sequence[Numbered], outside: Sequence[Numbered], *, refused: bool
) -> int | float | None:
    """A round number between the replies of a prefix and the others."""
    far = inside[-1].number
    near = outside[0].number if outside else None
    # `last` must pass and `first` must not. If they are equal, it matters whether a value equal to the bound passes.
    last, first = (far, near) if refused else (near, far)
    if first is None or last is None:
        only = last if first is None else first
        if only is None:
            return None
        passing = first is None
        step = limit.step(only)
        shift = 0 if passing == limit.inclusive else (step if limit.upper == passing else -step)
        return only + shift if isinstance(only, int) else round(only + shift, 10)
    low, high = (last, first) if limit.upper else (first, last)
    low_open = not limit.inclusive if limit.upper else limit.inclusive
    high_open = limit.inclusive if limit.upper else not limit.inclusive
    return roundest(low, high, low_open=low_open, high_open=high_open, whole=limit.is_whole)


def roundest(low: float, high: float, *, low_open: bool, high_open: bool, whole: bool) -> int | float | None:
    """The number with the fewest digits between two others.

    >>> roundest(47, 63, low_open=False, high_open=True, whole=True)
    50
    >>> roundest(0.412, 0.437, low_open=True, high_open=True, whole=False)
    0.42
    """
    for digits in range(-12, 13):
        if whole and digits > 0:
            break
        step = 10.0**-digits
        middle = (low + high) / 2 / step
        for multiple in (floor(middle), ceil(middle)):
            value = round(multiple * step, max(digits, 0))
            if (low < value or (value == low and not low_open)) and (value < high or (value == high and not high_open)):
                return int(value) if digits <= 0 and (whole or value.is_integer()) else value
    return None
