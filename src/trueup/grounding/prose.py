"""Prose: what a reply without a schema states. Its text and the sources enter; a finding for each claim that no source has leaves, and the evidence.

Claims are numbers, amounts, dates, times, quotations, URLs, names of the kinds that the contract declares, and citations. Code, list numbers, and small counts
such as "3 options" are not claims.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from trueup.grounding.citations import Citation, citations, judge_citations
from trueup.grounding.documents import Text
from trueup.grounding.lookup import Found, Lookup
from trueup.grounding.moments.find import Moment
from trueup.grounding.report import altered, missing, only_in_prompt
from trueup.grounding.settings import Settings
from trueup.grounding.sources import Sources
from trueup.grounding.words import Words
from trueup.verdict.evidence import Evidence
from trueup.verdict.facts import Finding, Span
from trueup.verdict.patterns import lazy_regex

_CODE = lazy_regex(r"(?s)```.*?(?:```|\Z)|`[^`\n]+`")
_URL = lazy_regex(r"(?i)\b(?:https?://|www\.)[^\s<>\"'”’)\]}|]+")
_QUOTED = lazy_regex(
    r"“([^“”\n]{8,2000})”|„([^„“”\n]{8,2000})[“”]|«([^«»\n]{8,2000})»|「([^「」\n]{6,2000})」|『([^『』\n]{6,2000})』|(?<!\w)\"([^\"\n]{8,2000})\"(?!\w)"
)
_LEAST_QUOTED = 3  # words; fewer are a name or a word that is only marked
_COUNT = 10  # a plain number up to this may be the reply's own count
_MOST, _MOST_CITED = 2_000, 100  # claims that are looked up, and findings about citations


class Claim(NamedTuple):
    """One thing that a reply states."""

    kind: str
    span: Span
    value: Any
    found: Found


def judge_prose(text: str, sources: Sources, settings: Settings) -> tuple[list[Finding], dict[str, Evidence]]:
    """What no source says of what a text states, and the evidence for what it does."""
    lookup = Lookup(sources)
    cited = list(citations(text, sources.documents))
    claims = sorted(islice(_claims(text, lookup, sources, settings, cited), _MOST), key=lambda claim: claim.span)
    findings: list[Finding] = []
    evidence: dict[str, Evidence] = {}
    for claim in claims:
        found = claim.found
        nearest = None
        if found.grade == "none":
            nearest = lookup.nearest(claim.value, found)
            findings.append(_absent(claim, nearest, settings))
        evidence[f"text[{claim.span[0]}:{claim.span[1]}]"] = found.evidence(nearest)
    stated = [(claim.span, claim.found) for claim in claims]
    findings += islice(judge_citations(text, cited, stated, sources, settings.level), _MOST_CITED)
    return findings, evidence


def _absent(claim: Claim, nearest: Any, settings: Settings) -> Finding:
    from msgspec.structs import replace

    found, level = claim.found, settings.level
    if found.altered is not None:
        made = altered(claim.value, "$", nearest, found.altered.words, level)
    elif found.in_prompt is not None:
        made = only_in_prompt(claim.value, "$", found.in_prompt, nearest, level)
    else:
        made = missing(claim.value, "$", nearest, level)
    return replace(made, span=claim.span, data={**made.data, "kind": claim.kind})


def _claims(text: str, lookup: Lookup, sources: Sources, settings: Settings, cited: list[Citation]) -> Iterator[Claim]:
    taken = _Taken(text)
    for found in _CODE.finditer(text):
        taken.add(found.span())
    for citation in cited:
        taken.add(citation.span)
    for found in _URL.finditer(text):
        url = found[0].rstrip(".,;:!?*_")
        if taken.add((found.start(), found.start() + len(url))):
            yield Claim("url", (found.start(), found.start() + len(url)), url, lookup.find_letters(url))
    for name, expression in settings.kinds:
        for found in expression.finditer(text):
            if taken.add(found.span()):
                yield Claim(name, found.span(), found[0], lookup.find(found[0]))
    for span in list(_quotations(text)):
        if taken.add(span):
            yield Claim("quotation", span, text[slice(*span)], lookup.find(text[slice(*span)], quotation=True))
    yield from _measures(text, lookup, sources, taken)


class _Taken:
    """The stretches of a text that a claim has taken."""

    def __init__(self, text: str) -> None:
        self._mask = bytearray(len(text))

    def add(self, span: Span) -> bool:
        """Take a stretch; False if another claim has a part of it."""
        start, end = span
        if self._mask.find(1, start, end) >= 0:
            return False
        self._mask[start:end] = b"\1" * (end - start)
        return True


def _quotations(text: str) -> Iterator[Span]:
    for found in _QUOTED.finditer(text):
        group = next(index for index, part in enumerate(found.groups(), 1) if part is not None)
        span = found.span(group)
        if len(Words(found[group])) >= _LEAST_QUOTED:
            yield span


def _measures(text: str, lookup: Lookup, sources: Sources, taken: _Taken) -> Iterator[Claim]:
    """The dates, times and numbers of a text."""
    content = Text(text)
    moments = content.moments(sources.today)
    for one in moments:
        if _is_stated(one) and taken.add((one.start, one.end)):
            kind = "date" if one.dates else "time"
            yield Claim(kind, (one.start, one.end), text[one.start : one.end], lookup.find_moment(one))
    bound = content.bound(sources.today)
    for number in content.quantities:
        span = (number.start, number.end)
        if number.start not in bound and not _is_count(number) and taken.add(span):
            yield Claim("number", span, text[slice(*span)], lookup.find_quantity(number))


def _is_stated(one: Moment) -> bool:
    """Whether a mention states a date or a time: a day of a month, or a time of day."""
    return bool(one.times) or any(day.month and day.day for day in one.dates)


def _is_count(number: Any) -> bool:
    if number.unit:
        return False
    try:
        likeliest = abs(float(number.values[0]))
    except (ValueError, OverflowError):
        return False
    return likeliest <= _COUNT and (number.words or "." not in number.values[0])
