"""Prose: check the claims of a reply without a schema. Takes its text and the sources; returns findings and evidence.

Each claim that is not in a source is a finding. Claims are numbers, amounts, dates, times, quotations, URLs, citations,
and names of the kinds that the contract declares. Code, list numbers and small counts ("3 options") are not claims.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from trueup.grounding.citations import citable, citations, judge_citations
from trueup.grounding.documents import IndexedText
from trueup.grounding.lookup import Lookup, LookupResult, Where
from trueup.grounding.moments.find import Moment
from trueup.grounding.moments.read import read_moment
from trueup.grounding.quantities.find import Quantity
from trueup.grounding.quotations import Altered
from trueup.grounding.report import altered, missing, only_in_prompt
from trueup.grounding.settings import GroundingSettings
from trueup.grounding.sources import Sources
from trueup.grounding.telephones import is_telephone
from trueup.grounding.vocabulary import known
from trueup.grounding.words import TextWords, fold
from trueup.verdict.evidence import Evidence
from trueup.verdict.facts import Finding, Span
from trueup.verdict.patterns import lazy_regex

_CODE = lazy_regex(r"(?s)```.*?(?:```|\Z)|`[^`\n]+`")
_URL = lazy_regex(
    r"(?i)(?<![A-Za-z0-9])(?:https?://|www\.)[^\s<>\"'“”’»」』】)\]}|\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]+"
)
_QUOTED = lazy_regex(
    r"“([^“”\n]{8,2000})”|„([^„“”\n]{8,2000})[“”]|«([^«»\n]{8,2000})»|「([^「」\n]{6,2000})」|『([^『』\n]{6,2000})』|(?<!\w)\"([^\"\n]{8,2000})\"(?!\w)"
)
_RUN = lazy_regex(r"(?<![\w.,/-])(?:\+|\()?\d[\d ().-]{5,24}\d(?![\w/-]|[.,]\d)")
_JOINED = lazy_regex(r"(?<![\w.,/-])(?:\d{1,4}(?:\.\d{1,6}){2,4}|(?=[\d-]{6})\d{2,6}(?:-\d{1,6})+)(?![\w/-]|[.,]\d)")
_AT = lazy_regex(r"(?i)\b(?:at|a las?|um|à|às|alle|om)\s+\Z")
_REACH = 12  # characters before a time
_LEAST_QUOTED = 3  # words; fewer are a name or an emphasized word
_LONGEST_NEGATION = 14  # characters, with the text before it
_OPENING = " \t\"'“„«「『"
_COUNT = 10  # a plain number up to this may be the reply's own count
_MOST_FINDINGS = 100  # for claims, and again for citations; the evidence lists every claim


class Claim(NamedTuple):
    """One thing that a reply states."""

    kind: str
    span: Span
    value: Any
    found: LookupResult


def judge_prose(text: str, sources: Sources, settings: GroundingSettings) -> tuple[list[Finding], dict[str, Evidence]]:
    """Findings for the claims of a text that no source has, and the evidence for the others."""
    lookup = Lookup(sources)
    taken = _Taken(text)
    for found in _CODE.finditer(text):
        taken.add(found.span())
    there = citable(sources.documents)
    cited = list(citations(text, there, taken.is_free))
    for citation in cited:
        taken.add(citation.span)
    claims = sorted(_claims(text, lookup, sources, settings, taken), key=lambda claim: claim.span)
    findings: list[Finding] = []
    evidence: dict[str, Evidence] = {}
    for claim in claims:
        nearest = None
        if claim.found.grade == "none":
            nearest = lookup.nearest(claim.value, claim.found)
            if len(findings) < _MOST_FINDINGS:
                findings.append(_absent(claim, nearest, settings))
        evidence[f"text[{claim.span[0]}:{claim.span[1]}]"] = claim.found.evidence(nearest)
    stated = [(claim.span, claim.found) for claim in claims]
    findings += islice(judge_citations(text, cited, stated, there, settings.level), _MOST_FINDINGS)
    return findings, evidence


def _absent(claim: Claim, nearest: Any, settings: GroundingSettings) -> Finding:
    from msgspec.structs import replace

    found, level = claim.found, settings.level
    if found.altered is not None:
        made = altered(claim.value, "$", nearest, found.altered.words, level)
    elif found.in_prompt is not None:
        made = only_in_prompt(claim.value, "$", found.in_prompt, nearest, level)
    else:
        made = missing(claim.value, "$", nearest, level)
    return replace(made, span=claim.span, data={**made.data, "kind": claim.kind})


def _claims(
    text: str, lookup: Lookup, sources: Sources, settings: GroundingSettings, taken: "_Taken"
) -> Iterator[Claim]:
    for match in _URL.finditer(text):
        url = match[0].rstrip(".,;:!?*_")
        if taken.add((match.start(), match.start() + len(url))):
            yield Claim("url", (match.start(), match.start() + len(url)), url, lookup.find_url(url))
    for name, expression in settings.kinds:
        for match in expression.finditer(text):
            if taken.add(match.span()):
                yield Claim(name, match.span(), match[0], lookup.find(match[0]))
    for span in list(_quotations(text)):
        if taken.add(span):
            found = _affirmed(lookup.find(text[slice(*span)], quotation=True), is_negated=_is_negated(text, span[0]))
            yield Claim("quotation", span, text[slice(*span)], found)
    yield from _measures(text, lookup, sources, taken)


class _Taken:
    """The spans of a text that already belong to a claim."""

    def __init__(self, text: str) -> None:
        self._mask = bytearray(len(text))

    def add(self, span: Span) -> bool:
        """Take a span; False if another claim overlaps it."""
        start, end = span
        if self._mask.find(1, start, end) >= 0:
            return False
        self._mask[start:end] = b"\1" * (end - start)
        return True

    def is_free(self, span: Span) -> bool:
        """Whether no claim overlaps a span."""
        return self._mask.find(1, *span) < 0


def _quotations(text: str) -> Iterator[Span]:
    for found in _QUOTED.finditer(text):
        group = next(index for index, part in enumerate(found.groups(), 1) if part is not None)
        span = found.span(group)
        if len(TextWords(found[group])) >= _LEAST_QUOTED:
            yield span


def _affirmed(found: LookupResult, *, is_negated: bool) -> LookupResult:
    """The places of a quotation that do not cut off a "not" before it, unless the reply has one there too."""
    if not found.places or is_negated:
        return found
    places = tuple(where for where in found.places if not _is_negated(where.document.text, where.span[0]))
    if places:
        return found._replace(places=places)
    where = found.places[0]
    start = max(0, where.span[0] - _LONGEST_NEGATION)
    begin = where.document.text.rfind(" ", start, where.span[0] - 1) + 1 or start
    content = where.document.content
    return LookupResult("none", (), found.kind, Altered(content, (begin, where.span[1]), ()))


def _is_negated(text: str, position: int) -> bool:
    """Whether the word before a position is a negation. Before a comma or a full stop, it negates something else."""
    before = text[max(0, position - _LONGEST_NEGATION) : position].rstrip(_OPENING)
    words = TextWords(before).folded
    return bool(words) and before[-1:].isalpha() and words[-1] in known("negations")


def _measures(text: str, lookup: Lookup, sources: Sources, taken: _Taken) -> Iterator[Claim]:
    """The dates, times, telephone numbers, versions and numbers of a text."""
    content = IndexedText(text)
    ends: dict[int, int] = {}
    for number in content.quantities:
        ends[number.start] = max(number.end, ends.get(number.start, 0))
    for one in content.moments(sources.today):
        read = _whole(one, text, ends.get(one.start, 0))
        span = (read.start, read.end)
        if _is_stated(read, text) and taken.add(span):
            yield Claim(
                "date" if read.dates else "time", span, text[slice(*span)], _certain(lookup.find_moment(read), sources)
            )
    for found in _RUN.finditer(text):
        if is_telephone(found[0]) and taken.add(found.span()):
            yield Claim("number", found.span(), found[0], lookup.find(found[0]))
    for found in _JOINED.finditer(text):
        if ends.get(found.start(), 0) < found.end() and taken.add(found.span()):
            yield Claim("number", found.span(), found[0], _joined(found[0], lookup))
    yield from _numbers(content, lookup, content.bound(sources.today), taken)


def _numbers(content: IndexedText, lookup: Lookup, bound: frozenset[int], taken: _Taken) -> Iterator[Claim]:
    """The numbers that a text states. If readings overlap (`40 000 km` and `40`), the longest with a source counts."""
    for readings in _overlapping(content.quantities):
        stated = [
            one
            for one in readings
            if one.start not in bound
            and not _is_count(one, content.text[one.start : one.end])
            and taken.is_free((one.start, one.end))
        ]
        seen = sorted(
            ((one, lookup.find_quantity(one)) for one in stated), key=lambda pair: pair[0].start - pair[0].end
        )
        longest = seen[:1]
        parts = list(_apart(seen[1:])) if longest and not longest[0][1].places else []
        for number, found in parts if parts and all(found.places for _, found in parts) else longest:
            span = (number.start, number.end)
            taken.add(span)
            yield Claim("number", span, content.text[slice(*span)], found)


def _overlapping(numbers: Iterable[Quantity]) -> Iterator[list[Quantity]]:
    """Numbers in order, grouped if they overlap."""
    group: list[Quantity] = []
    end = 0
    for one in sorted(numbers, key=lambda number: (number.start, number.end)):
        if group and one.start >= end:
            yield group
            group = []
        group.append(one)
        end = max(end, one.end)
    if group:
        yield group


def _apart(seen: Iterable[tuple[Quantity, LookupResult]]) -> Iterator[tuple[Quantity, LookupResult]]:
    """The readings that do not overlap, longest first."""
    kept: list[Quantity] = []
    for number, found in seen:
        if all(number.end <= one.start or one.end <= number.start for one in kept):
            kept.append(number)
            yield number, found


def _joined(text: str, lookup: Lookup) -> LookupResult:
    """Look up a version, a score or a span of years: a source has it as written, or has each of its numbers."""
    found = lookup.find_letters(text)
    parts = text.split("-") if "-" in text and "." not in text else []
    seen = [lookup.find(int(part)) for part in parts]
    return seen[0] if not found.places and seen and all(part.places for part in seen) else found


def _whole(one: Moment, text: str, end: int) -> Moment:
    """A time in words, up to the `end` of the number there: the first word of "seis y media" is another time."""
    if one.dates or end <= one.end or any(map(str.isdigit, text[one.start : one.end])):
        return one
    read = read_moment(text[one.start : end], None)
    return one if read is None or not read.times else read._replace(start=one.start, end=end)


def _is_stated(one: Moment, text: str) -> bool:
    """Whether a mention states a date or a time: a day of a month, a month of a year, or a time of day.

    A bare number, in figures or words, may be a count, unless a word such as "at" comes before it.
    """
    if any(day.month and (day.day or day.year) for day in one.dates):
        return True
    said = text[one.start : one.end]
    is_bare = said.isdigit() or (said.isalpha() and said.isascii())
    return bool(one.times) and (not is_bare or _AT.search(text, max(0, one.start - _REACH), one.start) is not None)


def _certain(found: LookupResult, sources: Sources) -> LookupResult:
    """Without dates that the sources give only in part, such as a weekday. Relative dates stay."""
    if found.grade != "fuzzy":
        return found
    places = tuple(where for where in found.places if _is_relative(where, sources))
    return found._replace(places=places) if places else LookupResult("none", (), found.kind)


def _is_relative(where: Where, sources: Sources) -> bool:
    mentions = where.document.content.moments(sources.today)
    return any(one.relative and one.start == where.span[0] for one in mentions)


def _is_count(number: Quantity, said: str) -> bool:
    if number.unit:
        return False
    if number.words and fold(said) in known("fillers"):
        return True
    try:
        likeliest = abs(float(number.values[0]))
    except (ValueError, OverflowError):
        return False
    return likeliest <= _COUNT and (number.words or "." not in number.values[0])
