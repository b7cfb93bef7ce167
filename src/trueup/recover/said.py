"""What the words around a value say of it: that it corrects the one before it, is an example, or is taken back.

A text and a place in it enter; what the words there say of the value leaves.
"""

import re
from typing import Any

from trueup.recover.json.clean import encode
from trueup.recover.json.lexer import fold
from trueup.recover.layers.around import FAR, may_withdraw
from trueup.recover.retractions import retracts

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
# A member that is given once more behind the value, and the words that say that it counts now.
_ANEW = re.compile(
    r"[\s`~*#_>-]*+(?:updated?|edit(?:ed)?|final|but)\b(?: (?:with|fields|values|answer|result|version)\b)*+[\s*_:]*+",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:\A|[\n,;]|\band\b)[\s*_>•-]*+(?:the )?[\"'`*]*+(\w[\w .-]{0,40}?)[\"'`*]*+(?: field| key)?\s*"
    r"(?:=|:|→|->|(?:(?:is|was|has been) )?(?:now|changed to|set to|updated to)\b|should be\b)[\s*]*+"
    r"(?:(-?[0-9]+(?:\.[0-9]+)?|true|false|null)|[\"'`“]([^\"'`“”\n]{1,80})[\"'`”])[\"'`*]*+(?=[.!]?[ \t]*(?:\n|\Z)|[,;] )",
    re.IGNORECASE,
)
_OPENER = re.compile(r"[{\[]")
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


def changes(text: str, stop: int, value: Any) -> bool:
    """Whether the words behind an object give one of its members another value.

    >>> changes('{"n": 1} Update: n = 2', 8, {"n": 1}), changes('{"n": 1} Update: n = 1', 8, {"n": 1})
    (True, False)
    """
    if not isinstance(value, dict) or not may_withdraw(text, stop):
        return False
    said = text[stop : stop + FAR]
    opened = _ANEW.match(said)
    if opened is None:
        return False
    said = _OPENER.split(said[opened.end() :], maxsplit=1)[0]
    given = [(fold(found[1]), found[2] or found[3]) for found in _GIVEN.finditer(said)]
    if not given:
        return False
    members = {fold(key): item for key, item in value.items()}
    return any(name in members and _differs(members[name], word) for name, word in given)


def _differs(item: Any, word: str) -> bool:
    """Whether a scalar is another one than a word says."""
    if isinstance(item, dict | list):
        return False
    written = item if isinstance(item, str) else encode(item).decode()
    if written.casefold() == word.casefold():
        return False
    try:
        return float(written) != float(word)
    except ValueError:
        return True


def _plain(said: str) -> str:
    return said.replace("’", "'")
