"""Prose: what a reply without a schema states. Its text and the sources enter; a finding for each claim that no source has leaves, and the evidence.

Claims are numbers, amounts, dates, times, quotations, URLs, names of the kinds that the contract declares, and citations. Code, list numbers, and small counts
such as "3 options" are not claims.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trueup.grounding.bound import is_bound
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
_MOST = 500


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
    claims = sorted(_claims(text, lookup, sources, settings, cited), key=lambda claim: claim.span)[:_MOST]
    findings: list[Finding] = []
    evidence: dict[str, Evidence] = {}
    for claim in claims:
        found = claim.found
        nearest = None
        if found.grade == "none":
            nearest = lookup.nearest(claim.value, found)
            findings.append(_absent(claim, nearest, settings))
        evidence[f"text[{claim.span[0]}:{claim.span[1]}]"] = found.evidence(nearest)
    findings += judge_citations(text, cited, [(claim.span, claim.found) for claim in claims], sources, settings.level)
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
    taken = [found.span() for found in _CODE.finditer(text)]
    taken += [citation.span for citation in cited]
    for found in _URL.finditer(text):
        if not _overlaps(found.span(), taken):
            url = found[0].rstrip(".,;:!?*_")
            span = (found.start(), found.start() + len(url))
            taken.append(span)
            yield Claim("url", span, url, lookup.find_letters(url))
    for name, expression in settings.kinds:
        for found in expression.finditer(text):
            if not _overlaps(found.span(), taken):
                taken.append(found.span())
                yield Claim(name, found.span(), found[0], lookup.find(found[0]))
    quotes = list(_quotations(text, taken))
    for span in quotes:
        yield Claim("quotation", span, text[slice(*span)], lookup.find(text[slice(*span)], quotation=True))
    yield from _measures(text, lookup, sources, [*taken, *quotes])


def _quotations(text: str, taken: list[Span]) -> Iterator[Span]:
    for found in _QUOTED.finditer(text):
        group = next(index for index, part in enumerate(found.groups(), 1) if part is not None)
        span = found.span(group)
        words = Words(found[group])
        if len(words) >= _LEAST_QUOTED and not _overlaps(span, taken):
            yield span


def _measures(text: str, lookup: Lookup, sources: Sources, taken: list[Span]) -> Iterator[Claim]:
    """The dates, times and numbers of a text."""
    content = Text(text)
    moments = content.moments(sources.today)
    for one in moments:
        if _is_stated(one) and not _overlaps((one.start, one.end), taken):
            taken.append((one.start, one.end))
            kind = "date" if one.dates else "time"
            yield Claim(kind, (one.start, one.end), text[one.start : one.end], lookup.find_moment(one))
    for number in content.quantities:
        span = (number.start, number.end)
        if _overlaps(span, taken) or is_bound(number, text, moments) or _is_count(number):
            continue
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


def _overlaps(span: Span, taken: list[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)
