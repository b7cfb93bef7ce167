"""Calls written as Python: `f(a=1)`, `[f(a=1), g()]`, `print(f(1))`.

The offset of a call enters; the calls that stand there and the offset behind them leave. In a list every name has to
be offered; a call with faults is read as any value is.
"""

import re
from typing import Any

from trueup.recover.calls import arguments as pythonic
from trueup.recover.calls.marks import NAME, PYTHON_CALL
from trueup.recover.calls.objects import ObjectCalls, Read, past
from trueup.recover.calls.values import Leak
from trueup.recover.json.parser import MOST_CALLS, Reader, Record, TooDeep, TooMany

LIST_OF_CALLS = re.compile(rf"\[\s*(?={NAME}\s?\()")
_NEXT_CALL = re.compile(r"\s*[,;]\s*|\s*\n\s*|\s*")
_FOLLOWING = re.compile(rf"\s?[,;]\s?(?={NAME}\()")
# `f(city: str, days: int = 3)` says how a tool is called, and calls none
_SIGNATURE = re.compile(
    r"[^()\n\"']{0,200}?\b\w{1,80}\??\s?:\s?(?:str|string|int|integer|float|number|bool|boolean|list|dict|array|object|any"
    r"|Optional|List|Dict|Any|Union)\b(?!\s?\()"
)
_END_OF_LIST = re.compile(r"\s*,?\s*\]")
_CUT_NAME = re.compile(r"(?:\s*,\s*[\w.]*\Z)?")
_NEAR = 200


class PythonCalls(ObjectCalls):
    """Reads calls of Python at given places of one text."""

    __slots__ = ()

    def python(self, start: int, at: int, dialect: str = "pythonic") -> Read:
        """`f(a=1)`, or a list of such calls; every name has to be offered."""
        text = self.text
        listed = text[at] == "["
        leaks: list[Leak] = []
        begin = at
        at += listed
        while found := PYTHON_CALL.match(text, at):
            name = self.own(found[1])
            if not self.offered(name) or _SIGNATURE.match(text, found.end()):
                return ([], found.end()) if listed or not leaks else (leaks, leaks[-1].stop)
            leak = self.python_call(name, start if not leaks else found.start(1), found.start(1), found.end(), dialect)
            leaks.append(leak)
            if len(leaks) > MOST_CALLS:
                raise TooMany("calls", MOST_CALLS)
            at = leak.stop
            if leak.cut:
                break
            if text[found.start() : found.start(1)].strip() == "print(" and text.startswith(")", at):
                at += 1
                leaks[-1] = leak._replace(stop=at)
            if listed or "\n" in text[at : at + 8] or dialect != "pythonic" or _FOLLOWING.match(text, at):
                at = past(_NEXT_CALL, text, at)
        if leaks and listed and not leaks[-1].cut:
            closing = _END_OF_LIST.match(text, leaks[-1].stop)
            stop = closing.end() if closing else past(_CUT_NAME, text, leaks[-1].stop)
            open_list = closing is None and not text[stop:].strip()
            leaks[-1] = leaks[-1]._replace(stop=stop, open=open_list)
        if leaks and dialect != "pythonic":
            leaks[-1] = leaks[-1]._replace(stop=self.closed(leaks[-1].stop))
        return leaks, leaks[-1].stop if leaks else begin + 1

    def python_call(self, name: str, start: int, word: int, at: int, dialect: str) -> Leak:
        """The call whose word starts at one offset and whose arguments start at another."""
        text = self.text
        limit = self.stop_after(at)[0]
        # a string may hold a mark; once too much was read in vain, only what is near is looked at
        reach = len(text) if self.budget > 0 else min(limit, at + _NEAR)
        read = pythonic.read_arguments(text, at, reach, self.max_depth)
        if isinstance(read, int):
            self.budget -= read - at
        else:
            named, by_place = read.named, tuple(read.by_place)
            if len(by_place) == 1 and not named and isinstance(by_place[0], dict):
                named, by_place = by_place[0], ()
            raw = text[at : read.stop - 1]
            return Leak(name, named, raw, start, read.stop, dialect, tuple(read.records), by_place=by_place)
        try:
            outcome = Reader(text, word, limit, frozenset(), self.max_depth).read()
        except TooDeep:
            return Leak(name, None, "", start, limit, dialect)
        records: list[Record] = [r for r in outcome.records if r[0] not in {"F003", "S008", "S018"}]
        value: Any = {} if outcome.value == [] else outcome.value
        given = () if isinstance(value, dict) else tuple(value) if isinstance(value, list) else (value,)
        named = value if isinstance(value, dict) else {}
        raw = text[at : outcome.end]
        return Leak(name, named, raw, start, outcome.end, dialect, tuple(records), by_place=given, cut=outcome.cut)
