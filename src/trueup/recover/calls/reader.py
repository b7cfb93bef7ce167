"""The values of leaked calls: JSON as it stands where it is JSON, mended where it is not, and Gemma's own writing.

An offset enters; a value, where it ends and whether its end was missing leave. A value with faults reaches no
further than the next mark, so that one bad call does not swallow the next.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from trueup.recover.calls.marks import CLOSE, STOP
from trueup.recover.json.clean import decode, keeps_all_keys
from trueup.recover.json.exact import closed
from trueup.recover.json.parser import Reader, Record, TooDeep, TooMany, parts_of
from trueup.verdict.catalogue import GRADE

_CUT = frozenset({"S028", "S029", "S030"})
_BROKEN = frozenset({"S005", "S028", "S031"})
_GEMMA = re.compile(r"(?P<quote><\|\"\|>|<escape>)|[{}\[\]]")
_LOSSY = frozenset(code for code, grade in GRADE.items() if grade == "lossy")
# Of values that hold no clean reading so much is read, one of them counting for so much at most: one is read whole.
MOST_BROKEN = 2_000_000
_MOST_OF_ONE = 10_000
_TRIES = 3
_LEAST = 200


class Value(NamedTuple):
    """A value: where it ends, the records of its reading, whether its end was missing, and inside of what."""

    value: Any
    stop: int
    records: tuple[Record, ...] = ()
    cut: bool = False
    inside: tuple[str | int, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether the text ended inside a scalar, or before a value that had to come."""
        return self.cut and any(record[0] in _CUT for record in self.records)


class CallReader:
    """Reads values at given places of one text, and knows which names are offered."""

    __slots__ = ("_broken", "_stop", "_values", "budget", "max_depth", "offered", "text")

    def __init__(
        self, text: str, offered: Callable[[str], bool], max_depth: int, values: dict[int, Value] | None = None
    ) -> None:
        self.text = text
        self._values = {} if values is None else values  # by their offsets: no name has a part in them
        self.offered = offered
        self.max_depth = max_depth
        self._stop = (0, -1, 0)
        self._broken = 0
        self.budget = 2 * len(text) + 4096  # for readings that may be in vain

    def own(self, name: str) -> str:
        """The name without what Llama's built-in tools hang on it: `f.call`."""
        base = name.removesuffix(".call")
        return base if base != name and not self.offered(name) and self.offered(base) else name

    def closed(self, at: int) -> int:
        closing = CLOSE.match(self.text, at)
        return closing.end() if closing else at

    def stop_after(self, at: int) -> tuple[int, int]:
        """Where the next mark starts and ends, from an offset on; found once, however often it is asked for."""
        since, start, end = self._stop
        if not since <= at <= start:
            found = STOP.search(self.text, at)
            start, end = found.span() if found else (len(self.text), len(self.text))
            self._stop = (at, start, end)
        return start, end

    def value(self, at: int) -> Value | None:
        """The value that opens here; None when none does."""
        if at >= len(self.text) or self.text[at] not in "{[":
            return None
        known = self._values.get(at)
        if known is None:
            known = self._values[at] = self._exact(at) or self._mended(at, self.stop_after(at + 1)[0])
            if known.records and not _LOSSY.isdisjoint(record[0] for record in known.records):
                self._count_broken(known.stop - at)
        return known

    def _count_broken(self, length: int) -> None:
        """Give up where too much of a text looks like values and is none: source code by the megabyte, random signs."""
        self._broken += min(length, _MOST_OF_ONE)
        if self._broken > MOST_BROKEN:
            raise TooMany("letters of broken values", MOST_BROKEN)

    def further(self, at: int, first: Value) -> Value:
        """The value here once more, when it was cut inside a string: the mark that ended it may stand in the string."""
        limit = first.stop
        for _ in range(_TRIES):
            if self.budget < 0 or not any(record[0] == "S028" for record in first.records):
                break
            end, limit = self.stop_after(self.stop_after(limit)[1])
            self.budget -= max(_LEAST, end - at)
            again = self._mended(at, end)
            if not any(record[0] in _BROKEN for record in again.records):
                return again
            if end == limit:
                break
        return first

    def _exact(self, at: int) -> Value | None:
        """The value as strict JSON."""
        found, _, stop = closed(self.text, at, len(self.text))
        if not found:
            return None
        piece = self.text[at:stop]
        try:
            value = decode(piece)
            return Value(value, stop) if keeps_all_keys(piece, orjson.dumps(value)) else None
        except (ValueError, RecursionError, TypeError):
            return None

    def _mended(self, at: int, end: int) -> Value:
        """Read a value with faults, no further than to an offset."""
        try:
            outcome = Reader(self.text, at, end, frozenset(), self.max_depth).read()
        except TooDeep:
            return Value(None, end)
        inside = parts_of(next((r[4] for r in reversed(outcome.records) if r[0] == "S005"), None))
        return Value(outcome.value, outcome.end, tuple(outcome.records), outcome.cut, inside)

    def gemma(self, at: int) -> Value:
        """`{a:1,s:<|"|>txt<|"|>}`: strings between marks of their own, keys without quotes."""
        text = self.text
        out: list[str] = []
        depth = 0
        start = at
        while piece := _GEMMA.search(text, at):
            out.append(text[at : piece.start()])
            at = piece.end()
            quote = piece["quote"]
            if quote:
                end = text.find(quote, at)
                out.append(json.dumps(text[at : end if end >= 0 else None]))
                if end < 0:
                    break
                at = end + len(quote)
                continue
            out.append(piece[0])
            depth += 1 if piece[0] in "{[" else -1
            if depth == 0:
                return self._converted("".join(out), start, at, cut=False)
        return self._converted("".join(out), start, len(text), cut=True)

    def _converted(self, plain: str, start: int, stop: int, *, cut: bool) -> Value:
        try:
            outcome = Reader(plain, 0, len(plain), frozenset(), self.max_depth).read()
        except TooDeep:
            return Value(None, stop)
        lossy: list[Record] = [
            (r[0], start, stop, r[3], r[4]) for r in outcome.records if r[0] in {"S031", "S033", "S034"}
        ]
        return Value(outcome.value, stop, tuple(lossy), cut)
