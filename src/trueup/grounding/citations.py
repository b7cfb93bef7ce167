"""Citations: marks such as `[2]` in a reply. Its text and the documents enter; marks without a document leave, and those whose document does not say it.

A mark names a document by its number, from 1, or by its name. It belongs to the sentence that it ends. The claims of that sentence must stand in one of the documents
that it cites; if it has no claims, its words must not fit another document far better.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from trueup.grounding.documents import Document
from trueup.grounding.lookup import Found
from trueup.grounding.report import unknown_citation, wrong_citation
from trueup.grounding.segments import Segments, parted
from trueup.grounding.sources import Sources
from trueup.grounding.vocabulary import known
from trueup.grounding.words import Words
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding, Span
from trueup.verdict.patterns import lazy_regex

_MARK = lazy_regex(r"(?:\[\^?|【)([^\[\]【】\n]{1,80})(?:\]|】)(?!\(|:)")
_NUMBERS = lazy_regex(r"\s*\d{1,3}(?:\s*[-–]\s*\d{1,3})?(?:\s*[,;]\s*\d{1,3}(?:\s*[-–]\s*\d{1,3})?)*\s*\Z")
_LEAST_WORDS = 4
_FITS, _MISFITS = 0.6, 0.3  # the share of a sentence's words that another document has, and that the cited one has
_MOST_CITED = 20


class Citation(NamedTuple):
    """One mark: where it stands, and the documents that it names; a number without a document is kept in `unknown`."""

    span: Span
    documents: tuple[int, ...]
    unknown: tuple[str, ...]


def citations(text: str, documents: Sequence[Document]) -> Iterator[Citation]:
    """The citations in a text.

    >>> from trueup.grounding.documents import Text
    >>> documents = [Document("a", Text("")), Document("guide", Text(""))]
    >>> [(one.documents, one.unknown) for one in citations("So it is [1, 7]. See [guide], not [this].", documents)]
    [((0,), ('7',)), ((1,), ())]
    """
    names = {document.name.casefold(): index for index, document in enumerate(documents)}
    for found in _MARK.finditer(text):
        inside = found[1].strip()
        if inside.casefold() in names:
            yield Citation(found.span(), (names[inside.casefold()],), ())
        elif _NUMBERS.match(inside):
            wanted = list(_listed(inside))
            cited = tuple(number - 1 for number in wanted if 1 <= number <= len(documents))
            unknown = tuple(str(number) for number in wanted if not 1 <= number <= len(documents))
            yield Citation(found.span(), cited, unknown)


def _listed(inside: str) -> Iterator[int]:
    for part in inside.replace(";", ",").replace("–", "-").split(","):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        yield from range(begin, min(end, begin + _MOST_CITED) + 1)


def judge_citations(
    text: str, cited: list[Citation], claims: list[tuple[Span, Found]], sources: Sources, level: Level
) -> Iterator[Finding]:
    """What is wrong with the citations of a text."""
    if not cited:
        return
    level_of = parted(text, "sentence")
    by_sentence: dict[int, list[Citation]] = {}
    for citation in cited:
        for name in citation.unknown:
            found = unknown_citation(name, len(sources.documents), level)
            yield replace(found, span=citation.span)
        by_sentence.setdefault(level_of.at(citation.span[0]), []).append(citation)
    for here, marks in by_sentence.items():
        number = _sentence(text, here, marks[0], level_of)
        documents = {index for mark in marks for index in mark.documents}
        if documents and not any(mark.unknown for mark in marks):
            yield from _unsupported(text, level_of.bounds(number), marks, documents, claims, sources, level)


def _sentence(text: str, number: int, first: Citation, sentences: Segments) -> int:
    """The sentence that marks belong to: the one before them, if they stand alone behind its full stop."""
    start, _ = sentences.bounds(number)
    return number - 1 if number and not text[start : first.span[0]].strip() else number


def _unsupported(
    text: str,
    bounds: Span,
    marks: list[Citation],
    cited: set[int],
    claims: list[tuple[Span, Found]],
    sources: Sources,
    level: Level,
) -> Iterator[Finding]:
    first, last = (bisect_left(claims, bound, key=lambda claim: claim[0][0]) for bound in bounds)
    inside = [found for _, found in claims[first:last] if found.places]
    names = {sources.documents[index].name for index in cited}
    for found in inside:
        if not any(where.document.name in names for where in found.places):
            yield _finding(marks[0], found.places[0].text, found.places[0].document.name, sources, level)
            return
    if not inside and (better := _better(text[slice(*bounds)], cited, sources)) is not None:
        yield _finding(marks[0], "", better, sources, level)


def _better(sentence: str, cited: set[int], sources: Sources) -> str | None:
    """The document that has most words of a sentence, if the cited ones have few of them."""
    words = {word for word in Words(_MARK.sub("", sentence)).folded if word not in known("light") and len(word) > 1}
    if len(words) < _LEAST_WORDS:
        return None
    shares = [len(words & document.content.words.places.keys()) / len(words) for document in sources.documents]
    best = max(range(len(shares)), key=shares.__getitem__)
    if shares[best] >= _FITS and max(shares[index] for index in cited) <= _MISFITS:
        return sources.documents[best].name
    return None


def _finding(mark: Citation, claim: str, document: str, sources: Sources, level: Level) -> Finding:
    right = next(index + 1 for index, one in enumerate(sources.documents) if one.name == document)
    found = wrong_citation([index + 1 for index in mark.documents], right, document, claim, level)
    return replace(found, span=mark.span)
