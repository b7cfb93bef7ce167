"""Reads calls written as tags: `<invoke name="f">` and `<function=f>` with parameter tags, keys and values, or elements.

Takes the offset of a tag; returns its call, with the arguments as text, and its end. A value ends at a closing tag after
which the call continues, so a closing tag inside a value does not end it.
"""

import html
import re
from typing import Any, NamedTuple

from trueup.recover.calls import dialects, json, lines
from trueup.recover.calls.json import Read
from trueup.recover.calls.source import NOT_JSON, CallReader, json_value, past
from trueup.recover.calls.values import Leak, TextValue
from trueup.verdict.patterns import lazy_regex

_STRING = lazy_regex(r"\bstring\s*=\s*[\"']?(true|false)", re.IGNORECASE)
_ATTRIBUTE = lazy_regex(r"\s*([^\W\d][\w.-]{0,79})\s?=\s?(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>/=]{1,200}))")
_OWN = frozenset({"id", "type", "index", "call_id", "tool_call_id", "server", "xmlns"})
_XTML_HEAD = lazy_regex(r"\"[^<>\n]{0,80}<\|sep\|>")
_XTML_KEY = lazy_regex(r"\s*<\|open\|>argument key=\"([^\"\n]{1,120})\"(?: type=\"(\w{1,20})\")?<\|sep\|>")
_XTML_END = lazy_regex(r"<\|close\|>argument<\|sep\|>(?=\s*(?:\Z|<\|open\|>argument|<\|close\|>call))")
_XTML_CLOSE = lazy_regex(r"\s*<\|close\|>call<\|sep\|>(?:\s*<\|close\|>\w{1,20}<\|sep\|>)*")
_BLANK = lazy_regex(r"\s*")
_ELEMENT = lazy_regex(r"<([^\W\d][\w.\-]{0,119})(?:>|(?=\s?/>|\s[^\W\d][\w.-]{0,79}\s?=))\s*")
_NEAR, _NEAR_END = 200, 80


class TagArguments(NamedTuple):
    """Arguments read from tags: their end, whether the text ended inside one, whether the call was closed."""

    arguments: dict[str, Any]
    stop: int
    cut: bool
    closed: bool


def named_tag(source: CallReader, start: int, at: int) -> Read:
    """`<invoke name="f">` or `<function=f>`: parameter tags, JSON, or elements up to the closing tag."""
    text = source.text
    slip = dialects.TAG_SLIP.match(text, at)
    if slip is not None and source.offered(source.own(slip[1])):
        value = source.value(slip.end())
        leaks, stop = json.with_arguments(source, source.own(slip[1]), value, start, slip.end(), "tag")
        stop = source.closed(past(dialects.TAG_SLIP_END, text, stop))
        return [leak._replace(stop=stop) for leak in leaks], stop
    found = dialects.TAG_NAME.match(text, at)
    if found is None or not source.offered(source.own(found[1])):
        return [], at
    name = source.own(found[1])
    at = found.end()
    given = attributes(found[2], 0)[0] if found[2] else {}
    closing = None if found[3] or not given else dialects.TAG_CLOSE.match(text, at)
    if found[3] or closing:
        stop = closing.end() if closing else at
        return [Leak(name, given, found[2], start, stop, "tag", untyped=True)], stop
    return tag_body(source, name, start, at)


def tag_body(source: CallReader, name: str, start: int, at: int) -> Read:
    """The call of a name whose arguments follow its tag."""
    text = source.text
    wrapped = dialects.WRAP_OPEN.match(text, at)
    begin = wrapped.end() if wrapped else past(dialects.BETWEEN, text, at)
    ended = dialects.WRAP_CLOSE.match(text, begin) if wrapped else dialects.TAG_CLOSE.match(text, at)
    if ended:
        return [Leak(name, {}, "", start, source.closed(ended.end()), "tag")], ended.end()
    read = source.value(begin)
    if read is not None:
        stop = text.find(">", read.stop) + 1 if wrapped and text.startswith("</", read.stop) else read.stop
        leaks, stop = json.with_arguments(source, name, read._replace(stop=stop), start, begin, "tag")
        return [leaks[0]._replace(raw=text[begin : read.stop])], stop
    tagged = parameters(text, begin) or elements(text, begin)
    if tagged is not None:
        return tagged_call(source, name, tagged, start, begin, "tag")
    if begin < len(text) and not _is_cut(text, begin):
        fields = lines.lines_at(source, begin)
        return ([], begin) if fields is None else json.with_arguments(source, name, fields, start, begin, "tag")
    return [Leak(name, {}, "", start, len(text), "tag", cut=True)], len(text)


def tagged_call(source: CallReader, name: str, tagged: TagArguments, start: int, at: int, dialect: str) -> Read:
    """The call of a name whose arguments were read from tags."""
    text = source.text
    stop = source.closed(tagged.stop)
    following = past(_BLANK, text, tagged.stop)
    more = not tagged.closed and (dialects.MORE.match(text, following) is not None or _is_cut(text, tagged.stop))
    is_open = not tagged.closed and following >= len(text)
    raw = text[at : tagged.stop]
    leak = Leak(name, tagged.arguments, raw, start, stop, dialect, untyped=True, cut=tagged.cut or more, open=is_open)
    return [leak], stop


def xtml(source: CallReader, start: int, at: int) -> Read:
    """`<|open|>call tool="f" …<|sep|>`: Kimi K3's format."""
    text = source.text
    named = dialects.ADDRESS.match(text, at)
    if named is None or not source.offered(named[0]):
        return [], at
    tagged = _xtml_arguments(text, named.end())
    if tagged is None:
        cut = len(text) - named.end() <= _NEAR_END
        return ([Leak(named[0], {}, "", start, len(text), "xtml", cut=True)] if cut else []), named.end()
    raw = text[named.end() : tagged.stop]
    leak = Leak(named[0], tagged.arguments, raw, start, tagged.stop, "xtml", untyped=True, cut=tagged.cut)
    return [leak], tagged.stop


def name_element(source: CallReader, start: int, at: int) -> Read | None:
    """`<tool_name>f</tool_name>`, then the arguments in a separate element."""
    found = dialects.ELEMENT_NAME.match(source.text, at)
    if found is None or not source.offered(found[1]):
        return None
    return tag_body(source, found[1], start, found.end())


def tool_element(source: CallReader, at: int) -> Read:
    """`<f><a>1</a></f>`: an element with exactly the name of an offered tool, with elements or JSON inside."""
    text = source.text
    found = _ELEMENT.match(text, at)
    if found is None or not source.offered(found[1]):
        return [], at + 1
    bare = _bare_element(source, found, at)
    if bare is not None or not found[0].rstrip().endswith(">"):
        return bare or ([], found.end())
    read = source.value(found.end())
    tagged = (parameters(text, found.end()) or elements(text, found.end())) if read is None else None
    inner = read.stop if read else tagged.stop if tagged else -1
    closing = f"</{found[1]}>"
    end = past(_BLANK, text, max(inner, 0))
    cut = end >= len(text) or _is_cut(text, end)
    if inner < 0 or not (text.startswith(closing, end) or cut):
        return [], found.end()
    stop = len(text) if cut else end + len(closing)
    raw = text[found.end() : inner]
    if read:
        return [Leak(found[1], read.value, raw, at, stop, "element", read.records, cut=cut or read.cut)], stop
    arguments = tagged.arguments if tagged else {}
    return [Leak(found[1], arguments, raw, at, stop, "element", untyped=True, cut=cut)], stop


def _bare_element(source: CallReader, found: re.Match[str], at: int) -> Read | None:
    """`<f a="1"/>`, `<f></f>`: an element with its arguments inside its tag, or without any."""
    begin = found.end(1)
    given, stop = attributes(source.text, begin)
    closing = re.compile(rf"\s?(?:/>|>\s{{0,9}}</{re.escape(found[1])}>)").match(source.text, stop)
    if closing is None or not (given or not found[1].isalpha() or source.only(at, closing.end())):
        return None
    raw = source.text[begin:stop]
    return [Leak(found[1], given, raw, at, closing.end(), "element", untyped=True)], closing.end()


def _is_cut(text: str, at: int) -> bool:
    """Whether the text ends inside a tag: `<param`, `<parameter=ci`, `</func`."""
    rest = text[at : at + _NEAR].lstrip()
    return len(text) - at < _NEAR and rest.startswith("<") and ">" not in rest


# -- arguments -----------------------------------------------------------------------------------------


def parameters(text: str, at: int) -> TagArguments | None:
    """Parameter tags, or `<arg_key>a</arg_key><arg_value>1</arg_value>`, from here on; None if there are none."""
    paired = dialects.ARG_PAIR.match(text, at) is not None
    key, edges, following = dialects.PAIRS if paired else dialects.PARAMETERS
    arguments: dict[str, Any] = {}
    while found := key.match(text, at):
        start = found.end()
        stop, at, cut = _value_end(text, start, edges, following)
        arguments[found[1]] = _typed(_trimmed(text[start:stop]), "" if paired else found[2])
        if cut:
            return TagArguments(arguments, at, cut=True, closed=False)
    return _ended(text, at, arguments) if arguments else None


def elements(text: str, at: int) -> TagArguments | None:
    """`<a>1</a><b>x</b>` from here on; None if there is none."""
    arguments: dict[str, Any] = {}
    while found := dialects.ELEMENT.match(text, at):
        closing = f"</{found[1]}>"
        stop = text.find(closing, found.end())
        if stop < 0:
            arguments[found[1].rpartition(":")[2]] = _trimmed(text[found.end() :])
            return TagArguments(arguments, len(text), cut=True, closed=False)
        raw = _trimmed(text[found.end() : stop])
        arguments[found[1].rpartition(":")[2]] = html.unescape(raw) if "&" in raw else raw
        at = stop + len(closing)
    return _ended(text, at, arguments) if arguments else None


def attributes(text: str, at: int) -> tuple[dict[str, Any], int]:
    """`a="1" b='x'`: the arguments inside a tag, and their end.

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


def _xtml_arguments(text: str, at: int) -> TagArguments | None:
    """The arguments in Kimi K3's format, from the end of the name on; None if the name is not closed."""
    named = _XTML_HEAD.match(text, at)
    if named is None:
        return None
    arguments: dict[str, Any] = {}
    at = named.end()
    while found := _XTML_KEY.match(text, at):
        edge = _XTML_END.search(text, found.end())
        raw = text[found.end() : edge.start() if edge else len(text)]
        value = json_value(raw) if found[2] != "string" else NOT_JSON
        arguments[found[1]] = TextValue(raw) if value is NOT_JSON else value
        if edge is None:
            return TagArguments(arguments, len(text), cut=True, closed=False)
        at = edge.end()
    closing = _XTML_CLOSE.match(text, at)
    return TagArguments(arguments, closing.end() if closing else at, cut=closing is None, closed=closing is not None)


def _ended(text: str, at: int, arguments: dict[str, Any]) -> TagArguments:
    closing = dialects.TAG_CLOSE.match(text, at)
    return TagArguments(arguments, closing.end() if closing else at, cut=False, closed=closing is not None)


def _value_end(text: str, start: int, edges: re.Pattern[str], following: re.Pattern[str]) -> tuple[int, int, bool]:
    """The end of a value, the offset to continue from, and whether the text ended first."""
    for edge in edges.finditer(text, start):
        kind = edge.lastgroup
        if kind == "end" and following.match(text, edge.end()):
            return edge.start(), edge.end(), False
        if kind == "next":
            return edge.start(), edge.start(), False
        if kind == "close" and dialects.CALL_NEXT.match(text, edge.end()):
            return edge.start(), edge.start(), False
    return len(text), len(text), True


_CDATA = lazy_regex(r"\s*<!\[CDATA\[((?:(?!\]\]>)[\s\S])*)\]\]>\s*")


def _trimmed(raw: str) -> str:
    """A value without the line breaks next to its tags; a value of one line without any space around it."""
    section = _CDATA.fullmatch(raw)
    if section is not None:
        return section[1]
    if "\n" not in raw.strip():
        return raw.strip()
    return raw.removeprefix("\n").removesuffix("\n")


def _typed(raw: str, attributes: str) -> Any:
    """The value with the type that DSML's attributes give: text, or JSON."""
    is_string = _STRING.search(attributes) if attributes else None
    if is_string is None:
        return raw
    if is_string[1].lower() == "true":
        return TextValue(raw)
    value = json_value(raw)
    return raw if value is NOT_JSON else value
