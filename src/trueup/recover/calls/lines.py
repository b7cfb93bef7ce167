"""Reads calls written in lines: `Action:` and `Action Input:`, fields as in YAML, a name above a block of code.

Takes the offset of a line; returns the calls there and the offset after them. Lines are arguments only after a mark or
an offered name.
"""

import re
from collections.abc import Container
from typing import Any

from trueup.recover.calls import json, python
from trueup.recover.calls.arguments import Arguments
from trueup.recover.calls.dialects import CLOSE, NAME, NAMED, NOISE, REACT_BRACKET, REACT_INPUT, REACT_PLACE
from trueup.recover.calls.json import FIRST_KEY, Read
from trueup.recover.calls.source import NOT_JSON, CallReader, Value, json_value, past
from trueup.recover.calls.values import CALL_KEYS, Leak, TextValue
from trueup.recover.forms.blocks import BlockReader, NotFields
from trueup.recover.forms.outline import KeyFinder, lines_of
from trueup.recover.json.parser import Parser, Record, TooDeep
from trueup.verdict.patterns import lazy_regex

_THOUGHT = lazy_regex(r"\bThought(?: \d{1,3})?:[^\n]*\n\s*\Z")
# `f` on a separate line, then `tool_call(a=1)` in a block of code: ChatGLM3's format
CODED = lazy_regex(rf"({NAME})[ \t]*\r?\n[ \t]*`{{3,9}}\w{{0,9}}\s{{1,4}}tool_call\s?\(")
_FENCE_END = lazy_regex(r"\s*`{3,9}")
_FIELDS = lazy_regex(r":?[ \t]*\r?\n(?=\s*[\"']?[^\W\d][\w.-]{0,80}[\"']?[ \t]*[:=])")
# `{tool => "f", args => { --a "x" --b 1 }}`: MiniMax M2's format
_ARROWED = lazy_regex(rf"\{{\s*tool\s*=>\s*[\"']?({NAME})[\"']?\s*,\s*args\s*=>\s*\{{")
_OPTION = lazy_regex(r"\s*--([\w-]{1,80})\s+(\"(?:[^\"\\]|\\.)*\"|[^\s\"{}]{1,400})", re.DOTALL)
_ARROWED_END = lazy_regex(r"\s*\}\s*\}?")
# A line that gives arguments with their names, or says that there are none.
_PAIR = lazy_regex(r"([^\W\d]\w{0,79})\s?([:=])(?!=)")
_NOTHING = frozenset({"none", "null", "nil", "n/a", "{}", "()", "no input", "empty", "ninguno", "ninguna"})
_MAX_STEPS = 8
_LONGEST_TEXT = 1000  # only this much of a text in place of arguments is read
_LOST = frozenset({"S027", "S028", "S029", "S030", "S031", "S033", "S034"})


def fields_in(text: str, start: int, stop: int, max_depth: int) -> tuple[dict[str, Any], list[Record]] | None:
    """The fields of a stretch of text in lines, `key: value`; None if any of it is something else.

    >>> fields_in("city: Oslo\\ndays: 3", 0, 18, 9)
    ({'city': 'Oslo', 'days': 3}, [])
    """
    lines = lines_of(text, start, stop)
    block = BlockReader(text, lines, KeyFinder(()), frozenset(), max_depth, free=True)
    block.stop = len(lines)
    try:
        values = block.mapping(-1, None, None, 0)
    except (NotFields, TooDeep):
        return None
    return (values, block.records) if values and block.at >= block.stop else None


def named_arguments(line: str, known: Container[str]) -> tuple[dict[str, Any], bool] | None:
    """The arguments that a line gives with their names, and whether they are without types; {} if it says "none".

    >>> named_arguments("city: Oslo", {"city"}), named_arguments('city="Oslo", days=3', {"city"})
    (({'city': 'Oslo'}, True), ({'city': 'Oslo', 'days': 3}, False))
    """
    if line.strip("\"'`").lower() in _NOTHING:
        return {}, False
    named = _PAIR.match(line)
    if named is None or named[1] not in known:
        return None
    if named[2] == "=":
        given = Arguments(f"{line})", 0, _MAX_STEPS)
        sure = not (given.cut or given.fault or given.by_place or given.records) and given.stop > len(line)
        return (given.named, False) if sure else None
    found = fields_in(line, 0, len(line), _MAX_STEPS)
    return None if found is None or found[1] else (found[0], True)


def fields(source: CallReader, start: int, at: int, dialect: str) -> Read | None:
    """`name: f`, `arguments:` and the lines below, up to the next mark; None if there are no such fields here."""
    key = FIRST_KEY.match(source.text, at)
    if key is None or not (key[1] in CALL_KEYS or source.offered(key[1])):
        return None
    read = _members(source, at) if source.text[at] in "\"'" else None
    read = read or lines_at(source, at)
    if read is None:
        return None
    leaks, stop = json.calls_of(source, read, start, at, dialect)
    return (leaks, stop) if leaks else None


def _members(source: CallReader, at: int) -> Value | None:
    """`"name": "f", "arguments": {…}`: the members of an object whose opening brace is missing."""
    end = source.stop_after(at)[0]
    try:
        outcome = Parser("{" + source.text[at:end] + "}", 0, end - at + 2, frozenset(), source.max_depth).read()
    except TooDeep:
        return None
    records: list[Record] = [(r[0], r[1] + at - 1, r[2] + at - 1, r[3], r[4]) for r in outcome.records]
    if outcome.cut or any(record[0] in _LOST for record in records):
        return None
    return Value(outcome.value, end, (("S006", at, at, "{", None), *records))


def lines_at(source: CallReader, at: int) -> Value | None:
    """The fields in the lines from an offset to the next mark; None if any of these lines is not a field."""
    end = source.stop_after(at)[0]
    source.budget -= end - at
    found = fields_in(source.text, at, end, source.max_depth) if source.budget > 0 else None
    if found is None:
        return None
    cut = end >= len(source.text)
    return Value(found[0], end, (*found[1], *((("S005", end, end, "", None),) if cut else ())), cut)


def named_fields(source: CallReader, name: str, start: int, at: int, dialect: str, call_id: str) -> Read | None:
    """The arguments of a name as fields in the lines below it."""
    found = _FIELDS.match(source.text, at)
    read = lines_at(source, found.end()) if found else None
    if read is None or found is None:
        return None
    stop = source.closed(read.stop)
    raw = source.text[found.end() : read.stop]
    return [Leak(name, read.value, raw, start, stop, dialect, (), call_id, cut=read.cut)], stop


def arrowed(source: CallReader, start: int, at: int, dialect: str) -> Read | None:
    """A tool and its arguments after arrows; None if there is none here."""
    found = _ARROWED.match(source.text, at)
    if found is None or not source.offered(found[1]):
        return None
    arguments: dict[str, Any] = {}
    stop = found.end()
    while option := _OPTION.match(source.text, stop):
        value = json_value(option[2]) if option[2][0] == '"' else NOT_JSON
        arguments[option[1]] = option[2].strip('"') if value is NOT_JSON else TextValue(value)
        stop = option.end()
    ended = _ARROWED_END.match(source.text, stop)
    raw = source.text[found.end() : stop]
    stop = source.closed(ended.end()) if ended else stop
    return [Leak(found[1], arguments, raw, start, stop, dialect, untyped=True, cut=ended is None)], stop


def coded(source: CallReader, found: re.Match[str]) -> Read:
    """A name, with its arguments in a call of `tool_call` in the block of code below."""
    name = source.own(found[1])
    if not source.offered(name):
        return [], found.end()
    leak = python.call(source, name, found.start(), found.end(), "chatglm3")
    fence = _FENCE_END.match(source.text, leak.stop)
    stop = fence.end() if fence else leak.stop
    return [leak._replace(stop=stop)], stop


def react(source: CallReader, start: int, at: int) -> Read:
    """`Action: f`, then `Action Input:` with JSON or a line of text; or an action as JSON."""
    text = source.text
    thought = _THOUGHT.search(text, max(0, start - 400), start)
    start = thought.start() if thought else start
    begin = past(NOISE, text, at)
    bracketed = REACT_BRACKET.match(text, begin)
    if bracketed is None and text[begin : begin + 1] in ("{", "[") and not python.LAYERED.match(text, begin):
        return json.calls_at(source, start, begin, "react")
    if python.CALL.match(text, begin) or python.LAYERED.match(text, begin):
        return python.calls_at(source, start, begin, "react")
    named = bracketed or NAMED.match(text, begin)
    name = source.own(named[1] if bracketed else named[3]) if named else ""
    if named is None or not source.offered(name):
        return [], at
    given = REACT_INPUT.match(text, named.end())
    if given is None and (placed := REACT_PLACE.match(text, named.end())):
        return [Leak(name, placed[1], placed[1], start, placed.end(), "react")], placed.end()
    if given is None:
        rest = " ".join(text[named.end() : named.end() + 40].split())
        cut = len(text) - named.end() < 40 and "Action Input:".startswith(rest)
        return ([Leak(name, {}, "", start, len(text), "react", cut=True)] if cut else []), named.end()
    begin = past(NOISE, text, given.end())
    read = source.value(begin)
    if read is not None:
        return json.with_arguments(source, name, read, start, begin, "react")
    end = text.find("\n", given.end())
    line = text[given.end() : end if end >= 0 else len(text)].strip()
    stop = given.end() + len(line)
    return [Leak(name, line or {}, line, start, stop, "react", cut=not line and stop >= len(text.rstrip()))], stop


def text_arguments(source: CallReader, name: str, start: int, at: int, closing: re.Pattern[str], call_id: str) -> Read:
    """Arguments as text in a separate element: `<tool_input>Oslo</tool_input>`."""
    ended = closing.search(source.text, at, at + _LONGEST_TEXT)
    stop = ended.start() if ended else min(at + _LONGEST_TEXT, len(source.text))
    raw = source.text[at:stop].strip()
    closed = CLOSE.match(source.text, ended.end()) if ended else None
    last = closed.end() if closed else ended.end() if ended else stop
    return [Leak(name, raw or {}, raw, start, last, "react", id=call_id, cut=ended is None)], last
