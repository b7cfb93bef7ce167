"""Records: whether each value stands with its own record. What was found of the leaves of a value enters; those that belong to another record leave.

Two people in one text have two ages, and both stand in the text: only where they stand says which is whose. Each record has an anchor, such as its name. The
text is parted by lines, sentences, paragraphs, or from anchor to anchor, at the first level that tells most values apart; in a table with a column for each record, the column
decides, and inside one sentence, order and distance. What cannot be told is not reported.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trueup.grounding.documents import Document
from trueup.grounding.lookup import Found, Where
from trueup.grounding.pages import Page
from trueup.grounding.segments import LEVELS, Segments, shape
from trueup.verdict.facts import Span
from trueup.verdict.paths import Parts, type_part

_MEASURED = frozenset({"number", "date", "time"})
_MOST_RECORDS = 2_000
_MOST_ALONE = 2  # values of a single record that may stand with others
_ENOUGH = 0.5  # the share of values that a level must place with one record alone


class Leaf(NamedTuple):
    """One value of a reply, where it is, and what was found of it."""

    parts: Parts
    value: Any
    found: Found


class Stranger(NamedTuple):
    """A value that stands with another record: where, whose it is there, whose it should be, and what stands there instead."""

    leaf: Leaf
    place: Where
    owner: str
    own: str
    instead: Where | None


Record = dict[Parts, Leaf]
Owners = Mapping[int, set[int]]


def strangers(leaves: list[Leaf], documents: Sequence[Document]) -> Iterator[Stranger]:
    """The values whose only evidence belongs to another record."""
    page = Page(documents)
    grouped = False
    for records in _groups(leaves):
        grouped = True
        yield from _Group(records, page).strangers()
    if not grouped:
        yield from _alone({leaf.parts: leaf for leaf in leaves}, page)


def _groups(leaves: list[Leaf]) -> Iterator[list[Record]]:
    """The groups of sibling records in a value: the items of a list, or objects with the same fields beside each other."""
    groups: dict[Parts, dict[type_part, Record]] = defaultdict(lambda: defaultdict(dict))
    for leaf in leaves:
        parts = leaf.parts
        at = next((index for index in range(len(parts) - 1, -1, -1) if isinstance(parts[index], int)), None)
        if at is not None and at + 1 < len(parts):
            groups[parts[:at]][parts[at]][parts[at + 1 :]] = leaf
        elif at is None and len(parts) > 1:
            groups[parts[:-2]][parts[-2]][parts[-1:]] = leaf
    for records in groups.values():
        listed = [record for record in records.values() if len(record) > 1]
        named = not isinstance(next(iter(records)), int)
        if 2 <= len(listed) <= _MOST_RECORDS and not (named and len({frozenset(record) for record in listed}) > 1):
            yield listed


class _Group:
    """Sibling records on a page, and their anchors."""

    def __init__(self, records: list[Record], page: Page) -> None:
        self._records = records
        self._page = page
        self._anchor = self._choose_anchor()
        self._anchors: list[list[Span]] = [
            [] if self._anchor is None else self._spans(record.get(self._anchor)) for record in records
        ]

    def strangers(self) -> Iterator[Stranger]:
        """The values of the group that stand with another of its records."""
        if self._anchor is None or sum(map(bool, self._anchors)) < 2:
            return
        columns = self._columns()
        levels = {} if columns is not None else self._levels()
        for index, record in enumerate(self._records):
            if not self._anchors[index]:
                continue
            others = [(field, leaf) for field, leaf in record.items() if field != self._anchor and self._spans(leaf)]
            if columns is not None:
                found = [self._in_other_column(index, leaf, columns) for _, leaf in others]
            else:
                found = [self._stranger(index, field, leaf, *levels[field]) for field, leaf in others]
            yield from self._blamed(index, [one for one in found if one is not None], len(others))

    def _blamed(self, index: int, found: list[Stranger], count: int) -> Iterator[Stranger]:
        """What is reported of one record: if nearly all of it stands with another one, its anchor is what does not belong."""
        anchor = None if self._anchor is None else self._records[index][self._anchor]
        if anchor is not None and len(found) > 1 and len(found) * 3 > count * 2:
            others = {one.owner for one in found}
            if len(others) == 1:
                yield Stranger(anchor, anchor.found.places[0], str(anchor.value), others.pop(), None)
                return
        yield from found

    # -- preparation -----------------------------------------------------------------------------

    def _spans(self, leaf: Leaf | None) -> list[Span]:
        return [] if leaf is None else [self._page.span(where) for where in leaf.found.places]

    def _choose_anchor(self) -> Parts | None:
        """The field that tells the records apart: text that differs in each and is found for most."""
        fields = list(dict.fromkeys(field for record in self._records for field in record))
        best: tuple[tuple[bool, int], Parts] | None = None
        for place, field in enumerate(fields):
            leaves = [record[field] for record in self._records if field in record]
            found = [leaf for leaf in leaves if leaf.found.places]
            values = {str(leaf.value) for leaf in leaves}
            if len(found) < 2 or len(values) < len(leaves) or len(leaves) < len(self._records):
                continue
            key = (any(leaf.found.kind in _MEASURED for leaf in leaves), place)
            if best is None or key < best[0]:
                best = (key, field)
        return None if best is None else best[1]

    def _levels(self) -> dict[Parts, tuple[Segments, Owners]]:
        """For each field, the first way to part the page at which most of its values stand in a part with one anchor, or at least with some."""
        parted = [(level, self._owners(level)) for level in map(self._page.parted, LEVELS)]
        starts = sorted({spans[0][0] for spans in self._anchors if spans})
        between = Segments(self._page.text, [0, *starts] if starts[0] else starts)
        fields = dict.fromkeys(field for record in self._records for field in record if field != self._anchor)
        return {field: self._level(field, parted) or (between, self._owners(between)) for field in fields}

    def _level(
        self, field: Parts, parted: list[tuple[Segments, dict[int, set[int]]]]
    ) -> tuple[Segments, Owners] | None:
        spans = [span for record in self._records for span in self._spans(record.get(field))[:8]]
        shared: tuple[Segments, Owners] | None = None
        for level, owners in parted:
            counts = [len(owners.get(level.at(start), ())) for start, _ in spans]
            if sum(count == 1 for count in counts) >= _ENOUGH * len(spans):
                return level, owners
            if shared is None and level is not parted[-1][0] and sum(map(bool, counts)) >= _ENOUGH * len(spans):
                shared = level, owners
        return shared

    def _owners(self, level: Segments) -> dict[int, set[int]]:
        owners: dict[int, set[int]] = defaultdict(set)
        for index, anchors in enumerate(self._anchors):
            for start, _ in anchors:
                owners[level.at(start)].add(index)
        return dict(owners)

    # -- a column for each record ----------------------------------------------------------------

    def _columns(self) -> dict[int, int] | None:
        """The column of each record, if all anchors stand in one line of a table, each in a cell of its own."""
        lines = {self._page.line(spans[0][0]) for spans in self._anchors if spans}
        if len(lines) != 1:
            return None
        cells = self._page.cells(next(iter(lines)))
        found = {
            index: next((at for at, (start, end) in enumerate(cells) if start <= spans[0][0] < end), -1)
            for index, spans in enumerate(self._anchors)
            if spans
        }
        values = [span for record in self._records for leaf in record.values() for span in self._spans(leaf)[:1]]
        elsewhere = sum(self._page.line(start) not in lines for start, _ in values)
        return (
            found if len(set(found.values())) == len(found) > 1 and elsewhere * 2 > len(values) - len(found) else None
        )

    def _in_other_column(self, index: int, leaf: Leaf, columns: dict[int, int]) -> Stranger | None:
        owner: int | None = None
        instead: Span | None = None
        for start, _ in self._spans(leaf):
            cells = self._page.cells(self._page.line(start))
            at = next((number for number, (begin, end) in enumerate(cells) if begin <= start < end), -1)
            if at == columns[index] or len(cells) <= columns[index] or at not in columns.values():
                return None
            owner = next(record for record, column in columns.items() if column == at)
            instead = self._free(cells[columns[index]], leaf, ())
        if owner is None:
            return None
        return self._made(leaf, owner, index, instead)

    # -- a part for each record ------------------------------------------------------------------

    def _stranger(self, index: int, field: Parts, leaf: Leaf, level: Segments, owners: Owners) -> Stranger | None:
        spans = self._spans(leaf)
        numbers = [level.at(start) for start, _ in spans]
        own = [number for number in numbers if index in owners.get(number, ())]
        if own:
            shared = next((number for number in own if len(owners[number]) > 1), None)
            alone = any(len(owners[number]) == 1 for number in own)
            return (
                None
                if alone or shared is None
                else self._out_of_order(index, field, leaf, level.bounds(shared), owners[shared])
            )
        if any(not owners.get(number) for number in numbers):
            return None
        instead = self._instead(index, leaf, level, owners)
        for other in sorted({other for number in numbers for other in owners[number]}):
            if instead is not None or self._is_swapped(leaf, field, other, level, owners):
                return self._made(leaf, other, index, instead)
        return None

    def _is_swapped(self, leaf: Leaf, field: Parts, other: int, level: Segments, owners: Owners) -> bool:
        """Whether the record that a value stands with has another value, which does not stand there."""
        theirs = self._records[other].get(field)
        if theirs is None or theirs.value == leaf.value:
            return False
        return not any(other in owners.get(level.at(start), ()) for start, _ in self._spans(theirs))

    def _instead(self, index: int, leaf: Leaf, level: Segments, owners: Owners) -> Span | None:
        """A value of the same kind in the own part of a record that no field of the record takes."""
        taken = [span for own in self._records[index].values() for span in self._spans(own)]
        for number, records in owners.items():
            if records == {index} and (free := self._free(level.bounds(number), leaf, taken)) is not None:
                return free
        return None

    def _free(self, bounds: Span, leaf: Leaf, taken: Sequence[Span]) -> Span | None:
        return _free(self._page, bounds, leaf, taken)

    def _out_of_order(self, index: int, field: Parts, leaf: Leaf, bounds: Span, records: set[int]) -> Stranger | None:
        """A value that stands in one part with several anchors, in another order than they do."""
        anchors: dict[int, Span] = {}
        values: dict[int, Span] = {}
        for record in records:
            anchors[record] = next(span for span in self._anchors[record] if bounds[0] <= span[0] < bounds[1])
            inside = [
                span for span in self._spans(self._records[record].get(field)) if bounds[0] <= span[0] < bounds[1]
            ]
            if len(inside) != 1:
                return None
            values[record] = inside[0]
        if len(set(values.values())) < len(values):
            return None
        ranked = sorted(anchors, key=anchors.__getitem__)
        other = ranked[sorted(values, key=values.__getitem__).index(index)]
        if other == index:
            return None
        apart = max(anchors.values()) < min(values.values()) or max(values.values()) < min(anchors.values())
        if not apart and self._is_nearer(values[index], anchors[index], anchors[other]):
            return None
        return self._made(leaf, other, index, None)

    def _is_nearer(self, value: Span, own: Span, other: Span) -> bool:
        """Whether a value stands nearer to its own anchor than to another one: first by the commas between them, then by letters."""

        def distance(anchor: Span) -> tuple[int, int]:
            between = self._page.text[min(anchor[1], value[1]) : max(anchor[0], value[0])]
            return sum(between.count(sign) for sign in ",，、"), len(between)

        return distance(own) < distance(other)

    def _made(self, leaf: Leaf, other: int, index: int, instead: Span | None) -> Stranger:
        assert self._anchor is not None
        whose = [str(self._records[which][self._anchor].value) for which in (other, index)]
        return Stranger(
            leaf, leaf.found.places[0], whose[0], whose[1], None if instead is None else self._page.where(instead)
        )


def _free(page: Page, bounds: Span, leaf: Leaf, taken: Sequence[Span]) -> Span | None:
    """A mention of the same kind inside of bounds that nothing takes."""
    here = page.span(leaf.found.places[0])
    if leaf.found.kind == "number":
        unit = next((one.unit for span, one in page.numbers_in(here) if span == here), "")
        like = page.text[slice(*here)]
        spans = [
            span
            for span, one in page.numbers_in(bounds)
            if _are_alike(one.unit, unit)
            and (one.unit or unit or one.words or _looks_alike(page.text[slice(*span)], like))
        ]
    elif leaf.found.kind in _MEASURED:
        wanted = "dates" if leaf.found.kind == "date" else "times"
        spans = [span for span, one in page.moments_in(bounds) if getattr(one, wanted)]
    else:
        return None
    return next((span for span in spans if not any(span[0] < end and start < span[1] for start, end in taken)), None)


def _are_alike(one: str, other: str) -> bool:
    """Whether two units may measure the same thing: an amount of money and a share are never a weight."""
    return one == other or not one or not other or ("%" not in (one, other) and _is_money(one) == _is_money(other))


def _is_money(unit: str) -> bool:
    return unit.isupper() or not unit.isascii() or unit == "$"


def _looks_alike(one: str, other: str) -> bool:
    """Whether two numbers are written alike: with or without a fraction."""
    return ("." in one[:-1] or "," in one[:-1]) == ("." in other[:-1] or "," in other[:-1])


def _alone(record: Record, page: Page) -> Iterator[Stranger]:
    """The values of a single record that stand in a line or sentence like the one of its anchor, but not in that one.

    A record whose values stand in many such lines is about all of them, and nothing is reported.
    """
    anchor = next((leaf for leaf in record.values() if leaf.found.kind == "text" and len(leaf.found.places) == 1), None)
    if anchor is None:
        return
    for name in LEVELS[:2]:
        found = list(_beside(record, anchor, page, name))
        if 0 < len(found) <= _MOST_ALONE:
            yield from found
            return


def _beside(record: Record, anchor: Leaf, page: Page, name: str) -> Iterator[Stranger]:
    level = page.parted(name)
    bounds = level.bounds(level.at(page.span(anchor.found.places[0])[0]))
    form = shape(page.text[slice(*bounds)])
    taken = [page.span(where) for leaf in record.values() for where in leaf.found.places]
    count = 0
    for leaf in record.values():
        if leaf.found.kind not in _MEASURED or not leaf.found.places:
            continue
        places = [page.span(where) for where in leaf.found.places[:_MOST_ALONE]]
        parts = [level.bounds(level.at(start)) for start, _ in places]
        if bounds in parts or any(shape(page.text[slice(*part)]) != form for part in parts):
            continue
        count += 1
        if count > _MOST_ALONE:
            return
        free = _free(page, bounds, leaf, taken)
        if free is not None:
            owner = page.text[slice(*parts[0])].strip()
            yield Stranger(leaf, leaf.found.places[0], owner[:60], str(anchor.value), page.where(free))
