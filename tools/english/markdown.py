"""Prose of Markdown: headings, paragraphs, list items and table cells. Code blocks, HTML and addresses of links are left out."""

import re
from collections.abc import Iterable, Iterator

from english.passage import Passage, Writing

type_of_line = re.compile(
    r"(?P<fence>\s*(?P<mark>`{3,}|~{3,}))|(?P<heading>#{1,6}\s+)|(?P<table>\s*\|)|(?P<html>\s*</?[a-z!][^>]*>\s*$)"
    r"|(?P<note>\s*(?:!!!|\?\?\?)\s*\w+\s*)|(?P<item>\s*(?:[-*+]|\d+[.)])\s+)|(?P<quote>\s*>\s?)|(?P<blank>\s*$)"
)
# A link shows its text; `code` is kept, since a sentence needs it; emphasis and HTML tags are dropped.
_SPAN = re.compile(
    r"(?P<code>`+[^`]*`+)|(?P<image>!\[[^\]]*\]\([^)]*\))|(?P<open>\[(?=[^\]]*\]\())|(?P<close>\]\([^)]*\)(?:\{[^}]*\})?)"
    r"|(?P<tag><!--.*?-->|</?[a-zA-Z][^>]*>)|(?P<strong>\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w))"
)


def add_inline(writing: Writing, text: str, line: int, column: int) -> None:
    """Adds one line of Markdown without its marks."""
    spaced = text.rstrip()
    start = 0
    first = True
    for match in [*_SPAN.finditer(spaced), None]:
        end = match.start() if match else len(spaced)
        if match and match["code"]:
            continue
        stretch = spaced[start:end]
        if stretch:
            (writing.add_line if first else writing.add)(stretch, line, column + start)
            first = False
        if match:
            start = match.end()


def cells(line: str) -> Iterator[tuple[str, int]]:
    """The cells of a row, each with its column from 0. A pipe inside code or after a backslash does not end a cell."""
    start, in_code = 0, False
    for index, letter in enumerate(line):
        if letter == "`":
            in_code = not in_code
        elif letter == "|" and not in_code and line[index - 1 : index] != "\\":
            yield line[start:index], start
            start = index + 1
    yield line[start:], start


class _Reader:
    def __init__(self) -> None:
        self.writing = Writing()
        self.fence = ""
        self.comment = False

    def flush(self, *, heading: bool = False) -> list[Passage]:
        done = self.writing.done(heading=heading)
        self.writing = Writing()
        return done

    def skips(self, text: str) -> bool:
        """True inside code, and inside a comment of several lines."""
        if self.comment:
            self.comment = "-->" not in text
            return True
        if "<!--" in text and "-->" not in text:
            self.comment = True
            return True
        mark = re.match(r"\s*(`{3,}|~{3,})", text)
        if self.fence:
            if mark and mark[1].startswith(self.fence):
                self.fence = ""
            return True
        if mark:
            self.fence = mark[1]
            return True
        return False

    def read(self, text: str, line: int, column: int) -> Iterator[Passage]:
        if self.skips(text):
            yield from self.flush()
            return
        match = type_of_line.match(text)
        kind = match.lastgroup if match else None
        if match is None or kind in {None, "quote"}:
            start = match.end() if match else len(text) - len(text.lstrip())
            add_inline(self.writing, text[start:], line, column + start)
            return
        yield from self.flush()
        start = match.end()
        if kind in {"heading", "note"}:
            add_inline(self.writing, text[start:], line, column + start)
            yield from self.flush(heading=True)
        elif kind == "item":
            add_inline(self.writing, text[start:], line, column + start)
        elif kind == "table" and not re.fullmatch(r"[\s|:-]+", text):
            for cell, at in cells(text):
                lead = len(cell) - len(cell.lstrip())
                add_inline(self.writing, cell.strip(), line, column + at + lead)
                yield from self.flush()


def read(lines: Iterable[tuple[int, int, str]]) -> Iterator[Passage]:
    """The passages of lines of Markdown; each line comes with its number and the column it begins in."""
    reader = _Reader()
    for line, column, text in lines:
        yield from reader.read(text, line, column)
    yield from reader.flush()


def markdown(source: str) -> Iterator[Passage]:
    """The passages of a Markdown file."""
    return read((number, 1, line) for number, line in enumerate(source.splitlines(), 1))
