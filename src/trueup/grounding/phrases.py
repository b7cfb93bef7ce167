"""Phrases: find a text value in a document, from exactly the same text to nearly the same words.

Each method is one small function. The strictest runs first. No method accepts another number, another name or the
opposite: digits must agree, the parts of a name must be together, and both sides must have the same negations.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from trueup.grounding.alignment import aligned, is_misread, is_near
from trueup.grounding.documents import IndexedText
from trueup.grounding.vocabulary import known, listed
from trueup.grounding.words import MOST, TextWords, fold, is_unspaced
from trueup.verdict.evidence import Evident
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_LEAST_JOINED = 4  # the fewest letters of a phrase that may have other spaces
_LEAST_DIGITS = 5  # the same for a phrase with digits: "1 2" is not 12
_PLURALS = ("", "s", "es")
_ITEMS = lazy_regex(r"\s*[,;/、，；]\s*|\s{2,}|\s+(?:and|or|und|oder|y|o|et|ou|e)\s+")
_MOST_INFLECTED = 5  # the most words of a phrase that may be inflected
_MOST_ITEMS, _SPREAD = (
    20,
    3,
)  # the most items of a list, and how many times longer than the value their span may be
_MOST_PLACE_WORDS, _LEAST_NAME = (
    6,
    4,
)  # the most words of a name with a kind of place; the fewest letters without it
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_DIGRAPH = lazy_regex("ae|oe|ue|aa")


class Match(NamedTuple):
    """How well a document agrees with a value, and where."""

    grade: Evident
    spans: list[Span]


class Phrase:
    """A text value, prepared to be looked up in many documents."""

    def __init__(self, value: str) -> None:
        self.value = value.strip()
        self.words = TextWords(self.value)

    @cached_property
    def folded(self) -> list[str]:
        """Its words, normalized for comparison."""
        return self.words.folded

    @cached_property
    def joined(self) -> str:
        """The same without spaces."""
        return "".join(self.folded)

    @cached_property
    def has_digits(self) -> bool:
        """Whether it contains a digit."""
        return any(character.isdigit() for character in self.joined)

    @cached_property
    def is_proper(self) -> bool:
        """Whether it looks like a name: its first word has a capital, or its script has none."""
        first = self.words.surface(0) if self.folded else ""
        return first[:1].isupper() or first[:1].istitle()

    @cached_property
    def is_unspaced(self) -> bool:
        """Whether most of it is in a script without spaces."""
        return sum(map(is_unspaced, self.folded)) * 2 > len(self.folded)

    @cached_property
    def core(self) -> "Phrase":
        """The phrase without a leading article, titles, honorifics and the legal form of a company."""
        value = self.value
        for ending in (*listed("honorifics"), *listed("forms_joined")):
            if value.endswith(ending) and len(value) > len(ending) + 1:
                value = value[: -len(ending)]
                break
        for form in listed("forms_joined"):
            value = value.removeprefix(form)
        kept = Phrase(value) if value != self.value else self
        dropped = known("titles") | known("forms")
        words = [word for word in kept.folded if word not in dropped]
        if len(words) > 1 and words[0] in known("articles"):
            words = words[1:]
        if not words or words == self.folded:
            return kept if words else self
        return _of_words(kept, words)

    @cached_property
    def shortened(self) -> list[list[str]]:
        """Its words with a long form in place of a short one, or the reverse."""
        return list(_shortened(self))

    @cached_property
    def names_proper(self) -> list[list[str]]:
        """Its words without the kind of place: "Acorn" from "Acorn Guest House"."""
        return list(_names_proper(self.core.folded))


def _of_words(phrase: Phrase, words: Sequence[str]) -> Phrase:
    """A phrase made of some words of another one, spelled as they are there."""
    left = list(words)
    surfaces = []
    for index, word in enumerate(phrase.folded):
        if left and word == left[0]:
            surfaces.append(phrase.words.surface(index))
            left.pop(0)
    return Phrase(("" if phrase.is_unspaced else " ").join(surfaces))


def look_up(phrase: Phrase, document: IndexedText, *, only_strict: bool = False) -> Match | None:
    """Where a document has a phrase; None if it does not. With `only_strict`, only case and form may differ."""
    spans = list(exact(phrase.value, document.text))
    if spans:
        return Match("exact", spans)
    if not phrase.folded:
        return None
    for grade, way in _STRICT if only_strict else _WAYS:
        spans = list(way(phrase, document))
        if spans:
            return Match(grade, spans)
    return None


def exact(value: str, text: str) -> Iterator[Span]:
    """The occurrences of a value in a text that are not part of a longer word or number.

    >>> list(exact("Ana", "Banana, Ana")), list(exact("12", "12.50 and 12"))
    ([(8, 11)], [(10, 12)])
    """
    if not value:
        return
    at = text.find(value)
    for _ in range(MOST):
        if at < 0:
            return
        if _is_whole(text, at, at + len(value)):
            yield at, at + len(value)
        at = text.find(value, at + 1)


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (
        _goes_on(text[start], text[start - 1 : start], text[max(start - 2, 0) : start - 1] if start > 1 else "")
    ) and not (_goes_on(text[end - 1], text[end : end + 1], text[end + 1 : end + 2]))


def _goes_on(edge: str, beside: str, beyond: str) -> bool:
    """Whether a word or a number continues beyond its edge."""
    if not beside or not edge.isalnum():
        return False
    if edge.isdigit() and beside in ".,'" and beyond.isdigit():
        return True
    return beside.isalnum() and not is_unspaced(edge) and not is_unspaced(beside)


def _same_words(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    words = document.words
    for first, last in words.find(phrase.folded):
        yield words.span(first, last)


def _other_letters(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    """The same words with umlauts written as two letters, on either side: "Müller" and "Mueller"."""
    words = document.words
    wanted = [_spelled(phrase.words.surface(index), word, words) for index, word in enumerate(phrase.folded)]
    if wanted != phrase.folded:
        for first, last in words.find(wanted):
            yield words.span(first, last)


def _spelled(surface: str, word: str, words: TextWords) -> str:
    """A word as the document spells it."""
    if word in words.places:
        return word
    split = fold(surface.casefold().translate(_UMLAUTS))
    if split in words.places:
        return split
    single = _DIGRAPH.sub(lambda found: found[0][0], word)
    return single if single in words.places else word


def _other_spaces(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    """The same letters with different spaces, hyphens or line breaks."""
    if len(phrase.joined) < (_LEAST_DIGITS if phrase.has_digits else _LEAST_JOINED) or phrase.is_unspaced:
        return
    words = document.words
    for first, last in words.find_joined(phrase.joined, ("",) if phrase.is_proper or phrase.has_digits else _PLURALS):
        yield words.span(first, last)


def _core_words(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    core = phrase.core
    if core is not phrase and core.folded:
        yield from _same_words(core, document)


def _short_forms(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    """The same words, abbreviated on one side: "Saint John's" and "St. John's", "bed and breakfast" and "B&B"."""
    words = document.words
    for variant in phrase.shortened:
        for first, last in words.find(variant):
            yield words.span(first, last)
        if len(joined := "".join(variant)) >= _LEAST_JOINED and not phrase.has_digits:
            for first, last in words.find_joined(joined):
                yield words.span(first, last)


def _shortened(phrase: Phrase) -> Iterator[list[str]]:
    """The words of a phrase with one form replaced by the other."""
    if phrase.is_unspaced or len(phrase.folded) < 2:
        return
    text = f" {' '.join(phrase.folded)} "
    for pair in listed("short"):
        for form, other in (pair.split("="), reversed(pair.split("="))):
            if form and f" {form} " in text and (words := text.replace(f" {form} ", f" {other} ").split()):
                yield words


def _without_kind(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    """A name without its kind of place, if the text does not give another kind: "the Acorn" for "Acorn Guest House"."""
    words = document.words
    for rest in phrase.names_proper:
        for first, last in words.find(rest):
            beside = (first - 1, first), (last + 1, last)
            if not any(_may_belong(words, *pair, alone=first == last) for pair in beside):
                yield words.span(first, last)


def _may_belong(words: TextWords, at: int, beside: int, *, alone: bool) -> bool:
    """Whether the next word may make it another name: "Acorn Street", "the Bar Acorn", "New Acorn", "acorn tree"."""
    if not 0 <= at < len(words) or words.folded[at] in known("light"):
        return False
    gap = words.text[words.ends[min(at, beside)] : words.starts[max(at, beside)]]
    if not gap.isspace():
        return False
    written_small = alone and words.surface(beside)[:1].islower()
    return written_small or words.folded[at] in _kinds_and_roads() or words.surface(at)[:1].isupper()


def _names_proper(core: list[str]) -> Iterator[list[str]]:
    """The rest of a name, without the kind of place at its start or end."""
    if not 2 <= len(core) <= _MOST_PLACE_WORDS:
        return
    for kind in _kinds():
        size = len(kind)
        for rest, said in ((core[:-size], core[-size:]), (core[size:], core[:size])):
            edges = set(rest[:1] + rest[-1:])
            plain = edges.isdisjoint(known("light") | known("particles") | _kinds_and_roads())
            if tuple(said) == kind and len("".join(rest)) >= _LEAST_NAME and plain:
                yield rest


@cache
def _kinds() -> tuple[tuple[str, ...], ...]:
    return tuple(sorted({tuple(kind.split()) for kind in known("places")}, key=len, reverse=True))


@cache
def _kinds_and_roads() -> frozenset[str]:
    """The first and last words of kinds of places and of roads."""
    kinds = [kind.split() for kind in (*known("places"), *known("roads"))]
    return frozenset(kind[0] for kind in kinds) | {kind[-1] for kind in kinds}


def _name_parts(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    from trueup.grounding.names import named  # only needed if the name is not there unchanged

    yield from named(phrase.core, document)


def _inflected(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    """A few words, some inflected or slightly misspelled: "city centre" and "city center", "museum" and "museums".

    A word that is capitalized on both sides is a name, and names are not inflected.
    """
    core = phrase.core
    if not 0 < len(core.folded) <= _MOST_INFLECTED or core.has_digits or core.is_unspaced:
        return
    words = document.words
    alike = is_near if len(core.folded) == 1 else _is_like
    near = [[word for word in words.places if word == wanted or alike(wanted, word)] for wanted in core.folded]
    if sum(wanted not in words.places for wanted in core.folded) > max(1, len(near) - 1):
        return
    for word in near[0]:
        for first in words.places[word][:MOST]:
            last = first + len(near) - 1
            if last < len(words) and all(_stands_for(core, at, words, first + at, near[at]) for at in range(len(near))):
                yield words.span(first, last)


def _is_like(one: str, other: str) -> bool:
    return is_near(one, other) or is_misread(one, other)


def _stands_for(core: Phrase, at: int, words: TextWords, index: int, near: list[str]) -> bool:
    """Whether a word of a document is a form of one word of a phrase."""
    if words.folded[index] == core.folded[at]:
        return True
    if words.folded[index] not in near:
        return False
    both_proper = words.surface(index)[:1].isupper() and core.words.surface(at)[:1].isupper()
    return not both_proper or (len(core.folded) > 2 and is_misread(words.folded[index], core.folded[at]))


def _listed(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    """The items of a list in another order, near each other: "tea, coffee" and "coffee and tea"."""
    items = [Phrase(item) for item in _ITEMS.split(phrase.value) if item.strip()]
    if len(items) < 2 or len(items) > _MOST_ITEMS or not all(item.folded for item in items):
        return
    spans: list[Span] = []
    for item in items:
        match = look_up(item, document, only_strict=True)
        if match is None:
            return
        near = min(match.spans, key=lambda span: abs(span[0] - (spans[0][0] if spans else span[0])))
        spans.append(near)
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    if last - first <= _SPREAD * len(phrase.value):
        yield first, last


def _nearly(phrase: Phrase, document: IndexedText) -> Iterator[Span]:
    yield from aligned(phrase.core, document)


Way = Callable[[Phrase, IndexedText], Iterator[Span]]
_STRICT: tuple[tuple[Evident, Way], ...] = (
    ("normalized", _same_words),
    ("normalized", _other_letters),
    ("normalized", _other_spaces),
    ("normalized", _core_words),
    ("normalized", _short_forms),
)
_WAYS: tuple[tuple[Evident, Way], ...] = (
    *_STRICT,
    ("normalized", _name_parts),
    ("fuzzy", _without_kind),
    ("fuzzy", _inflected),
    ("fuzzy", _listed),
    ("fuzzy", _nearly),
)
