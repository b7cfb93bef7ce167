"""The rest of a reply with calls in its text: the text for the user, and the other fields of an object that contains
calls.

Takes a verdict; returns the text without the calls, and those fields. Calls may be in an envelope, in tags, in a fence
or in plain JSON; the marks around them are removed as well. This module judges nothing.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.codec import decode
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.verdict import Verdict

Span = tuple[int, int]
_WRAPPERS = r"(?:function_calls?|tool_calls?|tool_use|tools|tool|calls?|invoke|json)"
_OPENS = lazy_regex(rf"(?:```[\w-]*[ \t]*|<{_WRAPPERS}>|\[TOOL_CALLS\]|\ufeff)\Z", re.IGNORECASE)
_CLOSES = lazy_regex(rf"(?:\s*(?:```|</{_WRAPPERS}>))+", re.IGNORECASE)
_TAG = lazy_regex(r"<([A-Za-z][\w-]{0,60})>\Z")
_INSIDE = lazy_regex(r"""\{[^{}]*["']\w+["']\s*:\s*\Z""")
_LONGEST_MARK = 80
_NEAR = 2_000  # characters in which an object may start before its calls
_DEPTH = 100


class RestOfReply(NamedTuple):
    """The text for the user, and the other fields of the objects that contain calls."""

    text: str
    fields: dict[str, Any]


def is_written(verdict: Verdict) -> bool:
    """Whether the text of a reply contains calls, and so is not only text for the user."""
    calls = (*verdict.calls, *(refusal.call for refusal in verdict.refused))
    return any(call.origin != "native" for call in calls)


def beside(verdict: Verdict, read: Callable[[str], dict[str, Any] | None] | None = None) -> RestOfReply:
    """The text of a reply next to its calls; `read` may find an object with text and fields between them.

    >>> from trueup import Contract
    >>> ping = Contract(tools=[{"name": "ping", "parameters": {"type": "object"}}])
    >>> beside(
    ...     ping.check('```json\\n{"toolCalls": [{"name": "ping", "arguments": {}}], "content": "One moment."}\\n```')
    ... )
    RestOfReply(text='One moment.', fields={})
    >>> beside(ping.check('Wait. <tool_call>{"name": "ping", "arguments": {}}</tool_call> Thanks.')).text
    'Wait. Thanks.'
    """
    if not is_written(verdict):
        return RestOfReply(verdict.reply.text, {})
    text = verdict.reply.text
    fields: dict[str, Any] = {}
    parts: list[str] = []

    def take(said: dict[str, Any]) -> None:
        found = parted(said)
        fields.update(found.fields)
        parts.append(found.text)

    def take_words(words: str) -> None:
        said = None if read is None else read(words)
        if said is None:
            parts.append(words)
        else:
            take(said)

    at = 0
    for (start, stop), said in held(verdict).items():
        words, at = _unwrapped(text, at, start, stop)
        take_words(words)
        take(said)
    take_words(text[at:])
    first = parts[0] if parts[0].strip() else ""  # a stream may have shown its start
    return RestOfReply(first[: len(first) - len(first.lstrip())] + _joined(parts), fields)


def held(verdict: Verdict) -> dict[Span, dict[str, Any]]:
    """The places of calls in the text, in order, with the other fields of the objects there."""
    found: dict[Span, dict[str, Any]] = {}
    calls = (*verdict.calls, *(refusal.call for refusal in verdict.refused))
    names = {call.name for call in calls} | {fix.before for fix in verdict.fixes if fix.code == "K002"}
    text, end = verdict.reply.text, 0
    for span in sorted({fix.span for fix in verdict.fixes if fix.code == "K001" and fix.span is not None}):
        if span[1] > end:
            whole, said = _said(text, span, names)
            found[max(whole[0], end), whole[1]] = said
            end = whole[1]
    return found


def _said(text: str, span: Span, names: set[str]) -> tuple[Span, dict[str, Any]]:
    """The place of an object that contains calls, and its other fields; None if the text there is not such an object."""
    start, stop = span
    if text[start] == '"':  # the object is the content of a JSON string
        return span, _said(inner, (0, len(inner)), names)[1] if (inner := _inner(text[start:stop])) else {}
    behind_key = (
        text[max(0, start - 20) : start].rstrip().endswith(":")
    )  # only the list of calls was read, not the object around it
    inside = _INSIDE.search(text, max(0, start - _NEAR), start) if behind_key else None
    begin = text.find("{", start, stop) if inside is None else inside.start()
    if begin < 0:
        return span, {}
    from trueup.recover.calls.values import calls_in
    from trueup.recover.calls.values import (
        other_fields as around,  # the dialects are loaded only if one was used
    )
    from trueup.recover.json.parser import Parser, TooDeep, TooMany

    try:
        read = Parser(text, begin, len(text) if inside else stop, frozenset(), _DEPTH).read()
    except (TooDeep, TooMany):
        return span, {}
    said = next(calls_in(read.value, names.__contains__), None)
    if said is None or (inside and read.end < stop):
        return span, {}
    if text[read.end : stop].lstrip().startswith("{"):  # the next object is not part of this one
        stop = read.end
    return (min(start, begin), max(stop, read.end)), around(read.value, said)


def parted(said: dict[str, Any]) -> RestOfReply:
    """The text of an envelope, and its fields except the text and the calls.

    >>> parted({"content": "Hello", "toolCalls": None, "mood": "kind"})
    RestOfReply(text='Hello', fields={'mood': 'kind'})
    """
    content = said.get("content")
    text = content if isinstance(content, str) else ""
    gone = {"toolCalls", "content"} if isinstance(content, str | None) else {"toolCalls"}
    return RestOfReply(text, {key: value for key, value in said.items() if key not in gone})


def without_calls(text: str) -> str:
    """A text without anything that is written as a call, whether or not a tool of that name exists.

    >>> without_calls('On it. <tool_call>{"name": "launch", "arguments": {}}</tool_call> Done (see f(x)).')
    'On it. Done (see f(x)).'
    """
    from trueup.recover.calls.search import CallText  # the dialects are loaded only if one may be used
    from trueup.recover.json.parser import TooMany

    try:
        leaks = [
            leak for leak in CallText(text).calls(_is_any) if _is_formal(leak.dialect, text[leak.start : leak.stop])
        ]
    except TooMany:
        return ""
    parts: list[str] = []
    at = 0
    for leak in leaks:
        words, at = _unwrapped(text, at, leak.start, leak.stop)
        parts.append(words)
    return _joined([*parts, text[at:]]) if leaks else text


def _is_any(name: str) -> bool:
    return bool(name)


def _is_formal(dialect: str, raw: str) -> bool:
    """Whether a call is written in a form for calls; a line of code or a word after a mark may be text for the user."""
    return dialect != "pythonic" and any(sign in raw for sign in "{<")


def _inner(text: str) -> str:
    """The content of a JSON string that represents an object; empty if it does not."""
    try:
        inner = decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return ""
    return inner if isinstance(inner, str) and inner[:1] in ("{", "[") else ""


def _unwrapped(text: str, at: int, start: int, stop: int) -> tuple[str, int]:
    """The text from `at` up to a call, and the start of the text after it; the marks around the call belong to neither."""
    words = text[at:start]
    closed = _CLOSES.match(text, stop)
    at = max(at, closed.end() if closed else stop)
    end = len(words)
    while (mark := _last(_OPENS, words, end)) is not None:
        end = mark.start()
    tag = _last(_TAG, words, end)
    after = None if tag is None else re.compile(rf"\s*</{tag[1]}>").match(text, at)
    return (words[:end], at) if tag is None or after is None else (words[: tag.start()], after.end())


def _last(mark: re.Pattern[str], text: str, end: int) -> "re.Match[str] | None":
    """The mark at the end of a text up to `end`, ignoring spaces; searched only over the length of a mark."""
    while end and text[end - 1].isspace():
        end -= 1
    return mark.search(text, max(0, end - _LONGEST_MARK), end)


def _joined(parts: list[str]) -> str:
    """Pieces of a text, with one space or line break between them where a call was removed."""
    out: list[str] = []
    for part in filter(None, parts):
        if out and part[0].isspace():
            out[-1] = out[-1].rstrip(" ")
        elif out and not out[-1][-1:].isspace():
            out.append(" ")
        out.append(part)
    return "".join(out).strip()
