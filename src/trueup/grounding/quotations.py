"""Quotations: words that a document must contain as quoted. Takes a phrase; returns its places, or what was altered.

Initial capitals, the shape of quotation marks, spaces and line breaks may differ, and `…` or `[…]` may omit text.
"""

from typing import NamedTuple

from trueup.grounding.alignment import closest
from trueup.grounding.documents import IndexedText
from trueup.grounding.phrases import Match, Phrase, exact
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_LEFT_OUT = lazy_regex(r"\s*(?:\[\s*(?:…|\.{3})\s*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3})\s*")
_MARKS = " \t\r\n\"'“”„‟«»‹›‘’‚「」『』"


class Altered(NamedTuple):
    """A passage that a quotation comes from, though not word for word."""

    document: IndexedText
    span: Span
    words: tuple[str, ...]  # of the quotation, but not in the passage


def quoted(phrase: Phrase, document: IndexedText) -> Match | Altered | None:
    """The places where a document has a quotation word for word; otherwise the altered passage, or None.

    >>> text = IndexedText("She said: the pump is not safe to use.")
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


def _altered(phrase: Phrase, document: IndexedText) -> Altered | None:
    stretch = closest(phrase, document)
    if stretch is None:
        return None
    words = document.words
    there = set(words.folded[stretch[0] : stretch[1] + 1])
    return Altered(document, words.span(*stretch), tuple(word for word in phrase.folded if word not in there))
