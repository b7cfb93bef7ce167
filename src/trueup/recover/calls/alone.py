"""Reads replies that consist only of calls, in any notation: lists, quotes, tuples, numbers before each call.

Takes a text; returns its calls, or nothing if the text contains anything else. Marks of lists and code blocks, special
tokens, brackets and quotes have no meaning here, because no words are left that could make the calls an example.
"""

from trueup.recover.calls import json, python
from trueup.recover.calls.arguments import string_at
from trueup.recover.calls.dialects import NAME, RESULT
from trueup.recover.calls.source import CallReader, Value, answer_start, past
from trueup.recover.calls.values import Leak
from trueup.recover.json.parser import MOST_CALLS, TooMany
from trueup.recover.marks import OPENS_REASONING, SPECIAL_TOKEN
from trueup.verdict.patterns import lazy_regex

_TOKEN = rf"(?!{RESULT.pattern}|{OPENS_REASONING.pattern})(?:{SPECIAL_TOKEN})(?:assistant\b)?"
_ASIDE = lazy_regex(
    rf"(?:[\s,;]+|\*\*|`{{3,9}}[\w-]{{0,20}}(?=\s|\Z)|(?<![^\s>])(?:[-*+•]|\(?\d{{1,3}}[.):])[ \t]+|{_TOKEN})*"
)
_ENDS = frozenset(")]}'\"`>;,*")
_NAMED = lazy_regex(rf"([\"'`]?)({NAME})\1\s*,\s*(?=\{{)")


def calls_alone(source: CallReader) -> list[Leak]:
    """The calls of a text that contains nothing else."""
    text = source.text
    if text.rstrip()[-1:] not in _ENDS:
        return []
    at = past(_ASIDE, text, answer_start(text))
    leaks: list[Leak] = []
    while at < len(text):
        read = _group(source, at)
        if not read:
            return []
        leaks += read
        if len(leaks) > MOST_CALLS:
            raise TooMany("calls", MOST_CALLS)
        at = past(_ASIDE, text, max(read[-1].stop, at + 1))
    return leaks


def _group(source: CallReader, at: int) -> list[Leak]:
    """The calls of one value, one list or one line."""
    text = source.text
    named = _NAMED.match(text, at)
    if named:  # `"f", {"a": 1}`
        read = source.value(named.end()) if source.offered(named[2]) else None
        return json.with_arguments(source, named[2], read, at, named.end(), "pair")[0]
    value: Value | None = None
    if text[at] in "{[":
        value = source.value(at)
    elif text[at] == "(":
        value = source.repaired(at, source.stop_after(at + 1)[0])
    elif text[at] in "\"'":
        string = string_at(text, at)
        value = Value(*string) if string else None
    # a value on a separate line was already searched, and if it is the whole text it calls nothing
    searched = (
        value is not None and text[at] in "{[" and text[at - 1 : at] in ("", "\n") and source.only(at, value.stop)
    )
    if value is not None and isinstance(value.value, list | dict) and not searched:
        leaks, _ = json.calls_of(source, value, at, at, "json", marked=False, alone=True)
        if leaks:
            return leaks
    if value is not None and (leaks := python.quoted(source, value, at, at)[0]):
        return leaks
    if python.LAYERED.match(text, at) or python.CALL.match(text, at):
        return python.calls_at(source, at, at)[0]
    return []
