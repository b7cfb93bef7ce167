r"""Finds the ends of sentences, in complete texts and in growing ones; no other module does.

Takes a text, folded for matching or not; returns offsets. A point after a title ("with Dr. Patel") or inside a number or a
name does not end a sentence.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from trueup.recover.words import words
from trueup.verdict.patterns import lazy_regex

# Marks of scripts without spaces, with their quotes.
_WIDE = r"[。！？]+[\"'”’」』）)]*"
# A sentence of a growing text ends where a space follows; a point at the very end may not be final ("3." before "5").
# A wide mark ends the sentence immediately. The last of several marks counts, so that many marks take no time.
ENDED = lazy_regex(rf"[.!?…؟۔।][\"'”’»)\]*]{{0,8}}(?=\s)|{_WIDE}|\n")


@cache
def sentence_end() -> re.Pattern[str]:
    r"""The end of a sentence in a whole text; `\x0e` and `\x0f` are the opening marks of a folded text."""
    short = sorted(words("sentence.abbreviations"), key=lambda word: (len(word), word))
    by_length = ("|".join(map(re.escape, alike)) for _, alike in groupby(short, key=len))
    kept = "".join(rf"(?<!\b(?:{alike}))" for alike in by_length)
    return re.compile(rf"(?=[.!?]){kept}[.!?]+(?=[\s\"')\]*]|\Z)[\"')\]*]*|\n|(?=[\x0e\x0f])|{_WIDE}", re.IGNORECASE)


def bounds(text: str) -> Iterator[tuple[int, int]]:
    """The spans of a text's sentences, without gaps between them.

    >>> list(bounds("Hi. Who? Me"))
    [(0, 3), (3, 8), (8, 11)]
    """
    at = 0
    for mark in sentence_end().finditer(text):
        if mark.end() > at:
            yield at, mark.end()
            at = mark.end()
    if at < len(text):
        yield at, len(text)


def last(text: str) -> str:
    """The last sentence of a text, complete or incomplete.

    >>> last("Hi. Who is Dr. No? "), last("")
    ('Who is Dr. No?', '')
    """
    text = text.strip()
    start = 0
    for mark in sentence_end().finditer(text):
        start = mark.end() if mark.end() < len(text) else start
    return text[start:].strip()
