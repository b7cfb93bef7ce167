"""A page: all documents of a source as one text, because the values of a record may be in several messages.

Takes documents; returns positions in their common text, and the numbers, dates, segments and table cells there.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from trueup.grounding.documents import SourceDocument
from trueup.grounding.lookup import Where
from trueup.grounding.moments.find import Moment
from trueup.grounding.quantities.find import Quantity
from trueup.grounding.segments import Segments, parted
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_BETWEEN = "\n\n"
_SEPARATORS = (lazy_regex(r"\|"), lazy_regex(r"\t"), lazy_regex(r" {2,}"), lazy_regex(r";"), lazy_regex(r","))


class SourcePage:
    """The documents of a source, one after another."""

    def __init__(self, documents: Sequence[SourceDocument]) -> None:
        self.documents = documents
        self._bases: list[int] = []
        at = 0
        for document in documents:
            self._bases.append(at)
            at += len(document.text) + len(_BETWEEN)
        self._index = {id(document): base for document, base in zip(documents, self._bases, strict=True)}
        self._parted: dict[str, Segments] = {}
        self._cells: dict[Span, list[Span]] = {}

    @cached_property
    def text(self) -> str:
        """The common text."""
        return self.documents[0].text if len(self.documents) == 1 else _BETWEEN.join(one.text for one in self.documents)

    def span(self, where: Where) -> Span:
        """A place of a document as a place of the page."""
        base = self._index[id(where.document)]
        return base + where.span[0], base + where.span[1]

    def where(self, span: Span) -> Where:
        """A place of the page as a place of a document."""
        number = bisect_right(self._bases, span[0]) - 1
        base = self._bases[number]
        return Where(self.documents[number], (span[0] - base, span[1] - base))

    def parted(self, level: str) -> Segments:
        """The page in lines, sentences or paragraphs."""
        if level not in self._parted:
            alone = len(self.documents) == 1
            self._parted[level] = self.documents[0].content.parted(level) if alone else parted(self.text, level)
        return self._parted[level]

    def numbers_in(self, span: Span) -> list[tuple[Span, Quantity]]:
        """The numbers in a span that are not part of something larger."""
        found: list[tuple[Span, Quantity]] = []
        for document, base, start, end in self._pieces(span):
            bound = document.content.bound(None)
            found += [
                ((one.start + base, one.end + base), one)
                for one in document.content.quantities_in(start, end)
                if one.start not in bound
            ]
        return found

    def moments_in(self, span: Span) -> list[tuple[Span, Moment]]:
        """The dates and times in a span."""
        found: list[tuple[Span, Moment]] = []
        for document, base, start, end in self._pieces(span):
            every = document.content.moments(None)
            first = bisect_left(every, start, key=lambda one: one.start)
            last = bisect_left(every, end, key=lambda one: one.start)
            found += [((one.start + base, one.end + base), one) for one in every[first:last] if one.end <= end]
        return found

    def _pieces(self, span: Span) -> Iterator[tuple[SourceDocument, int, int, int]]:
        """The documents that a span covers: each with its start on the page, and the covered part of it."""
        number = max(bisect_right(self._bases, span[0]) - 1, 0)
        while number < len(self._bases) and self._bases[number] < span[1]:
            document, base = self.documents[number], self._bases[number]
            yield document, base, max(span[0] - base, 0), min(span[1] - base, len(document.text))
            number += 1

    def line(self, position: int) -> Span:
        """The line at a position."""
        start = self.text.rfind("\n", 0, position) + 1
        end = self.text.find("\n", position)
        return start, end if end >= 0 else len(self.text)

    def cells(self, line: Span) -> list[Span]:
        """The cells of a table line, between bars, tabs, wide gaps, semicolons or commas; else the whole line."""
        if line not in self._cells:
            self._cells[line] = self._cut(line)
        return self._cells[line]

    def _cut(self, line: Span) -> list[Span]:
        for separator in _SEPARATORS:
            cuts = [found.span() for found in separator.finditer(self.text, *line)]
            if cuts:
                starts, ends = [line[0], *(end for _, end in cuts)], [*(start for start, _ in cuts), line[1]]
                return list(zip(starts, ends, strict=True))
        return [line]
