"""Reads the body of a sign, which follows a mark or starts a line, with the reader for its kind.

Takes the offset of a sign; returns the calls that directly follow it and the offset after the text that was read. Only
offered names make a call; everything else is skipped.
"""

import re

from trueup.recover.calls import dialects, json, lines, python, tags
from trueup.recover.calls.json import Read
from trueup.recover.calls.source import CallReader, past
from trueup.recover.calls.values import Leak
from trueup.recover.json.parser import MOST_CALLS, TooMany
from trueup.verdict.patterns import lazy_regex

_ALONE = lazy_regex(rf"{dialects.NAME}(?=[ \t]*\r?\n?[ \t]*\{{)")
_LOOSE = frozenset({"S014", "S015", "S031"})
_CHANNEL = lazy_regex(r"(?:<\|start\|>assistant\s?)?(?:<\|channel\|>)?(?:\b(?:commentary|analysis|final))?[ \t]*\Z")
# Languages of code blocks, which are not names of tools.
_LANGUAGES = frozenset(
    "json jsonc json5 xml yaml python py javascript js typescript ts bash sh text txt markdown".split()
)
_PARALLEL = "multi_tool_use.parallel"


def mark_body(source: CallReader, start: int, stop: int) -> Read:
    """The calls after a mark; a tag may also be the name of a tool."""
    read = after_mark(source, start, stop)
    if not read[0] and (named := dialects.COLON_TAG.fullmatch(source.text, start, stop)) and source.offered(named[1]):
        read = tags.tag_body(source, named[1], start, stop)
    if not read[0] and source.text[start - 1 : start] in ("", "\n"):  # a tool whose name looks like a mark
        read = tags.tool_element(source, start)
    return read


def after_mark(source: CallReader, start: int, at: int, dialect: str = "tool_call") -> Read:
    """Every call that directly follows a mark, one after the other."""
    leaks: list[Leak] = []
    while True:
        opened = at
        at = past(dialects.NOISE, source.text, at)
        read = _one(source, start, at, dialect)
        if read is None:
            return leaks, opened if leaks else at
        if not read[0]:
            return leaks, read[1]
        leaks += read[0]
        if len(leaks) > MOST_CALLS:
            raise TooMany("calls", MOST_CALLS)
        start = read[1]
        at = past(dialects.BETWEEN, source.text, start)


def _one(source: CallReader, start: int, at: int, dialect: str) -> Read | None:
    """The call, or the list of calls, that starts here."""
    text = source.text
    if at >= len(text) or dialects.RESULT.match(text, at):
        return None
    layered = python.LAYERED.match(text, at)
    if layered and not python.LISTED.match(text, at):
        return _layered(source, start, at, dialect)
    if text[at] in "{[" and not layered:
        return lines.arrowed(source, start, at, dialect) or json.calls_at(source, start, at, dialect)
    if text[at] == "<":
        inner = tags.name_element(source, start, at) or tags.tool_element(source, at)
        return inner if inner[0] else None
    if layered or python.CALL.match(text, at):
        return python.calls_at(source, start, at, dialect)
    named = dialects.NAMED.match(text, at)
    read = _named(source, start, named, dialect) if named else None
    return read or lines.fields(source, start, at, dialect)


def _layered(source: CallReader, start: int, at: int, dialect: str) -> Read:
    """Python calls inside quotes or several brackets; JSON strings are read as JSON."""
    value = source.value(at) if python.QUOTED_LIST.match(source.text, at) else None
    read = python.quoted(source, value, start, at, dialect) if value else ([], at)
    return read if read[0] else python.calls_at(source, start, at, dialect)


def _named(source: CallReader, start: int, named: re.Match[str], dialect: str) -> Read | None:
    """A name, then its arguments: as JSON, in Gemma's format, as keys and values, or none."""
    text = source.text
    name = source.own(named[3])
    at = past(dialects.NOISE, text, named.end())
    if text.startswith((":", ","), at) and text.startswith("{", body := past(dialects.NOISE, text, at + 1)):
        at = body
    if name == _PARALLEL:
        return json.calls_at(source, start, at, dialect)
    if not source.offered(name):
        return None
    found = dialects.CALL_ID.search(text, named.end(), at)
    call_id = found[1] if found else named[2] if named[4] else ""
    if text.startswith("{", at):
        value = json.gemma(source, at) if named[1] else source.value(at)
        return json.with_arguments(source, name, value, start, at, dialect, call_id=call_id)
    tagged = tags.parameters(text, at)
    if tagged is not None:
        return tags.tagged_call(source, name, tagged, start, at, "glm")
    closing = dialects.CLOSE.match(text, past(dialects.NO_ARGUMENTS, text, named.end()))
    if closing is None and at < len(text):
        given, stop = tags.attributes(text, named.end())
        ended = dialects.CLOSE.match(text, stop) if given else None
        if ended:
            raw = text[named.end() : stop]
            return [Leak(name, given, raw, start, ended.end(), dialect, id=call_id, untyped=True)], ended.end()
        return lines.named_fields(source, name, start, named.end(), dialect, call_id)
    wrapped = dialects.WRAP_OPEN.match(text, closing.end()) if closing else None
    if wrapped:
        return _wrapped(source, name, start, wrapped.end(), dialect, call_id)
    stop = closing.end() if closing else len(text)
    return [Leak(name, {}, "", start, stop, dialect, id=call_id, cut=closing is None)], stop


def _wrapped(source: CallReader, name: str, start: int, at: int, dialect: str, call_id: str) -> Read:
    """`<tool>f</tool><tool_input>…</tool_input>`: the arguments in a separate element."""
    read = source.value(at)
    if read is None:
        return lines.text_arguments(source, name, start, at, dialects.WRAP_CLOSE, call_id)
    ended = dialects.WRAP_CLOSE.match(source.text, read.stop)
    read = read._replace(stop=ended.end()) if ended else read
    return json.with_arguments(source, name, read, start, at, dialect, call_id=call_id)


def addressed(source: CallReader, start: int, at: int) -> Read:
    """`to=functions.f … {…}`, gpt-oss's format for a call; it starts at the channel if one is named."""
    text = source.text
    address = dialects.ADDRESS.match(text, at)
    if address is None:
        return [], at
    name = address[0] if source.offered(address[0]) else address[0].removesuffix("json")
    if name != _PARALLEL and not source.offered(name):
        return [], address.end()
    rest = dialects.ADDRESS_REST.match(text, address.end())
    if rest is None:
        return [], address.end()
    channel = _CHANNEL.search(text, max(0, start - 80), start)
    start = channel.start() if channel else start
    if name == _PARALLEL:
        return json.calls_at(source, start, rest.end(), "harmony")
    if text.startswith("<|call|>", rest.end()):
        stop = source.closed(rest.end())
        return [Leak(name, {}, "", start, stop, "harmony")], stop
    if rest.end() >= len(text):
        leak = Leak(name, {}, "", start, rest.end(), "harmony", cut=True)
        return ([leak] if "<|" in rest[1] else []), rest.end()
    return json.with_arguments(source, name, source.value(rest.end()), start, rest.end(), "harmony")


def unmarked(source: CallReader, at: int, *, inline: bool = False) -> Read:
    """A call on a line that starts here: JSON, Python, a name before its JSON, or an element named like the tool."""
    text = source.text
    if text[at] == "[" and not inline and python.LAYERED.match(text, at):
        return (
            python.calls_at(source, at, at) if python.LISTED.match(text, at) else _layered(source, at, at, "pythonic")
        )
    if text[at] in "{[":
        return json.unmarked(source, at, inline=inline)
    if inline:
        return [], at
    if text[at] == "<":
        return tags.tool_element(source, at)
    coded = lines.CODED.match(text, at)
    if coded is not None:
        return lines.coded(source, coded)
    found = _ALONE.match(text, at)
    if found is None:
        return python.calls_at(source, at, at)
    if (text[at - 1 : at] == "`" and found[0] in _LANGUAGES) or not source.offered(found[0]):
        return [], found.end()
    begin = past(dialects.BETWEEN, text, found.end())
    read = source.value(begin)
    if read is None or not _LOOSE.isdisjoint(record[0] for record in read.records):
        return [], found.end()  # a style sheet, a block of code
    return json.with_arguments(source, found[0], read, at, begin, "name")
