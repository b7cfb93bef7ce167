"""A reply cut into pieces at its fixes and findings: takes a verdict and returns parts of the text with the facts about each.

Every view that marks a reply in place draws these pieces. Joined, they are exactly the text. One fact may be inside
another. Facts without a place in the text are left out.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trueup.verdict.facts import Finding, Fix
from trueup.verdict.locate import locate
from trueup.verdict.verdict import Verdict

Fact = Fix | Finding
Mark = tuple[int, int, Fact]  # start and end of the text that a fact is about
_MOST = 400  # marks: more would not be read in one text


class MarkedPiece(NamedTuple):
    """A part of a reply's text, the facts about it (the innermost last), and those that end with it."""

    text: str
    facts: tuple[Fact, ...] = ()
    ends: tuple[Fact, ...] = ()

    @property
    def kind(self) -> str:
        """The grade or level of the innermost fact; empty for text without facts."""
        return kind_of(self.facts[-1]) if self.facts else ""


def kind_of(fact: Fact) -> str:
    """The grade of a fix, or the level of a finding."""
    return fact.grade if isinstance(fact, Fix) else fact.level


def pieces(verdict: Verdict, text: str | None = None) -> list[MarkedPiece]:
    """The pieces of a verdict's reply; `text` is the start of the reply, if only that is shown.

    >>> from trueup import Contract
    >>> [(piece.text, piece.kind) for piece in pieces(Contract(True).check('{"a": 1,}'))]
    [('{"a": 1', ''), (',', 'lossless'), ('}', '')]
    """
    whole = verdict.reply.text
    shown = whole if text is None else text
    marks = sorted(_marks(verdict, len(whole), len(shown)), key=lambda mark: (mark[0], -mark[1]))[:_MOST]
    return list(_cut(shown, marks))


def _marks(verdict: Verdict, whole: int, most: int) -> Iterator[Mark]:
    """The facts that have a place in the text; a fact about all of it or about a native call has none."""
    native = any(call.origin == "native" for call in verdict.reply.calls)
    fixes, findings = locate(verdict)
    facts: Iterable[Fact] = (*fixes, *findings)
    for fact in facts:
        if fact.span is None or (native and fact.path.startswith("$.calls[")):
            continue
        start, end = fact.span
        if 0 <= start <= end <= most and (isinstance(fact, Fix) or (start, end) != (0, whole)):
            yield start, end, fact


def _cut(text: str, marks: list[Mark]) -> Iterator[MarkedPiece]:
    bounds = sorted({0, len(text), *(at for start, end, _ in marks for at in (start, end))})
    waiting = marks[::-1]
    open_marks: list[Mark] = []
    for at, end in zip(bounds, [*bounds[1:], None], strict=True):
        while waiting and waiting[-1][0] == at:
            mark = waiting.pop()
            if mark[1] == at:
                yield MarkedPiece("", (mark[2],), (mark[2],))
            else:
                open_marks.append(mark)
        if end is not None:
            facts = tuple(fact for _, _, fact in open_marks)
            yield MarkedPiece(text[at:end], facts, tuple(fact for _, last, fact in open_marks if last == end))
            open_marks = [mark for mark in open_marks if mark[1] > end]
