"""The name that was likely meant: one measure of likeness for every place that suggests a name.

An unknown name and the known ones go in; the nearest known name comes out, or None. Names are alike by their letters
(`check_adaptor_status`), also where two of them changed places, or by their words (`get_ip` and `get_ip_config`). Use it for suggestions only: a reply is never
changed because of it.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from trueup.verdict.patterns import lazy_regex

_LONGEST = 200  # characters of a name that are compared
_WORD = lazy_regex(r"[^\W\d_]+|\d+")
_HUMP = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")
# Scores from which a name is near, from 0 to 100: by its letters in any place, by its letters in blocks (difflib), by its words.
_LETTERS, _BLOCKS, _WORDS = 75.0, 60.0, 60.0
_MISSPELT = 90.0  # letters alone decide where one name has so many of them, and more than any other
_WORTH_A_LOOK, _MOST, _MOST_BLOCKS = 30.0, 30, 3


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name, in whatever convention it is written.

    >>> name_words("getIPConfig_v2"), name_words("server.read-file")
    (('get', 'ipconfig', 'v', '2'), ('server', 'read', 'file'))
    """
    return tuple(_WORD.findall(_HUMP.sub(" ", name).lower()))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was likely meant, or None if none is near.

    >>> nearest("get_ip", ["get_ip_config", "ping_dns"]), nearest("completely_different", ["check_adapter_status"])
    ('get_ip_config', None)
    >>> nearest("pionts", ["n", "points"]), nearest("ph", ["n", "hp"]), nearest("x", ["n"])
    ('points', 'hp', None)
    """
    return KnownNames(known).nearest(name)


class KnownNames:
    """A set of names, prepared for many look-ups."""

    __slots__ = ("_plain",)

    def __init__(self, names: Iterable[str]) -> None:
        self._plain = {name: "_".join(name_words(name)) or name for name in names}

    def nearest(self, name: str) -> str | None:
        """The name that was likely meant, or None."""
        words = name_words(name[:_LONGEST])
        if not words or not self._plain:
            return None
        from difflib import SequenceMatcher  # loaded where a name is wrong

        from rapidfuzz import fuzz, process

        plain = "_".join(words)
        found = process.extract(plain, self._plain, scorer=fuzz.ratio, score_cutoff=_WORTH_A_LOOK, limit=_MOST)
        if not found:
            return None
        best = found[0][1]
        if best >= _MISSPELT and (len(found) == 1 or found[1][1] < best):
            return str(found[0][2])
        shared = _shared(words, [tuple(each.split("_")) for each, _, _ in found])
        ranked = sorted(
            ((letters + of_words / 2, letters, of_words, each, known)
             for (each, letters, known), of_words in zip(found, shared, strict=True)),
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
        found = process.extractOne(plain, self._plain, scorer=fuzz.ratio, score_cutoff=least)
        return str(found[2]) if found else None


def _is_swapped(one: str, other: str) -> bool:
    """Whether two names differ in two neighbouring letters that changed places; in short names that is all they share."""
    from rapidfuzz.distance import OSA  # as above

    return len(one) == len(other) and sorted(one) == sorted(other) and OSA.distance(one, other, score_cutoff=1) <= 1


def _shared(words: tuple[str, ...], others: list[tuple[str, ...]]) -> list[float]:
    """How many of its words a name shares with each of the others, from 0 to 100; a word that many share weighs less.

    If one name begins with all words of the other, the score is 100: `get_ip` and `get_ip_config`, `ping_dns_server` and
    `ping_dns`. A single word scores 100 only if one name alone begins with it.
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
