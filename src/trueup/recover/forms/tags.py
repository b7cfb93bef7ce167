"""Values written as tags: parameter tags of a tool call, and XML elements or attributes named after the schema's keys.

A text and the known keys enter; candidates leave. Tags are read once, left to right, with a bounded stack. An element
that the text cuts off is read as far as it goes, and said to be cut; a web page is never read.
"""

import html
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import Wants
from trueup.recover.forms.inline import parts_of_list
from trueup.recover.forms.outline import Keys
from trueup.recover.json.parser import Record

_PARAMETER = re.compile(
    r"<[｜|\w]{0,12}?(?:parameter|param|arg|argument)(?:\s+name\s*=\s*[\"']?|=)([\w.\-]{1,80})[\"']?[^<>\n]{0,80}>"
)
_PARAMETER_END = re.compile(
    r"(</[｜|\w]{0,12}?(?:parameter|param|arg|argument)>)"
    r"|<[｜|\w]{0,12}?(?:parameter|param|arg|argument)(?:\s+name\s*=|=)"
    r"|</[｜|\w]{0,12}?(?:invoke|function|tool_call|function_calls)>"
)
_ARG_PAIR = re.compile(r"<arg_key>\s*([^<>\n]{1,80}?)\s*</arg_key>\s*<arg_value>")
_ARG_END = re.compile(r"(</arg_value>)|<arg_key>|</tool_call>")
_INVOKE = re.compile(r"<[｜|\w]{0,12}?(?:invoke\b[^<>\n]{0,120}|function=[^<>\n]{1,80}|tool_call)>")
_TAG = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<(/?)([^\W\d][\w:.\-]{0,79})((?:\s[^<>]{0,400}?)?)(/?)>"
)
_TAG_NAME = re.compile(r"<([^\W\d][\w:.\-]{0,79})")
_ATTRIBUTED = re.compile(r"<[^\W\d][\w:.\-]{0,79}\s[^<>=]{0,400}=")
_CDATA = re.compile(r"<!\[CDATA\[([\s\S]*?)(?:\]\]>|\Z)|<!--[\s\S]*?(?:-->|\Z)")
_ATTRIBUTE = re.compile(r"([^\W\d][\w:.\-]{0,79})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>=]+))")
_PAGE = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)
# The same where a field is called `html`.
_WHOLE_PAGE = re.compile(r"<!doctype html|<html[^<>]{0,200}>\s*<(?:head|body)[\s>]", re.IGNORECASE)
_STRAY_END = re.compile(r"</[^<>\n]{1,80}>\s*\Z")
_CUT_TAG = re.compile(r"<[^<>\n]{0,200}\Z")
# Elements that say which field they are by an attribute.
_CARRIERS = frozenset("field property param entry member attribute column data value item key string int bool".split())
_NAMING = ("name", "key", "id", "field")
_TYPE_WORDS = frozenset("string str integer int number float boolean bool array list object dict null".split())
_TEXT_ONLY = frozenset({"string", "null"})
_LIST_ONLY = frozenset({"array", "null"})
_MAX_DEPTH = 32
_SAID = r"(?:<!\[CDATA\[(?:(?!\]\]>|<!\[CDATA)[\s\S])*\]\]>|[^<>])*"
_ITEM = re.compile(rf"<([A-Za-z][\w-]{{0,40}})>({_SAID})</\1>\s*")
_ITEMS = re.compile(rf"<([A-Za-z][\w-]{{0,40}})>{_SAID}</\1>(?:\s*<\1>{_SAID}</\1>)+")
_OPEN_TAG = re.compile(r"<([A-Za-z][\w-]{0,40})>\Z")
# What marks text up, and sets no item apart.
_PARAGRAPHS = frozenset("p b i em strong u code span div br h1 h2 h3 think".split())


def parameters(text: str) -> list[Candidate]:
    """One candidate for each tool call that gives its arguments as parameter tags."""
    if "<" not in text or ("param" not in text and "arg" not in text):
        return []
    starts = [m.start() for m in _INVOKE.finditer(text)]
    groups: dict[int, list[tuple[str, str, int, int, bool]]] = {}
    for opening, ending in ((_PARAMETER, _PARAMETER_END), (_ARG_PAIR, _ARG_END)):
        at = 0
        while found := opening.search(text, at):
            closed = ending.search(text, found.end())
            stop = closed.start() if closed else len(text)
            at = closed.end() if closed and closed[1] else stop
            group = bisect_right(starts, found.start())
            groups.setdefault(group, []).append((found[1], text[found.end() : stop], found.start(), at, closed is None))
    out = []
    for members in groups.values():
        value = {key: _plain(raw) for key, raw, *_ in members}
        span = (members[0][2], max(member[3] for member in members))
        records: list[Record] = [("F005", *span, "", None)]
        for key, raw, _, stop, cut in members:
            if cut:
                records.append(("S028" if raw.strip() else "S029", stop, stop, "", (None, key)))
        out.append(Candidate(value, [span], records, "tags"))
    return out


def _plain(raw: str) -> str:
    """The text of an element: comments left out, CDATA and entities as what they stand for."""
    if "<!" in raw:
        pieces: list[str] = []
        at = 0
        for found in _CDATA.finditer(raw):
            pieces += (html.unescape(raw[at : found.start()]), found[1] or "")
            at = found.end()
        return "".join([*pieces, html.unescape(raw[at:])]).strip()
    return html.unescape(raw).strip() if "&" in raw else raw.strip()


class _Element:
    __slots__ = ("attributes", "children", "cut", "end", "mixed", "name", "start", "text_end", "text_start")

    def __init__(self, name: str, start: int, text_start: int, attributes: str) -> None:
        self.name = name
        self.start = start
        self.text_start = self.text_end = text_start
        self.end = -1
        self.attributes = dict(_attribute(found) for found in _ATTRIBUTE.finditer(attributes)) if attributes else {}
        self.children: list[_Element] = []
        self.mixed = False  # text stands between the children
        self.cut = ""  # the code of how it ended too early


def _attribute(found: re.Match[str]) -> tuple[str, str]:
    return found[1], html.unescape(found[2] or found[3] or found[4] or "")


def listed(text: str) -> list[Candidate]:
    """Elements of one name side by side, alone or inside one other: the items of a list."""
    run = _ITEMS.search(text)
    if run is None or run[1].lower() in _PARAGRAPHS:
        return []
    before, behind = text[: run.start()].rstrip(), text[run.end() :].lstrip()
    outer = _OPEN_TAG.search(before)
    if behind and not (outer and behind.startswith(f"</{outer[1]}>")):
        return []
    items = [_plain(found[2]) for found in _ITEM.finditer(text, run.start(), run.end())]
    return [Candidate(items, [run.span()], [("F004", *run.span(), "", None)], "elements")]


def elements(text: str, known: frozenset[str], wants: Wants) -> Iterator[list[Candidate]]:
    """Groups of sibling elements named after known keys; then once more with inner tags kept as text."""
    if "<" not in text or ">" not in text or not known:
        return
    keys = Keys(known)
    if (_PAGE if keys.get("html") is None else _WHOLE_PAGE).search(text):
        return
    root = _Tree(text, keys).read() if _may_hold(text, keys) else None
    if root is None:
        return
    reader = _Values(text, keys, wants)
    first = reader.candidates(root)
    yield first
    if reader.choices:
        reader.raw = True
        yield reader.candidates(root)


def _may_hold(text: str, keys: Keys) -> bool:
    """Whether a tag is named after a key, or may name one by an attribute: without any, no tree is built."""
    seen: set[str] = set()
    for found in _TAG_NAME.finditer(text):
        name = found[1]
        if name not in seen:
            seen.add(name)
            if keys.get(name) is not None or keys.get(name.rpartition(":")[2]) is not None:
                return True
    return _ATTRIBUTED.search(text) is not None


class _Tree:
    """Builds the tree of elements; None comes out when it is too deep."""

    def __init__(self, text: str, keys: Keys) -> None:
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
        """Close the innermost element of a name; what is open inside it ends where its own text does."""
        while True:
            element = self.stack.pop()
            self.names[element.name] -= 1
            if element.name == name:
                element.text_end, element.end = start, end
                return
            self.lift(element, start, "S005")

    def lift(self, element: _Element, stop: int, code: str) -> None:
        """End an element that has no end tag before its first child; its children are its siblings."""
        parent = self.stack[-1]
        if self.keys.get(element.name) is None:
            parent.mixed = parent.mixed or element.mixed
            parent.children.pop()
        else:
            element.text_end = element.end = element.children[0].start if element.children else stop
            element.cut = code
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
        if len(stack) > 1 and text[at:inner].strip():
            stack[-1].mixed = True
        while len(stack) > 1:
            element = stack.pop()
            if element.children and (element.mixed or self.keys.get(element.name) is None) and element.end < 0:
                whole = not element.mixed
                if whole:
                    element.text_end, element.end, element.cut = inner, stop, "S005"
                    continue
                self.lift(element, inner, "S005")
                continue
            ended = partial is not None and partial[0].startswith("</")
            element.text_end, element.end = inner, stop
            if element.children:
                element.cut = "S005"
            else:
                element.cut = "S005" if ended else "S028" if element.mixed else "S029"
        if partial is not None and not partial[0].startswith("</") and self.root.children:
            last = self.root.children[-1]
            last.cut, last.end = "S029", max(last.end, stop)


class _Values:
    """Turns elements into values; `raw` keeps tags that no key names as text."""

    def __init__(self, text: str, keys: Keys, wants: Wants) -> None:
        self.text = text
        self.keys = keys
        self.wants = lru_cache(maxsize=1000)(wants)
        self.raw = False
        self.choices = False
        self.records: list[Record] = []

    def key(self, element: _Element) -> str | None:
        """The key that an element stands for, by its name or by an attribute that says it."""
        named = self.named(element)
        return named or self.keys.get(element.name) or self.keys.get(element.name.rpartition(":")[2])

    def named(self, element: _Element) -> str | None:
        """The key that an attribute of an element names: `<field name="age">`."""
        if element.attributes and element.name.lower() in _CARRIERS:
            for naming in _NAMING:
                key = self.keys.get(element.attributes.get(naming, ""))
                if key is not None:
                    return key
        return None

    def own(self, element: _Element) -> dict[str, Any]:
        """The attributes of an element that are fields."""
        if not element.attributes or self.named(element) is not None:
            return {}
        found = {self.keys.get(name): value for name, value in element.attributes.items()}
        return {
            key: value
            for key, value in found.items()
            if key is not None and not (key.lower() == "type" and value.lower() in _TYPE_WORDS)
        }

    def candidates(self, root: _Element) -> list[Candidate]:
        """A candidate for each element that holds fields, the outermost first."""
        out: list[Candidate] = []
        stack = [root]
        while stack:
            element = stack.pop()
            named = [child for child in element.children if child.end > 0 and self.key(child) is not None]
            attributes = self.own(element) if element is not root and element.end > 0 else {}
            if named and all(child.cut for child in named) and not attributes:
                continue  # words in angle brackets, or nothing of it whole
            if not named and not (attributes and not element.mixed):
                stack.extend(reversed(element.children))
                continue
            span = (
                (element.start, element.end)
                if element is not root and element.end > 0
                else (named[0].start, named[-1].end)
            )
            self.records = [("F004", *span, "", None)]
            value = self.object(element, None, 0, element is not root)
            out.append(Candidate(value, [span], self.records, "tags"))
        out.sort(key=lambda c: c.spans[0])
        return out

    def object(self, element: _Element, node: Any, depth: int, closed: bool) -> dict[str, Any]:
        """The attributes and the children of an element as members."""
        out: dict[str, Any] = dict(self.own(element)) if closed else {}
        lists: set[str] = set()
        keys = [self.key(child) for child in element.children]
        times = Counter(keys)
        for child, key in zip(element.children, keys, strict=True):
            if key is None and (not closed or child.end < 0 or child.children or not child.mixed):
                continue
            want = self.wants(key) if key is not None and depth == 0 and times[key] == 1 else frozenset()
            key = key or child.name
            value = self.value(child, (node, key), depth + 1, want)
            if key not in out:
                out[key] = value
            elif key in lists:
                out[key].append(value)
            else:
                out[key] = [out[key], value]
                lists.add(key)
        if element.cut and closed:
            self.note(element, node)
        return out

    def note(self, element: _Element, node: Any) -> None:
        after = f"</{element.name}>" if element.cut == "S005" else ""
        self.records.append((element.cut, element.end, element.end, after, node))

    def value(self, element: _Element, node: Any, depth: int, want: frozenset[str]) -> Any:
        """An element as a value: an object of named children, a list of repeated ones, or its text."""
        children = [child for child in element.children if child.end > 0]
        text_only = bool(want) and want <= _TEXT_ONLY
        if depth < _MAX_DEPTH and not element.mixed and not text_only:
            if any(self.key(child) is not None for child in children) and not self.is_row(children):
                return self.object(element, node, depth, True)
            if self.own(element):
                return self.object(element, node, depth, True)
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
        if want and want <= _LIST_ONLY and not text.startswith("["):
            return parts_of_list(text) or ([text] if text else [])
        return text

    def is_row(self, children: list[_Element]) -> bool:
        """Whether children of one name are the items of a list although a key has that name as well: `item`, `tag`."""
        return len(children) > 1 and len({child.name for child in children}) == 1 and children[0].children != []
