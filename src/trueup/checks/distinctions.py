"""Distinctions that are lost in folded text: between lower-case letters and capitals, and between letters and their accents.

Takes the characters that a pattern names; returns a sentence for the pattern's author, or an empty text.
"""

import unicodedata
from typing import NamedTuple

from trueup.checks.folding import fold

_ASCII = frozenset(map(chr, range(0x20, 0x7F)))
_MANY = 10  # capitals in a class: `[AP]M` means what it says, `[A-Z]` seems to mean more
CASE = "case is ignored: this also finds lower-case letters"
_NOT_ASCII = "accents are ignored: letters such as é match as e, so this does not find them"


class PatternNote(NamedTuple):
    """Something that a pattern asks for and folded text cannot show; `column` counts from 1."""

    column: int
    message: str


def told_apart(named: set[str], *, negated: bool) -> str:
    """A distinction that a class of these characters makes and folded text does not show; usually empty.

    >>> told_apart(set("áé"), negated=False), told_apart(set("aáeé"), negated=False)
    ('accents are ignored: á matches as a, so this finds a as well', '')
    """
    if negated:
        return _NOT_ASCII if _ASCII.issubset(named) else ""
    small = {char.lower() for char in named if not char.isupper()}
    if sum(char.isupper() and char.lower() not in small for char in named) >= _MANY:
        return CASE
    plain = {char.lower() for char in named if char.isascii()}
    for char in sorted(named):
        folded = fold(char)
        accented = not char.isascii() and folded.isalpha() and folded.islower() and unicodedata.decomposition(char)
        if accented and "WITH" in unicodedata.name(char, "") and not plain.issuperset(folded):
            return f"accents are ignored: {char} matches as {folded}, so this finds {folded} as well"
    return ""
