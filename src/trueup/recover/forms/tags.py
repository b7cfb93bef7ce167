"""Reads values written as tags: parameter tags of a tool call, and XML elements or attributes named after the schema's keys.

Takes a text and the known keys; returns candidates. Tags are read once, from left to right, with a bounded stack. An element
that was cut off is read as far as it goes and recorded as cut off. A web page is never read.
"""

import html
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import Place, Wants, by_path, listing
from trueup.recover.forms.outline import KeyFinder, lines_of
from trueup.recover.forms.values import LIST_ONLY, TEXT_ONLY, parts_of_list
from trueup.recover.json.parser import Node, Record
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_NAMED = r"<[｜|\w]{0,12}?(?:parameter|param|arg|argument)(?:\s+name\s*=|=)"
_PARAMETER = lazy_regex(rf"{_NAMED}\s*[\"']?([\w.\-]{{1,80}})[\"']?[^<>\n]{{0,80}}>")
_PARAMETER_END = lazy_regex(
    rf"(</[｜|\w]{{0,12}}?(?:parameter|param|arg|argument)>)|{_NAMED}"
    r"|</[｜|\w]{0,12}?(?:invoke|function|tool_call|function_calls)>"
)
_ARG_PAIR = lazy_regex(r"<arg_key>\s*([^<>\n]{1,80}?)\s*</arg_key>\s*<arg_value>")
_ARG_END = lazy_regex(r"(</arg_value>)|<arg_key>|</tool_call>")
_INVOKE = lazy_regex(r"<[｜|\w]{0,12}?(?:invoke\b[^<>\n]{0,120}|function=[^<>\n]{1,80}|tool_call)>")
_NAME = r"[^\W\d][\w:.\-]{0,79}"
_TAG = lazy_regex(
    rf"<!--[\s\S]*?(?:-->|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<(/?)({_NAME})((?:\s[^<>]{{0,400}}?)?)(/?)>"
)
_TAG_NAME = lazy_regex(rf"<({_NAME})")
_ATTRIBUTED = lazy_regex(rf"<{_NAME}\s[^<>=]{{0,400}}=")
_CDATA = lazy_regex(r"<!\[CDATA\[([\s\S]*?)(?:\]\]>|\Z)|<!--[\s\S]*?(?:-->|\Z)")
_ATTRIBUTE = lazy_regex(rf"({_NAME})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>=]+))")
_PAGE = lazy_regex(r"<!doctype html|<html[\s>]", re.IGNORECASE)
# The same if a field is called `html`.
_WHOLE_PAGE = lazy_regex(r"<!doctype html|<html[^<>]{0,200}>\s*<(?:head|body)[\s>]", re.IGNORECASE)
_STRAY_END = lazy_regex(r"</[^<>\n]{1,80}>\s*\Z")
_CUT_TAG = lazy_regex(r"<[^<>\n]{0,200}\Z")
# Elements that name their field in an attribute.
_CARRIERS = frozenset("field property param entry member attribute column data value item key string int bool".split())
_NAMING = ("name", "key", "id", "field")
_TYPES = frozenset("string str integer int number float boolean bool array list object dict null".split())
_MAX_DEPTH = 32
_SAID = r"(?:<!\[CDATA\[(?:(?!\]\]>|<!\[CDATA)[\s\S])*\]\]>|[^<>])*"
_ITEM = lazy_regex(rf"<([A-Za-z][\w-]{{0,40}})>({_SAID})</\1>\s*")
_ITEMS = lazy_regex(rf"<([A-Za-z][\w-]{{0,40}})>{_SAID}</\1>(?:\s*<\1>{_SAID}</\1>)+")
_OPEN_TAG = lazy_regex(r"<([A-Za-z][\w-]{0,40})>\Z")
# Elements that format text rather than separate items.
_PARAGRAPHS = frozenset("p b i em strong u code span div br h1 h2 h3".split())


# -- parameters of a call --------------------------------------------------------------------------


def parameters(text: str) -> list[Candidate]:
    """One candidate for each tool call with its arguments in parameter tags."""
    if "<" not in text or ("param" not in text and "arg" not in text):
        return []
    starts = [m.start() for m in _INVOKE.finditer(text)]
    calls: dict[int, list[tuple[str, int, int, int, int]]] = {}
    for opening, ending in ((_PARAMETER, _PARAMETER_END), (_ARG_PAIR, _ARG_END)):
        at = 0
        while found := opening.search(text, at):
            closed = ending.search(text, found.end())
            stop = closed.start() if closed else len(text)
            at = closed.end() if closed and closed[1] else stop
            parameter = (found[1], found.start(), found.end(), stop, at if closed else -1)
            calls.setdefault(bisect_right(starts, found.start()), []).append(parameter)
    return [_call(text, given) for given in calls.values()]


def _call(text: str, given: list[tuple[str, int, int, int, int]]) -> Candidate:
    """One call with the given parameters: key, start, start and end of the text, and end; -1 if the end was cut off."""
    value = {key: _plain(text[a:b]) for key, _, a, b, _ in given}
    span = (given[0][1], max(len(text) if end < 0 else end for *_, end in given))
    records: list[Record] = [("F005", *span, "", None)]
    records += [("S028" if value[key] else "S029", b, b, "", (None, key)) for key, _, _, b, end in given if end < 0]
    places: dict[Parts, tuple[int, int]] = {(): span, **{(key,): (a, b) for key, _, a, b, _ in given}}
    return Candidate(value, [span], records, "tags", None, places)


def _plain(raw: str) -> str:
    """The text of an element, without comments and with CDATA and entities decoded."""
    if "<!" in raw:
        pieces: list[str] = []
        at = 0
        for found in _CDATA.finditer(raw):
            pieces += (html.unescape(raw[at : found.start()]), found[1] or "")
            at = found.end()
        return "".join([*pieces, html.unescape(raw[at:])]).strip()
    return html.unescape(raw).strip() if "&" in raw else raw.strip()


# -- elements --------------------------------------------------------------------------------------


def listed(text: str) -> list[Candidate]:
    """The items of a list: elements of one name side by side, alone or inside one other element."""
    run = _ITEMS.search(text)
    if run is None or run[1].lower() in _PARAGRAPHS:
        return []
    before, after = text[: run.start()].rstrip(), text[run.end() :].lstrip()
    outer = _OPEN_TAG.search(before)
    if after and not (outer and after.startswith(f"</{outer[1]}>")):
        return []
    items = list(_ITEM.finditer(text, run.start(), run.end()))
    values, spans = [_plain(item[2]) for item in items], [item.span(2) for item in items]
    return [listing("F004", run.span(), values, spans, "elements")]


def elements(text: str, known: frozenset[str], wants: Wants) -> Iterator[list[Candidate]]:
    """Groups of sibling elements named after known keys; then the same with inner tags kept as text."""
    if "<" not in text or ">" not in text or not known:
        return
    keys = KeyFinder(known)
    if (_PAGE if keys.get("html") is None else _WHOLE_PAGE).search(text):
        return
    root = _Tree(text, keys).read() if _may_match(text, keys) else None
    if root is None:
        return
    reader = _Values(text, keys, wants)
    yield reader.candidates(root)
    if reader.choices:
        reader.raw = True
        yield reader.candidates(root)


def _may_match(text: str, keys: KeyFinder) -> bool:
    """Whether a tag is named after a key, or may name one in an attribute; otherwise no tree is built."""
    names = {found[1] for found in _TAG_NAME.finditer(text)}
    return any(_key(name, keys) is not None for name in names) or _ATTRIBUTED.search(text) is not None


def _key(name: str, keys: KeyFinder) -> str | None:
    """The key for the name of an element, with or without a namespace."""
    return keys.get(name) or keys.get(name.rpartition(":")[2])


class _Element:
    __slots__ = ("attributes", "children", "cut", "end", "mixed", "name", "start", "text_end", "text_start")

    def __init__(self, name: str, start: int, text_start: int, attributes: str) -> None:
        self.name = name
        self.start = start
        self.text_start = self.text_end = text_start
        self.end = -1
        found = _ATTRIBUTE.finditer(attributes) if attributes else ()
        self.attributes = {name: html.unescape(a or b or c) for name, a, b, c in (each.groups() for each in found)}
        self.children: list[_Element] = []
        self.mixed = False  # whether there is text between the children
        self.cut = ""  # the code for ending too early


def _items(text: str) -> list[str]:
    r"""The items in the text of an element: one per line, with or without bullets, or short ones between commas.

    >>> _items("- a\n- b, c"), _items("a, b"), _items("a")
    (['a', 'b, c'], ['a', 'b'], ['a'])
    """
    rows = lines_of(text, 0, len(text))
    if len(rows) > 1 and len({bool(row.bullet) for row in rows}) == 1:
        return [text[row.body_at : row.end].rstrip(",") for row in rows]
    return parts_of_list(text) or ([text] if text else [])


class _Tree:
    """Builds the tree of elements; `read` returns None if it is too deep."""

    def __init__(self, text: str, keys: KeyFinder) -> None:
        self.text = text
        self.keys = keys
        self.root = _Element("", 0, 0, "")
        self.stack = [self.root]
        self.names: dict[str, int] = {}

    def read(self) -> _Element | None:
        text, stack = self.text, self.stack
        at = 0
        for tag in _TAG.finditer(text):
            if text[at : tag.start()].strip():
                stack[-1].mixed = True
            at = tag.end()
            closing, name, attributes, empty = tag.groups()
            if name is None:
                stack[-1].mixed = stack[-1].mixed or tag[0].startswith("<![")
            elif not closing:
                element = _Element(name, tag.start(), tag.end(), attributes)
                stack[-1].children.append(element)
                if empty:
                    element.end = tag.end()
                    continue
                if len(stack) > _MAX_DEPTH:
                    return None
                stack.append(element)
                self.names[name] = self.names.get(name, 0) + 1
            elif self.names.get(name):
                self.close(name, tag.start(), tag.end())
        self.finish(at)
        return self.root

    def close(self, name: str, start: int, end: int) -> None:
        """Close the innermost element of a name; open elements inside it end with their own text."""
        while True:
            element = self.stack.pop()
            self.names[element.name] -= 1
            if element.name == name:
                element.text_end, element.end = start, end
                return
            self.lift(element, start)

    def lift(self, element: _Element, stop: int) -> None:
        """End an element without an end tag before its first child; its children become its siblings."""
        parent = self.stack[-1]
        if self.keys.get(element.name) is None:
            parent.mixed = parent.mixed or element.mixed
            parent.children.pop()
        else:
            element.text_end = element.end = element.children[0].start if element.children else stop
            element.cut = "S005"
            stray = _STRAY_END.search(self.text, max(element.text_start, element.end - 100), element.end)
            element.text_end = stray.start() if stray else element.end
        parent.children.extend(element.children)
        element.children = []

    def finish(self, at: int) -> None:
        """End everything that is still open at the end of the text."""
        text, stack = self.text, self.stack
        stop = len(text.rstrip())
        partial = _CUT_TAG.search(text, max(at, stop - 202), stop)
        inner = partial.start() if partial else stop
        ended = partial is not None and partial[0].startswith("</")
        if len(stack) > 1 and text[at:inner].strip():
            stack[-1].mixed = True
        while len(stack) > 1:
            element = stack.pop()
            if element.children and element.mixed:
                self.lift(element, inner)
                continue
            element.text_end, element.end = inner, stop
            element.cut = "S005" if element.children or ended else "S028" if element.mixed else "S029"
        if partial is not None and not ended and self.root.children:
            last = self.root.children[-1]
            last.cut, last.end = "S029", max(last.end, stop)


class _Values:
    """Turns elements into values; `raw` keeps tags without a key as text."""

    def __init__(self, text: str, keys: KeyFinder, wants: Wants) -> None:
        self.text = text
        self.keys = keys
        self.wants = lru_cache(maxsize=1000)(wants)
        self.raw = False
        self.choices = False  # whether `raw` would make a difference
        self.records: list[Record] = []
        self.places: list[Place] = []

    def key(self, element: _Element) -> str | None:
        """The key of an element, by its name or by an attribute that names it."""
        return self.named(element) or _key(element.name, self.keys)

    def named(self, element: _Element) -> str | None:
        """The key that an attribute of an element names: `<field name="age">`."""
        carries = element.attributes and element.name.lower() in _CARRIERS
        named = (self.keys.get(element.attributes.get(naming, "")) for naming in _NAMING)
        return next(filter(None, named), None) if carries else None

    def own(self, element: _Element) -> dict[str, Any]:
        """The attributes of an element that are fields."""
        if not element.attributes or self.named(element) is not None:
            return {}
        found = ((self.keys.get(name), value) for name, value in element.attributes.items())
        return {key: value for key, value in found if key and not (key.lower() == "type" and value.lower() in _TYPES)}

    def candidates(self, root: _Element) -> list[Candidate]:
        """A candidate for each element with fields, the outermost first."""
        out: list[Candidate] = []
        stack = [root]
        while stack:
            element = stack.pop()
            named = [child for child in element.children if child.end > 0 and self.key(child) is not None]
            ended = element is not root and element.end > 0
            attributes = self.own(element) if ended else {}
            if named and all(child.cut for child in named) and not attributes:
                continue  # words in angle brackets, or no complete field
            if not named and not (attributes and not element.mixed):
                stack.extend(reversed(element.children))
                continue
            span = (element.start, element.end) if ended else (named[0].start, named[-1].end)
            self.records, self.places = [("F004", *span, "", None)], [(None, *span)]
            value = self.object(element, None, 0, closed=element is not root)
            out.append(Candidate(value, [span], self.records, "tags", None, partial(by_path, self.places)))
        out.sort(key=lambda c: c.spans[0])
        return out

    def object(self, element: _Element, node: Node, depth: int, *, closed: bool) -> dict[str, Any]:
        """The attributes and the children of an element as members."""
        out: dict[str, Any] = dict(self.own(element)) if closed else {}
        self.places += [((node, key), element.start, element.text_start) for key in out]
        keys = [self.key(child) for child in element.children]
        times = Counter(keys)
        lists: dict[str, list[Any]] = {}
        for child, key in zip(element.children, keys, strict=True):
            if key is None and (not closed or child.end < 0 or child.children or not child.mixed):
                continue
            want = self.wants(key) if key is not None and depth == 0 and times[key] == 1 else frozenset()
            key = key or child.name
            if key in out and key not in lists:
                out[key] = lists[key] = [out[key]]
            where: Node = (node, key) if key not in lists else ((node, key), len(lists[key]))
            value = self.value(child, where, depth + 1, want)
            if key in lists:
                lists[key].append(value)
            else:
                out[key] = value
        if element.cut and closed:
            self.note(element, node)
        return out

    def note(self, element: _Element, node: Node) -> None:
        """Note that an element ended too early."""
        after = f"</{element.name}>" if element.cut == "S005" else ""
        self.records.append((element.cut, element.end, element.end, after, node))

    def value(self, element: _Element, node: Node, depth: int, want: frozenset[str]) -> Any:
        """An element as a value: an object of named children, a list of repeated ones, or its text."""
        self.places.append((node, element.text_start, element.text_end))
        children = [child for child in element.children if child.end > 0]
        if depth < _MAX_DEPTH and not element.mixed and not (want and want <= TEXT_ONLY):
            if any(self.key(child) is not None for child in children) and not self.is_row(children):
                return self.object(element, node, depth, closed=True)
            if self.own(element):
                return self.object(element, node, depth, closed=True)
            if children and len({child.name for child in children}) == 1:
                self.choices = True
                if not self.raw:
                    if element.cut:
                        self.note(element, node)
                    return [self.value(c, (node, i), depth + 1, frozenset()) for i, c in enumerate(children)]
        if element.cut:
            self.note(element, node)
        if self.own(element) and element.mixed:
            self.records.append(("S031", element.start, element.text_start, "", node))
        text = _plain(self.text[element.text_start : element.text_end])
        return _items(text) if want and want <= LIST_ONLY and not text.startswith("[") else text

    def is_row(self, children: list[_Element]) -> bool:
        """Whether children of one name are the items of a list although the name is also a key: `item`, `tag`."""
        return len(children) > 1 and len({child.name for child in children}) == 1 and children[0].children != []
