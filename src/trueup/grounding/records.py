"""Records: check that each value belongs to its own record. Takes lookup results; returns the misplaced values.

If a text gives the ages of two people, both ages are in the text. Only their position shows who has which age.
The page is divided among the records: by spans of text, by the columns of a table that has one per record, or by order,
if a sentence lists names and then their values. A value is reported if it occurs only with another record and its own
record has something else in its place. Unclear cases are not reported.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from trueup.grounding.columns import Columns, columns_of
from trueup.grounding.documents import SourceDocument
from trueup.grounding.lookup import LookupResult, Where
from trueup.grounding.pages import SourcePage
from trueup.grounding.quantities.find import Quantity
from trueup.grounding.quantities.units import equal, names
from trueup.grounding.segments import LEVELS, shape
from trueup.grounding.series import series
from trueup.grounding.stretches import Field, Mention, Stretches, divide
from trueup.grounding.vocabulary import known, listed
from trueup.verdict.facts import Span
from trueup.verdict.paths import Parts, type_part
from trueup.verdict.patterns import lazy_regex

_WORD = lazy_regex(r"[^\W\d_]+")
_MEASURED = frozenset({"number", "date", "time"})
_MOST_RECORDS = 20_000
_MOST_ALONE = 2  # the most values of a single record that may be elsewhere
_MOST_PLACES = 8  # of a value that shows the position of its record
_MOST_JUDGED = 64  # of a value that is checked
_NAME, _TEXT, _MEASURE = 4.0, 2.0, 1.0  # the weight of a name, another text and a number as a sign of a record


class RecordValue(NamedTuple):
    """One value of a reply, its path, and its lookup result."""

    parts: Parts
    value: Any
    found: LookupResult


class Stranger(NamedTuple):
    """A value that occurs with another record: its place, the record there, its own record, and the right text."""

    leaf: RecordValue
    place: Where
    owner: str
    own: str
    instead: Where | None


Record = dict[Parts, RecordValue]


def strangers(leaves: list[RecordValue], documents: Sequence[SourceDocument]) -> Iterator[Stranger]:
    """The values whose only evidence belongs to another record."""
    page = SourcePage(documents)
    grouped = False
    for records in _groups(leaves):
        grouped = True
        yield from _Group(records, page).strangers()
    if not grouped:
        yield from _alone({leaf.parts: leaf for leaf in leaves}, page)


def _groups(leaves: list[RecordValue]) -> Iterator[list[Record]]:
    """Groups of sibling records: the items of a list with their contents, or adjacent objects with the same fields."""
    groups: dict[Parts, dict[type_part, Record]] = defaultdict(lambda: defaultdict(dict))
    for leaf in leaves:
        parts = leaf.parts
        listed = [at for at, part in enumerate(parts[:-1]) if isinstance(part, int)]
        for at in listed:
            groups[parts[:at]][parts[at]][parts[at + 1 :]] = leaf
        if len(parts) > 1 and not any(isinstance(part, int) for part in parts):
            groups[parts[:-2]][parts[-2]][parts[-1:]] = leaf
    for records in groups.values():
        whole = [record for record in records.values() if len(record) > 1]
        named = not isinstance(next(iter(records)), int)
        if 2 <= len(whole) <= _MOST_RECORDS and not (named and len({frozenset(record) for record in whole}) > 1):
            yield whole


def _field(parts: Parts) -> Field:
    """The name of a field, equal for all items of a list inside a record."""
    return tuple(None if isinstance(part, int) else part for part in parts)


def says_shared(sentence: str) -> bool:
    """Whether a sentence is about several things at once.

    >>> says_shared("They are both 41."), says_shared("两人都是41岁"), says_shared("Luis is 41.")
    (True, True, False)
    """
    words = _WORD.findall(sentence.casefold())
    return not known("shared").isdisjoint(words) or any(word in sentence for word in listed("shared_joined"))


class _Said:
    """The lookup result of a value, and the records that have the value."""

    def __init__(self, found: LookupResult, page: SourcePage) -> None:
        self.kind = found.kind
        self.spans = sorted(map(page.span, found.places))
        self.records: dict[int, Field] = {}
        self.owners: frozenset[int | None] | None = None


class _Group:
    """Sibling records on a page."""

    def __init__(self, records: list[Record], page: SourcePage) -> None:
        self._records = records
        self._page = page
        self._said: dict[int, _Said] = {}
        for index, record in enumerate(records):
            for parts, leaf in record.items():
                if leaf.found.places:
                    said = self._said.get(id(leaf.found))
                    if said is None:
                        said = self._said[id(leaf.found)] = _Said(leaf.found, page)
                    said.records.setdefault(index, _field(parts))
        self._name = self._choose_name()

    def strangers(self) -> Iterator[Stranger]:
        """The values of the group that occur with another of its records."""
        if self._name is None:
            return
        columns = columns_of(self._page, self._mentions, self._name)
        for index, record in enumerate(self._records):
            others = [(parts, leaf) for parts, leaf in record.items() if parts != self._name and self._is_judged(leaf)]
            if columns is not None:
                found = [self._in_other_column(index, leaf, columns) for _, leaf in others]
            else:
                found = [self._stranger(index, parts, leaf) for parts, leaf in others]
            yield from self._blamed(index, [one for one in found if one is not None], len(others))

    def _is_judged(self, leaf: RecordValue) -> bool:
        return 0 < len(leaf.found.places) <= _MOST_JUDGED

    def _blamed(self, index: int, found: list[Stranger], count: int) -> Iterator[Stranger]:
        """The findings of one record. If nearly all of its values occur with another record, its name is wrong."""
        assert self._name is not None
        name = self._records[index].get(self._name)
        if name is not None and name.found.places and len(found) > 1 and len(found) * 3 > count * 2:
            others = {one.owner for one in found}
            if len(others) == 1:
                yield Stranger(name, name.found.places[0], str(name.value), others.pop(), None)
                return
        yield from found

    # -- preparation -----------------------------------------------------------------------------

    def _spans(self, leaf: RecordValue) -> list[Span]:
        return self._said[id(leaf.found)].spans if leaf.found.places else []

    def _choose_name(self) -> Parts | None:
        """The field that identifies the records: text that differs in most of them and has evidence in most."""
        fields = dict.fromkeys(
            parts for record in self._records for parts in record if not any(isinstance(part, int) for part in parts)
        )
        best: tuple[tuple[bool, bool, int], Parts] | None = None
        for place, field in enumerate(fields):
            leaves = [record[field] for record in self._records if field in record]
            found = [leaf for leaf in leaves if leaf.found.places]
            values = {str(leaf.value) for leaf in found}
            if not found or len(values) * 2 <= len(found) or len(found) * 2 < len(self._records):
                continue
            key = (any(leaf.found.kind in _MEASURED for leaf in leaves), len(values) < len(found), place)
            if best is None or key < best[0]:
                best = (key, field)
        return None if best is None else best[1]

    @cached_property
    def _mentions(self) -> list[Mention]:
        """The places of all values that have few places and few records, in order."""
        claims: dict[Span, tuple[dict[int, Field], float]] = {}
        for said in self._said.values():
            if len(said.spans) > _MOST_PLACES or len(said.records) > _MOST_PLACES:
                continue
            weight = self._weight(said)
            for span in said.spans:
                known, before = claims.get(span, ({}, 0.0))
                for record, field in said.records.items():
                    if field == self._name or record not in known:
                        known[record] = field
                claims[span] = (known, max(before, weight))
        mentions: list[Mention] = []
        for span, (known, weight) in sorted(claims.items(), key=lambda one: (one[0][0], -one[0][1])):
            if not mentions or span[1] > mentions[-1].span[1]:  # skip a number inside a name
                mentions.append(Mention(span, known, weight))
        return mentions

    def _weight(self, said: _Said) -> float:
        """How much each place of a value shows about its record. A name often occurs twice, a number rarely does."""
        count = len(said.spans)
        if self._name in said.records.values():
            return (_TEXT if said.kind in _MEASURED else _NAME) * min(1.0, 2 / count)
        return (_MEASURE if said.kind in _MEASURED else _TEXT) / count

    @cached_property
    def _stretches(self) -> Stretches:
        assert self._name is not None
        named = [
            index
            for index, record in enumerate(self._records)
            if self._name in record and 0 < len(record[self._name].found.places) <= _MOST_PLACES
        ]
        return divide(self._page.text, self._mentions, self._name, named)

    @cached_property
    def _series(self) -> dict[int, int]:
        assert self._name is not None
        return series(self._mentions, self._page.parted("sentence").at, self._name)

    # -- a column for each record ----------------------------------------------------------------

    def _in_other_column(self, index: int, leaf: RecordValue, columns: Columns) -> Stranger | None:
        owner: int | None = None
        instead: Span | None = None
        for start, _ in self._spans(leaf):
            other = columns.at(start)
            if other is None or other == index:
                return None
            owner = other
            cell = columns.cell(index, start)
            instead = None if cell is None else _free(self._page, cell, leaf, ())
        return None if owner is None else self._made(leaf, owner, index, instead)

    # -- a stretch for each record ---------------------------------------------------------------

    def _owners(self, leaf: RecordValue) -> frozenset[int | None]:
        """The records that have a value in one of their stretches."""
        said = self._said[id(leaf.found)]
        if said.owners is None:
            said.owners = frozenset(
                self._series[start] if start in self._series else self._stretches.at(start) for start, _ in said.spans
            )
        return said.owners

    def _stranger(self, index: int, parts: Parts, leaf: RecordValue) -> Stranger | None:
        owners = self._owners(leaf)
        if index in owners or None in owners:
            return None
        if not self._stretches.of(index) and self._spans(leaf)[0][0] not in self._series:
            return None
        if self._is_said_otherwise(index, leaf):
            return None
        instead = None if self._is_shared(leaf) else self._instead(index, leaf)
        for other in sorted(owner for owner in owners if owner is not None):
            if instead is not None or self._is_swapped(leaf, _field(parts), other):
                return self._made(leaf, other, index, instead)
        return None

    def _is_said_otherwise(self, index: int, leaf: RecordValue) -> bool:
        """Whether a record's own stretches give the number in another unit: 120 mg as 0.12 g."""
        here = self._spans(leaf)[0]
        said = next((one for span, one in self._page.numbers_in(here) if span == here), None)
        if said is None or not said.unit:
            return False
        return any(
            one.unit not in ("", said.unit) and any(equal(value, said.unit, one) for value in said.values)
            for stretch in self._stretches.of(index)
            for _, one in self._page.numbers_in(stretch.bounds)
        )

    def _is_shared(self, leaf: RecordValue) -> bool:
        """Whether a sentence gives a value to several records: "both are 41"."""
        level = self._page.parted("sentence")
        sentences = {level.bounds(level.at(start)) for start, _ in self._spans(leaf)[:_MOST_PLACES]}
        return any(says_shared(self._page.text[slice(*bounds)]) for bounds in sentences)

    def _is_swapped(self, leaf: RecordValue, field: Field, other: int) -> bool:
        """Whether the other record has another value, which occurs with yet another record."""
        theirs = [
            one
            for parts, one in self._records[other].items()
            if _field(parts) == field and one.value != leaf.value and self._is_judged(one)
        ]
        return any(not {other, None} & self._owners(one) for one in theirs)

    def _instead(self, index: int, leaf: RecordValue) -> Span | None:
        """A value of the same kind in a record's own stretches that no field of the record uses."""
        for stretch in self._stretches.of(index):
            start, end = stretch.around
            taken: list[Span] = []
            for own in self._records[index].values():
                if self._is_judged(own):
                    spans = self._said[id(own.found)].spans
                    taken += next(([span] for span in spans if start <= span[0] < end), ())
            if (free := _free(self._page, stretch.around, leaf, taken)) is not None:
                return free
        return None

    def _made(self, leaf: RecordValue, other: int, index: int, instead: Span | None) -> Stranger:
        whose = [self._named(which) for which in (other, index)]
        return Stranger(
            leaf, leaf.found.places[0], whose[0], whose[1], None if instead is None else self._page.where(instead)
        )

    def _named(self, index: int) -> str:
        assert self._name is not None
        leaf = self._records[index].get(self._name)
        return str(index + 1) if leaf is None else str(leaf.value)


def _free(page: SourcePage, bounds: Span, leaf: RecordValue, taken: Sequence[Span]) -> Span | None:
    """A mention of the same kind within bounds that no other value uses."""
    here = page.span(leaf.found.places[0])
    if leaf.found.kind == "number":
        said = next((one for span, one in page.numbers_in(here) if span == here), None)
        spans = [span for span, one in page.numbers_in(bounds) if said is None or _are_alike(one, said)]
    elif leaf.found.kind in _MEASURED:
        wanted = "dates" if leaf.found.kind == "date" else "times"
        spans = [span for span, one in page.moments_in(bounds) if getattr(one, wanted)]
    else:
        return None
    return next((span for span in spans if not any(span[0] < end and start < span[1] for start, end in taken)), None)


def _are_alike(one: Quantity, other: Quantity) -> bool:
    """Whether two numbers may measure the same thing. Money never matches a weight, and 4 never matches 4.5."""
    if one.unit != other.unit and one.unit and other.unit:
        return "%" not in (one.unit, other.unit) and (one.unit in names().money) == (other.unit in names().money)
    return bool(one.unit or other.unit or one.words) or _may_be_whole(one) == _may_be_whole(other)


def _may_be_whole(one: Quantity) -> bool:
    return any("." not in value for value in one.values)


def _alone(record: Record, page: SourcePage) -> Iterator[Stranger]:
    """The values of a single record that are in another line or sentence of the same form as the line of its anchor.

    If many values of a record are in such lines, the record is about all of them, and nothing is reported.
    """
    anchor = next((leaf for leaf in record.values() if leaf.found.kind == "text" and len(leaf.found.places) == 1), None)
    if anchor is None:
        return
    for name in LEVELS[:2]:
        found = list(_beside(record, anchor, page, name))
        if 0 < len(found) <= _MOST_ALONE:
            yield from found
            return


def _beside(record: Record, anchor: RecordValue, page: SourcePage, name: str) -> Iterator[Stranger]:
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
