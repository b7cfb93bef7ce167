"""The marks of `marks.toml` as patterns: reasoning, answers, special tokens, fences, invisible characters.

Provides patterns and their sources, built from the table when this module is first imported. No other module has a
list of marks. Every pattern is linear, and no mark is longer than a known number of characters.
"""

import pkgutil
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from trueup.verdict.patterns import lazy_regex

TABLE: Final[dict[str, Any]] = tomllib.loads((pkgutil.get_data("trueup.recover", "marks.toml") or b"").decode())
_ROWS: Final[list[dict[str, Any]]] = TABLE["reasoning"]["tokens"]
REASONING_TAGS: Final[list[str]] = [name for row in TABLE["reasoning"]["tags"] for name in row["names"]]
_OPEN: Final[list[str]] = [token for row in _ROWS for token in row["open"]]
_CLOSE: Final[list[str]] = [token for row in _ROWS for token in row["close"]]
_WEAK: Final[list[str]] = [token for row in _ROWS for token in row.get("weak", ())]
_TOKENS: Final[list[str]] = _OPEN + _CLOSE + _WEAK

# The maximum length of spaces, of a namespace or suffix, and of attributes in a tag.
_BLANKS, _WORD, _ATTRIBUTES = 2, 12, 80


def _one_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest match first; common beginnings are matched once."""
    return _tree({word for word in words if word}, whole=True)


def _begun(words: Iterable[str]) -> str:
    """A pattern for every beginning of any of the words, from the first character on."""
    return _tree({word for word in words if word}, whole=False)


def _tree(words: set[str], *, whole: bool) -> str:
    heads: dict[str, set[str]] = {}
    for word in sorted(words):
        heads.setdefault(word[0], set()).add(word[1:])
    out = []
    for head, rests in heads.items():
        may_end = not whole or "" in rests
        rest = _tree(rests - {""}, whole=whole)
        out.append(re.escape(head) + (f"(?:{rest})" + ("?" if may_end else "") if rest else ""))
    return "|".join(out)


_BLANK: Final[str] = rf"\s{{0,{_BLANKS}}}"
_FIRSTS: Final[str] = "".join(sorted({name[0].lower() for name in REASONING_TAGS}))
# Testing the first letter avoids trying every name.
_NAME: Final[str] = (
    rf"(?ai:(?=[a-z])(?:[a-z]{{1,{_WORD}}}:)?(?=[{_FIRSTS}])(?:{_one_of(REASONING_TAGS)})(?::[a-z0-9]{{1,{_WORD}}})?)"
)
_OPEN_TAG: Final[str] = rf"<{_BLANK}{_NAME}(?:\s(?:[^<>\n]{{0,{_ATTRIBUTES}}}[^<>\n/])?)?>"
_CLOSE_TAG: Final[str] = rf"<{_BLANK}/{_BLANK}{_NAME}{_BLANK}>"

opens_reasoning: Final[str] = rf"(?:{_OPEN_TAG}|(?-i:{_one_of(_OPEN)}))"
closes_reasoning: Final[str] = rf"(?:{_CLOSE_TAG}|(?-i:{_one_of(_CLOSE + _WEAK)}))"
OPENS_REASONING: Final[re.Pattern[str]] = lazy_regex(opens_reasoning)
CLOSES_REASONING: Final[re.Pattern[str]] = lazy_regex(closes_reasoning)
# Marks that close reasoning even without an opening mark, which may be in the prompt.
CLOSES_UNOPENED: Final[re.Pattern[str]] = lazy_regex(rf"(?:{_CLOSE_TAG}|(?-i:{_one_of(_CLOSE)}))")
LONGEST_REASONING: Final[int] = max(
    max(map(len, _TOKENS)),
    max(map(len, REASONING_TAGS)) + 2 * (_WORD + 1) + 3 * _BLANKS + _ATTRIBUTES + len("<//>"),
)


def _by_sign(tag: str, tokens: list[str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """One pattern for each first character of a mark: searching for a single character is much faster than for any of them."""
    rows = [("<", "|".join([tag, *sorted(map(re.escape, (t for t in tokens if t[0] == "<")), key=len, reverse=True)]))]
    others = sorted({token[0] for token in tokens} - {"<"})
    rows += [(sign, _one_of(token for token in tokens if token[0] == sign)) for sign in others]
    return tuple((sign, lazy_regex(rest)) for sign, rest in rows)


# In a longer text, each first character would be searched to the end again and again.
_SHORT: Final = 4096
_OPENING: Final = _by_sign(_OPEN_TAG, _OPEN)
_CLOSING: Final = _by_sign(_CLOSE_TAG, _CLOSE + _WEAK)


def _first(rows: tuple[tuple[str, re.Pattern[str]], ...], text: str, at: int) -> re.Match[str] | None:
    best: re.Match[str] | None = None
    for sign, pattern in rows:
        if text.find(sign, at) >= 0:
            found = pattern.search(text, at)
            if found is not None and (best is None or found.start() < best.start()):
                best = found
    return best


def next_opening(text: str, at: int) -> re.Match[str] | None:
    """The first mark at or after an offset that opens reasoning; the same as a search for OPENS_REASONING, but faster.

    >>> next_opening("Well <think>", 0).start()
    5
    """
    return _first(_OPENING, text, at) if len(text) - at <= _SHORT else OPENS_REASONING.search(text, at)


def next_closing(text: str, at: int) -> re.Match[str] | None:
    """The first mark at or after an offset that closes reasoning."""
    return _first(_CLOSING, text, at) if len(text) - at <= _SHORT else CLOSES_REASONING.search(text, at)


# The first character of a reasoning mark.
STARTS_REASONING: Final[re.Pattern[str]] = lazy_regex(
    f"[{''.join(sorted({re.escape(token[0]) for token in _TOKENS} | {'<'}))}]"
)


def _signs() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The first characters of marks, each with a pattern for a possible mark."""
    bare = {token[0] for token in _TOKENS if "<" not in token}
    rows = [("<", rf"{_BLANK}(?:/{_BLANK})?{_NAME}|{_one_of(t[t.index('<') + 1 :] for t in _TOKENS if '<' in t)}")]
    rows += [(sign, _one_of(t[1:] for t in _TOKENS if t[0] == sign and "<" not in t)) for sign in sorted(bare)]
    return tuple((sign, lazy_regex(f"{re.escape(sign)}(?:{rest})")) for sign, rest in rows)


_SIGNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = _signs()


def may_reason(text: str) -> bool:
    """Whether a text may contain a reasoning mark; a quick test that is True in case of doubt.

    >>> may_reason('{"a": "<b>"}'), may_reason("</think>{}"), may_reason("[THINK]")
    (False, True, True)
    """
    for sign, mark in _SIGNS:  # noqa: SIM110 - a generator takes longer
        if sign in text and mark.search(text) is not None:
            return True
    return False


ANSWER_TAGS: Final[frozenset[str]] = frozenset(TABLE["answer"]["tags"])
ANSWER_TAG: Final[str] = rf"(?i:<(?:{_one_of(TABLE['answer']['tags'])})>)"
SPECIAL_TOKEN: Final[str] = "|".join(
    (_one_of(TABLE["special"]["tokens"] + TABLE["special"]["turns"]), *TABLE["special"]["shapes"])
)
# The beginning of a turn with the name of its role.
TURN_HEADER: Final[str] = rf"(?:{_one_of(TABLE['special']['turns'])})(?:{_one_of(TABLE['special']['roles'])})"
CODE_LANGUAGES: Final[frozenset[str]] = frozenset(TABLE["fence"]["code"].split())
INVISIBLE: Final[str] = rf"[{TABLE['invisible']['characters']}]"


@cache
def begins_reasoning() -> re.Pattern[str]:
    """Matches where the rest of a text may be the beginning of a reasoning mark, whatever comes next.

    >>> begins_reasoning().search("so <thi").start(), begins_reasoning().search("so <b> ")
    (3, None)
    """
    tag = (
        rf"<{_BLANK}(?:/{_BLANK})?(?ai:[a-z]{{0,{_WORD}}}\Z|(?:[a-z]{{1,{_WORD}}}:)?(?:(?:{_begun(set(map(str.lower, REASONING_TAGS)))})?\Z"
        rf"|(?:{_one_of(REASONING_TAGS)})(?::[a-z0-9]{{0,{_WORD}}})?(?:\s[^<>\n]{{0,{_ATTRIBUTES + 1}}})?\Z))"
    )
    tokens = {token[:-1] for token in _TOKENS}
    return re.compile(rf"(?:{tag}|(?:{_begun(tokens)})\Z)")


@cache
def begins_special() -> re.Pattern[str]:
    """The same for a special token; a complete token that may continue is a beginning too.

    >>> begins_special().search("Hi<|im_").start(), begins_special().search("<|im_start|>assi").start()
    (2, 0)
    """
    special = TABLE["special"]
    turns = {turn + role for turn in special["turns"] for role in special["roles"]}
    tokens = {token[:-1] for token in special["tokens"]} | {turn[:-1] for turn in turns}
    return re.compile(rf"(?:(?:{_begun(tokens)})\Z|<[^<>\n]{{0,62}}\Z)")
