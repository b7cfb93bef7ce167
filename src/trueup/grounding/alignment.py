"""Alignment: find the passage of a document that says nearly the same as a longer phrase, with a few words changed.

Every digit and every negation of the phrase must be in the passage. The search starts at the rarest word of the phrase
and looks at a bounded number of places. Each place takes time in proportion to the phrase.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from trueup.grounding.documents import IndexedText
from trueup.grounding.quantities.read import read_quantity
from trueup.grounding.vocabulary import known
from trueup.grounding.words import TextWords
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from trueup.grounding.phrases import Phrase

_LEAST_WORDS, _LEAST_SIGNS = 4, 10  # the shortest phrase, in words, and in characters if the script has no spaces
_LONG, _LONGER = 6, 10  # from this many words on, one light word may be missing, and a second one
_LIGHT = 0.3  # the weight of a light word
_MOST_PLACES = 32
_MISSING = 0.2  # the share of a long phrase that may be missing
_LIKE, _LIKE_SHORT = (
    85.0,
    70.0,
)  # similarity of the letters, out of 100; a short phrase must have all of its words there
_STEM, _LEAST_STEM = (
    4,
    3,
)  # letters that two forms of a word share at the start, and the shortest stem of a derived word
_LEAST_READ = 4  # letters of the shortest word that may be a scanning error
_LEAST_SPELT, _LONG_WORD = 6, 9  # letters of a word that may have one misspelling, or two

_BRITISH = lazy_regex(r"tre(s?)\Z")


def is_near(one: str, other: str) -> bool:
    """Whether two words may be forms or spellings of the same one.

    >>> is_near("center", "centre"), is_near("moderate", "moderately"), is_near("virginia", "virgin")
    (True, True, False)
    """
    if one[0] != other[0] or abs(len(one) - len(other)) > 4 or not (one.isalpha() and other.isalpha()):
        return False
    one, other = _spelt(one), _spelt(other)
    short = min(len(one), len(other))
    same = next((at for at in range(short) if one[at] != other[at]), short)
    endings = known("endings" if same > _STEM else "short_endings")
    if same >= _STEM and one[same:] in endings and other[same:] in endings:
        return True
    if same == short and same >= _LEAST_STEM and (one[same:] or other[same:]) in known("derivations"):
        return True
    least = _LEAST_SPELT if short < _LONG_WORD else _LONG_WORD
    return short >= least and OSA.distance(one, other, score_cutoff=2) <= (1 if short < _LONG_WORD else 2)


def _spelt(word: str) -> str:
    """A word with its American ending: "theatres" becomes "theaters"."""
    found = _BRITISH.search(word)
    return word if found is None else f"{word[: found.start()]}ter{found[1]}"


def is_misread(one: str, other: str) -> bool:
    """Whether two words differ in one letter, as in a scanning error. Only the words around them can confirm that.

    >>> is_misread("desk", "dcsk"), is_misread("2024", "2025")
    (True, False)
    """
    if min(len(one), len(other)) < _LEAST_READ or not (one.isalpha() or other.isalpha()):
        return False
    return OSA.distance(one, other, score_cutoff=1) <= 1


class _Wanted(NamedTuple):
    """One word of a phrase, its weight, and the words of the document that match it."""

    word: str
    weight: float
    forms: frozenset[str]
    places: tuple[int, ...] | None  # for a number in another notation


def aligned(phrase: "Phrase", document: IndexedText) -> Iterator[Span]:
    """The best passage that says nearly the same as a phrase, if there is one."""
    count = len(phrase.folded)
    if count < (_LEAST_SIGNS if phrase.is_unspaced else _LEAST_WORDS):
        return
    words = document.words
    wanted = [_wanted(word, document) for word in phrase.folded]
    total = sum(each.weight for each in wanted)
    missing = sum(each.weight for each in wanted if not each.forms and not each.places)
    if missing > (_MISSING * total if count >= _LONGER else 0):
        return
    lacking = [at for at, each in enumerate(wanted) if not each.forms and not each.places]
    if any(_is_fixed(phrase, at) for at in lacking):
        return
    best: tuple[float, int, int] | None = None
    for first, last in _stretches(wanted, words, count):
        found = _scored(phrase, wanted, words, first, last, total)
        if found is not None and (best is None or found > best):
            best = found
    if best is not None:
        yield words.span(best[1], best[2])


def _is_fixed(phrase: "Phrase", at: int) -> bool:
    """Whether a word of a phrase must be present: one that has a digit, or that looks like a name."""
    return any(map(str.isdigit, phrase.folded[at])) or (at > 0 and phrase.words.surface(at)[:1].isupper())


def _wanted(word: str, document: IndexedText) -> _Wanted:
    words = document.words
    weight = _LIGHT if word in known("light") else 1.0
    if word in words.places:
        return _Wanted(word, weight, frozenset({word}), None)
    number = read_quantity(word)
    if number is not None:
        found = [words.at(mention.start) for value in number.values for mention in document.by_number.get(value, ())]
        return _Wanted(word, weight, frozenset(), tuple(found) or None)
    if len(word) < _LEAST_STEM:
        return _Wanted(word, weight, frozenset(), None)
    near = process.extract(word, words.places.keys(), scorer=fuzz.ratio, score_cutoff=70, limit=8)
    forms = (other for other, _, _ in near if is_near(word, other) or is_misread(word, other))
    return _Wanted(word, weight, frozenset(forms), None)


def _stretches(wanted: list[_Wanted], words: TextWords, count: int) -> Iterator[tuple[int, int]]:
    """Ranges of words around each place of the phrase's rarest word, which may say the same as the phrase."""
    slack = 2 if count <= _LONG else 2 + count // 5
    rarest = min(
        (each for each in enumerate(wanted) if each[1].forms or each[1].places),
        key=lambda each: (each[1].weight < 1, len(_places(each[1], words))),
        default=None,
    )
    if rarest is None:
        return
    at, anchor = rarest
    for place in _places(anchor, words)[:_MOST_PLACES]:
        yield max(0, place - at - slack), min(len(words) - 1, place + count - at - 1 + slack)


def _places(wanted: _Wanted, words: TextWords) -> list[int]:
    found = list(wanted.places or ())
    for form in wanted.forms:
        found += words.places[form][: _MOST_PLACES * 4]
    return sorted(found)


def _scored(
    phrase: "Phrase", wanted: list[_Wanted], words: TextWords, first: int, last: int, total: float
) -> tuple[float, int, int] | None:
    """The score of a range of words, from 0 to 1, with its first and last matching word; None if it does not match."""
    where: dict[str, list[int]] = {}
    for index in range(last, first - 1, -1):
        where.setdefault(words.folded[index], []).append(index)
    matched: list[int] = []
    weight = 0.0
    for index, each in enumerate(wanted):
        at: int | None = next((where[form].pop() for form in each.forms if where.get(form)), None)
        if at is None and each.places:
            at = next((place for place in each.places if first <= place <= last), None)
        if at is None:
            if _is_fixed(phrase, index):
                return None
            continue
        matched.append(at)
        weight += each.weight
    if not matched or weight < (1 - _MISSING) * total:
        return None
    if len(wanted) < _LONGER and weight < total - _LIGHT * (len(wanted) >= _LONG):
        return None
    begin, end = min(matched), max(matched)
    if _negations(phrase.folded) != _negations(words.folded[begin : end + 1]):
        return None
    if sum(one > other for one, other in pairwise(matched)) > max(1, len(matched) // 4):
        return None
    like = fuzz.ratio(" ".join(phrase.folded), " ".join(words.folded[begin : end + 1]))
    least = _LIKE if len(wanted) >= _LONG else _LIKE_SHORT
    return (like / 100, begin, end) if like >= least else None


def _negations(words: list[str]) -> int:
    return sum(word in known("negations") for word in words)


def closest(phrase: "Phrase", document: IndexedText) -> tuple[int, int] | None:
    """The first and last word of the passage that shares most words with a phrase; None below half of them."""
    words = document.words
    # In order, and summed exactly: the result must not depend on the hashes of words.
    said = dict.fromkeys(phrase.folded)
    present = [word for word in said if word in words.places]
    weights = {word: _LIGHT if word in known("light") else 1.0 for word in present}
    total = fsum(_LIGHT if word in known("light") else 1.0 for word in said)
    if not present or fsum(weights.values()) * 2 < total:
        return None
    anchor = min(present, key=lambda word: (weights[word] < 1, len(words.places[word])))
    at, count = phrase.folded.index(anchor), len(phrase.folded)
    slack = 1 + count // 5
    best: tuple[float, int, int] | None = None
    for place in words.places[anchor][:_MOST_PLACES]:
        first, last = max(0, place - at - slack), min(len(words) - 1, place + count - at - 1 + slack)
        here = [index for index in range(first, last + 1) if words.folded[index] in weights]
        score = fsum(weights[word] for word in {words.folded[index] for index in here})
        if best is None or score > best[0]:
            best = (score, here[0], here[-1])
    return None if best is None or best[0] * 2 < total else best[1:]
