"""Calls written as JSON: an object or a list that names its tools, or the arguments behind a name.

The offset of a value enters; the calls that it says and the offset behind them leave, each with the records of its own
reading. A list that was cut off before a name gives the calls that stand whole before it.
"""

import re

from trueup.recover.calls.marks import BETWEEN
from trueup.recover.calls.reader import CallReader, Value
from trueup.recover.calls.values import ARGUMENT_KEYS, CALL_KEYS, Leak, calls_in
from trueup.recover.json.parser import Node, Record, parts_of

Read = tuple[list[Leak], int]
FIRST_KEY = re.compile(r"""[\[{\s]*["'“`]?([^\s"'“”`:{}\[\],]{1,120})["'”`]?\s*(?:[:：]|=>)""")
_CUT_OFF = frozenset({"S005", "S028", "S029", "S030", "S037"})
_ASTRAY = re.compile(r"\s*,\s*[\"'](?:arguments|parameters|args|input)[\"']\s*:\s*(?=\{)")
_BRACE = re.compile(r"\s*\}?")
_ASIDE = " \t\r\n`;"


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what a pattern takes here ends; the pattern may take nothing."""
    return pattern.match(text, at).end()  # type: ignore[union-attr]


class ObjectCalls(CallReader):
    """Reads calls of JSON at given places of one text."""

    __slots__ = ()

    def json_calls(self, start: int, at: int, dialect: str, marked: bool = True) -> Read:
        """The calls that the value here says."""
        read = self.value(at)
        if read is None:
            return [], at + 1
        leaks, stop = self.calls_of(read, start, at, dialect, marked)
        astray = _ASTRAY.match(self.text, read.stop) if marked and len(leaks) == 1 and not leaks[0].arguments else None
        if astray:  # `{"name": "f"}, "arguments": {…}`: a brace that closed too early
            leaks, stop = self.with_arguments(leaks[0].name, self.value(astray.end()), start, astray.end(), dialect)
            stop = self.closed(past(_BRACE, self.text, stop))
            leaks = [leak._replace(stop=stop) for leak in leaks]
        return leaks, stop

    def calls_of(self, read: Value, start: int, at: int, dialect: str, marked: bool = True) -> Read:
        """The calls that a value says which was read from here on."""
        said = list(calls_in(read.value, self.offered, marked))
        if said and read.cut:
            read = self.further(at, read)
            said = list(calls_in(read.value, self.offered, marked))
        whole = not read.cut
        if not whole and isinstance(read.value, list) and not list(calls_in(read.value[-1:], self.offered, marked)):
            # the text ends inside the next call of the list, before its name: those before it are whole
            said, whole = list(calls_in(read.value[:-1], self.offered, marked)), True
        if not marked and said and not said[0].given and not self.only(at, read.stop):
            said = []
        stop = self.closed(read.stop) if marked and said else read.stop
        leaks = []
        for index, call in enumerate(said):
            last = index == len(said) - 1
            inside = any(part in ARGUMENT_KEYS or part == call.name for part in read.inside)
            cut = last and not whole and (read.lost or inside or not call.given)
            records = _records_of(read, index, len(said), call.name, dropped=whole and read.cut)
            raw = self.text[at : read.stop]
            leaks.append(Leak(call.name, call.arguments, raw, start, stop, dialect, records, call.id, cut=cut))
        return leaks, max(stop, at + 1)

    def only(self, start: int, stop: int) -> bool:
        """Whether nothing else is in the text: without arguments, an object with a name is a call only then."""
        before = self.text[:start].rsplit("</think>", 1)[-1]
        return not before.strip(_ASIDE + "json") and not self.text[stop:].strip(_ASIDE)

    def with_arguments(
        self, name: str, read: Value | None, start: int, at: int, dialect: str, call_id: str = ""
    ) -> Read:
        if read is None:
            return [], at
        if read.cut:
            read = self.further(at, read)
        stop = self.closed(read.stop)
        raw = self.text[at : read.stop]
        cut = read.cut and (read.lost or stop == read.stop)  # a mark that closes the call: only a bracket was forgotten
        return [Leak(name, read.value, raw, start, stop, dialect, read.records, call_id, cut=cut)], stop

    def unmarked_json(self, at: int, inline: bool) -> Read:
        key = FIRST_KEY.match(self.text, at)
        if inline and (key is None or key[1] not in CALL_KEYS):
            return [], at
        leaks, stop = self.json_calls(at, at, "json", marked=False)
        while leaks:  # further objects behind the first, joined by white space or a semicolon
            following = past(BETWEEN, self.text, stop)
            if self.text[following : following + 1] != "{":
                break
            more, end = self.json_calls(following, following, "json", marked=False)
            if not more and end >= len(self.text):  # cut off before its name
                leaks[-1] = leaks[-1]._replace(stop=end)
            if not more:
                break
            leaks += more
            stop = end
        return leaks, stop


def _records_of(read: Value, index: int, count: int, name: str, dropped: bool) -> tuple[Record, ...]:
    """The records of one call among those of a list, each with its place inside the arguments."""
    out: list[Record] = []
    item = read.value[index] if isinstance(read.value, list) and len(read.value) == count else read.value
    apart = isinstance(item, dict) and any(key in item for key in ARGUMENT_KEYS)
    for code, start, stop, after, node in read.records:
        parts = parts_of(node)
        own = parts[0] if parts and isinstance(parts[0], int) and isinstance(read.value, list) else count - 1
        key = next((p for p in parts if isinstance(p, str)), name)
        beside = apart and key != name and key not in CALL_KEYS
        if own != index or beside or (dropped and code in _CUT_OFF):
            continue
        inner: Node = None
        for part in parts[next((i + 1 for i, p in enumerate(parts) if p in ARGUMENT_KEYS), len(parts)) :]:
            inner = (inner, part)
        out.append((code, start, stop, after, inner))
    return tuple(out)
