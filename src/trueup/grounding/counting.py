"""The things that a number counts: people, nights, stars. Takes a field name or a number in a text; returns its kinds.

A dialogue about a hotel has many small numbers. "For 4 nights" does not mean that there are four people. A number that
counts one thing is not evidence for a field that counts another. A number without a noun may count anything.
"""

import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from trueup.grounding.quantities.find import Quantity
from trueup.grounding.vocabulary import known
from trueup.grounding.words import TextWords, fold, is_unspaced
from trueup.verdict.facts import Span
from trueup.verdict.likeness import name_words
from trueup.verdict.patterns import lazy_regex

Kinds = frozenset[str]

_NOTHING: Kinds = frozenset()
_LEAST_ENDING = 4  # letters of the shortest word that can end an undivided name: "bookpeople"
_REACH = 24
_BEHIND = lazy_regex(r"[ \u00a0]?-?[ \u00a0]?([^\W\d_]{2,})")
_ORDINAL = lazy_regex(r"\d(?:\.?[ºª°]|[a-z]{1,3})\Z")
_DAY = "d"
_ABOUT = frozenset(("count", "number", "size", "total", "num", "rating"))
_PER = frozenset(("per", "pro", "por", "par"))


# One of something without a noun: "for one", but neither "a table" nor "the cheap one".
_BARE_ONE = lazy_regex(
    r"(?i)\b(?:for|of|just|only|para|für|nur|pour|per|solo|sólo|seulement|apenas|solamente|total|are|be|is)[ \u00a0]\Z"
)
_ENDS = lazy_regex(
    r"(?i)[ \u00a0]*(?:[^\w\s]|\n|\Z|(?:at|on|in|from|this|next|and|please|starting|el|a|en|por|am|um|im|ab|bitte|le|à|au|il|alle)\b)"
)


class _Table(NamedTuple):
    fields: dict[str, Kinds]
    nouns: dict[str, Kinds]
    glued: dict[str, Kinds]
    before: dict[str, Kinds]
    said: dict[str, tuple[tuple[str, ...], ...]]


@cache
def _table() -> _Table:
    source = tomllib.loads((files("trueup.grounding") / "counting.toml").read_text(encoding="utf-8"))
    made: dict[str, dict[str, Kinds]] = {name: {} for name in ("fields", "nouns", "glued", "before")}
    said: dict[str, tuple[tuple[str, ...], ...]] = {}
    for kind, lists in source.items():
        for number, phrases in lists.pop("said", {}).items():
            said[f"{kind} {number}"] = tuple(tuple(TextWords(phrase).folded) for phrase in phrases)
        for name, words in lists.items():
            for word in words:
                made[name][fold(word)] = made[name].get(fold(word), _NOTHING) | {kind}
    return _Table(**made, said=said)


@lru_cache(maxsize=4096)
def counted_by(field: str) -> Kinds:
    """The things that a field counts, going by its name; empty if the name does not show it.

    >>> sorted(counted_by("number_of_seats")), sorted(counted_by("bookstay")), sorted(counted_by("name"))
    (['people'], ['nights'], [])
    """
    fields = _table().fields
    words = [fold(word) for word in name_words(field)]
    if len(words) > 1 and words[-1] in _ABOUT and words[-2] in fields:
        return fields[words[-2]]  # party_size
    if not words or not _PER.isdisjoint(words):
        return _NOTHING  # price_per_night
    last = words[-1]
    if last in fields:
        return fields[last]
    ending = next((word for word in fields if len(word) >= _LEAST_ENDING and last.endswith(word)), None)
    return _NOTHING if ending is None else fields[ending]


def counts_other(wanted: Kinds, mention: Quantity, text: str) -> bool:
    """Whether a number plainly counts something else.

    >>> from trueup.grounding.quantities.find import quantities
    >>> text = "4 nights for two people, 3 in the end"
    >>> [counts_other(frozenset({"people"}), one, text) for one in quantities(text)]
    [True, False, False]
    """
    if mention.unit:
        return not (mention.unit == _DAY and "nights" in wanted)
    if _ORDINAL.search(text, mention.start, mention.end):
        return True  # "on the 8th"
    said = _said(text, mention)
    if not said and mention.words and mention.values == ("1",) and not is_unspaced(text[mention.start]):
        return not (
            _BARE_ONE.search(text, max(0, mention.start - _REACH), mention.start) and _ENDS.match(text, mention.end)
        )
    return bool(said) and said.isdisjoint(wanted)


def said_otherwise(wanted: Kinds, value: str, words: TextWords) -> Iterator[Span]:
    """The places where a text gives the count without a number: "just me".

    >>> [
    ...     list(said_otherwise(frozenset({"people"}), "1", TextWords(text)))
    ...     for text in ("Just me, please", "Just me and my son")
    ... ]
    [[(0, 7)], []]
    """
    for kind in sorted(wanted):
        for phrase in _table().said.get(f"{kind} {value}", ()):
            for first, last in words.find(phrase):
                goes_on = last + 1 < len(words) and words.folded[last + 1] in known("connectors")
                if not goes_on or "," in words.text[words.ends[last] : words.starts[last + 1]]:
                    yield words.span(first, last)


def _said(text: str, mention: Quantity) -> Kinds:
    table = _table()
    ahead = text[mention.end : mention.end + _REACH]
    for size in range(4, 0, -1):
        if len(ahead) >= size and ahead[:size] in table.glued:
            return table.glued[ahead[:size]]
    found = _BEHIND.match(ahead)
    if found is not None and (kinds := table.nouns.get(fold(found[1]))):
        return kinds
    before = fold(text[max(0, mention.start - _REACH) : mention.start]).rstrip()
    return next((kinds for phrase, kinds in table.before.items() if before.endswith(phrase)), _NOTHING)
