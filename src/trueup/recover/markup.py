"""Values written as tags: parameter tags of a tool call, and XML elements named after the schema's keys.

A text and the known keys enter; candidates leave. Tags are read once, left to right, with a bounded stack.
"""

import html
import re
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.grammar import fold

_PARAMETER = re.compile(
    r"<[｜|\w]{0,12}?(?:parameter|param|arg|argument)(?:\s+name\s*=\s*[\"']?|=)([\w.\-]{1,80})[\"']?[^<>\n]{0,80}>"
)
_PARAMETER_END = re.compile(r"</[｜|\w]{0,12}?(?:parameter|param|arg|argument)>")
_ARG_PAIR = re.compile(r"<arg_key>\s*([^<>\n]{1,80}?)\s*</arg_key>\s*<arg_value>")
_ARG_END = re.compile(r"</arg_value>")
_INVOKE = re.compile(r"<[｜|\w]{0,12}?(?:invoke\b[^<>\n]{0,120}|function=[^<>\n]{1,80}|tool_call)>")
_TAG = re.compile(r"<(/?)([^\W\d][\w:.\-]{0,79})((?:\s[^<>]{0,400})?)(/?)>")
_MAX_DEPTH = 32


def parameters(text: str) -> list[Candidate]:
    """One candidate for each tool call that gives its arguments as parameter tags."""
    if "<" not in text:
        return []
    starts = [m.start() for m in _INVOKE.finditer(text)]
    groups: dict[int, list[tuple[str, str, int, int]]] = {}
    for opening, ending in ((_PARAMETER, _PARAMETER_END), (_ARG_PAIR, _ARG_END)):
        at = 0
        while found := opening.search(text, at):
            closed = ending.search(text, found.end())
            stop, at = (closed.start(), closed.end()) if closed else (len(text), len(text))
            group = max((s for s in starts if s <= found.start()), default=-1) if len(starts) < 200 else -1
            groups.setdefault(group, []).append((found[1], text[found.end() : stop], found.start(), at))
    out = []
    for members in groups.values():
        value = {key: _text_value(raw) for key, raw, _, _ in members}
        span = (members[0][2], members[-1][3])
        out.append(Candidate(value, [span], [("F005", *span, "", None)], "tags"))
    return out


def _text_value(raw: str) -> Any:
    return html.unescape(raw).strip() if "&" in raw else raw.strip()


class _Element:
    __slots__ = ("children", "end", "name", "start", "text_start")

    def __init__(self, name: str, start: int, text_start: int) -> None:
        self.name = name
        self.start = start
        self.text_start = text_start
        self.end = -1
        self.children: list[_Element] = []


def elements(text: str, known: frozenset[str]) -> list[Candidate]:
    """A candidate for each group of sibling elements that are named after known keys."""
    if "</" not in text or not known:
        return []
    folded = {fold(key): key for key in known}
    root = _tree(text)
    out: list[Candidate] = []
    stack = [root]
    while stack:
        element = stack.pop()
        named = [child for child in element.children if fold(child.name) in folded]
        if named:
            span = (named[0].start, named[-1].end)
            if element is not root and element.end > 0:
                span = (element.start, element.end)
            out.append(Candidate(_value(text, element, folded, 0), [span], [("F004", *span, "", None)], "tags"))
        else:
            stack.extend(reversed(element.children))
    out.sort(key=lambda c: c.spans[0])
    return out


def _tree(text: str) -> _Element:
    """The elements of a text; closers without an opener are passed over, unclosed elements are lifted away."""
    root = _Element("", 0, 0)
    stack = [root]
    names = {"": 1}
    for tag in _TAG.finditer(text):
        closing, name, _, empty = tag.groups()
        if not closing:
            element = _Element(name, tag.start(), tag.end())
            stack[-1].children.append(element)
            if empty:
                element.end = tag.end()
            elif len(stack) < _MAX_DEPTH:
                stack.append(element)
                names[name] = names.get(name, 0) + 1
        elif names.get(name):
            while True:
                element = stack.pop()
                names[element.name] -= 1
                if element.name == name:
                    element.end = tag.end()
                    break
                stack[-1].children.extend(element.children)
                element.children = []
    for element in reversed(stack[1:]):
        element.end = len(text)
    return root


def _value(text: str, element: _Element, folded: dict[str, str], depth: int) -> Any:
    """An element as a value: an object of named children, a list of repeated ones, or its text."""
    children = [child for child in element.children if child.end > 0]
    named = [child for child in children if fold(child.name) in folded]
    if named and depth < _MAX_DEPTH:
        out: dict[str, Any] = {}
        for child in named:
            key = child.name if child.name in folded.values() else folded[fold(child.name)]
            value = _value(text, child, folded, depth + 1)
            if key in out:
                out[key] = [*out[key], value] if isinstance(out[key], list) else [out[key], value]
            else:
                out[key] = value
        return out
    if children and depth < _MAX_DEPTH and len({child.name for child in children}) == 1:
        return [_value(text, child, folded, depth + 1) for child in children]
    raw = text[element.text_start : element.end]
    close = raw.rfind("</")
    return _text_value(raw[:close] if close >= 0 else raw)
