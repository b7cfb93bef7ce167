"""The tree over a text: the place of every key and value, built when it is first needed.

Takes a stretch of text; returns spans by path and paths by offset. Text that is JSON is walked only as far as the answer
needs, by coarse patterns. Broken text is read again by the same parser, which passes every place to the tree. Text that was
repaired by splices is walked in its repaired form, and its edits map offsets back to the original.
"""

import json
import re
from bisect import bisect_right
from contextlib import suppress

import msgspec

from trueup.recover.json.frames import Node, TooDeep, parts_of
from trueup.recover.json.lexer import fold
from trueup.recover.json.parser import Parser
from trueup.verdict.codec import decode
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

# Codes about the container around their offset; all others are about the key or value at their offset.
OF_CONTAINER = frozenset({"S001", "S002", "S003", "S005", "S007", "S017", "S026", "S027", "S038"})

Span = tuple[int, int]
Place = tuple[int, int, Node]
Edit = tuple[int, int, str, str]
MemberSpans = dict[str | int, tuple[Span | None, int]]  # the key and the start of each member of a container
MemberCache = dict[int, MemberSpans]  # by the start of the container
_BESIDE_TOKENS = frozenset(("", " ", "\t", "\r", "\n", ",", ":", "{", "}"))
_FEW = 4  # this many paths are looked up one by one; for more, containers are walked as a whole

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SCALAR = r'[^\s{}\[\]:,"]++'
_TOKEN = lazy_regex(rf"{_STRING}|[{{}}\[\]:,]|{_SCALAR}", re.DOTALL)
_BRACKET = lazy_regex(rf"{_STRING}|[{{\[]|([}}\]])", re.DOTALL)
_KEY = lazy_regex(rf"[\s,]*({_STRING})\s*:\s*", re.DOTALL)
_VALUE = lazy_regex(rf"[\s,]*(?=[^\s,\]}}])({_STRING}|{_SCALAR}|(?=[{{\[]))", re.DOTALL)
# whole members, skipped at once; their values have at most two levels of containers, so that the text is read only a few times
_INSIDE = rf'[^"{{}}\[\]]*(?:{_STRING}[^"{{}}\[\]]*)*'
_CONTAINER = rf"[\[{{]{_INSIDE}(?:[\[{{]{_INSIDE}[\]}}]{_INSIDE})*[\]}}]"
_MEMBERS = lazy_regex(rf"(?:\s*{_STRING}\s*:\s*(?:{_STRING}|{_SCALAR}|{_CONTAINER})\s*,)+", re.DOTALL)


# -- text that is JSON -----------------------------------------------------------------------------


def json_spans(
    text: str, start: int, parts: Parts, cache: "MemberCache | None" = None
) -> tuple[Span | None, Span] | None:
    """The spans of the key and the value at a path in JSON; None if the path does not exist.

    With `cache`, every container on the way is walked once, and its members are kept there for the next path.

    >>> json_spans('{"a": [1, {"b": "x"}]}', 0, ("a", 1, "b"))
    ((11, 14), (16, 19))
    """
    at = start
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    key: Span | None = None
    for part in parts:
        sign = text[at : at + 1]
        if sign != ("{" if isinstance(part, str) else "["):
            return None
        if cache is not None:
            inside = cache.get(at)
            if inside is None:
                inside = cache[at] = _members(text, at + 1) if isinstance(part, str) else _items(text, at + 1)
            found = inside.get(part) or inside.get(fold(part) if isinstance(part, str) else part)
        else:
            found = _member(text, at + 1, part) if isinstance(part, str) else _item(text, at + 1, part)
        if found is None:
            return None
        key, at = found
    return key, (at, _end(text, at))


def only_member(text: str, start: int, end: int, key: str) -> tuple[Span, Span] | None:
    """The spans of the only member with a key in a stretch of JSON, and of its value; None if finding it takes a walk.

    >>> only_member('{"a": {"b": 12}}', 0, 16, "b"), only_member('{"a": {"a": 1}}', 0, 15, "a")
    (((7, 10), (12, 14)), None)
    """
    token = f'"{key}"'
    at = text.find(token, start, end)
    if at < 0 or text.find(token, at + 1, end) >= 0:
        return None
    # a key without escapes is written between its quotes, unless the first one is escaped
    if "\\" in text and ("\\u" in text or text[at - 1] == "\\" or not key.isidentifier()):
        return None
    found = _KEY.match(text, at)
    if found is None or found.end(1) != at + len(token):
        return None
    return found.span(1), (found.end(), _end(text, found.end()))


def _members(text: str, at: int) -> "MemberSpans":
    """The places of the key and the value of every member of an object, by the key and by its folded form."""
    exact: MemberSpans = {}
    loose: MemberSpans = {}
    while found := _KEY.match(text, at):
        key = _word(found[1])
        exact.setdefault(key, (found.span(1), found.end()))
        loose[fold(key)] = (found.span(1), found.end())
        at = _end(text, found.end())
    return {**loose, **exact}


def _items(text: str, at: int) -> "MemberSpans":
    out: MemberSpans = {}
    while found := _VALUE.match(text, at):
        out[len(out)] = (None, found.start(1))
        at = _end(text, found.start(1))
    return out


def _member(text: str, at: int, part: str) -> tuple[Span, int] | None:
    """The key of a member and the start of its value; without an exact match, the last key with the same folded form."""
    others: list[tuple[str, tuple[Span, int]]] = []
    while found := _KEY.match(text, at):
        key = _word(found[1])
        member = (found.span(1), found.end())
        if key == part:
            return member
        others.append((key, member))
        at = _end(text, found.end())
    folded = fold(part)
    return next((member for key, member in reversed(others) if fold(key) == folded), None)


def _item(text: str, at: int, index: int) -> tuple[None, int] | None:
    while found := _VALUE.match(text, at):
        if index == 0:
            return None, found.start(1)
        index -= 1
        at = _end(text, found.start(1))
    return None


def _end(text: str, at: int) -> int:
    """Where the value that starts at an offset ends."""
    if text[at : at + 1] not in ("{", "["):
        found = _TOKEN.match(text, at)
        return found.end() if found else len(text)
    depth = 0
    for sign in _BRACKET.finditer(text, at):
        if sign[0][0] == '"':
            continue
        depth += -1 if sign[1] else 1
        if depth == 0:
            return sign.end()
    return len(text)


def nodes_at(text: str, wanted: list[tuple[int, bool]]) -> list[Node]:
    """The node at each offset of a JSON text: the innermost one, or with True the container around it.

    >>> nodes_at('{"a": [1, 22]}', [(10, False), (10, True), (1, False)])
    [((None, 'a'), 1), (None, 'a'), (None, 'a')]
    """
    near = _near_nodes(text, wanted)
    return _walked_nodes(text, wanted) if near is None else near


def _walked_nodes(text: str, wanted: list[tuple[int, bool]]) -> list[Node]:
    """The same, by walking through the text."""
    out: list[Node] = [None] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index][0])
    turn = at = 0
    place: Node = None  # of the value that comes next
    stack: list[tuple[Node, int]] = []  # each open container, and the number of its next item, -1 in an object
    key_next = False
    while turn < len(order):
        goal = wanted[order[turn]][0]
        if key_next and (passed := _MEMBERS.match(text, at, goal)):
            at = passed.end()
        token = _TOKEN.search(text, at)
        start, at = token.span() if token else (len(text), len(text) + 1)
        around = stack[-1][0] if stack else None
        while turn < len(order) and wanted[order[turn]][0] < start:
            out[order[turn]] = around
            turn += 1
        if token is None:
            break
        sign, here = text[start], place
        if sign == "{" or sign == "[":
            around = place
            stack.append((place, 0 if sign == "[" else -1))
            key_next = sign == "{"
            place = place if key_next else (place, 0)
        elif sign == "," or sign == ":" or sign == "]" or sign == "}":
            here = around
        elif key_next:
            here = place = (around, _word(token[0]))
            key_next = False
        while turn < len(order) and wanted[order[turn]][0] < at:
            out[order[turn]] = around if wanted[order[turn]][1] else here
            turn += 1
        if sign == "}" or sign == "]":
            stack.pop()
            key_next = False
        elif sign == "," and stack:
            node, number = stack[-1]
            key_next = number < 0
            if not key_next:
                stack[-1] = (node, number + 1)
                place = (node, number + 1)
    return out


def _near_nodes(text: str, wanted: list[tuple[int, bool]]) -> list[Node] | None:
    """The same, from the signs next to each offset if that is enough; None if the text has to be walked through.

    >>> _near_nodes('{"a": true, "b": {"c": 2}}', [(6, False), (23, False), (25, True)])
    [(None, 'a'), ((None, 'b'), 'c'), None]
    """
    if len(wanted) > _FEW or "\\\\" in text or "\\u" in text:
        return None  # each of them searches all of the text
    flat = text.count("{") == 1 and "[" not in text
    nodes: dict[str, Node] | None = None
    out: list[Node] = []
    for at, is_around in wanted:
        if is_around:
            if not flat and len(text[at:].strip()) != 1:
                return None
            out.append(None)
            continue
        before = text[:at].rstrip(" \t\r\n")
        if before[-1:] != ":" or (before.count('"') - before.count('\\"')) % 2 or text[at : at + 1] in _BESIDE_TOKENS:
            return None  # inside a string, or not at the start of a member's value
        stop = before.rfind('"')
        start = before.rfind('"', 0, stop)
        if before[start - 1] == "\\":
            return None
        key = before[start + 1 : stop]
        if flat:
            out.append((None, key))
            continue
        if nodes is None:
            nodes = _keyed(text)
        if nodes is None or key not in nodes or text.count(f'"{key}"') != 1:
            return None
        out.append(nodes[key])
    return out


def _keyed(text: str) -> dict[str, Node] | None:
    """The node of every key that occurs once in a JSON text; None if the text is not JSON."""
    try:
        value = decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    nodes: dict[str, Node] = {}
    twice: set[str] = set()
    stack: list[tuple[Node, object]] = [(None, value)]
    while stack:
        node, here = stack.pop()
        if type(here) is dict:
            for key, item in here.items():
                if key in nodes:
                    twice.add(key)
                nodes[key] = below = (node, key)
                if type(item) is dict or type(item) is list:
                    stack.append((below, item))
        elif type(here) is list:
            stack += [
                ((node, index), item) for index, item in enumerate(here) if type(item) is dict or type(item) is list
            ]
    for key in twice:
        del nodes[key]
    return nodes


def _word(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]


def repaired_offsets(edits: list[Edit]) -> list[int] | None:
    """The offset of each edit in the repaired text; None if two edits overlap.

    >>> repaired_offsets([(2, 3, "", "S001"), (9, 13, "true", "S018"), (20, 20, "}", "S005"), (20, 20, "}", "S005")])
    [2, 8, 19, 19]
    """
    out = [0] * len(edits)
    shift = pending = 0
    before = end = -1
    for index in sorted(range(len(edits)), key=lambda index: edits[index][:2]):
        start, stop, after, _ = edits[index]
        if start < end:
            return None
        if start > before:
            shift, pending = shift + pending, 0
        out[index] = start + shift
        pending += len(after) - (stop - start)
        before, end = start, max(end, stop)
    return out


# -- broken text -----------------------------------------------------------------------------------


class _Nest:
    """Disjoint or nested spans, searched by offset."""

    __slots__ = ("_outer", "_spans", "_starts")

    def __init__(self, spans: list[Place]) -> None:
        self._spans = sorted(spans, key=lambda place: (place[0], -place[1]))
        self._starts = [place[0] for place in self._spans]
        self._outer: list[int] = []
        around: list[int] = []
        for index, (start, _, _) in enumerate(self._spans):
            while around and self._spans[around[-1]][1] <= start:
                around.pop()
            self._outer.append(around[-1] if around else -1)
            around.append(index)

    def at(self, offset: int) -> Node:
        """The innermost node at an offset."""
        index = bisect_right(self._starts, offset) - 1
        while index >= 0 and self._spans[index][1] <= offset:
            index = self._outer[index]
        return self._spans[index][2] if index >= 0 else None


class _Places:
    """Collects the places that the parser passes."""

    __slots__ = ("containers", "keys", "scalars")

    def __init__(self) -> None:
        self.keys: list[Place] = []
        self.scalars: list[Place] = []
        self.containers: list[Place] = []

    def key(self, start: int, stop: int, node: Node) -> None:
        self.keys.append((start, stop, node))

    def scalar(self, start: int, stop: int, node: Node) -> None:
        self.scalars.append((start, stop, node))

    def container(self, start: int, stop: int, node: Node) -> None:
        self.containers.append((start, stop, node))


class ValueTree:
    """The tree of one value in one stretch of text; `is_json` says that the stretch is valid JSON."""

    __slots__ = ("_all", "_asked", "_cache", "_containers", "_is_json", "_spans", "_what")

    def __init__(
        self, text: str, start: int, end: int, known: frozenset[str], max_depth: int, *, is_json: bool = False
    ) -> None:
        self._what = (text, start, end, known, max_depth)
        self._is_json = is_json
        self._all: _Nest | None = None
        self._containers: _Nest | None = None
        self._spans: dict[tuple[str, Parts], Span] = {}
        self._asked = 0
        self._cache: MemberCache = {}

    def node_at(self, code: str, at: int) -> Node:
        """The path that a record with this code at this offset is about."""
        self._read()
        nest = self._containers if code in OF_CONTAINER else self._all
        return nest.at(at) if nest is not None else None

    def span(self, parts: Parts, code: str = "") -> Span | None:
        """The span that a fix or a finding is about: the key, the value, or both; otherwise the nearest value around it."""
        where = parts
        while True:
            key, value = self._at(where)
            if where == parts and key is not None and code in ("C009", "C010"):
                return key if code == "C010" else (key[0], max(key[1], value[1] if value else 0))
            if value is not None or not where:
                return value
            where = where[:-1]

    def _at(self, parts: Parts) -> tuple[Span | None, Span | None]:
        """The spans of the key and the value at a path."""
        if self._is_json:
            self._asked += 1
            found = json_spans(self._what[0], self._what[1], parts, self._cache if self._asked > _FEW else None)
            return found if found is not None else (None, None)
        self._read()
        where = _folded(parts)
        return self._spans.get(("key", where)), self._spans.get(("value", where))

    def _read(self) -> None:
        """Read the text again and record every place."""
        if self._all is not None:
            return
        places = _Places()
        parser = Parser(*self._what, places)
        # read differently from the winner, the text may nest deeper: the places up to there are used
        with suppress(TooDeep):
            parser.read()
        self._all = _Nest([*places.scalars, *places.keys, *places.containers])
        self._containers = _Nest(places.containers)
        for kind, found in (("key", places.keys), ("value", [*places.scalars, *places.containers])):
            for start, stop, node in found:
                self._spans[kind, _folded(parts_of(node))] = (start, max(start, min(stop, parser.end)))


def _folded(parts: Parts) -> Parts:
    return tuple(fold(part) if isinstance(part, str) else part for part in parts)
