"""Records: whether each value stands with its own record. A value and what was found of its leaves enter; those that belong to another record leave.

Two people in one text have two ages, and both stand in the text: only where they stand says which is whose. Each record has an anchor, such as its name. The
text is parted by lines, sentences, paragraphs, or from anchor to anchor, at the first level that tells most values apart; inside one part, order
and distance decide. What cannot be told is not reported.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trueup.grounding.documents import Document
from trueup.grounding.lookup import Found, Where
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
    """A value that stands with another record: where, whose it is there, and whose it should be."""

    leaf: Leaf
    place: Where
    owner: str
    own: str
    instead: Where | None


Record = dict[Parts, Leaf]


def strangers(leaves: list[Leaf]) -> Iterator[Stranger]:
    """The values whose only evidence belongs to another record."""
    grouped = False
    for records in _groups(leaves):
        grouped = True
        yield from _Group(records).strangers()
    if not grouped:
        yield from _alone({leaf.parts: leaf for leaf in leaves})


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
    for container, records in groups.items():
        listed = [record for record in records.values() if len(record) > 1]
        named = not isinstance(next(iter(records)), int)
        if 2 <= len(listed) <= _MOST_RECORDS and not (named and len({frozenset(record) for record in listed}) > 1):
            yield listed
        del container


class _Group:
    """Sibling records, their anchors, and the document that most of them stand in."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records
        self._document = _main_document(records)
        self._anchor = self._choose_anchor()
        self._anchors: list[list[int]] = []
        if self._anchor is not None:
            self._anchors = [[start for start, _ in self._spans(record.get(self._anchor))] for record in records]

    def strangers(self) -> Iterator[Stranger]:
        if self._anchor is None or self._document is None or sum(map(bool, self._anchors)) < 2:
            return
        level = self._level()
        if level is None:
            return
        owners = self._owners(level)
        for index, record in enumerate(self._records):
            for field, leaf in record.items():
                if field != self._anchor and self._anchors[index]:
                    stranger = self._stranger(index, field, leaf, level, owners)
                    if stranger is not None:
                        yield stranger

    # -- preparation -----------------------------------------------------------------------------

    def _spans(self, leaf: Leaf | None) -> list[Span]:
        if leaf is None or leaf.found.grade == "computed":
            return []
        return [where.span for where in leaf.found.places if where.document is self._document]

    def _choose_anchor(self) -> Parts | None:
        """The field that tells the records apart: text that differs in each and is found for most."""
        fields = list(dict.fromkeys(field for record in self._records for field in record))
        best: tuple[tuple[bool, int], Parts] | None = None
        for place, field in enumerate(fields):
            leaves = [record[field] for record in self._records if field in record]
            found = [leaf for leaf in leaves if self._spans(leaf)]
            values = {str(leaf.value) for leaf in leaves}
            if len(found) < 2 or len(values) < len(leaves) or len(leaves) < len(self._records):
                continue
            key = (any(leaf.found.kind in _MEASURED for leaf in leaves), place)
            if best is None or key < best[0]:
                best = (key, field)
        return None if best is None else best[1]

    def _level(self) -> Segments | None:
        """The first way to part the text at which most values stand in a part with one anchor, or at least with some."""
        assert self._document is not None
        text = self._document.text
        spans = [
            (index, span)
            for index, record in enumerate(self._records)
            for field, leaf in record.items()
            if field != self._anchor
            for span in self._spans(leaf)[:8]
        ]
        if not spans:
            return None
        shared: Segments | None = None
        for name in LEVELS:
            level = self._document.content.parted(name)
            owners = self._owners(level)
            if sum(len(owners.get(level.at(span[0]), ())) == 1 for _, span in spans) >= _ENOUGH * len(spans):
                return level
            placed = sum(level.at(span[0]) in owners for _, span in spans)
            if shared is None and name != LEVELS[-1] and placed >= _ENOUGH * len(spans):
                shared = level
        if shared is not None:
            return shared
        starts = sorted({start for anchor in self._anchors for start in anchor[:1]})
        return Segments(text, [0, *starts] if starts[0] else starts)

    def _owners(self, level: Segments) -> dict[int, set[int]]:
        owners: dict[int, set[int]] = defaultdict(set)
        for index, anchors in enumerate(self._anchors):
            for start in anchors:
                owners[level.at(start)].add(index)
        return dict(owners)

    # -- judging one value -----------------------------------------------------------------------

    def _stranger(
        self, index: int, field: Parts, leaf: Leaf, level: Segments, owners: Mapping[int, set[int]]
    ) -> Stranger | None:
        spans = self._spans(leaf)
        if not spans or len(spans) < len(leaf.found.places):
            return None
        numbers = [level.at(start) for start, _ in spans]
        own = [number for number in numbers if index in owners.get(number, ())]
        if own:
            shared = next((number for number in own if len(owners[number]) > 1), None)
            alone = any(len(owners[number]) == 1 for number in own)
            return (
                None
                if alone or shared is None
                else self._out_of_order(index, field, leaf, level, shared, owners[shared])
            )
        if any(not owners.get(number) for number in numbers):
            return None
        others = {other for number in numbers for other in owners[number]}
        for other in sorted(others):
            if self._is_swapped(leaf, field, other, level, owners) or self._lacks(index, leaf, level, owners):
                return self._as_stranger(leaf, spans[0], other, index, level, owners)
        return None

    def _is_swapped(
        self, leaf: Leaf, field: Parts, other: int, level: Segments, owners: Mapping[int, set[int]]
    ) -> bool:
        """Whether the record that a value stands with has another value, which does not stand there."""
        theirs = self._records[other].get(field)
        if theirs is None or theirs.value == leaf.value:
            return False
        return not any(other in owners.get(level.at(start), ()) for start, _ in self._spans(theirs))

    def _lacks(self, index: int, leaf: Leaf, level: Segments, owners: Mapping[int, set[int]]) -> bool:
        """Whether the own part of a record has a value of the same kind that no field of the record takes."""
        return self._instead(index, leaf, level, owners) is not None

    def _instead(self, index: int, leaf: Leaf, level: Segments, owners: Mapping[int, set[int]]) -> Where | None:
        assert self._document is not None
        taken = [span for own in self._records[index].values() for span in self._spans(own)]
        for number, records in owners.items():
            if records == {index}:
                free = _free(self._document, level.bounds(number), leaf, taken)
                if free is not None:
                    return Where(self._document, free)
        return None

    def _out_of_order(
        self, index: int, field: Parts, leaf: Leaf, level: Segments, number: int, records: set[int]
    ) -> Stranger | None:
        """A value that stands in one part with several anchors, in another order than they do."""
        start, end = level.bounds(number)
        anchors: dict[int, Span] = {}
        values: dict[int, Span] = {}
        for record in records:
            anchors[record] = next(span for span in self._anchor_spans(record) if start <= span[0] < end)
            inside = [span for span in self._spans(self._records[record].get(field)) if start <= span[0] < end]
            if len(inside) != 1:
                return None
            values[record] = inside[0]
        if len(set(values.values())) < len(values):
            return None
        rank = sorted(anchors, key=anchors.__getitem__).index(index)
        owner = sorted(values, key=values.__getitem__).index(index)
        if rank == owner:
            return None
        apart = max(anchors.values()) < min(values.values()) or max(values.values()) < min(anchors.values())
        other = sorted(anchors, key=anchors.__getitem__)[owner]
        if not apart and self._is_nearer(values[index], anchors[index], anchors[other]):
            return None
        return self._as_stranger(leaf, self._spans(leaf)[0], other, index, None, {})

    def _anchor_spans(self, record: int) -> list[Span]:
        return [] if self._anchor is None else self._spans(self._records[record].get(self._anchor))

    def _is_nearer(self, value: Span, own: Span, other: Span) -> bool:
        """Whether a value stands nearer to its own anchor than to another one: first by the commas between them, then by letters."""
        assert self._document is not None
        text = self._document.text

        def distance(anchor: Span) -> tuple[int, int]:
            between = text[min(anchor[1], value[1]) : max(anchor[0], value[0])]
            return between.count(",") + between.count("，") + between.count("、"), len(between)

        return distance(own) < distance(other)

    def _as_stranger(
        self, leaf: Leaf, span: Span, other: int, index: int, level: Segments | None, owners: Mapping[int, set[int]]
    ) -> Stranger:
        assert self._document is not None
        assert self._anchor is not None
        instead = None if level is None else self._instead(index, leaf, level, owners)
        whose = [str(self._records[which][self._anchor].value) for which in (other, index)]
        return Stranger(leaf, Where(self._document, span), whose[0], whose[1], instead)


def _main_document(records: list[Record]) -> Document | None:
    counts: dict[int, tuple[int, Document]] = {}
    for record in records:
        for leaf in record.values():
            for where in leaf.found.places[:1]:
                count, _ = counts.get(id(where.document), (0, where.document))
                counts[id(where.document)] = (count + 1, where.document)
    return max(counts.values(), key=lambda pair: pair[0])[1] if counts else None


def _free(document: Document, bounds: Span, leaf: Leaf, taken: list[Span]) -> Span | None:
    """A mention of the same kind inside of bounds that nothing takes."""
    start, end = bounds
    content = document.content
    example = document.text[slice(*leaf.found.places[0].span)]
    if leaf.found.kind == "number":
        bound = content.bound(None)
        here = leaf.found.places[0].span
        unit = next((one.unit for one in content.quantities_in(*here) if (one.start, one.end) == here), "")
        spans = [
            (one.start, one.end)
            for one in content.quantities_in(start, end)
            if one.unit == unit and not one.words and one.start not in bound
        ]
        spans = [span for span in spans if _looks_alike(document.text[slice(*span)], example)]
    else:
        wanted = "dates" if leaf.found.kind == "date" else "times"
        spans = [
            (one.start, one.end)
            for one in content.moments(None)
            if start <= one.start and one.end <= end and getattr(one, wanted)
        ]
    return next((span for span in spans if not any(span[0] < stop and begin < span[1] for begin, stop in taken)), None)


def _looks_alike(one: str, other: str) -> bool:
    """Whether two numbers are written alike: with or without a fraction."""
    return ("." in one[:-1] or "," in one[:-1]) == ("." in other[:-1] or "," in other[:-1])


def _alone(record: Record) -> Iterator[Stranger]:
    """The values of a single record that stand in a line or sentence like the one of its anchor, but not in that one.

    A record whose values stand in many such lines is about all of them, and nothing is reported.
    """
    anchor = next((leaf for leaf in record.values() if leaf.found.kind == "text" and len(leaf.found.places) == 1), None)
    if anchor is None:
        return
    home = anchor.found.places[0]
    for name in LEVELS[:2]:
        found = list(_beside(record, home, str(anchor.value), name))
        if 0 < len(found) <= _MOST_ALONE:
            yield from found
            return


def _beside(record: Record, home: Where, own: str, name: str) -> Iterator[Stranger]:
    document = home.document
    level = document.content.parted(name)
    bounds = level.bounds(level.at(home.span[0]))
    form = shape(document.text[slice(*bounds)])
    taken = [where.span for leaf in record.values() for where in leaf.found.places if where.document is document]
    count = 0
    for leaf in record.values():
        places = leaf.found.places
        if leaf.found.kind not in _MEASURED or any(where.document is not document for where in places):
            continue
        parts = [level.bounds(level.at(where.span[0])) for where in places[:_MOST_ALONE]]
        if not parts or bounds in parts or any(shape(document.text[slice(*part)]) != form for part in parts):
            continue
        free = _free(document, bounds, leaf, taken)
        count += 1
        if count > _MOST_ALONE:
            return
        if free is not None:
            owner = document.text[slice(*parts[0])].strip()
            yield Stranger(leaf, places[0], owner[:60], own, Where(document, free))
