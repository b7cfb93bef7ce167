"""Lookup: takes one value of a reply; returns how well the documents agree with it, and where.

A value is looked up by its kind: a number in any notation, a date, a time of day, words, or a quotation. The kind
follows from the value and the name of its field, never from a guess about the text.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from trueup.grounding.counting import counted_by, counts_other, said_otherwise
from trueup.grounding.documents import SourceDocument
from trueup.grounding.moments.find import Day, Moment, moments
from trueup.grounding.moments.points import pointed
from trueup.grounding.moments.read import read_moment
from trueup.grounding.moments.same import same_date, same_time, weekday_only
from trueup.grounding.phrases import Match, Phrase, exact, look_up
from trueup.grounding.quantities.find import Quantity, canonical
from trueup.grounding.quantities.read import read_quantity
from trueup.grounding.quantities.units import equal, unit_named
from trueup.grounding.quotations import Altered, quoted
from trueup.grounding.sources import Sources
from trueup.grounding.telephones import is_telephone, telephones
from trueup.grounding.vocabulary import known
from trueup.grounding.words import MOST, fold
from trueup.verdict.evidence import Evidence, Evident, Place, shortened
from trueup.verdict.facts import Span
from trueup.verdict.likeness import name_words
from trueup.verdict.patterns import lazy_regex

_MOST_PLACES = 8  # the most places of a value that a verdict lists
_STRICTEST: tuple[Evident, ...] = ("exact", "normalized", "fuzzy")
_ANY_YEAR = 2024  # days are counted in this year if neither the value nor the source gives one
_MOST_DAYS = 4  # the most dates of the sources that a relative date is counted from
_BEFORE = 40  # characters read on either side of a relative date
_AROUND = 8  # how many of the numbers closest in size are compared
_MOST_SPACES = 5  # the most in a number or date without digits: "two hundred and thirty four"
_LONGEST_TYPED = 80  # the most characters of a text that is read as a number or a date
_ALIKE = 60.0  # out of 100: the least similarity of a text that a finding names as the nearest
_URL = lazy_regex(r"(?i)(?:https?://|www\.)[^\s<>\"]+")
_SCHEME = lazy_regex(r"\A(?:https?://)?(?:www\.)?")
_SCHEME_BEFORE = lazy_regex(r"(?:https?://)?(?:www\.)?\Z")
_LONGEST_SCHEME = len("https://www.")
_GOES_ON = lazy_regex(r"[a-z0-9_%&=~+-]|[./?#][a-z0-9_]")
_HOST_GOES_ON = lazy_regex(r"[a-z0-9_%&=~+-]|\.[a-z0-9_]")
_GOES_BEFORE = lazy_regex(r"[a-z0-9_.@/-]\Z")
_REMARK = lazy_regex(r"([^()（）]+)[(（]([^()（）]+)[)）]")
_CLOCK = frozenset(
    # fields with such a name may contain the day of a date or the hour of a time
    """year years month months day days hour hours minute minutes date time birthday ano año anos años mes meses dia día dias hora horas minuto minutos jahr monat tag
    stunde minute uhrzeit anno mese giorno ora mois jour heure 年 月 日 時 分 时""".split()
)

# Fields that contain one part of a date or a time.
_PARTS = {word: part for part, words in {
    "year": "year ano año anno jahr année annee 年", "month": "month mes mês mese monat mois 月", "day": "day dia día giorno tag jour 日",
    "hour": "hour hora ora stunde heure 時 时", "minute": "minute minuto minuten 分",
}.items() for word in words.split()}  # fmt: skip


class Where(NamedTuple):
    """A span of a document."""

    document: SourceDocument
    span: Span

    @property
    def text(self) -> str:
        """The text of the span."""
        return self.document.text[slice(*self.span)]

    def place(self) -> Place:
        """The same place, as a verdict shows it."""
        return Place(self.document.name, self.span, shortened(self.text))

    @property
    def is_example(self) -> bool:
        """Whether it only shows an example."""
        start, end = self.span
        return any(begin <= start and end <= stop for begin, stop in self.document.examples)


class LookupResult(NamedTuple):
    """The result of one lookup: the grade, every place, the kind of the value, and an altered passage if any."""

    grade: Evident
    places: tuple[Where, ...] = ()
    kind: str = "text"
    altered: Altered | None = None
    in_prompt: Where | None = None

    def evidence(self, nearest: Where | None = None) -> Evidence:
        """The same result, as a verdict shows it."""
        places = tuple(where.place() for where in self.places[:_MOST_PLACES])
        return Evidence(self.grade, places, None if nearest is None else nearest.place())


UNCHECKABLE = LookupResult("not checkable", kind="")
_Way = Callable[[SourceDocument], Match | None]


class _Asked(NamedTuple):
    """How to look up a number: its unit and field, whether the value contains the unit, and whether it is in words."""

    unit: str
    field: str
    strict: bool = False
    words: bool = False


def _is_filler(text: str) -> bool:
    """Whether a number in words usually does not mean a number: "first", "once"."""
    return fold(text) in known("fillers")


class Lookup:
    """Looks up the values of one reply in its sources; equal values are looked up once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._found: dict[tuple[Any, ...], LookupResult] = {}

    def find(self, value: Any, field: str = "", *, quotation: bool = False) -> LookupResult:
        """Look up a value. `field` is the value's name in the reply."""
        key = (type(value), value, field, quotation)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._look(value, field, quotation=quotation)
        return found

    def find_quantity(self, number: Quantity) -> LookupResult:
        """Look up a number of the reply's text, in each of its readings."""
        key = (Quantity, number.values, number.unit, number.words)
        found = self._found.get(key)
        if found is None:
            asked = _Asked(number.unit, "", words=number.words)
            seen = [self._number(value, asked) for value in number.values]
            found = self._found[key] = min(seen, key=lambda one: not one.places)
        return found

    def find_moment(self, moment: Moment) -> LookupResult:
        """Look up a date or a time of the reply's text."""
        key = (Moment, moment.dates, moment.times)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._moment(moment)
        return found

    def find_letters(self, text: str) -> LookupResult:
        """Look up a text that must match exactly except for case, such as a version number."""

        def way(document: SourceDocument) -> Match | None:
            spans = list(islice(_standing(text.lower(), document.content.lowered, _GOES_ON), MOST))
            return Match("exact", spans) if spans else None

        return self._everywhere(way, "text")

    def find_url(self, url: str) -> LookupResult:
        """Look up a URL. Case, a final slash, the scheme and `www.` may differ. A host matches any URL on that host."""
        wanted = url.rstrip("/")
        core = _SCHEME.sub("", wanted.lower())
        goes_on = _GOES_ON if "/" in core else _HOST_GOES_ON

        def way(document: SourceDocument) -> Match | None:
            lowered = document.content.lowered
            addresses = (_with_scheme(span, lowered) for span in _standing(core, lowered, goes_on))
            spans = [span for span in islice(addresses, MOST) if span is not None]
            written = any(document.text[start:end] == wanted for start, end in spans)
            return Match("exact" if written else "normalized", spans) if spans else None

        return self._everywhere(way, "text")

    def _look(self, value: Any, field: str, *, quotation: bool) -> LookupResult:
        if isinstance(value, bool) or value is None:
            return UNCHECKABLE
        if isinstance(value, int | float):
            return self._number(canonical(value), _Asked(_unit_of(field), field))
        phrase = Phrase(str(value))
        if not phrase.folded:
            return UNCHECKABLE
        if quotation:
            return self._quotation(phrase)
        if _URL.fullmatch(phrase.value):
            return self.find_url(phrase.value)
        if (remark := _REMARK.fullmatch(phrase.value)) and " ".join(Phrase(remark[1]).folded) in known("answers"):
            phrase = Phrase(remark[2])  # 有り(無料) is "yes (free)": only the remark can be looked up
        elif " ".join(phrase.folded) in known("answers"):
            found = self._everywhere(lambda document: look_up(phrase, document.content, only_strict=True), "text")
            return found if found.places else UNCHECKABLE
        return self._typed(phrase, field) if len(phrase.value) <= _LONGEST_TYPED else self._words(phrase)

    # -- the kinds of values ---------------------------------------------------------------------

    def _typed(self, phrase: Phrase, field: str) -> LookupResult:
        """A short text: a date, a time or a number if it is nothing else, otherwise words."""
        if is_telephone(phrase.value):
            found = self._everywhere(lambda document: _telephone(phrase, document), "text")
            if found.places:
                return found
        moment, number = _typed_as(phrase.value, self._sources.today)
        if moment is None and number is None:
            return self._words(phrase)
        seen = [self._moment(moment)] if moment is not None else []
        if number is not None and not (seen and seen[0].places):
            asked = _Asked(number.unit or _unit_of(field), field, strict=bool(number.unit), words=number.words)
            numbers = [self._number(value, asked) for value in number.values]
            seen += sorted(numbers, key=lambda found: not found.places)[:1]
        best = next((found for found in seen if found.places), None)
        written = self._everywhere(lambda document: _as_written(phrase, document), "text")
        if written.places and (best is not None or not phrase.value.isdigit() or len(phrase.value) > 3):
            if best is None:
                return written._replace(kind=seen[0].kind)
            places = dict.fromkeys((*written.places, *best.places))
            return best._replace(grade=written.grade if written.grade == "exact" else best.grade, places=tuple(places))
        if best is None and not phrase.has_digits:
            return self._words(phrase)  # "Sun" is a day and also a word
        return best or seen[0]

    def _words(self, phrase: Phrase) -> LookupResult:
        found = self._everywhere(lambda document: look_up(phrase, document.content), "text")
        unit = unit_named(phrase.value) if not found.places and len(phrase.folded) == 1 else ""
        return found if not unit else self._everywhere(lambda document: _named_unit(unit, document), "text")

    def _number(self, value: str, asked: "_Asked") -> LookupResult:
        unit, small = asked.unit, len(value) <= 3 and not _is_of_time(asked.field)
        wanted = counted_by(asked.field) if not unit else frozenset()

        def way(document: SourceDocument) -> Match | None:
            content = document.content
            mentions = [one for one in content.by_number.get(value, ()) if equal(value, unit, one)]
            if asked.strict and not content.names(unit):
                mentions = [one for one in mentions if one.unit]  # a bare number may count something else
            if small:
                mentions = [
                    one for one in mentions if not (one.words and _is_filler(content.text[one.start : one.end]))
                ]
            if asked.words:
                mentions = [one for one in mentions if not one.words]  # words must match as words
            if not mentions:  # try other units; without a unit, only a percentage: 0.45 is 45 %
                others = content.by_unit if unit else ("%",)
                mentions = [
                    one for other in others for one in content.by_unit.get(other, ()) if equal(value, unit, one)
                ]
            if small and mentions:
                mentions = content.free(self._sources.today, mentions)
            if wanted:
                mentions = [one for one in mentions if not counts_other(wanted, one, content.text)]
            spans = [(one.start, one.end) for one in mentions]
            if not spans:
                spans = list(said_otherwise(wanted, value, content.words)) or list(
                    self._part(value, asked.field, document)
                )
                return Match("normalized", spans) if spans else None
            written = any(content.text[start:end] == value for start, end in spans)
            return Match("exact" if written else "normalized", spans)

        return self._everywhere(way, "number")

    def _part(self, value: str, field: str, document: SourceDocument) -> Iterator[Span]:
        """The dates or times with a number as the part that a field names: `{"hour": 14}` and "March 5th, 2:10 pm"."""
        part = _PARTS.get(next(reversed(name_words(field)), ""))
        if part is None or not value.isdecimal():
            return
        for one in document.content.moments(self._sources.today):
            said = one.dates if part in Day._fields else one.times
            if any(getattr(reading, part) == int(value) for reading in said):
                yield one.start, one.end

    def _moment(self, moment: Moment) -> LookupResult:
        kind, says_time = "date" if moment.dates else "time", _says_time(moment)

        def way(document: SourceDocument) -> Match | None:
            dates = self._same_dates(moment, document)
            times = []
            if says_time:
                said = document.content.at_time(self._sources.today, moment.times)
                times = [one for one in said if same_time(moment, one)]
            grade: Evident = "normalized"
            if moment.dates and not dates:
                grade = "fuzzy"
                mentions = document.content.moments(self._sources.today)
                dates = [one for one in mentions if self._is_loosely(moment, one)]
            spans = [(one.start, one.end) for one in (*dates, *times)]
            if says_time and not times:
                spans += (more := list(pointed(moment, document.text)))
                if not more:
                    return None
            return Match(grade, spans) if dates or not moment.dates else None

        found = self._everywhere(way, kind)
        if found.places or self._sources.today is not None or not any(day.year for day in moment.dates):
            return found  # a date without a year was written somewhere, not counted from today
        relative = [Where(document, span) for document in self._sources.documents for span in _relative(document)]
        return self._counted(moment, relative, kind) if relative else found

    def _same_dates(self, moment: Moment, document: SourceDocument) -> list[Moment]:
        today, content = self._sources.today, document.content
        if all(day.month and day.day for day in moment.dates):
            known_days = dict.fromkeys((day.month or 0, day.day or 0) for day in moment.dates)
            near = [one for month, day in known_days for one in content.on_day(today, month, day)]
        else:
            near = [one for one in content.moments(today) if one.dates]
        return [one for one in near if same_date(moment, one)]

    def _is_loosely(self, moment: Moment, one: Moment) -> bool:
        """Whether a mention gives part of a date: its weekday, its day, or the month that it starts."""
        if one.relative:
            return False  # "next Friday" has a date only if there is a day to count from
        begun = any(
            day.day == 1 and day.month and (day.year, day.month, None) == other[:3]
            for day in moment.dates
            for other in one.dates
        )
        return begun or weekday_only(moment, one) or same_date(moment, one, loosely=True)

    def _counted(self, moment: Moment, relative: list[Where], kind: str) -> LookupResult:
        """A date that the sources may call "next Friday", counted from their own dates; not checkable without any."""
        year = next((day.year for day in moment.dates if day.year), _ANY_YEAR)
        dates = (day for document in self._sources.documents for day in _dates(document, year))
        days = list(islice(dict.fromkeys(dates), _MOST_DAYS))
        if not days:
            return LookupResult("not checkable", kind=kind)
        places = tuple(
            where for where in relative[:_MOST_PLACES] if any(_says_from(where, day, moment) for day in days)
        )
        return LookupResult("fuzzy", places, kind) if places else LookupResult("none", kind=kind)

    def _quotation(self, phrase: Phrase) -> LookupResult:
        altered: list[tuple[SourceDocument, Altered]] = []

        def way(document: SourceDocument) -> Match | None:
            match = quoted(phrase, document.content)
            if isinstance(match, Altered):
                altered.append((document, match))
                return None
            return match

        found = self._everywhere(way, "quotation")
        return found if found.places or not altered else found._replace(altered=altered[0][1])

    # -- over all documents ----------------------------------------------------------------------

    def _everywhere(self, way: _Way, kind: str) -> LookupResult:
        """The best match of any document. In each document, the strictest method that matches counts."""
        by_grade: dict[Evident, list[Where]] = {}
        in_prompt: Where | None = None
        for document in self._sources.documents:
            match = way(document)
            if match is None:
                continue
            for span in match.spans:
                where = Where(document, span)
                if where.is_example:
                    in_prompt = in_prompt or where
                else:
                    by_grade.setdefault(match.grade, []).append(where)
        places = [where for grade in _STRICTEST for where in by_grade.get(grade, ())]
        if places:
            return LookupResult(next(grade for grade in _STRICTEST if by_grade.get(grade)), tuple(places), kind)
        if in_prompt is None:
            in_prompt = next(_in_prompts(way, self._sources.prompts), None)
        return LookupResult("none", (), kind, in_prompt=in_prompt)

    # -- what comes nearest ----------------------------------------------------------------------

    def nearest(self, value: Any, found: LookupResult, field: str = "") -> Where | None:
        """The part of the sources that is nearest to a value that they do not contain."""
        if found.altered is not None:
            return next(
                (
                    Where(document, found.altered.span)
                    for document in self._sources.documents
                    if document.content is found.altered.document
                ),
                None,
            )
        if found.kind == "number":
            return self._nearest_number(value, field)
        if found.kind in ("date", "time"):
            return self._nearest_moment(str(value), found.kind)
        return self._nearest_words(Phrase(str(value)))

    def _nearest_number(self, value: Any, field: str) -> Where | None:
        number = read_quantity(str(value)) if isinstance(value, str) else None
        target = number.values[0] if number is not None else "" if isinstance(value, str) else canonical(value)
        if not target:
            return None
        unit = (number.unit if number else "") or _unit_of(field)
        wanted = counted_by(field) if not unit else frozenset()
        number_of = float(target) if len(target) < _LONGEST_TYPED else 0.0
        best: tuple[tuple[bool, float], Where] | None = None
        for document in self._sources.documents:
            numbers = document.content.sorted_numbers(self._sources.today)
            at = bisect_left(numbers, number_of, key=lambda pair: pair[0])
            for size, one in numbers[max(0, at - _AROUND) : at + _AROUND]:
                if wanted and counts_other(wanted, one, document.text):
                    continue
                key = (bool(unit) and one.unit != unit, _distance(number_of, size))
                if best is None or key < best[0]:
                    best = (key, Where(document, (one.start, one.end)))
        return None if best is None else best[1]

    def _nearest_moment(self, value: str, kind: str) -> Where | None:
        wanted = read_moment(value, self._sources.today)
        if wanted is None:
            return None
        best: tuple[float, Where] | None = None
        for document in self._sources.documents:
            for one in document.content.moments(self._sources.today):
                gap = _gap(wanted, one, kind)
                if gap is not None and (best is None or gap < best[0]):
                    best = (gap, Where(document, (one.start, one.end)))
        return None if best is None else best[1]

    def _nearest_words(self, phrase: Phrase) -> Where | None:
        """The text around the word that is most similar to one of the longest words of the phrase."""
        wanted = sorted(dict.fromkeys(phrase.folded), key=len, reverse=True)[:3]
        best: tuple[float, Where] | None = None
        for document in self._sources.documents:
            words = document.content.words
            for word in wanted:
                alike = process.extractOne(word, words.places.keys(), scorer=fuzz.ratio, score_cutoff=_ALIKE)
                if alike is None or len(word) < 2:
                    continue
                at, index = words.places[alike[0]][0], phrase.folded.index(word)
                first, last = max(0, at - index), min(len(words) - 1, at - index + len(phrase.folded) - 1)
                stretch = " ".join(words.folded[first : last + 1])
                score = fuzz.ratio(" ".join(phrase.folded), stretch)
                if score >= _ALIKE and (best is None or score > best[0]):
                    best = (score, Where(document, words.span(first, last)))
        return None if best is None else best[1]


def _standing(wanted: str, lowered: str, goes_on: "re.Pattern[str]") -> Iterator[Span]:
    """The occurrences of a text that do not continue as a longer one."""
    at = lowered.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not goes_on.match(lowered, end):
            yield at, end
        at = lowered.find(wanted, end)


def _with_scheme(span: Span, lowered: str) -> Span | None:
    """The span of a URL with the scheme that it has in a text; None if it is the end of another URL."""
    scheme = _SCHEME_BEFORE.search(lowered, max(0, span[0] - _LONGEST_SCHEME), span[0])
    start = span[0] if scheme is None else scheme.start()
    return None if _GOES_BEFORE.search(lowered, max(0, start - 1), start) else (start, span[1])


@lru_cache(maxsize=4096)
def _typed_as(value: str, today: date | None) -> tuple[Moment | None, Quantity | None]:
    """A text as a date or a time, and as a number, if it is nothing else."""
    if not any(map(str.isdigit, value)) and value.count(" ") > _MOST_SPACES:
        return None, None
    return read_moment(value, today), read_quantity(value)


def _as_written(phrase: Phrase, document: SourceDocument) -> Match | None:
    """The places where a document has a number or a date exactly as written. Without digits, equal words are enough."""
    if not phrase.has_digits:
        return look_up(phrase, document.content, only_strict=True)
    spans = list(exact(phrase.value, document.text))
    return Match("exact", spans) if spans else None


def _telephone(phrase: Phrase, document: SourceDocument) -> Match | None:
    match = look_up(phrase, document.content, only_strict=True)
    if match is not None:
        return match
    spans = list(telephones(phrase.value, document.content))
    return Match("normalized", spans) if spans else None


def _named_unit(unit: str, document: SourceDocument) -> Match | None:
    """The places where a document names a unit or a currency in any way: "euros" names "EUR"."""
    content = document.content
    spans = [(one.start, one.end) for one in content.quantities if one.unit == unit]
    spans += [content.words.span(index, index) for index in content.unit_places(unit)]
    return Match("normalized", spans[:64]) if spans else None


def _relative(document: SourceDocument) -> list[Span]:
    """Dates that need a day to count from. Not those of an assistant: "Anything else today?" is small talk."""
    mentions = document.content.moments(None) if document.role != "assistant" else []
    return [
        (one.start, one.end) for one in mentions if one.relative and not any(day.month and day.day for day in one.dates)
    ]


def _dates(document: SourceDocument, year: int) -> Iterator[date]:
    """The days that a document names. Days without a year are in the given one."""
    for one in document.content.moments(None):
        for day in one.dates[:1]:
            if day.month and day.day:
                with suppress(ValueError):  # 29 February is not in every year
                    yield date(day.year or year, day.month, day.day)


def _says_from(where: Where, day: date, moment: Moment) -> bool:
    """Whether a relative mention means a date if it is counted from a given day."""
    start, end = where.span
    begin = max(0, start - _BEFORE)
    stretch = where.document.text[begin : end + _BEFORE]
    found = (one for one in moments(stretch, day) if one.start + begin == start)
    return any(one.dates and same_date(moment, one) for one in found)


def _in_prompts(way: _Way, prompts: tuple[SourceDocument, ...]) -> Iterator[Where]:
    for document in prompts:
        match = way(document)
        if match is not None:
            yield Where(document, match.spans[0])


def _says_time(moment: Moment) -> bool:
    """Whether the time of a value counts: midnight next to a date only fills a field that requires a time."""
    return bool(moment.times) and not (moment.dates and all(one.hour == one.minute == 0 for one in moment.times))


@lru_cache(maxsize=4096)
def _is_of_time(field: str) -> bool:
    """Whether a field may contain the day of a date or the hour of a time, going by its name."""
    return not _CLOCK.isdisjoint(name_words(field))


@lru_cache(maxsize=4096)
def _unit_of(field: str) -> str:
    """The unit that the name of a field ends in: `weight_kg`, `duration_minutes`."""
    words = name_words(field)
    return unit_named(words[-1]) if len(words) > 1 else ""


def _distance(one: float, other: float) -> float:
    return abs(one - other) / max(abs(one), abs(other), 1e-9)


def _gap(wanted: Moment, one: Moment, kind: str) -> float | None:
    """How far apart two dates or times are, in days or minutes; None if that is unknown."""
    if kind == "time":
        pairs = [(a.hour * 60 + a.minute, b.hour * 60 + b.minute) for a in wanted.times for b in one.times]
        return min((float(abs(a - b)) for a, b in pairs), default=None)
    gaps = [
        abs((a.year - b.year) * 372 if a.year and b.year else 0)
        + abs((a.month - b.month) * 31 + (a.day or 1) - (b.day or 1))
        for a in wanted.dates
        for b in one.dates
        if a.month and b.month
    ]
    return float(min(gaps)) if gaps else None
