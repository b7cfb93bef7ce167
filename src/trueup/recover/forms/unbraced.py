"""Reads members without braces: `Name(a=1, b='x')`, a printed model, members whose braces are missing, a tuple.

Takes a text and the known keys; returns candidates. This module finds where they start, and the JSON parser reads them.
"""

import re
from contextlib import suppress
from functools import partial
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.json.lexer import fold
from trueup.recover.json.parser import MOST_PLACES, Node, Parser, Record, TooDeep, TooMany, parts_of
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_CALL_START = lazy_regex(
    r"""(?<![\w.])(?:[^\W\d][\w.]*\(\s*[^\W\d]\w*\s*=(?!=)|array\(\s*(?:"[^"\n]{1,80}"|'[^'\n]{1,80}')\s*=>)"""
)
# The text after the name; searching for it jumps from bracket to bracket.
_ARGUMENTS = lazy_regex(r"""\(\s*(?:[^\W\d]\w*\s*=(?!=)|"[^"\n]{1,80}"\s*=>|'[^'\n]{1,80}'\s*=>)""")
# Fields in Python's notation for a model: `name='Ada' age=36`.
_PRINTED = lazy_regex(r"""\s*([^\W\d]\w*)=(?=["'\[{(\w-])""")
_MEMBER_START = lazy_regex(r"""[\s,]*(["'“])([^"'”\n]{1,80})["'”]\s*[:：]""")
# The first brace, and perhaps the first quote, was in the prompt: the reply continues from there and closes the brace.
_OPENED_BEFORE = lazy_regex(r"""\s*()([^\W\d][\w$.\-]{0,60})(?:["'”]\s*[:：]|:\s*(?=["'\[{\d\-]|true|false|null))""")
_TUPLE = lazy_regex(r"""\s*\((?=\s*["'\d-])""")


def calls(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """`Name(a=1, b='x')`, anywhere in the text."""
    out: list[Candidate] = []
    at = 0
    while found := _next_call(text, at):
        outcome = Parser(text, found.start(), len(text), known, max_depth).read()
        span = (found.start(), outcome.end)
        # one record for the name, the brackets and every equals sign
        records: list[Record] = [("F003", *span, "", None)]
        records += [record for record in outcome.records if record[0] != "F003" or record[4] is not None]
        if len(out) == MOST_PLACES:
            raise TooMany("values", MOST_PLACES)
        places = partial(_places, "", text, found.start(), known, max_depth)
        out.append(Candidate(outcome.value, [span], records, "call", None, places))
        at = max(outcome.end, found.end())
    return out


def _next_call(text: str, at: int) -> re.Match[str] | None:
    """The first call at or after an offset."""
    search = at
    while arguments := _ARGUMENTS.search(text, search):
        start = arguments.start()
        search = start + 1
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_."):
            start -= 1
        if start >= at and (found := _CALL_START.match(text, start)):
            return found
    return None


def printed(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """Fields with equals signs and spaces between them, from the start of the text."""
    found = _PRINTED.match(text)
    if found is None or found[1] not in known or "\n" in text.strip():
        return []
    candidate = _inside("=", text, found.start(1), known, max_depth)
    span = candidate.spans[0]
    candidate.records[:] = [("F003", *span, "", None), *(each for each in candidate.records if each[0] != "S002")]
    return [candidate] if len(candidate.value) > 1 else []


def members(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """Members without their braces, from the start of the text."""
    found = _MEMBER_START.match(text) or _OPENED_BEFORE.match(text)
    if found is None or (known and found[2] not in known and fold(found[2]) not in {fold(k) for k in known}):
        return []
    if not found[1] and text.count("}") <= text.count("{"):
        return []
    start = found.start(1) if found[1] else found.start(2)
    candidate = _inside("{", text, start, known, max_depth)
    candidate.records.insert(0, ("F007", start, start, "{", None))
    return [candidate] if candidate.value else []


def _inside(kind: str, text: str, start: int, known: frozenset[str], max_depth: int) -> Candidate:
    """The members from an offset on, as if a bracket had opened before them; a missing closing bracket is not a fault."""
    value: dict[str, Any] = {}
    outcome = Parser(text, start, len(text), known, max_depth).within(kind, value)
    records = [record for record in outcome.records if not (record[0] == "S005" and record[4] is None)]
    places = partial(_places, kind, text, start, known, max_depth)
    return Candidate(value, [(start, outcome.end)], records, "call" if kind == "=" else "members", None, places)


class _Trace:
    """Keeps the places of the values that the parser passes."""

    def __init__(self) -> None:
        self.spans: dict[Parts, tuple[int, int]] = {}

    def key(self, start: int, stop: int, node: Node) -> None:
        """Ignore keys."""

    def scalar(self, start: int, stop: int, node: Node) -> None:
        self.spans[parts_of(node)] = (start, stop)

    def container(self, start: int, stop: int, node: Node) -> None:
        self.spans[parts_of(node)] = (start, stop)


def _places(kind: str, text: str, start: int, known: frozenset[str], max_depth: int) -> dict[Parts, tuple[int, int]]:
    """The place of each value, from reading the text again."""
    trace = _Trace()
    parser = Parser(text, start, len(text), known, max_depth, trace)
    with suppress(TooDeep):  # without the quick lanes, the text may nest too deep
        outcome = parser.within(kind, {}) if kind else parser.read()
        trace.spans[()] = (start, outcome.end)
    return trace.spans


def in_parentheses(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """`("a", "b")`: a Python tuple that is the whole text."""
    found = _TUPLE.match(text)
    if found is None:
        return []
    start = found.end() - 1
    outcome = Parser(text, start, len(text), known, max_depth).read()
    if outcome.cut or not isinstance(outcome.value, list) or len(outcome.value) < 2 or text[outcome.end :].strip():
        return []
    return [Candidate(outcome.value, [(start, outcome.end)], outcome.records)]
