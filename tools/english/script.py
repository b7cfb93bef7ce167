"""Prose of JavaScript, HTML and CSS: comments, the text and titles of templates, and string literals that are sentences."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from english.passage import Passage, Writing, passage
from english.python import is_sentence

_PIECE = re.compile(
    r"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<double>\"(?:\\.|[^\"\\\n])*\")|(?P<single>'(?:\\.|[^'\\\n])*')"
    r"|(?P<tick>`)|(?P<regex>(?<=[=(,:!&|?\[{};\n])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/[a-z]*)",
    re.DOTALL,
)
_READ_ALOUD = re.compile(r"\b(?:title|aria-label|placeholder|label|alt|content)=\"([^\"]*)\"")


class _Lines:
    def __init__(self, source: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", source))]

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


def _template_end(source: str, start: int) -> int:
    """The end of the template literal that begins at `start` (after its tick), including templates inside it."""
    index = start
    while index < len(source):
        if source[index] == "\\":
            index += 2
        elif source[index] == "`":
            return index
        elif source.startswith("${", index):
            index = _braces_end(source, index + 2)
        else:
            index += 1
    return index


def _braces_end(source: str, start: int) -> int:
    """The end of the code in `${…}`: after its closing brace."""
    index, depth = start, 1
    while index < len(source) and depth:
        letter = source[index]
        if letter == "`":
            index = _template_end(source, index + 1)
        elif letter in "\"'":
            match = re.compile(r"(?:\\.|[^\\\n" + letter + r"])*").match(source, index + 1)
            index = match.end() if match else index
        depth += {"{": 1, "}": -1}.get(letter, 0)
        index += 1
    return index


def _template(source: str, start: int, end: int, at: _Lines) -> Iterator[Passage]:
    """The text of a template between its tags, with `{…}` for inserted code; and the code inside it."""
    flat = list(source[start:end])
    codes: list[tuple[int, int]] = []
    index = start
    while index < end:
        if source[index] == "\\":
            index += 2
        elif source.startswith("${", index):
            stop = _braces_end(source, index + 2)
            codes.append((index + 2, stop - 1))
            # The code is one word of the sentence, and its letters may hide a `<`.
            flat[index - start : stop - start] = ["{", *("x" * (stop - index - 2)), "}"]
            index = stop
        else:
            index += 1
    yield from markup("".join(flat), at, start)
    for begin, stop in codes:
        yield from _code(source, begin, stop, at)


def markup(text: str, at: _Lines, base: int) -> Iterator[Passage]:
    """The text of markup, by element, and the attributes that are read aloud or shown."""
    for tag in re.finditer(r"<!--.*?-->|<[^>]*>", text, re.DOTALL):
        for shown in _READ_ALOUD.finditer(tag[0]):
            yield from passage(shown[1], *at.place(base + tag.start() + shown.start(1)))
    # Inline elements belong to the sentence around them.
    parts = re.compile(r"<!--.*?-->|<(?!/?(?:b|i|em|strong|code|a|kbd|abbr|span|q)\b)[^>]*>", re.DOTALL)
    position = 0
    for match in [*parts.finditer(text), None]:
        stop = match.start() if match else len(text)
        writing = Writing()
        for piece in re.finditer(r"<[^>]*>|\{x*\}|[^\s<{]+|[{<]|\s+", text[position:stop]):
            place = at.place(base + position + piece.start())
            if piece[0].isspace():
                writing.add(" ", *place)
            elif piece[0].startswith("{x") or piece[0] == "{}":
                writing.add("{…}", *place)
            elif not re.fullmatch(r"<[^>]*>", piece[0]):
                writing.add(piece[0], *place)
        yield from writing.done()
        position = match.end() if match else stop


def _code(source: str, start: int, end: int, at: _Lines) -> Iterator[Passage]:
    writing, last = Writing(), (0, 0)
    index = start
    while match := _PIECE.search(source, index, end):
        index, kind = match.end(), match.lastgroup
        if kind == "line":
            line, column = at.place(match.start())
            if (line, column) != (last[0] + 1, last[1]):
                yield from writing.done()
                writing = Writing()
            text = match[0].lstrip("/")
            writing.add_line(text.strip(), line, column + len(match[0]) - len(text.lstrip()))
            last = (line, column)
        elif kind == "block":
            yield from block(match[0], at, match.start())
        elif kind in {"double", "single"} and is_sentence(match[0][1:-1]):
            yield from passage(match[0][1:-1], *at.place(match.start() + 1))
        elif kind == "tick":
            index = _template_end(source, match.end())
            yield from _template(source, match.end(), index, at)
            index += 1
    yield from writing.done()


def block(text: str, at: _Lines, start: int) -> Iterator[Passage]:
    """The text of a comment between `/*` and `*/`."""
    writing = Writing()
    for row in re.finditer(r"(?:/\*+|^\s*\*(?!/))?[ \t]*(.*?)\s*(?:\*/|$)", text, re.MULTILINE):
        if row[1]:
            writing.add_line(row[1], *at.place(start + row.start(1)))
    yield from writing.done()


def script(source: str) -> Iterator[Passage]:
    """The passages of a JavaScript module."""
    return _code(source, 0, len(source), _Lines(source))


def styles(source: str) -> Iterator[Passage]:
    """The comments of a style sheet."""
    at = _Lines(source)
    for match in re.finditer(r"/\*.*?\*/", source, re.DOTALL):
        yield from block(match[0], at, match.start())


def page(source: str) -> Iterator[Passage]:
    """The passages of an HTML page, with those of its scripts and styles."""
    at = _Lines(source)
    position = 0
    for match in re.finditer(r"<(script|style)\b[^>]*>(.*?)</\1>", source, re.DOTALL):
        yield from markup(source[position : match.start()], at, position)
        if match[1] == "script":
            yield from _code(source, match.start(2), match.end(2), at)
        position = match.end()
    yield from markup(source[position:], at, position)
