"""Words for numbers, scales and units in each language, read once from the TOML files next to this module.

In languages with spaces between words, `numbers` add up, `multipliers` multiply the number before them, `groups` are
nouns such as a dozen. `alone` and `phrases` are complete numbers, `ordinals` end a number, `scales` are powers of ten
after figures, and `halves` add a half. `doubtful` words count only in a text of their language, which is recognized by
its `common` words. Chinese, Japanese and Korean have `digits`, `powers` and `marks`. This module ignores word order.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from trueup.grounding.languages import SPACED
from trueup.verdict.patterns import lazy_regex


class WordKind(IntEnum):
    """The role of a word inside a number."""

    ADD = 0
    MULTIPLY = 1
    GROUP = 2
    ORDINAL = 3
    JOIN = 4


class NumberToken(NamedTuple):
    kind: WordKind
    value: int


class Language(NamedTuple):
    """One language with spaces between words. All words are in lower case."""

    name: str
    words: dict[str, NumberToken]
    alone: dict[str, str]  # one or more words → their number
    starts: dict[str, tuple[str, ...]]  # first word of `alone` → whole entries, longest first
    common: frozenset[str]
    doubtful: frozenset[str]
    articles: tuple[str, ...]
    point: frozenset[str]
    minus: frozenset[str]
    join_after: int
    backwards: bool  # one-and-twenty
    twenties: bool  # four-twenty
    compound: re.Pattern[str] | None  # a number written as one word
    pieces: re.Pattern[str] | None


class Characters(NamedTuple):
    """The characters of Chinese, Japanese and Korean numbers."""

    digits: dict[str, int]
    powers: dict[str, int]
    tens: dict[str, int]
    tenths: frozenset[str]
    literal: dict[str, int]
    part: tuple[str, ...]
    percent: tuple[str, ...]
    permille: tuple[str, ...]
    half: tuple[str, ...]
    point: tuple[str, ...]
    measure: tuple[str, ...]


@cache
def table(name: str) -> dict[str, Any]:
    """One of the TOML files."""
    return tomllib.loads((files("trueup.grounding.quantities") / name).read_text("utf-8"))


@cache
def language(name: str) -> Language:
    """The number words of a language with spaces between words."""
    data = table(f"languages/{name}.toml")
    words: dict[str, NumberToken] = {}
    for section, kind in (
        ("numbers", WordKind.ADD),
        ("multipliers", WordKind.MULTIPLY),
        ("groups", WordKind.GROUP),
        ("ordinals", WordKind.ORDINAL),
    ):
        for word, value in data.get(section, {}).items():
            for form in spellings(word):
                words.setdefault(form, NumberToken(kind, value))
    words.update({word: NumberToken(WordKind.JOIN, 0) for word in data["connectors"]})
    alone = {
        form: value
        for section in ("alone", "phrases")
        for word, value in data[section].items()
        for form in spellings(word)
    }
    starts: dict[str, tuple[str, ...]] = {}
    for phrase in sorted(alone, key=len, reverse=True):
        first = re.split(r"[\s-]", phrase)[0]
        starts[first] = (*starts.get(first, ()), phrase)
    compound, pieces = _compounds(data, words) if data.get("compound") else (None, None)
    return Language(
        name=name, words=words, alone=alone, starts=starts,
        common=frozenset(data["common"]), doubtful=frozenset(data["doubtful"]), articles=tuple(data["articles"]),
        point=frozenset(form for word in data["point"] for form in spellings(word)), minus=frozenset(data["minus"]),
        join_after=data["connector_after"], backwards=data.get("reversed", False), twenties=data.get("vigesimal", False),
        compound=compound, pieces=pieces,
    )  # fmt: skip


def _compounds(data: dict[str, Any], words: dict[str, NumberToken]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for one-word numbers, and for their pieces. Pieces are unambiguous, so matching never backtracks."""
    for word, value in data.get("elided", {}).items():
        words[word] = NumberToken(WordKind.MULTIPLY if value == 100 else WordKind.ADD, value)
    elided = [f"{word}(?={'|'.join(data['elision']['before'])})" for word in data.get("elided", {})]
    kinds = {WordKind.ADD, WordKind.MULTIPLY}
    whole = [w for w, token in words.items() if token.kind in kinds and w not in data.get("elided", {})]
    number = "|".join([*elided, *sorted(whole, key=len, reverse=True)])
    piece = "|".join([*elided, *sorted([*whole, *data["connectors"]], key=len, reverse=True)])
    endings = "|".join(sorted(data.get("ordinal_endings", ()), key=len, reverse=True))
    return re.compile(f"((?:{number})(?:{piece})*+)({endings})?"), re.compile(piece)


def spellings(word: str) -> Iterator[str]:
    """A word as written, without accents, and in German without umlauts and ß.

    >>> sorted(spellings("dreißig")), sorted(spellings("fünf")), sorted(spellings("três"))
    (['dreissig', 'dreißig'], ['fuenf', 'funf', 'fünf'], ['tres', 'três'])
    """
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    forms = {word, bare, word.replace("ß", "ss")}
    forms.add(word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue"))
    yield from sorted(forms)


@cache
def number_words() -> dict[str, tuple[str, ...]]:
    """Every word that may start a number, with its languages."""
    found: dict[str, list[str]] = {}
    for name in SPACED:
        spoken = language(name)
        begins = {
            word
            for word, token in spoken.words.items()
            if token.kind != WordKind.JOIN and word not in {"cent"} | _elided(name)
        }
        for word in begins | set(spoken.starts) | spoken.minus:
            found.setdefault(word, []).append(name)
    if "fr" not in found.setdefault("cent", []):
        found["cent"].append("fr")
    return {word: tuple(names) for word, names in found.items()}


def _elided(name: str) -> set[str]:
    return set(table(f"languages/{name}.toml").get("elided", ()))


@cache
def compounding() -> tuple[str, ...]:
    """The languages in which a number can be one word."""
    return tuple(name for name in SPACED if language(name).compound is not None)


@cache
def compound_heads() -> frozenset[str]:
    """The first three letters of every number that can be part of a one-word number."""
    compounds = [language(name) for name in compounding()]
    return frozenset(
        word[:3]
        for spoken in compounds
        for word, token in spoken.words.items()
        if token.kind in {WordKind.ADD, WordKind.MULTIPLY}
    )


@cache
def characters() -> Characters:
    """The number characters of Chinese and Japanese. The Korean ones are in `hangul`."""
    tables = [table(f"languages/{name}.toml") for name in ("zh", "ja")]

    def gather(section: str) -> dict[str, int]:
        return {key: value for data in tables for key, value in data.get(section, {}).items()}

    def marks(name: str) -> tuple[str, ...]:
        return tuple(mark for data in [*tables, table("languages/ko.toml")] for mark in data["marks"][name])

    return Characters(
        digits=gather("digits"), powers=gather("powers"), tens=gather("tens"),
        tenths=frozenset(gather("tenths")), literal={**gather("literal"), **table("languages/ko.toml")["literal"]},
        part=marks("part"), percent=marks("percent"), permille=marks("permille"),
        half=marks("half"), point=marks("point"), measure=marks("measure"),
    )  # fmt: skip


@cache
def hangul() -> tuple[dict[str, int], dict[str, int]]:
    """The Korean digits and powers of ten."""
    data = table("languages/ko.toml")
    return data["digits"], data["powers"]


@cache
def halves() -> tuple[str, ...]:
    """The words that add a half to the number before them, with the space in between, longest first."""
    forms = {f" {form}" for name in SPACED for form in table(f"languages/{name}.toml")["halves"]}
    return tuple(sorted(forms, key=len, reverse=True))


@cache
def connectors_of() -> tuple[str, ...]:
    """Words between a scale and its unit, with the spaces around them: " of ", " de ", " d'"."""
    forms = {form for name in SPACED for form in table(f"languages/{name}.toml")["of"]}
    return tuple(sorted({f" {form}" if form[-1] in "'’" else f" {form} " for form in forms}, key=len, reverse=True))


@cache
def ordinal_signs() -> frozenset[str]:
    """The endings of ordinals in figures: 3rd, 2ème, 3º."""
    return frozenset(sign for name in SPACED for sign in table(f"languages/{name}.toml")["ordinal_signs"]["behind"])


@cache
def scales() -> dict[str, tuple[int, ...]]:
    """Powers of ten by the word after figures; several if languages differ, in the order of the languages."""
    found: dict[str, list[int]] = {}
    for name in SPACED:
        for word, powers in table(f"languages/{name}.toml")["scales"].items():
            for form in spellings(word):
                known = found.setdefault(form, [])
                known += [power for power in powers if power not in known]
    return {word: tuple(powers) for word, powers in found.items()}


def first_words(phrases: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Phrases of several words, by their first word, longest first."""
    found: dict[str, list[str]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        if (first := FIRST_WORD.match(phrase)) and first.end() < len(phrase):
            found.setdefault(first[0], []).append(phrase)
    return {first: tuple(longer) for first, longer in found.items()}


FIRST_WORD = lazy_regex(r"[^\W\d_]+")
