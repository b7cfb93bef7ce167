"""Fold a text, character by character: remove case and accents, and unify widths and kinds of space.

Takes a text; returns one of the same length, so that spans are the same in both. Combining marks would change the
length: `fold` leaves them out and returns the place of each remaining character.
"""

import unicodedata
from functools import cache

from trueup.verdict.patterns import lazy_regex

_MARKS = lazy_regex("[\u0300-\u036f]")
_ODD = {
    "İ": "i", "ø": "o", "Ø": "o", "º": "o", "ª": "a", "’": "'", "‘": "'", "ʼ": "'", "′": "'", "＇": "'",
    "\n": " ", "\r": " ", "\t": " ", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "−": "-", "〜": "-", "～": "-",
}  # fmt: skip
_RANGES = ((0xA0, 0x17F), (0x2000, 0x200B), (0x202F, 0x2030), (0x3000, 0x3001), (0xFF01, 0xFF5F))


@cache
def _table() -> dict[str, str]:
    table = {}
    for low, high in _RANGES:
        for code in range(low, high):
            plain = unicodedata.normalize("NFKD", chr(code))[0].lower()
            if plain != chr(code) and len(plain) == 1:
                table[chr(code)] = plain
    return table | _ODD


def fold(text: str) -> tuple[str, list[int] | None]:
    """The folded text, and the places of its characters in the original if they differ.

    >>> fold("Am 5. MÄRZ")
    ('am 5. marz', None)
    """
    places = None
    if not text.isascii() and _MARKS.search(text):
        places = [at for at, char in enumerate(text) if not "\u0300" <= char <= "\u036f"]
        text = "".join(map(text.__getitem__, places))
        places.append(places[-1] + 1 if places else 0)
    table = _table()
    for char in set(text) & table.keys():
        text = text.replace(char, table[char])
    return text.lower(), places
