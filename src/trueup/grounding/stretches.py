"""Stretches: divide a page among records. Takes the mentions of record values, in order; returns their stretches.

The best division leaves as many mentions as possible with their own record, names above all, and changes records at
natural breaks: a change costs less at a blank line than at the end of a line, a sentence or a clause. A text usually
presents all records in one order, so stretches that all start with the same field cost less. A stretch without the name
of its record costs most.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

# Breaks between two mentions, and the cost of changing the record there. A value in another record's stretch costs 1.
_BREAKS = (
    (lazy_regex(r"\n[ \t]*(?:[-=*_#]{1,}[ \t]*)?\n\s*"), 0.2),
    (lazy_regex(r"\n+\s*"), 0.5),
    (lazy_regex(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])"), 0.6),
    (lazy_regex(r"[;；]\s*"), 1.4),
    (lazy_regex(r"[,，、|\t]\s*|[)）]\s*|\s(?:and|or|und|oder|y|e|et|ou)\s|\s[-–—/·]\s| {3,}"), 2.0),
)
_UNBROKEN = 3.0
_FARTHEST = 400  # how far from a mention a break is searched for, in characters
_OTHER_START = 2.0  # a stretch that starts with a different field from most
_NAME_START = 1.2  # a stretch that starts with its record's name, if most do not
_ANY_START = 0.8  # a stretch, if the field of the start is left open
_NAMELESS = 2.5  # a stretch without the name of its record
_NOBODY = -1  # a part that is not about a record, such as a letterhead
_AT_FIRST, _TO_NOBODY = 0.4, 1.0  # the cost of such a part before all records, and after one
_WITH_NOBODY = 0.9  # a mention in such a part; with another record it costs 1
_CROSSED = (0.9, 0.1)  # the cost of continuing across a blank line, and across the end of a line
_AHEAD = 3  # one of the first so many mentions is in its own record's stretch
_HOPELESS = 8.0  # a division that costs this much more than the best one is dropped

Field = tuple[object, ...]
_Break = tuple[int, float, int]  # the position of a break, its cost and its rank


class Mention(NamedTuple):
    """A place that one or more records claim: the field of each, and how strongly it marks a record's stretch."""

    span: Span
    claims: Mapping[int, Field]
    weight: float


class Stretch(NamedTuple):
    """A part of the page, and its record."""

    record: int
    bounds: Span
    around: Span  # slightly wider at both ends of the page


class Stretches:
    """A page divided among records."""

    def __init__(self, parts: list[Stretch]) -> None:
        self._parts = parts
        self._starts = [part.bounds[0] for part in parts]
        self._of: dict[int, list[Stretch]] = {}
        for part in parts:
            self._of.setdefault(part.record, []).append(part)

    def at(self, position: int) -> int | None:
        """The record at a position; None before the first stretch and after the last one."""
        number = bisect_right(self._starts, position) - 1
        if number < 0 or self._parts[number].bounds[1] <= position:
            return None
        return self._parts[number].record

    def of(self, record: int) -> Sequence[Stretch]:
        """The stretches of a record."""
        return self._of.get(record, ())

    @property
    def count(self) -> int:
        """How many records have a stretch."""
        return len(self._of)


def divide(text: str, mentions: Sequence[Mention], name: Field, named: Iterable[int]) -> Stretches:
    """Divide a text among the records of its mentions. `name` is the naming field; the text names the `named` ones."""
    breaks = [_break(text, 0, mentions[0].span[0]) if mentions else (0, 0.0, 0)]
    end = 0
    for before, after in pairwise(mentions):
        end = max(end, before.span[1])
        breaks.append(_break(text, end, after.span[0]))
    owners = _plain(mentions, breaks) or _cheapest(mentions, breaks, name, frozenset(named))
    return Stretches(_bounded(text, mentions, owners, breaks))


def _break(text: str, start: int, end: int) -> _Break:
    """The best break between two positions, its cost and its rank."""
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
    """The record of each mention, if each record's mentions are consecutive. That is always the cheapest division."""
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
    """The best start for a record's stretch that includes a mention and possibly the mentions before it."""
    best = at
    while at and record in mentions[at - 1].claims:
        at -= 1
        best = at if breaks[at][1] < breaks[best][1] else best
    return best


_State = tuple[int, bool]  # a record, and whether its stretch has its name
_Step = dict[
    _State, tuple[float, _State | None, bool]
]  # the cost so far, the previous state, and whether a stretch starts


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
    """The cheapest division if stretches start with a field: its cost, and each mention's record and any new start."""
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
    """The cost of starting a stretch with a mention."""
    if start is None:
        return _ANY_START
    fields = mention.claims.values()
    return 0.0 if start in fields else _NAME_START if name in fields else _OTHER_START


def _cost(mention: Mention, record: int) -> float:
    """The cost of a mention in a record's stretch."""
    return 0.0 if record in mention.claims else mention.weight * (_WITH_NOBODY if record == _NOBODY else 1.0)


def _keep(step: _Step, state: _State, one: tuple[float, _State | None, bool]) -> None:
    if state not in step or one[0] < step[state][0]:
        step[state] = one


def _unnamed(state: _State, named: frozenset[int]) -> float:
    return _NAMELESS if not state[1] and state[0] in named else 0.0


def _bounded(text: str, mentions: Sequence[Mention], owners: Sequence[int], breaks: Sequence[_Break]) -> list[Stretch]:
    """The stretches of consecutive mentions with one owner. Each starts at the last of the strongest breaks there."""
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
    """The last break of this rank or stronger before a position."""
    begin = max(0, position - _FARTHEST)
    return max(
        (found.end() for pattern, _ in _BREAKS[: rank + 1] for found in pattern.finditer(text, begin, position)),
        default=begin,
    )


def _edge_behind(text: str, position: int, rank: int) -> int:
    """The first break of this rank or stronger after a position."""
    end = min(len(text), position + _FARTHEST)
    return min(
        (found.start() for pattern, _ in _BREAKS[: rank + 1] for found in pattern.finditer(text, position, end)),
        default=end,
    )
