"""Documents: the texts in which values are looked up, each with an index of its contents.

Takes a text; returns its words, numbers and dates, each computed on first use. Recent texts are cached: a source that
many replies share is indexed once per process, for all threads. The cache has the last 256 texts, up to 4 million
characters in all. An index takes about 60 bytes per character of a Latin text and 140 of a Chinese one. A text that is
too long for the cache is read again by each check.
"""

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property
from threading import Lock
from typing import NamedTuple

from trueup.grounding.larger_wholes import is_bound
from trueup.grounding.moments.find import Moment, TimeOfDay, moments
from trueup.grounding.quantities.find import Quantity, quantities
from trueup.grounding.quantities.units import unit_named, unit_words
from trueup.grounding.segments import Segments, parted
from trueup.grounding.words import TextWords
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_WIDE = lazy_regex("[\uff01-\uff5e\u3000]")
_FIELDS = lazy_regex(r".*,\S.*,")
_QUOTED = lazy_regex(r'"[^"\n]*"')
_QUOTED_OR_COMMA = lazy_regex(r'"[^"\n]*"|,')
_BETWEEN_DIGITS = lazy_regex(r"(?<=\d),(?=\d)")
_PLAIN = {0xFF00 + code: 0x20 + code for code in range(1, 0x5F)} | {0x3000: 0x20}
_LEAST_LINES, _LEAST_COMMAS = 2, 2  # the fewest lines of comma-separated values, and commas in each
_SIGN = lazy_regex(r"[$€£¥₹₩%‰°]")
_LONGEST = 300  # the most digits of a number that is compared by size
_FEW = 24  # up to this many equal numbers are examined one by one
_MOST_DAYS = 4  # the most values of `today` that are cached per text
_MOST_TEXTS, _MOST_CHARACTERS = 256, 4_000_000  # the most that is cached, with the indexes


class _Timed:
    """The part of a text's index that depends on the day it is read."""

    __slots__ = ("bound", "days", "moments", "numbers", "times")

    def __init__(self, found: list[Moment]) -> None:
        self.moments = found
        self.bound: frozenset[int] | None = None
        self.days: dict[tuple[int | None, int | None], list[Moment]] | None = None
        self.times: dict[tuple[int, ...], list[Moment]] | None = None
        self.numbers: list[tuple[float, Quantity]] | None = None


class IndexedText:
    """One text and its index."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._by_day: dict[date | None, _Timed] = {}
        self._parted: dict[str, Segments] = {}
        self._names: dict[str, bool] = {}

    @cached_property
    def lowered(self) -> str:
        """The text in lower case, with the same length."""
        lowered = self.text.lower()
        return (
            lowered
            if len(lowered) == len(self.text)
            else "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)
        )

    @cached_property
    def words(self) -> TextWords:
        """Its words."""
        return TextWords(self.text)

    @cached_property
    def _reading(self) -> str:
        """The text from which numbers and dates are read, of the same length. Full-width characters become plain ones.
        In lines of comma-separated values, a comma is never part of a number.
        """
        text = self.text
        if not text.isascii() and _WIDE.search(text):
            text = text.translate(_PLAIN)
        if text.count(",") < _LEAST_LINES * _LEAST_COMMAS:
            return text
        lines = text.split("\n")
        fields = [at for at, line in enumerate(lines) if line.count(",") >= _LEAST_COMMAS and _is_separated(line)]
        if len(fields) < _LEAST_LINES:
            return text
        for at in fields:
            lines[at] = _QUOTED_OR_COMMA.sub(_as_separator, lines[at])
        return "\n".join(lines)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Its numbers, amounts and measures, in order."""
        return quantities(self._reading)

    @cached_property
    def by_number(self) -> dict[str, list[Quantity]]:
        """The same numbers, by each value that they can mean."""
        found: dict[str, list[Quantity]] = {}
        for mention in self.quantities:
            for value in mention.values:
                found.setdefault(value, []).append(mention)
        return found

    @cached_property
    def by_unit(self) -> dict[str, list[Quantity]]:
        """The numbers that have a unit, by unit."""
        found: dict[str, list[Quantity]] = {}
        for mention in self.quantities:
            if mention.unit:
                found.setdefault(mention.unit, []).append(mention)
        return found

    def names(self, unit: str) -> bool:
        """Whether it names a unit apart from a number, as in a table heading."""
        found = self._names.get(unit)
        if found is None:
            found = self._names[unit] = any(self._stands_alone(place) for place in self.unit_places(unit)) or any(
                unit_named(sign[0]) == unit and not self._measured(sign.start()) for sign in _SIGN.finditer(self.text)
            )
        return found

    def unit_places(self, unit: str) -> Iterator[int]:
        """The indexes of the words that name a unit, grouped by word."""
        places = self.words.places
        for word in sorted(unit_words().get(unit, frozenset()) & places.keys(), key=lambda word: places[word][0]):
            yield from places[word]

    def _stands_alone(self, word: int) -> bool:
        return not self._measured(self.words.starts[word])

    def _measured(self, position: int) -> bool:
        """Whether a position is inside a number that has a unit."""
        at = bisect_left(self.quantities, position + 1, key=lambda one: one.start) - 1
        return at >= 0 and self.quantities[at].end > position

    def moments(self, today: date | None) -> list[Moment]:
        """Its dates and times, in order; relative ones are counted from `today`."""
        return self._timed(today).moments

    def at_time(self, today: date | None, times: Iterable[TimeOfDay]) -> list[Moment]:
        """The mentions that may be one of several times of day, to the minute."""
        timed = self._timed(today)
        if timed.times is None:
            timed.times = {}
            for one in timed.moments:
                for key in {said[:2] for said in one.times}:
                    timed.times.setdefault(key, []).append(one)
        found = {one.start: one for time in times for one in timed.times.get(time[:2], ())}
        return [found[start] for start in sorted(found)]

    def on_day(self, today: date | None, month: int, day: int) -> list[Moment]:
        """The dates that may be a given day of a month."""
        timed = self._timed(today)
        if timed.days is None:
            timed.days = {}
            for one in timed.moments:
                for key in {(said.month, said.day) for said in one.dates}:
                    timed.days.setdefault(key, []).append(one)
        return timed.days.get((month, day), [])

    def quantities_in(self, start: int, end: int) -> list[Quantity]:
        """The numbers between two positions."""
        first = bisect_left(self.quantities, start, key=lambda one: one.start)
        last = bisect_left(self.quantities, end, key=lambda one: one.start)
        return [one for one in self.quantities[first:last] if one.end <= end]

    def parted(self, level: str) -> Segments:
        """The text in lines, sentences or paragraphs."""
        if level not in self._parted:
            self._parted[level] = parted(self.text, level)
        return self._parted[level]

    def bound(self, today: date | None) -> frozenset[int]:
        """The starts of the numbers that are only part of a date, an identifier or a list number."""
        timed = self._timed(today)
        if timed.bound is None:
            starts = (one.start for one in self.quantities if is_bound(one, self.text, timed.moments))
            timed.bound = frozenset(starts)
        return timed.bound

    def free(self, today: date | None, mentions: list[Quantity]) -> list[Quantity]:
        """The given numbers that are not part of something larger. A few are examined one by one."""
        timed = self._timed(today)
        if timed.bound is None and len(mentions) <= _FEW:
            return [one for one in mentions if not self._is_bound(one.start, timed.moments)]
        bound = self.bound(today)
        return [one for one in mentions if one.start not in bound]

    def _is_bound(self, start: int, moments: list[Moment]) -> bool:
        at = bisect_left(self.quantities, start, key=lambda one: one.start)
        while at < len(self.quantities) and self.quantities[at].start == start:
            if is_bound(self.quantities[at], self.text, moments):
                return True
            at += 1
        return False

    def sorted_numbers(self, today: date | None) -> list[tuple[float, Quantity]]:
        """The numbers in figures that are not part of something larger, in each of their readings, sorted by size."""
        timed = self._timed(today)
        if timed.numbers is None:
            bound = self.bound(today)
            free = (one for one in self.quantities if not one.words and one.start not in bound)
            timed.numbers = sorted((float(value), one) for one in free for value in one.values if len(value) < _LONGEST)
        return timed.numbers

    def _timed(self, today: date | None) -> "_Timed":
        found = self._by_day.get(today)
        if found is None:
            plain = None if today is None else self._timed(None)
            if plain is not None and not any(one.relative for one in plain.moments):
                found = plain  # no date depends on `today`
            else:
                found = _Timed(moments(self._reading, today))
            if len(self._by_day) >= _MOST_DAYS:
                self._by_day = {None: self._timed(None)}
            self._by_day[today] = found
        return found


def _is_separated(line: str) -> bool:
    """Whether a line has comma-separated values: no space after its commas, and few of them inside a number."""
    if _FIELDS.match(line) is None:
        return False
    plain = _QUOTED.sub('""', line)
    between = sum(1 for _ in _BETWEEN_DIGITS.finditer(plain))
    parting = plain.count(",") - between
    return parting >= _LEAST_COMMAS and parting >= between and ", " not in plain


def _as_separator(found: "re.Match[str]") -> str:
    return "|" if found[0] == "," else found[0]


class SourceDocument(NamedTuple):
    """A text with a name, its spans that only show an example, and the role if it is a message."""

    name: str
    content: IndexedText
    examples: tuple[Span, ...] = ()
    role: str = ""

    @property
    def text(self) -> str:
        """The text itself."""
        return self.content.text


class _Kept:
    """The texts that were read recently."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, IndexedText] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, text: str) -> IndexedText:
        with self._lock:
            found = self._texts.get(text)
            if found is not None:
                self._texts.move_to_end(text)
                return found
            found = IndexedText(text)
            if len(text) <= _MOST_CHARACTERS:
                self._texts[text] = found
                self._size += len(text)
            while len(self._texts) > _MOST_TEXTS or self._size > _MOST_CHARACTERS:
                self._size -= len(self._texts.popitem(last=False)[0])
        return found


_kept = _Kept()


def text_of(text: str) -> IndexedText:
    """A text with its index, from the cache if it was read recently."""
    return _kept.get(text)
