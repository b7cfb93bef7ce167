"""Citations: marks such as `[2]` in a reply. Takes its text and the sources; returns the marks that are wrong.

A mark names a document by its number, from 1, or by its name. If a prompt numbers its passages, those numbers apply.
A mark belongs to the sentence that it ends. The claims of that sentence must be in one of the cited documents. If the
sentence has no claims, its words must not match an uncited document far better.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from trueup.grounding.documents import SourceDocument
from trueup.grounding.lookup import LookupResult, Where
from trueup.grounding.report import unknown_citation, wrong_citation
from trueup.grounding.segments import Segments, parted
from trueup.grounding.vocabulary import known
from trueup.grounding.words import TextWords
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding, Span
from trueup.verdict.patterns import lazy_regex

_MARK = lazy_regex(r"(?:\[\^?|【)([^\[\]【】\n]{1,80})(?:\]|】)(?!\(|:)")
_NUMBERS = lazy_regex(r"\s*\d{1,3}(?:\s*[-–]\s*\d{1,3})?(?:\s*[,;、，]\s*\d{1,3}(?:\s*[-–]\s*\d{1,3})?)*\s*\Z")
# "Source 2", "文档2": a word for a document, then its number.
_WORD = r"(?:doc(?:ument)?|source|ref(?:erence)?|passage|quelle|dokument|fuente|documento|fonte|文档|文件|文献|来源|资料|資料|出典|文書)"
_CALLED = lazy_regex(rf"(?i)\s*{_WORD}\s*[.:#]?\s*(\d{{1,3}})\s*\Z")
_FILE = lazy_regex(r"(?i)[\w .-]{1,70}\.(?:pdf|docx?|md|txt|html?|csv|xlsx?|pptx?|json)\Z")
# Less certain marks: a number in round brackets at the end of a sentence, or a superscript after a word or a full stop.
_ROUND = lazy_regex(
    r"(?<=[\s。．！？」』”])\((\d{1,2})\)(?=\s*(?:[.,;:!?。，；、]|$|\n))|（(\d{1,2})）(?=\s*(?:[.,;:!?。，；、]|$|\n))"
)
_RAISED = lazy_regex(
    r"(?:(?<=[^\W\d_]{3})|(?<=[.,;:!?。，；、」』”»)]))(?:([¹²³⁴⁵⁶⁷⁸⁹][⁰¹²³⁴⁵⁶⁷⁸⁹]?)|\^(\d{1,2})(?!\d))"
)
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
# The places where a text numbers its own passages.
_PASSAGE = lazy_regex(
    rf"(?im)^[ \t>*#-]*(?:\[(\d{{1,3}})\]|【(\d{{1,3}})】|{_WORD}\s*#?(\d{{1,3}})\s*[:.)\]\n])|<\w+[^<>\n]*\b(?:id|index|number)=[\"']?(\d{{1,3}})[\"']?[^<>\n]*>"
)
_LEAST_WORDS = 4
_FITS, _MISFITS = 0.6, 0.3  # the least share of a sentence's words in the other document, and the most in the cited one
_MOST_CITED = 20


class Citable(NamedTuple):
    """A document, or a numbered passage of one, that a mark can name."""

    number: int
    name: str
    document: SourceDocument
    span: Span

    def has(self, where: Where) -> bool:
        """Whether a place is inside it."""
        return where.document is self.document and self.span[0] <= where.span[0] and where.span[1] <= self.span[1]

    @property
    def words(self) -> "frozenset[str] | set[str]":
        """Its words."""
        content = self.document.content
        if self.span == (0, len(content.text)):
            return set(content.words.places)
        return set(TextWords(content.text[slice(*self.span)]).folded)


class Citation(NamedTuple):
    """One mark: its position, the numbers of the documents that it names, and the names or numbers that are unknown."""

    span: Span
    numbers: tuple[int, ...]
    unknown: tuple[str, ...]


def citable(documents: Sequence[SourceDocument]) -> list[Citable]:
    """Everything that the marks of a reply can name.

    >>> from trueup.grounding.documents import IndexedText
    >>> [
    ...     (one.number, one.name)
    ...     for one in citable([SourceDocument("a", IndexedText("x")), SourceDocument("b", IndexedText("y"))])
    ... ]
    [(1, 'a'), (2, 'b')]
    >>> [
    ...     one.number
    ...     for one in citable(
    ...         [SourceDocument("messages[0]", IndexedText("[1] Ana is 40.\\n[2] Luis is 30.\\n\\nHow old is Ana?"))]
    ...     )
    ... ]
    [1, 2]
    """
    is_said = all(document.name.startswith("messages[") or document.name == "question" for document in documents)
    if is_said or len(documents) == 1:
        passages = [one for document in documents for one in _passages(document)]
        if passages or is_said:  # a model does not see the numbers of messages
            return passages
    return [
        Citable(index + 1, document.name, document, (0, len(document.text))) for index, document in enumerate(documents)
    ]


def _passages(document: SourceDocument) -> Iterator[Citable]:
    found = list(_PASSAGE.finditer(document.text))
    ends = [*(one.start() for one in found[1:]), len(document.text)]
    for one, end in zip(found, ends, strict=False):
        number = one[one.lastindex or 1]
        yield Citable(int(number), number, document, (one.start(), end))


def citations(
    text: str, there: Sequence[Citable], counts: Callable[[Span], bool] = lambda _: True
) -> Iterator[Citation]:
    """The citations in a text, in order. `counts` returns whether a span may contain one; code does not.

    >>> from trueup.grounding.documents import IndexedText
    >>> there = citable([SourceDocument("a", IndexedText("")), SourceDocument("guide", IndexedText(""))])
    >>> [
    ...     (one.numbers, one.unknown)
    ...     for one in citations("So it is [1, 7]. See [guide], not [this]. It ends (2).", there)
    ... ]
    [((1,), ('7',)), ((2,), ()), ((2,), ())]
    """
    if there:
        found = (one for one in _marks(text, there) if counts(one.span))
        yield from sorted(found, key=lambda one: one.span)


def _marks(text: str, there: Sequence[Citable]) -> Iterator[Citation]:
    names = {one.name.casefold(): one.number for one in there}
    known_numbers = {one.number for one in there}
    for found in _MARK.finditer(text):
        inside = found[1].strip()
        called = _CALLED.match(inside)
        if inside.casefold() in names:
            yield Citation(found.span(), (names[inside.casefold()],), ())
        elif called is not None or _NUMBERS.match(inside):
            wanted = [int(called[1])] if called is not None else list(_listed(inside))
            cited = tuple(number for number in wanted if number in known_numbers)
            yield Citation(found.span(), cited, tuple(str(one) for one in wanted if one not in known_numbers))
        elif _FILE.match(inside):
            yield Citation(found.span(), (), (inside,))
    for form in (_ROUND, _RAISED):
        for found in form.finditer(text):
            number = int((found[1] or found[2]).translate(_DIGITS))
            if number in known_numbers:  # otherwise it may not be a citation
                yield Citation(found.span(), (number,), ())


def _listed(inside: str) -> Iterator[int]:
    for part in re.split("[,;、，]", inside.replace("–", "-")):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        yield from range(begin, min(end, begin + _MOST_CITED) + 1)


def judge_citations(
    text: str, cited: list[Citation], claims: list[tuple[Span, LookupResult]], there: Sequence[Citable], level: Level
) -> Iterator[Finding]:
    """The errors in the citations of a text."""
    if not cited:
        return
    level_of = parted(text, "sentence")
    by_sentence: dict[int, list[Citation]] = {}
    for citation in cited:
        for name in citation.unknown:
            found = unknown_citation(name, len(there), level)
            yield replace(found, span=citation.span)
        by_sentence.setdefault(level_of.at(citation.span[0]), []).append(citation)
    for here, marks in by_sentence.items():
        number = _sentence(text, here, marks[0], level_of)
        wanted = {one for mark in marks for one in mark.numbers}
        if wanted and not any(mark.unknown for mark in marks):
            yield from _unsupported(text, level_of.bounds(number), marks, claims, there, level)


def _sentence(text: str, number: int, first: Citation, sentences: Segments) -> int:
    """The sentence that a mark belongs to: the one before it, if the mark is alone after its full stop."""
    start, _ = sentences.bounds(number)
    return number - 1 if number and not text[start : first.span[0]].strip() else number


def _unsupported(
    text: str,
    bounds: Span,
    marks: list[Citation],
    claims: list[tuple[Span, LookupResult]],
    there: Sequence[Citable],
    level: Level,
) -> Iterator[Finding]:
    first, last = (bisect_left(claims, bound, key=lambda claim: claim[0][0]) for bound in bounds)
    inside = [found for _, found in claims[first:last] if found.places]
    wanted = {number for mark in marks for number in mark.numbers}
    cited = [one for one in there if one.number in wanted]
    for found in inside:
        if not any(one.has(where) for one in cited for where in found.places):
            right = next((one for where in found.places for one in there if one.has(where)), None)
            if right is not None:
                yield _finding(marks[0], found.places[0].text, right, level)
                return
    if not inside and (better := _better(text[slice(*bounds)], cited, there)) is not None:
        yield _finding(marks[0], "", better, level)


def _better(sentence: str, cited: Sequence[Citable], there: Sequence[Citable]) -> Citable | None:
    """The document that has most words of a sentence, if the cited ones have few of them."""
    words = {
        word
        for word in TextWords(_MARK.sub("", sentence)).folded
        if word not in known("light") and (len(word) > 1 or word.isdigit())
    }
    if len(words) < _LEAST_WORDS:
        return None
    shares = {one: len(words & one.words) / len(words) for one in there}
    best = max(there, key=shares.__getitem__)
    return best if shares[best] >= _FITS and max(shares[one] for one in cited) <= _MISFITS else None


def _finding(mark: Citation, claim: str, right: Citable, level: Level) -> Finding:
    found = wrong_citation(list(mark.numbers), right.number, right.name, claim, level)
    return replace(found, span=mark.span)
