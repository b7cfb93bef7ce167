"""Names: find the parts of a name in a document, even in another order, with other parts between, or as initials.

"García López, María" and "María del Carmen García López" both match "María García López". Parts of two people's names
are never combined: between the parts of a name there may only be other parts of a name.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trueup.grounding.documents import IndexedText
from trueup.grounding.vocabulary import known
from trueup.grounding.words import MOST, TextWords
from trueup.verdict.facts import Span

if TYPE_CHECKING:
    from trueup.grounding.phrases import Phrase

_MOST_PARTS = 6
_BETWEEN = 2  # the most parts of the name that the value may leave out
_COLUMNS = "   "  # a gap this wide separates two columns
_LEAST = 3  # the fewest letters of the part that the search starts from


def named(phrase: "Phrase", document: IndexedText) -> Iterator[Span]:
    """The places where the parts of a name occur together.

    >>> from trueup.grounding.phrases import Phrase
    >>> text = IndexedText("Present: Ruiz Vega, Ana Sofía; Luis Marín.")
    >>> [text.text[slice(*span)] for span in named(Phrase("Ana Ruiz"), text)], list(named(Phrase("Luis Vega"), text))
    (['Ruiz Vega, Ana'], [])
    """
    parts = phrase.folded
    if not 2 <= len(parts) <= _MOST_PARTS or phrase.has_digits or phrase.is_unspaced:
        return
    words = document.words
    anchor = max((part for part in parts if part in words.places), key=len, default="")
    if len(anchor) < _LEAST:
        return
    for index in words.places[anchor][:MOST]:
        found = _around(parts, anchor, words, index, proper=phrase.is_proper)
        if found is not None:
            yield words.span(*found)


def _around(parts: list[str], anchor: str, words: TextWords, index: int, *, proper: bool) -> tuple[int, int] | None:
    """The first and last word of a place that has all parts near an anchor; None if some are missing."""
    begin, end = _segment(words, index, parts, proper=proper)
    left = list(parts)
    left.remove(anchor)
    taken = {index}
    for part in sorted(left, key=len, reverse=True):
        at = _nearest(part, words, range(begin, end), index, taken, proper=proper)
        if at is None:
            return None
        taken.add(at)
    first, last = min(taken), max(taken)
    comma = next((at for at in range(first, last) if "," in _gap(words, at)), None)
    if comma is not None and not _is_inverted(comma, begin, end, taken):
        return None
    if not proper and any(words.folded[at] not in known("light") for at in range(first, last + 1) if at not in taken):
        return None  # without capitals, the words between may not be part of the name
    return (first, last) if last - first + 1 <= len(parts) + _BETWEEN else None


def _is_inverted(comma: int, begin: int, end: int, taken: set[int]) -> bool:
    """Whether the parts around a comma may be one name: "Ruiz Vega, Ana", "Name Ruiz, Ana", not "Ana Ruiz, Luis Vega"."""
    if {begin, comma + 1} <= taken:
        return True
    return comma in taken and all(at in taken for at in range(comma + 1, end))


def _nearest(part: str, words: TextWords, near: range, index: int, taken: set[int], *, proper: bool) -> int | None:
    """The nearest word to an anchor that is a part of the name or its initial."""
    for at in sorted(near, key=lambda at: abs(at - index)):
        word = words.folded[at]
        if at not in taken and (word == part or (proper and _is_initial(part, word))):
            return at
    return None


def _is_initial(one: str, other: str) -> bool:
    return min(len(one), len(other)) == 1 and one[0] == other[0]


def _segment(words: TextWords, index: int, parts: list[str], *, proper: bool) -> tuple[int, int]:
    """The range of words around an anchor that may be one name."""
    reach = len(parts) + _BETWEEN
    begin = index
    while begin > 0 and index - begin < reach and _belongs(words, begin - 1, begin, proper=proper):
        begin -= 1
    end = index + 1
    while end < len(words) and end - index <= reach and _belongs(words, end, end - 1, proper=proper):
        end += 1
    if proper:
        while begin < index and words.folded[begin] not in parts and _only_opens(words.folded[begin]):
            begin += 1
        begin, end = _with_inversion(words, begin, end, reach)
    return begin, end


def _only_opens(word: str) -> bool:
    """Whether a capitalized word before a name is not part of it: "From Ruiz Vega, Ana"."""
    return word in known("light") and word not in known("particles")


def _belongs(words: TextWords, at: int, beside: int, *, proper: bool) -> bool:
    """Whether a word continues the name next to it."""
    between = _gap(words, min(at, beside))
    if _COLUMNS in between:
        return False
    if (
        between.strip(" \u00a0-'’.")
        or between.count(".") > 1
        or ("." in between and not _is_short(words, min(at, beside)))
    ):
        return False
    word = words.folded[at]
    if not proper:
        return word not in known("connectors")
    if word in known("particles"):
        return True
    return words.surface(at)[:1].isupper()


def _is_short(words: TextWords, at: int) -> bool:
    """Whether a full stop after a word may belong to it: an initial or a title."""
    return len(words.folded[at]) == 1 or words.folded[at] in known("titles")


def _with_inversion(words: TextWords, begin: int, end: int, reach: int) -> tuple[int, int]:
    """The range, extended across one comma: "Ruiz Vega, Ana Sofía", but not "Ana Ruiz, Luis Vega".

    Only a family name may come before the comma, so a list of full names is not read as one name.
    """
    if end < len(words) and _gap(words, end - 1).strip() == "," and _belongs_after(words, end):
        stop = end + 1
        while stop < len(words) and stop - end < reach and _belongs(words, stop, stop - 1, proper=True):
            stop += 1
        if _parts(words, begin, end) <= 2 and _parts(words, end, stop) <= 2 and not _is_list(words, begin, stop):
            return begin, stop
    if begin > 0 and _gap(words, begin - 1).strip() == "," and _belongs_after(words, begin - 1):
        start = begin - 1
        while start > 0 and begin - start < reach and _belongs(words, start - 1, start, proper=True):
            start -= 1
        if _parts(words, start, begin) <= 2 and _parts(words, begin, end) <= 2 and not _is_list(words, start, end):
            return start, end
    return begin, end


def _parts(words: TextWords, begin: int, end: int) -> int:
    """How many words of a range are parts of a name, without particles."""
    return sum(words.folded[at] not in known("particles") for at in range(begin, end))


def _belongs_after(words: TextWords, at: int) -> bool:
    return words.surface(at)[:1].isupper() and words.folded[at] not in known("connectors")


def _is_list(words: TextWords, begin: int, end: int) -> bool:
    """Whether further names follow or precede after commas; then each comma separates two names."""
    before = begin > 0 and _gap(words, begin - 1).strip() == ","
    after = end < len(words) and _gap(words, end - 1).strip() == ","
    return before or after


def _gap(words: TextWords, at: int) -> str:
    """The text between a word and the next one."""
    return words.text[words.ends[at] : words.starts[at + 1]] if at + 1 < len(words) else ""
