"""The values of leaked calls: JSON as it stands where it is JSON, mended where it is not, and Gemma's own writing.

An offset enters; a value, where it ends and whether its end was missing leave. A value with faults reaches no
further than the next mark, so that one bad call does not swallow the next.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import orjson

from trueup.recover.callmarks import STOP
from trueup.recover.clean import decode, keeps_all_keys
from trueup.recover.reader import Reader, Record, TooDeep, parts_of

_raw_decode = json.JSONDecoder().raw_decode
_CUT = frozenset({"S028", "S029", "S030"})
_BROKEN = frozenset({"S005", "S028", "S031"})
_GEMMA = re.compile(r"(?P<quote><\|\"\|>|<escape>)|[{}\[\]]")
_TRIES = 3


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

    __slots__ = ("_stop", "max_depth", "offered", "text")

    def __init__(self, text: str, offered: Callable[[str], bool], max_depth: int) -> None:
        self.text = text
        self.offered = offered
        self.max_depth = max_depth
        self._stop = (0, -1, 0)

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
        text = self.text
        if at >= len(text) or text[at] not in "{[":
            return None
        try:
            stop = _raw_decode(text, at)[1]
            value = decode(text[at:stop])
            if keeps_all_keys(text[at:stop], orjson.dumps(value)):
                return Value(value, stop)
        except (ValueError, RecursionError, TypeError, msgspec.MsgspecError):
            pass
        try:
            return self._mended(at)
        except TooDeep:
            return Value(None, self.stop_after(at + 1)[0])

    def _mended(self, at: int) -> Value:
        """Read a value with faults; a closing mark ends it, unless that stands in a string of the value."""
        best: Value | None = None
        limit = at + 1
        for _ in range(_TRIES):
            end, limit = self.stop_after(limit)
            outcome = Reader(self.text, at, end, frozenset(), self.max_depth).read()
            codes = {record[0] for record in outcome.records}
            inside = parts_of(next((r[4] for r in reversed(outcome.records) if r[0] == "S005"), None))
            if best is None or not codes & _BROKEN:
                best = Value(outcome.value, outcome.end, tuple(outcome.records), outcome.cut, inside)
            if limit == end or "S028" not in codes:
                break
        assert best is not None
        return best

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
