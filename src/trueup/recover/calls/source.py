"""One text that is searched for calls under one set of names: its values, each read once, and its closing marks.

Takes an offset; returns a value, its end and whether its end was missing. Valid JSON is decoded. Anything else is
repaired, but only up to the next mark, so that one bad call does not swallow the next.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from trueup.recover.calls.dialects import CLOSE, STOP
from trueup.recover.json.clean import closed, keeps_all_keys
from trueup.recover.json.parser import Parser, Record, TooDeep, TooMany, parts_of
from trueup.recover.marks import CLOSES_REASONING, may_reason
from trueup.verdict.catalogue import GRADE
from trueup.verdict.codec import decode
from trueup.verdict.patterns import lazy_regex

_CUT = frozenset({"S028", "S029", "S030"})
_BROKEN = frozenset({"S005", "S028", "S031"})
_LOSSY = frozenset(code for code, grade in GRADE.items() if grade == "lossy")
_BEFORE = lazy_regex(r"[\s`;]*(?:json)?[\s`;]*")
_AFTER = lazy_regex(r"[\s`;]*")
# The limit for characters of broken values, and how much a single value may add to it, so that one is always read whole.
MOST_BROKEN = 2_000_000
_MOST_OF_ONE = 10_000
_TRIES = 3
_LEAST = 200
NOT_JSON: Any = object()


class Value(NamedTuple):
    """A value: its end, the records of its reading, whether its end was missing, and the path inside which it was."""

    value: Any
    stop: int
    records: tuple[Record, ...] = ()
    cut: bool = False
    inside: tuple[str | int, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether the text ended inside a scalar, or before a value that had to follow."""
        return self.cut and any(record[0] in _CUT for record in self.records)


class CallReader:
    """Reads values at given places of one text for the offered names."""

    __slots__ = ("_broken", "_stop", "_values", "budget", "max_depth", "offered", "text")

    def __init__(
        self, text: str, offered: Callable[[str], bool], max_depth: int, values: dict[int, Value] | None = None
    ) -> None:
        self.text = text
        self.offered = offered
        self.max_depth = max_depth
        self.budget = 2 * len(text) + 4096  # for readings that may be unsuccessful
        self._values = {} if values is None else values  # by their offsets; they do not depend on the names
        self._stop = (0, -1, 0)
        self._broken = 0

    def own(self, name: str) -> str:
        """The name without the suffix of Llama's built-in tools: `f.call`."""
        base = name.removesuffix(".call")
        return base if base != name and not self.offered(name) and self.offered(base) else name

    def closed(self, at: int) -> int:
        """The offset after the marks that close a call here."""
        closing = CLOSE.match(self.text, at)
        return closing.end() if closing else at

    def stop_after(self, at: int) -> tuple[int, int]:
        """The start and the end of the next mark from an offset on; searched only once."""
        since, start, end = self._stop
        if not since <= at <= start:
            found = STOP.search(self.text, at)
            start, end = found.span() if found else (len(self.text), len(self.text))
            self._stop = (at, start, end)
        return start, end

    def only(self, start: int, stop: int) -> bool:
        """Whether the text has nothing else, apart from reasoning and the marks of a code block."""
        if _AFTER.fullmatch(self.text, stop) is None:
            return False
        return _BEFORE.fullmatch(self.text, answer_start(self.text), start) is not None

    def value(self, at: int) -> Value | None:
        """The value that opens here; None if there is no opener."""
        if at >= len(self.text) or self.text[at] not in "{[":
            return None
        known = self._values.get(at)
        if known is None:
            known = self._values[at] = self._exact(at) or self.repaired(at, self.stop_after(at + 1)[0])
            if known.records and not _LOSSY.isdisjoint(record[0] for record in known.records):
                self._count_broken(known.stop - at)
        return known

    def _count_broken(self, length: int) -> None:
        """Give up if too much of a text looks like values but is not: megabytes of source code, random signs."""
        self._broken += min(length, _MOST_OF_ONE)
        if self._broken > MOST_BROKEN:
            raise TooMany("letters of broken values", MOST_BROKEN)

    def further(self, at: int, first: Value) -> Value:
        """The value here, read again if it was cut inside a string: the mark that ended it may be part of the string."""
        limit = first.stop
        for _ in range(_TRIES):
            if self.budget < 0 or not any(record[0] == "S028" for record in first.records):
                break
            end, limit = self.stop_after(self.stop_after(limit)[1])
            self.budget -= max(_LEAST, end - at)
            again = self.repaired(at, end)
            if not any(record[0] in _BROKEN for record in again.records):
                return again
            if end == limit:
                break
        return first

    def _exact(self, at: int) -> Value | None:
        """The value as strict JSON."""
        is_json, _, stop = closed(self.text, at, len(self.text))
        if not is_json:
            return None
        piece = self.text[at:stop]
        try:
            value = decode(piece)
            return Value(value, stop) if keeps_all_keys(piece, orjson.dumps(value)) else None
        except (ValueError, RecursionError, TypeError):
            return None

    def repaired(self, at: int, end: int) -> Value:
        """A value with faults, read up to an offset at the most."""
        try:
            outcome = Parser(self.text, at, end, frozenset(), self.max_depth).read()
        except TooDeep:
            return Value(None, end)
        inside = parts_of(next((r[4] for r in reversed(outcome.records) if r[0] == "S005"), None))
        return Value(outcome.value, outcome.end, tuple(outcome.records), outcome.cut, inside)


def answer_start(text: str) -> int:
    """The offset after the last closing mark of reasoning."""
    if not may_reason(text):
        return 0
    return max((closing.end() for closing in CLOSES_REASONING.finditer(text)), default=0)


def json_value(raw: str) -> Any:
    """The value of a JSON text, or NOT_JSON.

    >>> json_value("[1]"), json_value("Oslo") is NOT_JSON
    ([1], True)
    """
    try:
        return decode(raw)
    except (ValueError, RecursionError):
        return NOT_JSON


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where the match of a pattern here ends; the pattern may match nothing."""
    return pattern.match(text, at).end()  # type: ignore[union-attr]
