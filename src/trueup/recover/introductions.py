"""What the words around a value say of it: that it corrects the one before it, is an example, or is taken back.

A text and a place in it enter; what the words there say of the value leaves.
"""

import re

from trueup.recover.wrappers import FAR

_CORRECTED = re.compile(
    r"\b(?:oops|correct(?:ed|ion)?|instead|revised|updated?|fixed|sorry|apolog\w+|mistakes?|wait|actually|final|korrigiert\w*"
    r"|corregid[oa]s?|corrig[ée]\w*|perdón|entschuldig\w+)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:\b(?:for example|for instance|e\.g\.|examples?(?: of| output| reply)?|such as|instead of|unlike|rather than|zum beispiel|z\.B\."
    r"|por ejemplo|par exemple|(?:this|following|blank|empty) template)|(?:\A|\n)[\s*#]*(?:json )?schema)[\s:,`*(]*(?:json)?\s*\Z",
    re.IGNORECASE,
)
# The model takes back what it gave, in its own words; `may_withdraw` of `wrappers` knows a word of each of them.
_WITHDRAWN = re.compile(
    r"\b(?:wait|oops|hmm+)\b[,.!:]? (?:actually|that(?:'s| is| was)|this is|let me|i (?:made|need|should))"
    r"|(?<!\bif )\bi(?: have|'ve)? made (?:a|an|some) (?:mistakes?|errors?)|(?:\A|\n)[\s*#_]*(?:correction|corrected(?: \w+)?|oops)\b[*_]*[:!,]"
    r"|\bhere(?:'s| is) the (?:correct(?:ed)?|fixed|revised)\b"
    r"|(?:\A|\n)\W*(?:correct(?:ion|ed)|wait, \w{0,9}|oops)\W*\Z"
    r"|(?<!\bif )\b(?:that|this|the \w+)(?: above)?(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct))[.:!,]",
    re.IGNORECASE | re.ASCII,
)
# A line that announces a value, a value that starts, or a last sentence, whole or cut off.
_ANNOUNCED = re.compile(r":[\s*_]*(?:\n|\Z)|[{\[`]|\w\s*\Z")
_MORE = re.compile(r"[.!?]\s+\w")
_NEAR = 60


def corrects(text: str, start: int, stop: int) -> bool:
    """Whether the words between two values say that the second takes the place of the first.

    >>> corrects("{} Oops, corrected: {}", 2, 20), corrects("{} and {}", 2, 7)
    (True, False)
    """
    return _CORRECTED.search(text, start, stop) is not None


def is_example(text: str, start: int) -> bool:
    """Whether the words right before a value call it an example.

    >>> is_example("For example: {}", 13), is_example("The answer: {}", 12)
    (True, False)
    """
    return _EXAMPLE.search(text, max(0, start - _NEAR), start) is not None


def is_withdrawn(text: str, stop: int) -> bool:
    """Whether the words behind a value take it back, as the last that is said or to announce another one.

    >>> is_withdrawn("{} Wait, that's wrong. Corrected:", 2), is_withdrawn("{} I made a mistake. Now it is right.", 2)
    (True, False)
    """
    found = _WITHDRAWN.search(text, stop, stop + FAR)
    if found is None:
        return False
    end = stop + 2 * FAR
    return _ANNOUNCED.search(text, found.start(), end) is not None or _MORE.search(text, found.end() - 1, end) is None


def withdraws(text: str, start: int, stop: int) -> bool:
    """Whether the words between two values take the first one back."""
    return _WITHDRAWN.search(text, start, min(stop, start + FAR)) is not None
