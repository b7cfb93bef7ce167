"""What the words around a value say of it: that it corrects the one before it, is an example, or is taken back.

A text and a place in it enter; what the words there say of the value leaves.
"""

import re

from trueup.recover.retractions import retracts
from trueup.recover.wrappers import FAR, may_withdraw

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
    r"\b(?:(?<!the )(?<!your )wait|oops|hmm+)\b[,.!:]? (?:actually|that(?:'s| is| was)|this is|let me(?! know)|i (?:made|need|should))"
    r"|(?<!\bif )\bi(?: have|'ve)? made (?:a|an|some) (?:mistakes?|errors?)"
    r"|(?:\A|\n)[\s*#_`~]*(?:correction|corrected(?: (?:version|json|output|answer|values?|one|object|result|reply))?|oops)\b[*_]*[:!,]"
    r"(?! (?:(?:i )?(?:almost |nearly )?forgot(?::| to (?:mention|say|note|tell|thank))|(?:i )?(?:fixed|removed|added|changed)\b|typos?\b|spelling\b|none\b))"
    r"|\bhere(?:'s| is) the (?:correct(?:ed)?|fixed|revised)\b"
    r"|(?:\A|\n)\W*(?:correct(?:ion|ed)|wait, \w{0,9}|oops)\W*\Z"
    r"|(?:\A|[.!?,:\n–—-])[\s*_`~]*+(?:(?:but|no|and|so|sorry)\b,? )?(?:that|this|the \w+)(?: above)?(?:'s| is| was)"
    r" (?:wrong|incorrect|not (?:right|correct))[.:!,]",
    re.IGNORECASE | re.ASCII,
)
# What a value is called that is not the answer where there is another one.
_OLD = re.compile(
    r"(?:(?:\A|\n|[.!?]\s)[\s*_#(❌-]*(?:(?:incorrect|wrong|bad|before|previously|originally|vorher|avant|antes)(?: (?:example|version|output))?"
    r"|input(?: was)?|❌|(?:user|human):[^\n]{0,40}|if you (?:prefer|want|need|like)\b[^.\n{}]{0,40})"
    r"|\b(?:original|previous|old|outdated)(?: \w+)?(?: (?:was|is|were))?|\bnot(?: to be confused with)?"
    r"|\b(?:(?:your|the|this|that|requested) (?:template|format|form|schema|structure)|format(?: used)?)"
    r"|(?:原始|原文|修改前|之前|旧)\w{0,6})[\s:：,`*()]*(?:json)?\s*\Z",
    re.IGNORECASE,
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


def is_old(text: str, start: int) -> bool:
    """Whether the words right before a value say that it is not the answer, another one being given.

    >>> is_old("{} The original was: {}", 21), is_old("{} Sorry, that was wrong: {}", 26)
    (True, False)
    """
    return _OLD.search(text, max(0, start - _NEAR), start) is not None


def is_withdrawn(text: str, stop: int) -> bool:
    """Whether the words behind a value take it back: for good, as the last that is said, or to announce another one.

    >>> is_withdrawn("{} Wait, that's wrong. Corrected:", 2), is_withdrawn("{} I made a mistake. Now it is right.", 2)
    (True, False)
    """
    if not may_withdraw(text, stop):
        return False
    said = _plain(text[stop : stop + 2 * FAR])
    if retracts(said[:FAR]):
        return True
    found = _WITHDRAWN.search(said, 0, FAR)
    if found is None:
        return False
    return _ANNOUNCED.search(said, found.start()) is not None or _MORE.search(said, found.end() - 1) is None


def withdraws(text: str, start: int, stop: int) -> bool:
    """Whether the words between two values take the first one back."""
    said = _plain(text[start : min(stop, start + FAR)])
    return _WITHDRAWN.search(said) is not None or retracts(said)


def _plain(said: str) -> str:
    return said.replace("’", "'")
