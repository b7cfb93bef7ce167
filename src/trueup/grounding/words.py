"""A text as words: the text enters; its words with their places leave, folded so that case, accents and width do not matter.

Scripts that do not part words by spaces give one word for each character. Nothing is refused, and every way to look for words
takes time in proportion to the text.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain, compress
from operator import add, sub

from trueup.checks.folding import MARKS, UNSPACED
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
_SINGLE = UNSPACED.pattern[1:-1] + "\u1100-\u11ff\uac00-\ud7a3"
_ODD = lazy_regex(f"[_{_SINGLE}]")
_INSIDE = f"[{MARKS.pattern[1:-1]}{_UNSEEN}]"
# A character of half width with its mark, a character of a script without spaces, or a word of any other script.
_WORD = lazy_regex(
    lambda: (
        f"([\uff66-\uff9d][\uff9e\uff9f]|[{_SINGLE}](?<=\\w)"
        f"|[^\\W_{_SINGLE}]+(?:{_INSIDE}+[^\\W_{_SINGLE}]*)*|{_INSIDE}+(?:[^\\W_{_SINGLE}]+{_INSIDE}*)*)"
    )
)
_LETTERS = lazy_regex("[\u0100-\u1fff\u2c00-\u2fff\u3040-\u30ff\u3400-\ufdff\ufe70-\U0001efff\U00020000-\U0010ffff]")
_SIGNS = lazy_regex(
    "[\u2000-\u2bff\u3000-\u303f\u3100-\u33ff\ufe00-\ufe6f\U0001f000-\U0001ffff]"
)  # few of them are letters
_HIDDEN = lazy_regex(f"[{_UNSEEN}]")
# Letters that do not decompose into a letter and a mark, but are often written in a plain form.
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
MOST = 64  # places of one value that are looked at


def fold(word: str) -> str:
    """A word as it is compared.

    >>> fold("Straße"), fold("GARCÍA"), fold("ＡＢＣ")
    ('strasse', 'garcia', 'abc')
    """
    return word.lower() if word.isascii() else _folded(word)


@lru_cache(maxsize=16_384)
def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    return unicodedata.normalize("NFC", _HIDDEN.sub("", MARKS.sub("", plain))).translate(_PLAIN)


def is_unspaced(word: str) -> bool:
    """Whether a word belongs to a script that does not part words by spaces.

    >>> is_unspaced("東"), is_unspaced("east")
    (True, False)
    """
    return len(word) == 1 and word != "_" and _ODD.match(word) is not None


@cache
def _latin_table() -> tuple[bytes, frozenset[str]]:
    """Each letter of Latin-1 as `fold` gives it, all else as a space; and the letters that are not folded to one of Latin-1."""
    table = bytearray(b" " * 256)
    odd: set[str] = set()
    for code in range(256):
        letter = chr(code)
        if letter.isalnum() or _HIDDEN.match(letter):
            folded = fold(letter)
            fits = len(folded) == 1 and ord(folded) < len(table)
            table[code] = ord(folded) if fits else code
            if not fits:
                odd.add(letter)
    return bytes(table), frozenset(odd)


def _latin(text: str) -> tuple[str, bool] | None:
    """A text of the same length with folded words, and spaces for all else; and whether some are still to fold. None if it has other letters."""
    if not text.isascii() and (
        _LETTERS.search(text) is not None or any(_WORD.match(sign) for sign in set(_SIGNS.findall(text)))
    ):
        return None
    table, odd = _latin_table()
    plain = text.encode("latin-1", "replace").translate(table).decode("latin-1")
    return plain, not plain.isascii() and not odd.isdisjoint(plain)


class TextWords:
    """The words of one text, and where they stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        latin = _latin(text)
        if latin is not None:
            pieces = latin[0].split(" ")
            self.folded: list[str] = list(filter(None, pieces))
            if latin[1]:
                self.folded = list(map(fold, self.folded))
        else:
            pieces = _WORD.split(text)  # what is between two words, and a word, in turn
            words = pieces[1::2]
            forms = {word: fold(word) for word in set(words)}
            self.folded = list(map(forms.__getitem__, words))
        self._is_latin = latin is not None
        self._sizes = list(map(len, pieces))

    def __len__(self) -> int:
        return len(self.folded)

    @cached_property
    def _edges(self) -> tuple[list[int], list[int]]:
        sizes = self._sizes
        if self._is_latin:
            ends = list(map(add, accumulate(sizes), range(len(sizes))))
            return list(compress(map(sub, ends, sizes), sizes)), list(compress(ends, sizes))
        edges = list(accumulate(sizes))
        return edges[0:-1:2], edges[1::2]

    @property
    def starts(self) -> list[int]:
        """Where each word begins."""
        return self._edges[0]

    @property
    def ends(self) -> list[int]:
        """Where each word ends."""
        return self._edges[1]

    def surface(self, index: int) -> str:
        """A word as it is written."""
        return self.text[self.starts[index] : self.ends[index]]

    def span(self, first: int, last: int) -> Span:
        """The stretch of text from one word to another."""
        return self.starts[first], self.ends[last]

    def at(self, position: int) -> int:
        """The index of the word at or after a position of the text."""
        before = bisect_right(self.starts, position) - 1
        return before if before >= 0 and self.ends[before] > position else before + 1

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each word stands, by its folded form."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(self.folded):
            found[word].append(index)
        return dict(found)

    @cached_property
    def _ends(self) -> list[int]:
        """Where each word ends in the text of all words without spaces."""
        return list(accumulate(map(len, self.folded)))

    @cached_property
    def _spaced(self) -> str:
        return f" {' '.join(self.folded)} "

    @cached_property
    def _joined(self) -> str:
        return "".join(self.folded)

    def find(self, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where a sequence of folded words stands: the first and the last word of each place.

        >>> list(TextWords("Ana García, ANA GARCIA").find(["ana", "garcia"]))
        [(0, 1), (2, 3)]
        """
        needle, text = f" {' '.join(wanted)} ", self._spaced
        at = text.find(needle)
        for _ in range(MOST):
            if at < 0:
                return
            # the words before a place take their own length and one space each
            first = self._index_of_spaced(at)
            yield first, first + len(wanted) - 1
            at = text.find(needle, at + 1)

    def _index_of_spaced(self, at: int) -> int:
        return bisect_left(self._spaced_starts, at)

    @cached_property
    def _spaced_starts(self) -> list[int]:
        """Where the space before each word stands in the text of all words with spaces."""
        return list(map(add, chain((0,), self._ends), range(len(self.folded))))

    def find_joined(self, wanted: str, endings: Sequence[str] = ("",)) -> Iterator[tuple[int, int]]:
        """Where words stand that give this text when they are written together; the last may have one of the endings.

        >>> list(TextWords("a swimming-pool").find_joined("swimmingpool"))
        [(1, 2)]
        """
        text, ends = self._joined, self._ends
        at = text.find(wanted)
        for _ in range(MOST):
            if at < 0:
                return
            stop = at + len(wanted)
            first, last = bisect_right(ends, at), bisect_left(ends, stop)
            starts_there = (ends[first - 1] if first else 0) == at
            if starts_there and text[stop : ends[last]] in endings:
                yield first, last
            at = text.find(wanted, at + 1)
