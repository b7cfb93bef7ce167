"""A text as words: takes a text; returns its words with their places, folded to ignore case, accents and width.

In scripts without spaces between words, each character is a word. No text is refused, and every search for words takes
time in proportion to the text.
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
# A half-width character with its mark, a character of a script without spaces, or a word of any other script.
_WORD = lazy_regex(
    lambda: (
        f"([\uff66-\uff9d][\uff9e\uff9f]|[{_SINGLE}](?<=\\w)"
        f"|[^\\W_{_SINGLE}]+(?:{_INSIDE}+[^\\W_{_SINGLE}]*)*|{_INSIDE}+(?:[^\\W_{_SINGLE}]+{_INSIDE}*)*)"
    )
)
_LETTERS = lazy_regex("[\u0100-\u1fff\u2c00-\u2fff\u3040-\u30ff\u3400-\ufdff\ufe70-\U0001efff\U00020000-\U0010ffff]")
_SIGNS = lazy_regex(
    "[\u2000-\u2bff\u3000-\u303f\u3100-\u33ff\ufe00-\ufe6f\U0001f000-\U0001ffff]"
)  # few of these are letters
_HIDDEN = lazy_regex(f"[{_UNSEEN}]")
# Letters that do not decompose into a base letter and a mark, but that people often write in a plain form.
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
MOST = 64  # the most places of one value that are examined


def fold(word: str) -> str:
    """A word, normalized for comparison.

    >>> fold("Straße"), fold("GARCÍA"), fold("ＡＢＣ")
    ('strasse', 'garcia', 'abc')
    """
    return word.lower() if word.isascii() else _folded(word)


@lru_cache(maxsize=16_384)
def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    return unicodedata.normalize("NFC", _HIDDEN.sub("", MARKS.sub("", plain))).translate(_PLAIN)


def is_unspaced(word: str) -> bool:
    """Whether a word belongs to a script without spaces between words.

    >>> is_unspaced("東"), is_unspaced("east")
    (True, False)
    """
    return len(word) == 1 and word != "_" and _ODD.match(word) is not None


@cache
def _latin_table() -> tuple[bytes, frozenset[str]]:
    """Each letter of Latin-1 after `fold`, with spaces for the rest; and the letters that fold to none of Latin-1."""
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
    """A text with folded words and spaces for the rest, and whether some are still unfolded. None beyond Latin-1."""
    if not text.isascii() and (
        _LETTERS.search(text) is not None or any(_WORD.match(sign) for sign in set(_SIGNS.findall(text)))
    ):
        return None
    table, odd = _latin_table()
    plain = text.encode("latin-1", "replace").translate(table).decode("latin-1")
    return plain, not plain.isascii() and not odd.isdisjoint(plain)


class TextWords:
    """The words of one text and their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        latin = _latin(text)
        if latin is not None:
            pieces = latin[0].split(" ")
            self.folded: list[str] = list(filter(None, pieces))
            if latin[1]:
                self.folded = list(map(fold, self.folded))
        else:
            pieces = _WORD.split(text)  # gaps and words alternate
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
        """The start of each word."""
        return self._edges[0]

    @property
    def ends(self) -> list[int]:
        """The end of each word."""
        return self._edges[1]

    def surface(self, index: int) -> str:
        """A word as it is written."""
        return self.text[self.starts[index] : self.ends[index]]

    def span(self, first: int, last: int) -> Span:
        """The span from one word to another."""
        return self.starts[first], self.ends[last]

    def at(self, position: int) -> int:
        """The index of the word at or after a position of the text."""
        before = bisect_right(self.starts, position) - 1
        return before if before >= 0 and self.ends[before] > position else before + 1

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The indexes of each word, by its folded form."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(self.folded):
            found[word].append(index)
        return dict(found)

    @cached_property
    def _ends(self) -> list[int]:
        """The end of each word in the text of all words without spaces."""
        return list(accumulate(map(len, self.folded)))

    @cached_property
    def _spaced(self) -> str:
        return f" {' '.join(self.folded)} "

    @cached_property
    def _joined(self) -> str:
        return "".join(self.folded)

    def find(self, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
        """The places of a sequence of folded words: the first and last word of each.

        >>> list(TextWords("Ana García, ANA GARCIA").find(["ana", "garcia"]))
        [(0, 1), (2, 3)]
        """
        needle, text = f" {' '.join(wanted)} ", self._spaced
        at = text.find(needle)
        for _ in range(MOST):
            if at < 0:
                return
            # the words before a place take up their own lengths and one space each
            first = self._index_of_spaced(at)
            yield first, first + len(wanted) - 1
            at = text.find(needle, at + 1)

    def _index_of_spaced(self, at: int) -> int:
        return bisect_left(self._spaced_starts, at)

    @cached_property
    def _spaced_starts(self) -> list[int]:
        """The position of the space before each word, in the text of all words with spaces."""
        return list(map(add, chain((0,), self._ends), range(len(self.folded))))

    def find_joined(self, wanted: str, endings: Sequence[str] = ("",)) -> Iterator[tuple[int, int]]:
        """The places of words that give this text if written together. The last word may have one of the endings.

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
