"""The name that was probably meant: one measure of similarity for every message that suggests a name.

This module takes an unknown name and the known names, and returns the nearest known name or None. Names are similar by their letters
(`check_adaptor_status`), even if two of them are swapped, or by their words (`get_ip` and `get_ip_config`). Use it only for
suggestions: it never changes a reply.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from trueup.verdict.patterns import lazy_regex

_LONGEST = 200  # characters of a name that are compared
_WORD = lazy_regex(r"[^\W\d_]+|\d+")
_HUMP = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")
# Minimum scores for a near name, from 0 to 100: by its letters in any position, by blocks of letters (difflib), by its words.
_LETTERS, _BLOCKS, _WORDS = 75.0, 60.0, 60.0
_MISSPELT = 90.0  # at this score, and above all other names, letters alone decide
_WORTH_A_LOOK, _MOST, _MOST_BLOCKS = 30.0, 30, 3


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name in any naming convention.

    >>> name_words("getIPConfig_v2"), name_words("server.read-file")
    (('get', 'ipconfig', 'v', '2'), ('server', 'read', 'file'))
    """
    return tuple(_WORD.findall(_HUMP.sub(" ", name).lower()))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None if no name is near.

    >>> nearest("get_ip", ["get_ip_config", "ping_dns"]), nearest("completely_different", ["check_adapter_status"])
    ('get_ip_config', None)
    >>> nearest("pionts", ["n", "points"]), nearest("ph", ["n", "hp"]), nearest("x", ["n"])
    ('points', 'hp', None)
    """
    return KnownNames(known).nearest(name)


class KnownNames:
    """A set of names, prepared for many lookups."""

    __slots__ = ("_plain",)

    def __init__(self, names: Iterable[str]) -> None:
        self._plain = {name: "_".join(name_words(name)) or name for name in names}

    def nearest(self, name: str) -> str | None:
        """The name that was probably meant, or None."""
        words = name_words(name[:_LONGEST])
        if not words or not self._plain:
            return None
        from difflib import SequenceMatcher  # imported only if a name is wrong

        from rapidfuzz import fuzz, process

        plain = "_".join(words)
        matches = process.extract(plain, self._plain, scorer=fuzz.ratio, score_cutoff=_WORTH_A_LOOK, limit=_MOST)
        if not matches:
            return None
        best = matches[0][1]
        if best >= _MISSPELT and (len(matches) == 1 or matches[1][1] < best):
            return str(matches[0][2])
        shared = _shared(words, [tuple(each.split("_")) for each, _, _ in matches])
        ranked = sorted(
            ((letters + of_words / 2, letters, of_words, each, known)
             for (each, letters, known), of_words in zip(matches, shared, strict=True)),
            key=lambda row: -row[0],
        )  # fmt: skip
        blocks = 0
        for _, letters, of_words, each, known in ranked:
            if letters >= _LETTERS or of_words >= _WORDS or _is_swapped(each, plain):
                return str(known)
            if letters >= _BLOCKS and blocks < _MOST_BLOCKS:
                blocks += 1
                if SequenceMatcher(None, each, plain).ratio() * 100 >= _BLOCKS:
                    return str(known)
        return None

    def misspelt(self, name: str, least: float) -> str | None:
        """The name with the most letters in common, if the score reaches `least` (0 to 100); words do not count."""
        from rapidfuzz import fuzz, process  # as above

        plain = "_".join(name_words(name[:_LONGEST]))
        match = process.extractOne(plain, self._plain, scorer=fuzz.ratio, score_cutoff=least)
        return str(match[2]) if match else None


def _is_swapped(one: str, other: str) -> bool:
    """Whether two names differ only by two swapped neighbouring letters. Short names have little else in common."""
    from rapidfuzz.distance import OSA  # as above

    return len(one) == len(other) and sorted(one) == sorted(other) and OSA.distance(one, other, score_cutoff=1) <= 1


def _shared(words: tuple[str, ...], others: list[tuple[str, ...]]) -> list[float]:
    """How many of its words a name shares with each other name, from 0 to 100; a word that many names share counts less.

    If one name begins with all words of the other, the score is 100: `get_ip` and `get_ip_config`, `ping_dns_server` and
    `ping_dns`. A single word scores 100 only if exactly one name begins with it.
    """
    sets = [frozenset(other) for other in others]
    worth = {word: len(word) / number for word, number in Counter(chain.from_iterable(sets)).items()}
    own = frozenset(words)
    whole = sum(worth.get(word, len(word)) for word in own)
    begun = sum(other[:1] == words[:1] for other in others)
    out = []
    for other, their in zip(others, sets, strict=True):
        short = min(len(words), len(other))
        if words[:short] == other[:short] and (short > 1 or begun == 1):
            out.append(100.0)
            continue
        both = own & their
        out.append(
            200 * sum(worth[word] for word in both) / (whole + sum(map(worth.__getitem__, their))) if both else 0.0
        )
    return out
