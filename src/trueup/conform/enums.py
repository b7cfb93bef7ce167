"""Finds enum values in a model's text: by case and punctuation, by a configured part, inside a sentence.

Takes the allowed texts once; for any other text, returns the allowed text that it means, with the code.
Returns nothing if two fit, or if the value is negated.
"""

import re
from collections.abc import Sequence

from trueup.conform.names import Aliases, SimilarNames, words
from trueup.verdict.patterns import lazy_regex

MAX_SENTENCE = 2_000

_NEGATION = frozenset(
    "not no non never neither nor without cannot except excluding unlike than instead "
    "below above under over beneath beyond almost nearly barely hardly formerly previously rather "
    "nicht kein keine nie ohne pas ne sans aucun ni sin nunca tampoco não nao sem".split()
)
# Right after a value: "high is not right", "high isn't", "alto no es correcto".
_DENIED = lazy_regex(
    r"[\"'”»*`]*\s+(?:(?:[^\W\d_]{1,16}\s+)?(?:not|never|nicht|niemals)\b|\w{1,8}n['’]t\b"
    r"|(?:no|non|não|nao|nunca|mai|nie)\s+(?:es|era|está|vale|sirve|è|é|va|serve|sarebbe|sería|seria)\b"
    r"|(?:ne\s+|n['’])\w{1,16}\s+(?:pas|jamais)\b)",
    re.IGNORECASE,
)
_NEAR = 4
_TOKEN = lazy_regex(r"[^\W_]+")


def _negates(word: str) -> bool:
    return word in _NEGATION or word.endswith(("n't", "n’t"))


def _is_denied(key: tuple[str, ...], text: str) -> bool:
    """Whether the words right after a value deny it."""
    written = re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, key)) + r"(?!\w)", re.IGNORECASE)
    return any(_DENIED.match(text, found.end()) is not None for found in written.finditer(text))


class EnumTable:
    """The texts that an enum allows, prepared for searching."""

    __slots__ = ("_alike", "_by_words", "_delimiters", "_longest", "_names", "_prefixes", "_single")

    def __init__(
        self, values: Sequence[str], aliases: Aliases, prefixes: Sequence[str], delimiters: Sequence[str]
    ) -> None:
        self._names = SimilarNames(values, aliases)
        self._prefixes = tuple(prefix.casefold() for prefix in prefixes if prefix)
        self._delimiters = tuple(delimiter for delimiter in delimiters if delimiter)
        self._by_words: dict[tuple[str, ...], str | None] = {}
        self._alike: dict[tuple[str, ...], list[str]] = {}  # values that differ only in case
        self._single: frozenset[str] = frozenset(value for value in values if len(value) == 1)
        for value in values:
            for spelling in (value, *aliases.get(value, ())):
                key = tuple(words(spelling))
                if key and len(value) > 1:
                    self._by_words[key] = value if self._by_words.get(key, value) == value else None
                    self._alike.setdefault(key, []).append(value)
        self._longest = max(map(len, self._by_words), default=0)

    def match(self, text: str, *, eager: bool) -> tuple[str, str] | None:
        """The allowed text that a text means, and the code of the way in which it was found."""
        found = self._names.match(text)
        if found is not None:
            return found, "C011"
        found = self._by_part(text)
        if found is not None:
            return found, "C015"
        found = self._in_sentence(text) if eager and len(text) <= MAX_SENTENCE else None
        return None if found is None else (found, "C012")

    def split(self, text: str) -> list[str] | None:
        """The allowed texts that a text lists between configured delimiters, if every part is one."""
        for delimiter in self._delimiters:
            if delimiter in text:
                parts = [self._names.match(self._bare(part)) for part in text.split(delimiter)]
                return None if None in parts else [part for part in parts if part is not None]
        return None

    def _bare(self, text: str) -> str:
        stripped = text.strip()
        for prefix in self._prefixes:
            if stripped.casefold().startswith(prefix):
                return stripped[len(prefix) :]
        return stripped

    def _by_part(self, text: str) -> str | None:
        parts = [text]
        for delimiter in self._delimiters:
            parts = [piece for part in parts for piece in part.split(delimiter)]
        found = {self._names.match(self._bare(part)) for part in parts if part.strip()}
        found.discard(None)
        return found.pop() if len(found) == 1 else None

    def _in_sentence(self, text: str) -> str | None:
        tokens = words(text)
        found: set[str] = set()
        at = 0
        while at < len(tokens):
            for size in range(min(self._longest, len(tokens) - at), 0, -1):
                key = tuple(tokens[at : at + size])
                if key in self._by_words:
                    value = self._by_words[key] or self._as_written(key, text)
                    if value is None or any(map(_negates, tokens[max(0, at - _NEAR) : at])) or _is_denied(key, text):
                        return None
                    found.add(value)
                    at += size - 1
                    break
            at += 1
        found.update(self._letters(text))
        return found.pop() if len(found) == 1 else None

    def _as_written(self, key: tuple[str, ...], text: str) -> str | None:
        """The one of several similar values that the text contains exactly."""
        exact = [v for v in self._alike[key] if re.search(rf"(?<!\w){re.escape(v)}(?!\w)", text)]
        return exact[0] if len(exact) == 1 else None

    def _letters(self, text: str) -> set[str]:
        """Values of one character, in exactly this case, unless they are an article before another word ("A dog")."""
        found = set()
        for token in _TOKEN.finditer(text) if self._single else ():
            rest = text[token.end() :].lstrip()
            if token.group() in self._single and not (rest and rest[0].isalnum()):
                found.add(token.group())
        return found
