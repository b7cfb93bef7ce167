"""The words of the languages with spaces between words, read from `languages/` on first use.

Returns one `Vocabulary`: a pattern that finds every meaningful word, the meaning of each, and the meanings of the words
between two of them. All languages are one vocabulary: a text does not have to name its language, and may mix several.
"""

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from trueup.grounding.languages import SPACED
from trueup.grounding.moments.folding import fold

# The sign for the text between two tokens: joined to both of them, or at the end of a longer text before the second.
_JOINED = {
    "day": "3", "on": "2", "the": "2", "in": "4", "in_a": "5", "year": "8", "ago": "6", "hour_article": "7", "at": "@", "of": "/",
    "until": "-", "and": "&", "plus": "+", "minus": "~", "past": ">", "before": "{", "past_or_in": "}", "to": "<",
}  # fmt: skip
_CUES = {
    "year": "8", "past": "@", "hour_article": "7", "at": "@", "before": "{", "past_or_in": "}", "on": "^", "the": "9", "day": "#",
    "in": "4", "in_a": "5", "ago": "6",
}  # fmt: skip
_KINDS = {
    "part": "p", "point": "N", "relative": "R", "shift": "X", "unit": "u", "hours": "L", "hour": "U", "quarter": "K",
    "three_quarters": "Z", "half": "H", "half_before": "h", "half_after": "J", "month": "M", "weekday": "W", "number": "w",
    "ordinal": "Q", "ago": "A", "hence": "B",
}  # fmt: skip
# Words with two meanings. The grammar decides between them.
_BOTH = {
    ("month", "weekday"): "x",
    ("month", "number"): "s",
    ("month", "ago"): "G",
    ("half", "half_before"): "H",
}


class Lexeme(NamedTuple):
    """A meaningful word: its kind as one letter of the grammar, and its value for each meaning."""

    kind: str
    means: dict[str, Any]
    languages: frozenset[str]
    verb: bool = False


class Vocabulary(NamedTuple):
    pattern: str
    lexemes: dict[str, Lexeme]
    endings: frozenset[str]
    joined: dict[str, str]
    cues: dict[str, str]


def split(words: str) -> list[str]:
    """The alternatives of one entry, folded. A hyphen also matches a space."""
    alternatives = [fold(word.strip())[0] for word in words.split("|")]
    return alternatives + [word.replace("-", " ") for word in alternatives if "-" in word]


def load(language: str) -> dict[str, Any]:
    """The file of one language."""
    path = files("trueup.grounding.moments") / "languages" / f"{language}.toml"
    return tomllib.loads(path.read_text("utf-8"))


def _meanings(data: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each word of a language with the name of its meaning and its value."""
    lists = {
        "month": enumerate(data["months"], 1),
        "weekday": enumerate(data["weekdays"]),
        "number": enumerate(data["numbers"].split(",")),
        "ordinal": enumerate(data["ordinals"].split(","), 1),
        "part": ((tuple(window), words) for words, window in data["parts"].items()),
        "point": ((hour, words) for words, hour in data["points"].items()),
    }
    for name, entries in lists.items():
        for value, words in entries:
            yield from ((word, name, value) for word in split(words))
    for name, written in data["clock"].items():
        values = written.items() if isinstance(written, dict) else ((word, 0) for word in written)
        yield from ((fold(word)[0], name, value) for word, value in values)
    relative = data["relative"]
    yield from ((found, "relative", days) for word, days in relative["days"].items() for found in split(word))
    for value, name in ((1, "next"), (0, "this"), (-1, "last")):
        yield from ((fold(word)[0], "shift", value) for word in relative[name])
    for unit in ("day", "week", "month", "year", "other"):
        yield from ((fold(word)[0], "unit", unit) for word in relative[unit])
    for name in ("ago", "hence"):
        yield from ((fold(word)[0], name, 0) for word in relative.get(name, ()))


def _kind(means: dict[str, Any], *, ordinary: bool, rare: bool) -> str:
    for pair, kind in _BOTH.items():
        if means.keys() == set(pair):
            return kind
    kind = next(letter for name, letter in _KINDS.items() if name in means)
    if kind == "W":
        return "V" if rare else "v" if ordinary else "W"
    return "m" if kind == "M" and ordinary else kind


def pattern_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, longest first, that reads each character of a text once or twice.

    >>> pattern_of(["may", "mai", "mayo"])
    '(?:ma(?:i|y(?:o)?))'
    """
    trie: dict[str, Any] = {}
    for word in sorted(words):
        node = trie
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}
    return "(?:" + _source(trie) + ")"


def _source(node: dict[str, Any]) -> str:
    branches = [_escape(char) + _source(below) for char, below in node.items() if char]
    if not branches:
        return ""
    one = "|".join(branches)
    if "" in node:
        return f"(?:{one})?"
    return one if len(branches) == 1 else f"(?:{one})"


def _escape(char: str) -> str:
    return "\\" + char if char in r".^$*+?{}[]\|()" else char


@cache
def vocabulary() -> Vocabulary:
    """The words of all languages in one vocabulary."""
    means: dict[str, dict[str, Any]] = {}
    spoken: dict[str, set[str]] = {}
    ordinary: set[str] = set()
    rare: set[str] = set()
    verbs: set[str] = set()
    endings: set[str] = set()
    joined = {"": "_", ",": ",", ".": ".", "-": "-", "/": "/", "(": ",", ";": ",", "'": "_"}
    cues: dict[str, str] = {}
    between: dict[str, list[str]] = {}
    for language in SPACED:
        data = load(language)
        for word, name, value in _meanings(data):
            means.setdefault(word, {}).setdefault(name, value)
            spoken.setdefault(word, set()).add(language)
        ordinary |= {fold(word)[0] for word in data.get("ordinary", ())}
        rare |= {fold(word)[0] for word in data.get("rare", ())}
        verbs |= set(data.get("verbs", ()))
        endings |= set(data["ordinal_endings"])
        for name, phrases in data["between"].items():
            between.setdefault(name, []).extend(phrases)
    for signs, table in ((_JOINED, joined), (_CUES, cues)):
        for name, sign in signs.items():
            for phrase in between.get(name, ()):
                table[phrase] = sign
                if len(phrase) > 2 or phrase.isascii():  # `à` is not the English or Spanish `a`
                    table[fold(phrase)[0]] = sign
    lexemes = {
        word: Lexeme(
            _kind(of, ordinary=word in ordinary, rare=word in rare), of, frozenset(spoken[word]), word in verbs
        )
        for word, of in means.items()
    }
    return Vocabulary(pattern_of(lexemes), lexemes, frozenset(endings), joined, cues)
