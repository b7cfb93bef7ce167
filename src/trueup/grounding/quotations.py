"""Quotations: words that must stand in a document as they are quoted. A phrase enters; where it stands leaves, or what was altered.

Case at the beginning, the form of quotation marks, spaces and line breaks do not count, and `…` or `[…]` may leave something out.
"""

from typing import NamedTuple

from trueup.grounding.alignment import closest
from trueup.grounding.documents import Text
from trueup.grounding.phrases import Match, Phrase, exact
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_LEFT_OUT = lazy_regex(r"\s*(?:\[\s*(?:…|\.{3})\s*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3})\s*")
_MARKS = " \t\r\n\"'“”„‟«»‹›‘’‚「」『』"


class Altered(NamedTuple):
    """A stretch that a quotation comes from, though not word for word."""

    document: Text
    span: Span
    words: tuple[str, ...]  # of the quotation, that are not in the stretch


def quoted(phrase: Phrase, document: Text) -> Match | Altered | None:
    """Where a document says a quotation word for word; what it says instead, or None.

    >>> text = Text("She said: the pump is not safe to use.")
    >>> quoted(Phrase("The pump is not safe"), text).grade
    'normalized'
    >>> text.text[slice(*quoted(Phrase("The pump is safe to use"), text).span)]
    'the pump is not safe to use'
    """
    value = phrase.value.strip(_MARKS)
    spans = list(exact(value, document.text))
    if spans:
        return Match("exact", spans)
    pieces = [Phrase(piece) for piece in _LEFT_OUT.split(value) if piece.strip(_MARKS)]
    words = document.words
    found: list[Span] = []
    at = -1
    for piece in pieces:
        place = next((place for place in words.find(piece.folded) if place[0] > at), None)
        if place is None:
            return _altered(Phrase(value), document)
        at = place[1]
        found.append(words.span(*place))
    return Match("normalized", found) if found else None


def _altered(phrase: Phrase, document: Text) -> Altered | None:
    stretch = closest(phrase, document)
    if stretch is None:
        return None
    words = document.words
    there = set(words.folded[stretch[0] : stretch[1] + 1])
    return Altered(document, words.span(*stretch), tuple(word for word in phrase.folded if word not in there))
