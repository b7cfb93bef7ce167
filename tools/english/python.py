"""Prose of Python: docstrings without their examples, comments, and string literals that are sentences (messages, help, hints).

The source is scanned for comments and strings only: parsing all of the project takes five times as long.
"""

import re
from collections.abc import Iterator

from english import markdown
from english.passage import Passage, Writing

_PIECE = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<prefix>[rRbBuUfF]{0,2})(?P<quote>\"\"\"|''')(?P<long>(?:\\.|[^\\])*?)(?P=quote)"
    r"|(?P<prefix1>[rRbBuUfF]{0,2})(?:\"(?P<double>(?:\\.|[^\"\\\n])*)\"|'(?P<single>(?:\\.|[^'\\\n])*)')",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|pragma|ruff:|fmt:|mypy:|pyright:|!|-\*-)|#:?\s*$")
# A regular expression, a path, a template or markup, not a sentence.
_CODE = re.compile(
    r"\(\?[:=!<P]|\\[bdswBDSW]|\[\^|</\w|/>|^\s*(?:[{\[]\s*[\"'{\[\d\\]|<)|\$\{|^\w+://|^--|\bSELECT\b|\bCREATE\b|==|\w\(\)$"
)
# A value in an f-string; in the passage it is a name in backticks of the same width.
_VALUE = re.compile(r"(?<!\{)\{([^{}\n]+)\}(?!\})")
_WORD = re.compile(r"(?<!\S)[\"'(]?([A-Za-z][a-z'-]*)(?=[\s,.:;!?)\"']|$)")
_BETWEEN = re.compile(r"(?:\s|\\\n|#[^\n]*\n)*")


def is_sentence(text: str) -> bool:
    """True for text that a person reads: words between spaces, and not a pattern, a query or markup."""
    if " " not in text.strip() or _CODE.search(text):
        return False
    words = _WORD.findall(text)
    return len(words) >= 2 and any(word[0].islower() for word in words)


class _Source:
    """A Python file, piece by piece: tokens enter in their order, passages leave."""

    def __init__(self, source: str, *, messages: bool) -> None:
        self.source = source
        self.messages = messages
        self.line, self.start = 1, 0  # the line that was reached, and the offset where it begins
        self.comment, self.last = Writing(), (0, 0, False)
        self.string, self.end = Writing(), -1

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset; offsets never decrease."""
        self.line += self.source.count("\n", self.start, offset)
        self.start = max(self.start, self.source.rfind("\n", self.start, offset) + 1)
        return self.line, offset - self.start + 1

    def read(self) -> Iterator[Passage]:
        for match in _PIECE.finditer(self.source):
            if match["comment"]:
                yield from self.add_comment(match)
            elif match["quote"]:
                yield from self.add_long(match)
            elif self.messages and "b" not in match["prefix1"].lower():
                yield from self.add_string(match)
        yield from self.flush()
        yield from self.comment.done()

    def add_comment(self, match: re.Match[str]) -> Iterator[Passage]:
        if _DIRECTIVE.match(match[0]):
            return
        line, column = self.place(match.start())
        alone = not self.source[self.start : match.start()].strip()
        # Lines below each other in the same column are one comment; a comment after code may continue below.
        if (line, column) != (self.last[0] + 1, self.last[1]) or (self.last[2] and not alone):
            yield from self.comment.done()
            self.comment = Writing()
        text = match[0].lstrip("#:")
        lead = len(match[0]) - len(text.lstrip())
        self.comment.add_line(text.strip(), line, column + lead)
        self.last = (line, column, alone)

    def add_long(self, match: re.Match[str]) -> Iterator[Passage]:
        yield from self.flush()
        line, column = self.place(match.start("long"))
        is_docstring = not self.source[self.start : match.start()].strip() and not self.is_value(match.start())
        text = match["long"]
        if is_docstring or (self.messages and "b" not in match["prefix"].lower() and not _CODE.search(text)):
            rows, in_example = [], False
            for number, row in enumerate(text.split("\n")):
                in_example = bool(row.strip()) and (in_example or row.lstrip().startswith(">>>"))
                rows.append((line + number, 1 if number else column, "" if in_example else row))
            yield from markdown.read(rows)

    def is_value(self, offset: int) -> bool:
        """True for a string on its own line that is an item, an argument or a part of an expression."""
        while offset and self.source[offset - 1].isspace():
            offset -= 1
        return self.source[:offset][-1:] in {"(", "[", "{", ",", "=", "+"}

    def add_string(self, match: re.Match[str]) -> Iterator[Passage]:
        kind = "double" if match["double"] is not None else "single"
        between = _BETWEEN.match(self.source, self.end) if self.end >= 0 else None
        if between is None or between.end() != match.start():
            yield from self.flush()
        self.end = match.end()
        line, column = self.place(match.start(kind))
        text = match[kind].replace("\\n", "  ")  # a line break in a message is a space here, of the same width
        if "f" in match["prefix1"].lower():
            text = _VALUE.sub(lambda value: f"`{value[1].replace('`', ' ')}`", text)
        self.string.add(text, line, column)

    def flush(self) -> list[Passage]:
        """The string whose literals were joined, if it is a sentence."""
        done = [passage for passage in self.string.done() if is_sentence(passage.text)]
        self.string, self.end = Writing(), -1
        return done


def python(source: str, *, messages: bool = True) -> Iterator[Passage]:
    """The passages of a Python file; `messages` says whether string literals count."""
    return _Source(source, messages=messages).read()
