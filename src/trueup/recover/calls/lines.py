"""Calls written in lines: `Action:` and `Action Input:`, fields as YAML writes them, a name above a block of code.

The offset of a line enters; the calls that stand there and the offset behind them leave. Lines make arguments only
where a mark or an offered name stands before them.
"""

import re
from typing import Any

from trueup.recover.calls.marks import CLOSE, NAME, NAMED, NOISE, PYTHON_CALL, REACT_BRACKET, REACT_INPUT, REACT_PLACE
from trueup.recover.calls.objects import FIRST_KEY, Read, past
from trueup.recover.calls.python import PythonCalls
from trueup.recover.calls.reader import Value
from trueup.recover.calls.tags import NOT_JSON, Typed, json_value
from trueup.recover.calls.values import CALL_KEYS, Leak
from trueup.recover.forms.blocks import Block, Unreadable
from trueup.recover.forms.outline import Keys, lines_of
from trueup.recover.json.parser import Reader, Record, TooDeep

_THOUGHT = re.compile(r"\bThought(?: \d{1,3})?:[^\n]*\n\s*\Z")
# `f` on a line of its own, then `tool_call(a=1)` in a block of code, as ChatGLM3 writes it
CODED = re.compile(rf"({NAME})[ \t]*\r?\n[ \t]*`{{3,9}}\w{{0,9}}\s{{1,4}}(tool_call)\s?\(")
_FENCE_END = re.compile(r"\s*`{3,9}")
_FIELDS = re.compile(r":?[ \t]*\r?\n(?=\s*[\"']?[^\W\d][\w.-]{0,80}[\"']?[ \t]*[:=])")
# `{tool => "f", args => { --a "x" --b 1 }}`, as MiniMax M2 writes it
_ARROWED = re.compile(rf"\{{\s*tool\s*=>\s*[\"']?({NAME})[\"']?\s*,\s*args\s*=>\s*\{{")
_OPTION = re.compile(r"\s*--([\w-]{1,80})\s+(\"(?:[^\"\\]|\\.)*\"|[^\s\"{}]{1,400})", re.DOTALL)
_ARROWED_END = re.compile(r"\s*\}\s*\}?")
_SPOKEN = 1000  # of text that stands for arguments, so much is looked at
_LOST = frozenset({"S027", "S028", "S029", "S030", "S031", "S033", "S034"})


def fields_in(text: str, start: int, stop: int, max_depth: int) -> tuple[dict[str, Any], list[Record]] | None:
    """The fields that a stretch of text holds in lines, `key: value`; None where any of it is something else.

    >>> fields_in("city: Oslo\\ndays: 3", 0, 18, 9)
    ({'city': 'Oslo', 'days': 3}, [])
    """
    lines = lines_of(text, start, stop)
    block = Block(text, lines, Keys(()), frozenset(), max_depth, free=True)
    block.stop = len(lines)
    try:
        found = block.mapping(-1, None, None, 0)
    except (Unreadable, TooDeep):
        return None
    return (found, block.records) if found and block.at >= block.stop else None


class LineCalls(PythonCalls):
    """Reads calls that stand in lines of one text."""

    __slots__ = ()

    def fields(self, start: int, at: int, dialect: str) -> Read | None:
        """`name: f`, `arguments:` and what stands below, up to the next mark; None where no such fields stand here."""
        key = FIRST_KEY.match(self.text, at)
        if key is None or not (key[1] in CALL_KEYS or self.offered(key[1])):
            return None
        read = self.members(at) if self.text[at] in "\"'" else None
        read = read or self.lines(at, at)
        if read is None:
            return None
        leaks, stop = self.calls_of(read, start, at, dialect)
        return (leaks, stop) if leaks else None

    def members(self, at: int) -> Value | None:
        """`"name": "f", "arguments": {…}`: the members of an object that was never opened."""
        end = self.stop_after(at)[0]
        try:
            outcome = Reader("{" + self.text[at:end] + "}", 0, end - at + 2, frozenset(), self.max_depth).read()
        except TooDeep:
            return None
        records: list[Record] = [(r[0], r[1] + at - 1, r[2] + at - 1, r[3], r[4]) for r in outcome.records]
        if outcome.cut or any(record[0] in _LOST for record in records):
            return None
        return Value(outcome.value, end, (("S006", at, at, "{", None), *records))

    def lines(self, at: int, begin: int) -> Value | None:
        """The fields in the lines from an offset to the next mark; what stands there has to be fields all through."""
        end = self.stop_after(at)[0]
        self.budget -= end - at
        found = fields_in(self.text, begin, end, self.max_depth) if self.budget > 0 else None
        if found is None:
            return None
        cut = end >= len(self.text)
        return Value(found[0], end, (*found[1], *((("S005", end, end, "", None),) if cut else ())), cut)

    def named_fields(self, name: str, start: int, at: int, dialect: str, call_id: str) -> Read | None:
        """The arguments of a name as fields in the lines below it."""
        found = _FIELDS.match(self.text, at)
        read = self.lines(found.end(), found.end()) if found else None
        if read is None or found is None:
            return None
        stop = self.closed(read.stop)
        raw = self.text[found.end() : read.stop]
        return [Leak(name, read.value, raw, start, stop, dialect, (), call_id, cut=read.cut)], stop

    def arrowed(self, start: int, at: int, dialect: str) -> Read | None:
        """A tool and its arguments behind arrows; None where none stands here."""
        found = _ARROWED.match(self.text, at)
        if found is None or not self.offered(found[1]):
            return None
        arguments: dict[str, Any] = {}
        stop = found.end()
        while option := _OPTION.match(self.text, stop):
            value = json_value(option[2]) if option[2][0] == '"' else NOT_JSON
            arguments[option[1]] = option[2].strip('"') if value is NOT_JSON else Typed(value)
            stop = option.end()
        ended = _ARROWED_END.match(self.text, stop)
        raw = self.text[found.end() : stop]
        stop = self.closed(ended.end()) if ended else stop
        return [Leak(found[1], arguments, raw, start, stop, dialect, untyped=True, cut=ended is None)], stop

    def coded(self, found: re.Match[str]) -> Read:
        """A name, and its arguments as a call of `tool_call` in the block of code below."""
        name = self.own(found[1])
        if not self.offered(name):
            return [], found.end()
        leak = self.python_call(name, found.start(), found.start(2), found.end(), "chatglm3")
        fence = _FENCE_END.match(self.text, leak.stop)
        stop = fence.end() if fence else leak.stop
        return [leak._replace(stop=stop)], stop

    def react(self, start: int, at: int) -> Read:
        """`Action: f`, then `Action Input:` with JSON or a line of text; or an action as JSON."""
        text = self.text
        thought = _THOUGHT.search(text, max(0, start - 400), start)
        start = thought.start() if thought else start
        begin = past(NOISE, text, at)
        bracketed = REACT_BRACKET.match(text, begin)
        if bracketed is None and text[begin : begin + 1] in ("{", "["):
            return self.json_calls(start, begin, "react")
        if PYTHON_CALL.match(text, begin):
            return self.python(start, begin, "react")
        named = bracketed or NAMED.match(text, begin)
        name = self.own(named[1] if bracketed else named[3]) if named else ""
        if named is None or not self.offered(name):
            return [], at
        given = REACT_INPUT.match(text, named.end())
        if given is None and (placed := REACT_PLACE.match(text, named.end())):
            return [Leak(name, placed[1], placed[1], start, placed.end(), "react")], placed.end()
        if given is None:
            rest = " ".join(text[named.end() : named.end() + 40].split())
            cut = len(text) - named.end() < 40 and "Action Input:".startswith(rest)
            return ([Leak(name, {}, "", start, len(text), "react", cut=True)] if cut else []), named.end()
        begin = past(NOISE, text, given.end())
        read = self.value(begin)
        if read is not None:
            return self.with_arguments(name, read, start, begin, "react")
        line = text[given.end() :].split("\n", 1)[0].strip()
        stop = given.end() + len(line)
        return [Leak(name, line or {}, line, start, stop, "react", cut=not line and stop >= len(text.rstrip()))], stop

    def spoken(self, name: str, start: int, at: int, closing: re.Pattern[str], call_id: str) -> Read:
        """Arguments that an element of their own holds as text: `<tool_input>Oslo</tool_input>`."""
        ended = closing.search(self.text, at, at + _SPOKEN)
        stop = ended.start() if ended else min(at + _SPOKEN, len(self.text))
        raw = self.text[at:stop].strip()
        behind = CLOSE.match(self.text, ended.end()) if ended else None
        last = behind.end() if behind else ended.end() if ended else stop
        return [Leak(name, raw or {}, raw, start, last, "react", id=call_id, cut=ended is None)], last
