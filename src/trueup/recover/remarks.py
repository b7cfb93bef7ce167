"""Reads the words around a value: they may call it a correction or an example, or retract it.

Takes a text and an offset; returns what the words there mean for the value. A remark about a repair, an earlier message or
the source does not retract anything. The phrases themselves are data: see `words`.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from trueup.recover.json.lexer import fold
from trueup.recover.sentences import bounds, sentence_end
from trueup.recover.words import PhraseOpening, openings, pattern
from trueup.verdict.codec import encode
from trueup.verdict.patterns import lazy_regex

_NEAR = 60  # characters before a value in which it may be called an example
_CLAUSE = 160  # characters before a value in which it may be called an outdated one
_FAR = 400  # characters after a value in which it may be retracted
_LEAST_WORD = 4
_MARKUP = "`~*_#>⚠️❗ \t\r\n"
_NO_WORDS = "`~*_#>:：,() \t\r\n"

# Allowed between such words and the value.
_THEN_THE_VALUE = r"[\s:：,`*()]*(?:json)?\s*\Z"
_EXAMPLE = rf"(?:<value.example>|(?:\A|\n)[\s*#]*<value.example_heading>){_THEN_THE_VALUE}"
_OLD = rf"(?:<value.old>|(?:\A|\n|[.!?}}\]]\s|[。！？(（])[\s*_#(❌-]*(?:<value.old_heading>|❌)){_THEN_THE_VALUE}"
# Right after a value, in the same clause.
_DISOWNED = r"[ \t`*)\"'”»」]{0,8},?\s?<value.disowned>(?!\s?[:：])"

_OPENED = rf"[{_MARKUP.strip()} \t]*+"
_PAUSE = r"[\s,.!:;…–—，。！、：-]*"
_REMARK = r"(?!\W{0,8}<retraction.harmless>)"
# At the beginning of a sentence: retracts the value, whatever follows.
_TAKES_BACK = (
    rf"{_OPENED}(?:(?:(?:<retraction.oops>|<retraction.wait>|<retraction.sorry>){_PAUSE}){{1,4}}"
    rf"(?:<retraction.wrong>|<retraction.admits>)|<retraction.drops>|<retraction.heading>[*_ ]*+[:：]{_REMARK})"
)
# The same, but retracts the value only if nothing follows, or if another value is announced.
_WAVERS = (
    rf"{_OPENED}(?:(?:<retraction.oops>|<retraction.wait>)[,.!:…，。！]{{0,3}}\s?<retraction.turns>"
    r"|<retraction.mistake>|<retraction.announces>|<retraction.wrong>[.:!,。：！，])"
)
# At the beginning of a line: the same.
_HEADS = (
    rf"{_OPENED}(?:(?:<retraction.corrected>|<retraction.oops>)[*_]*[:!,：！，]{_REMARK}"
    r"|(?:<retraction.heading>|<retraction.corrected>|<retraction.oops>|<retraction.wait>[,，] ?\w{0,9})\W*\Z)"
)
_DASH = lazy_regex(r"[–—…]\s*")
# A line that announces a value, the start of a value, or a last sentence, complete or cut off.
_ANNOUNCED = lazy_regex(r"[:：][\s*_]*(?:\n|\Z)|[{\[`]|\w\s*\Z")
_WORD = lazy_regex(r"\w")
# A member that is repeated after the value, and the words that make it the valid one.
_UPDATES = r"[\s`~*#_>-]*+<member.updates>[\s*_:：]*+"
_MEMBER_UPDATE = (
    r"(?:\A|[\n,;，；、]|<member.joins>)[\s*_>•-]*+(?:<member.article>\s?)?[\"'`*「]*+(\w[\w .-]{0,40}?)[\"'`*」]*+\s?<member.called>?\s*"
    r"(?:=|[:：]|→|->|<member.becomes>)[\s*]*+"
    r"(?:(-?[0-9]+(?:\.[0-9]+)?|true|false|null)|[\"'`“「]([^\"'`“”「」\n]{1,80})[\"'`”」])[\"'`*]*+"
    r"(?=\s?<member.since>?(?:[.!。！]?[ \t]*(?:\n|\Z)|[,;] |[，；]))"
)
_OPENER = lazy_regex(r"[{\[]")


def corrects(text: str, start: int, stop: int) -> bool:
    """Whether the words between two values say that the second replaces the first.

    >>> corrects("{} Oops, corrected: {}", 2, 20), corrects("{} and {}", 2, 7)
    (True, False)
    """
    return pattern("<value.corrects>").search(text[start:stop].lower()) is not None


def is_example(text: str, start: int) -> bool:
    """Whether the words right before a value call it an example.

    >>> is_example("For example: {}", 13), is_example("The answer: {}", 12)
    (True, False)
    """
    return _calls_example(_before(text, start))


@lru_cache(512)  # a model usually writes the same words before its values
def _calls_example(before: str) -> bool:
    if not before.rstrip().removesuffix("json").strip(_NO_WORDS):
        return False  # a fence alone means nothing, so no phrases need to be loaded
    return pattern(_EXAMPLE).search(before) is not None


def is_old(text: str, start: int, stop: int) -> bool:
    """Whether the words next to a value say that a different one is the answer.

    >>> is_old("{} The original was: {}", 21, 23), is_old("{} Sorry, that was wrong: {}", 26, 28)
    (True, False)
    >>> is_old("{} is right, {} is wrong.", 13, 15), is_old("{} is right, {} is wrong.", 0, 2)
    (True, False)
    """
    if pattern(_OLD).search(_before(text, start, _CLAUSE)) is not None:
        return True
    return pattern(_DISOWNED).match(text[stop : stop + _CLAUSE].lower()) is not None


def may_withdraw(text: str, stop: int) -> bool:
    """Whether the words after a value may retract it; a quick test that is True in case of doubt.

    >>> may_withdraw("{} I hope this helps!", 2), may_withdraw("{} Wait, that's wrong.", 2)
    (False, True)
    """
    said = text[stop : stop + _FAR].strip(_MARKUP).lower()
    if len(said) < _LEAST_WORD:
        return False
    known = _openings()
    said = said.replace(". ", "\n").replace("! ", "\n").replace("? ", "\n")
    wide = not said.isascii()
    if wide:
        said = said.translate(_ENDS)
    for sentence in said.split("\n"):
        begun = sentence.lstrip(_MARKUP)
        opening = known.get(begun[:3])
        if opening is None and wide:
            opening = known.get(begun[:1])
        if opening is not None and _opens(begun, opening):
            return True
    return False


_ENDS = str.maketrans("’–—…。！？", "'\n\n\n\n\n\n")


def _opens(begun: str, opening: PhraseOpening) -> bool:
    """Whether a sentence begins like one that retracts a value."""
    if begun.startswith(opening.certain):
        return True
    for first, required in opening.vague:
        if begun.startswith(first):
            for word in required:
                if word in begun:
                    return True
    return False


@cache
def _openings() -> dict[str, PhraseOpening]:
    """The beginnings of sentences that retract a value."""
    named = "oops wait sorry drops heading wrong mistake announces corrected".split()
    return openings((*(f"retraction.{name}" for name in named), "member.updates"), " ,.!:;*_")


def is_withdrawn(text: str, stop: int) -> bool:
    """Whether the words after a value retract it: whatever follows, as the last words, or to announce another value.

    >>> is_withdrawn("{} Wait, that's wrong. Corrected:", 2), is_withdrawn("{} I made a mistake. Now it is right.", 2)
    (True, False)
    """
    if not may_withdraw(text, stop):
        return False
    said = text[stop : stop + 2 * _FAR].lower()
    return _retracts(said[:_FAR]) or any(
        _ANNOUNCED.search(said, waver.start()) is not None or not _goes_on(said, waver.end() - 1)
        for waver in _wavers(said)
    )


def withdraws(text: str, start: int, stop: int) -> bool:
    """Whether the words between two values retract the first one."""
    said = text[start : min(stop, start + _FAR)].lower()
    return _retracts(said) or any(_wavers(said))


def _retracts(said: str) -> bool:
    """Whether a sentence retracts the value before it, whatever follows.

    >>> _retracts("sorry, i misread the table. it is 2."), _retracts("sorry for the delay. it is 2.")
    (True, False)
    """
    takes_back = pattern(_TAKES_BACK)
    matches = (takes_back.match(said, start) for start in _starts(said))
    return any(match is not None and not _keeps(said, match) for match in matches)


def _starts(said: str) -> list[int]:
    """Where sentences begin, or continue after a dash, without the spaces before them."""
    ends = {0, *(stop for _, stop in bounds(said)), *(dash.end() for dash in _DASH.finditer(said))}
    return sorted({at + len(said[at:]) - len(said[at:].lstrip()) for at in ends})


def _wavers(said: str) -> Iterator[re.Match[str]]:
    """Words at the beginning of a sentence that may retract the value before them."""
    wavers, heads = pattern(_WAVERS), pattern(_HEADS)
    for at in _starts(said[:_FAR]):
        match = wavers.match(said, at)
        if match is None and said[:at].rstrip(" \t")[-1:] in ("", "\n"):
            match = heads.match(said, at)
        if match is not None and not _keeps(said, match):
            yield match


def _keeps(said: str, match: re.Match[str]) -> bool:
    """Whether the sentence around some words says that the value is valid after all."""
    begun = 0
    for mark in sentence_end().finditer(said, 0, match.start()):
        begun = mark.end()
    closed = sentence_end().search(said, max(begun, match.end() - 1))
    return pattern("<retraction.stands>").search(said, begun, closed.end() if closed else len(said)) is not None


def _goes_on(said: str, at: int) -> bool:
    """Whether another sentence follows."""
    return any(
        mark[0] != "\n" and _WORD.search(said, mark.end()) is not None for mark in sentence_end().finditer(said, at)
    )


def changes(text: str, stop: int, value: Any) -> bool:
    """Whether the words after an object give one of its members a different value.

    >>> changes('{"n": 1} Update: n = 2', 8, {"n": 1}), changes('{"n": 1} Update: n = 1', 8, {"n": 1})
    (True, False)
    """
    if not isinstance(value, dict) or not may_withdraw(text, stop):
        return False
    said = text[stop : stop + _FAR].lower()
    opened = pattern(_UPDATES).match(said)
    if opened is None:
        return False
    said = _OPENER.split(said[opened.end() :], maxsplit=1)[0]
    updates = [(fold(member[1]), member[2] or member[3]) for member in pattern(_MEMBER_UPDATE).finditer(said)]
    if not updates:
        return False
    members = {fold(key): item for key, item in value.items()}
    return any(name in members and _differs(members[name], word) for name, word in updates)


def _differs(item: Any, word: str) -> bool:
    """Whether a scalar differs from the value that a word gives."""
    if isinstance(item, dict | list):
        return False
    written = item if isinstance(item, str) else encode(item).decode()
    if written.casefold() == word.casefold():
        return False
    try:
        return float(written) != float(word)
    except ValueError:
        return True


def _before(text: str, start: int, length: int = _NEAR) -> str:
    return text[max(0, start - length) : start].lower()
