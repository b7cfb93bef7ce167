"""Calls written as tags: `<invoke name="f">` and `<function=f>` with parameter tags, keys and values, or elements.

A text and the offset behind the name enter; the arguments as text and where they end leave. A value ends at a closing
tag behind which the call goes on, so a closing tag that stands inside a value does not end it.
"""

import html
import re
from typing import Any, NamedTuple

from trueup.recover.calls.marks import (
    ARG_EDGE,
    ARG_NEXT,
    ARG_PAIR,
    CALL_NEXT,
    ELEMENT,
    PARAMETER,
    PARAMETER_EDGE,
    PARAMETER_NEXT,
    TAG_CLOSE,
)
from trueup.recover.json.clean import decode

_STRING = re.compile(r"\bstring\s*=\s*[\"']?(true|false)", re.IGNORECASE)


NOT_JSON: Any = object()


class Tagged(NamedTuple):
    """Arguments read from tags: where they end, whether the text ended inside one, whether the call was closed."""

    arguments: dict[str, Any]
    stop: int
    cut: bool
    closed: bool


_ATTRIBUTE = re.compile(r"\s*([^\W\d][\w.-]{0,79})\s?=\s?(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>/=]{1,200}))")
_OWN = frozenset({"id", "type", "index", "call_id", "tool_call_id", "server", "xmlns"})


_XTML_HEAD = re.compile(r"\"[^<>\n]{0,80}<\|sep\|>")
_XTML_KEY = re.compile(r"\s*<\|open\|>argument key=\"([^\"\n]{1,120})\"(?: type=\"(\w{1,20})\")?<\|sep\|>")
_XTML_END = re.compile(r"<\|close\|>argument<\|sep\|>(?=\s*(?:\Z|<\|open\|>argument|<\|close\|>call))")
_XTML_CLOSE = re.compile(r"\s*<\|close\|>call<\|sep\|>(?:\s*<\|close\|>\w{1,20}<\|sep\|>)*")


class Typed(str):
    """A value that the dialect itself says is text."""

    __slots__ = ()


def parameters(text: str, at: int) -> Tagged | None:
    """Parameter tags from here on; None where none stands."""
    arguments: dict[str, Any] = {}
    cut = False
    while found := PARAMETER.match(text, at):
        start = found.end()
        stop, at, cut = _value_end(text, start, PARAMETER_EDGE, PARAMETER_NEXT)
        arguments[found[1]] = _typed(_trimmed(text[start:stop]), found[2])
        if cut:
            return Tagged(arguments, at, True, False)
    return _ended(text, at, arguments) if arguments else None


def pairs(text: str, at: int) -> Tagged | None:
    """`<arg_key>a</arg_key><arg_value>1</arg_value>` from here on; None where none stands."""
    arguments: dict[str, Any] = {}
    while found := ARG_PAIR.match(text, at):
        start = found.end()
        stop, at, cut = _value_end(text, start, ARG_EDGE, ARG_NEXT)
        arguments[found[1]] = _trimmed(text[start:stop])
        if cut:
            return Tagged(arguments, at, True, False)
    return _ended(text, at, arguments) if arguments else None


def elements(text: str, at: int) -> Tagged | None:
    """`<a>1</a><b>x</b>` from here on; None where none stands."""
    arguments: dict[str, Any] = {}
    while found := ELEMENT.match(text, at):
        closing = f"</{found[1]}>"
        stop = text.find(closing, found.end())
        if stop < 0:
            arguments[found[1].rpartition(":")[2]] = _trimmed(text[found.end() :])
            return Tagged(arguments, len(text), True, False)
        raw = _trimmed(text[found.end() : stop])
        arguments[found[1].rpartition(":")[2]] = html.unescape(raw) if "&" in raw else raw
        at = stop + len(closing)
    return _ended(text, at, arguments) if arguments else None


def attributes(text: str, at: int) -> tuple[dict[str, Any], int]:
    """`a="1" b='x'`: the arguments that stand inside a tag, and where they end.

    >>> attributes(' city="Oslo" days=3/>', 0)
    ({'city': 'Oslo', 'days': '3'}, 19)
    """
    arguments: dict[str, Any] = {}
    while found := _ATTRIBUTE.match(text, at):
        raw = next(piece for piece in (found[2], found[3], found[4]) if piece is not None)
        if found[1] not in _OWN:
            arguments[found[1]] = html.unescape(raw) if "&" in raw else raw
        at = found.end()
    return arguments, at


def xtml(text: str, at: int) -> Tagged | None:
    """Arguments as Kimi K3 marks them, from behind the name on; None where the name is not closed."""
    named = _XTML_HEAD.match(text, at)
    if named is None:
        return None
    arguments: dict[str, Any] = {}
    at = named.end()
    while found := _XTML_KEY.match(text, at):
        edge = _XTML_END.search(text, found.end())
        raw = text[found.end() : edge.start() if edge else len(text)]
        value = json_value(raw) if found[2] != "string" else NOT_JSON
        arguments[found[1]] = Typed(raw) if value is NOT_JSON else value
        if edge is None:
            return Tagged(arguments, len(text), True, False)
        at = edge.end()
    closing = _XTML_CLOSE.match(text, at)
    return Tagged(arguments, closing.end() if closing else at, closing is None, closing is not None)


def _ended(text: str, at: int, arguments: dict[str, Any]) -> Tagged:
    closing = TAG_CLOSE.match(text, at)
    return Tagged(arguments, closing.end() if closing else at, False, closing is not None)


def _value_end(text: str, start: int, edges: re.Pattern[str], following: re.Pattern[str]) -> tuple[int, int, bool]:
    """Where a value ends, where to read on, and whether the text ended first."""
    for edge in edges.finditer(text, start):
        kind = edge.lastgroup
        if kind == "end" and following.match(text, edge.end()):
            return edge.start(), edge.end(), False
        if kind == "next":
            return edge.start(), edge.start(), False
        if kind == "close" and CALL_NEXT.match(text, edge.end()):
            return edge.start(), edge.start(), False
    return len(text), len(text), True


def _trimmed(raw: str) -> str:
    """A value without the line breaks that set it off from its tags; a short one without any space around it."""
    if "\n" not in raw.strip():
        return raw.strip()
    return raw.removeprefix("\n").removesuffix("\n")


def _typed(raw: str, attributes: str) -> Any:
    """The value as DSML says it is: text, or JSON."""
    said = _STRING.search(attributes) if attributes else None
    if said is None:
        return raw
    if said[1].lower() == "true":
        return Typed(raw)
    found = json_value(raw)
    return raw if found is NOT_JSON else found


def json_value(raw: str) -> Any:
    """The value that a text is as JSON, or NOT_JSON.

    >>> json_value("[1]"), json_value("Oslo") is NOT_JSON
    ([1], True)
    """
    try:
        return decode(raw)
    except (ValueError, RecursionError):
        return NOT_JSON
