"""Stretches: which part of a page is about which record. The mentions of what records say enter, in order; stretches leave, each with its record.

The page is divided so that as many mentions as possible stand with their own record, the names of the records first of all, and so that records change
where a text parts things: a change costs less at a blank line than at the end of a line, a sentence or a clause. Records are told in one
order, so stretches that all begin with the same field cost less than others, and a stretch without the name of its record costs most.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

# Ways in which a text parts two mentions, and what a change of record costs there, against 1 for a value in the stretch of another record.
_BREAKS = (
    (lazy_regex(r"\n[ \t]*(?:[-=*_#]{1,}[ \t]*)?\n\s*"), 0.2),
    (lazy_regex(r"\n+\s*"), 0.5),
    (lazy_regex(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])"), 0.6),
    (lazy_regex(r"[;；]\s*"), 1.4),
    (lazy_regex(r"[,，、|\t]\s*|[)）]\s*|\s(?:and|or|und|oder|y|e|et|ou)\s|\s[-–—/·]\s| {3,}"), 2.0),
)
_UNBROKEN = 3.0
_FARTHEST = 400  # characters between two mentions in which a break is looked for, on either side
_OTHER_START = 2.0  # a stretch that begins with another field than most
_NAME_START = 1.2  # one that begins with the name of its record, if most do not
_ANY_START = 0.8  # a stretch, if it is left open what they begin with
_NAMELESS = 2.5  # a stretch in which the name of its record is missing
_NOBODY = -1  # a part about no record, such as the head of a letter
_AT_FIRST, _TO_NOBODY = 0.4, 1.0  # what such a part costs in front of all records, and behind one
_WITH_NOBODY = 0.9  # a mention in it, against 1 for one with another record
_CROSSED = (0.9, 0.1)  # what it costs to go on over a blank line, and over the end of a line
_AHEAD = 3  # mentions, one of which is the first that stands with its own record
_HOPELESS = 8.0  # a division that costs so much more than the best one is dropped

Field = tuple[object, ...]
_Break = tuple[int, float, int]  # where a text is parted, what that costs, and its rank


class Mention(NamedTuple):
    """A place that one or more records claim: the field of each, and how much it says about whose stretch this is."""

    span: Span
    claims: Mapping[int, Field]
    weight: float


class Stretch(NamedTuple):
    """A part of the page, and the record that it is about."""

    record: int
    bounds: Span
    around: Span  # a little wider at either end of the page


class Stretches:
    """A page divided among records."""

    def __init__(self, parts: list[Stretch]) -> None:
        self._parts = parts
        self._starts = [part.bounds[0] for part in parts]
        self._of: dict[int, list[Stretch]] = {}
        for part in parts:
            self._of.setdefault(part.record, []).append(part)

    def at(self, position: int) -> int | None:
        """The record around a position; None before the first stretch and behind the last one."""
        number = bisect_right(self._starts, position) - 1
        if number < 0 or self._parts[number].bounds[1] <= position:
            return None
        return self._parts[number].record

    def of(self, record: int) -> Sequence[Stretch]:
        """The stretches that are about a record."""
        return self._of.get(record, ())

    @property
    def count(self) -> int:
        """How many records have a stretch."""
        return len(self._of)


def divide(text: str, mentions: Sequence[Mention], name: Field, named: Iterable[int]) -> Stretches:
    """A text divided among the records that its mentions speak of. `name`: the field that names a record; `named`: the records whose name the text has."""
    breaks = [_break(text, 0, mentions[0].span[0]) if mentions else (0, 0.0, 0)]
    end = 0
    for before, after in pairwise(mentions):
        end = max(end, before.span[1])
        breaks.append(_break(text, end, after.span[0]))
    owners = _plain(mentions, breaks) or _cheapest(mentions, breaks, name, frozenset(named))
    return Stretches(_bounded(text, mentions, owners, breaks))


def _break(text: str, start: int, end: int) -> _Break:
    """Where a text is best parted between two positions, what that costs, and the rank of the break."""
    if start >= end:
        return end, _UNBROKEN, len(_BREAKS)
    begin = max(start, end - _FARTHEST)
    for rank, (pattern, price) in enumerate(_BREAKS):
        at = -1
        for found in pattern.finditer(text, begin, end):
            at = found.end()
        if at >= 0:
            return at, price, rank
    return end, _UNBROKEN, len(_BREAKS)


def _plain(mentions: Sequence[Mention], breaks: Sequence[_Break]) -> list[int] | None:
    """The record of each mention, if each record has all of its mentions one after the other; nothing is cheaper than that."""
    owners: list[int] = []
    seen: set[int] = set()
    current = -1
    for at, mention in enumerate(mentions):
        if current not in mention.claims:
            if len(mention.claims) > 1:
                return None
            current = next(iter(mention.claims))
            if current in seen:
                return None
            seen.add(current)
            first = _first(mentions, breaks, at, current)
            owners[first:] = [current] * (at - first)
        owners.append(current)
    return owners


def _first(mentions: Sequence[Mention], breaks: Sequence[_Break], at: int, record: int) -> int:
    """Where the stretch of a record begins best that has the mention at a position, and may have those in front of it."""
    best = at
    while at and record in mentions[at - 1].claims:
        at -= 1
        best = at if breaks[at][1] < breaks[best][1] else best
    return best


_State = tuple[int, bool]  # a record, and whether its name stands in the stretch
_Step = dict[
    _State, tuple[float, _State | None, bool]
]  # the cost up to here, the state before, and whether a stretch begins


def _cheapest(mentions: Sequence[Mention], breaks: Sequence[_Break], name: Field, named: frozenset[int]) -> list[int]:
    """The record of each mention in the cheapest division."""
    best = _divided(mentions, breaks, name, named, None)
    firsts = Counter(field for at, _, begins in best[1] if begins for field in set(mentions[at].claims.values()))
    starts = [name, *(field for field, _ in firsts.most_common(2) if field != name)]
    ways = [best, *(_divided(mentions, breaks, name, named, start) for start in starts)]
    return [owner for _, owner, _ in min(ways, key=lambda way: way[0])[1]]


def _divided(
    mentions: Sequence[Mention], breaks: Sequence[_Break], name: Field, named: frozenset[int], start: Field | None
) -> tuple[float, list[tuple[int, int, bool]]]:
    """The cheapest division if stretches begin with a field: its cost, and for each mention the record, and whether a stretch begins there."""
    steps: list[_Step] = []
    before: _Step = {}
    for at, (mention, (_, price, rank)) in enumerate(zip(mentions, breaks, strict=True)):
        step: _Step = {}
        leaving = min(((cost + _unnamed(state, named), state) for state, (cost, _, _) in before.items()), default=None)
        crossed = _CROSSED[rank] if rank < len(_CROSSED) else 0.0
        for state, (cost, _, _) in before.items():
            record = state[0]
            cost += crossed + _cost(mention, record)
            _keep(step, (record, state[1] or mention.claims.get(record) == name), (cost, state, False))
        paid, left = (0.0, None) if leaving is None else (leaving[0] + price, leaving[1])
        nobody = _AT_FIRST if leaving is None else paid + _TO_NOBODY
        _keep(step, (_NOBODY, True), (nobody + _cost(mention, _NOBODY), left, True))
        begin = _begin(mention, name, start)
        for record in {record for ahead in mentions[at : at + _AHEAD] for record in ahead.claims}:
            cost = paid + _cost(mention, record) + (begin if record in named else min(begin, _ANY_START))
            _keep(step, (record, mention.claims.get(record) == name), (cost, left, True))
        most = min(cost for cost, _, _ in step.values()) + _HOPELESS
        before = {state: one for state, one in step.items() if one[0] <= most}
        steps.append(before)
    total, last = min((cost + _unnamed(state, named), state) for state, (cost, _, _) in before.items())
    way: list[tuple[int, int, bool]] = []
    at_last: _State | None = last
    for number in range(len(steps) - 1, -1, -1):
        assert at_last is not None
        _, previous, begins = steps[number][at_last]
        way.append((number, at_last[0], begins))
        at_last = previous
    return total, way[::-1]


def _begin(mention: Mention, name: Field, start: Field | None) -> float:
    """What it costs that a stretch begins with a mention."""
    if start is None:
        return _ANY_START
    fields = mention.claims.values()
    return 0.0 if start in fields else _NAME_START if name in fields else _OTHER_START


def _cost(mention: Mention, record: int) -> float:
    """What it costs that a mention stands in the stretch of a record."""
    return 0.0 if record in mention.claims else mention.weight * (_WITH_NOBODY if record == _NOBODY else 1.0)


def _keep(step: _Step, state: _State, one: tuple[float, _State | None, bool]) -> None:
    if state not in step or one[0] < step[state][0]:
        step[state] = one


def _unnamed(state: _State, named: frozenset[int]) -> float:
    return _NAMELESS if not state[1] and state[0] in named else 0.0


def _bounded(text: str, mentions: Sequence[Mention], owners: Sequence[int], breaks: Sequence[_Break]) -> list[Stretch]:
    """The stretches of mentions with one owner: each begins at the last of the strongest breaks in front of it."""
    firsts = [at for at in range(len(owners)) if not at or owners[at] != owners[at - 1]]
    if not firsts:
        return []
    ranks = Counter(breaks[at][2] for at in firsts[1:])
    rank = ranks.most_common(1)[0][0] if ranks else 0
    starts = [_edge_before(text, mentions[0].span[0], rank), *(breaks[at][0] for at in firsts[1:])]
    lasts = [at - 1 for at in (*firsts[1:], len(owners))]
    end = _edge_behind(text, mentions[-1].span[1], rank)
    wide = _edge_before(text, mentions[0].span[0], 0), _edge_behind(text, mentions[-1].span[1], 0)
    parts: list[Stretch] = []
    for first, last, start, stop in zip(firsts, lasts, starts, (*starts[1:], end), strict=True):
        stop = min(stop, mentions[last].span[1] + _FARTHEST)
        around = (wide[0] if not first else start, wide[1] if last == len(owners) - 1 else stop)
        if owners[first] != _NOBODY:
            parts.append(Stretch(owners[first], (start, stop), around))
    return parts


def _edge_before(text: str, position: int, rank: int) -> int:
    """The last break of a rank, or a stronger one, in front of a position."""
    begin = max(0, position - _FARTHEST)
    return max(
        (found.end() for pattern, _ in _BREAKS[: rank + 1] for found in pattern.finditer(text, begin, position)),
        default=begin,
    )


def _edge_behind(text: str, position: int, rank: int) -> int:
    """The first such break behind a position."""
    end = min(len(text), position + _FARTHEST)
    return min(
        (found.start() for pattern, _ in _BREAKS[: rank + 1] for found in pattern.finditer(text, position, end)),
        default=end,
    )
