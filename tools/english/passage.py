"""A passage is one piece of prose (a paragraph, a comment, a message) that knows where each of its characters is in its file."""

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Passage:
    """The text of one paragraph, comment or message, with code kept between backticks."""

    text: str
    offsets: tuple[int, ...]  # where in `text` a new piece of the file begins
    places: tuple[tuple[int, int], ...]  # its line and column in the file, both from 1
    heading: bool = False

    @property
    def line(self) -> int:
        return self.places[0][0]

    def place(self, offset: int) -> tuple[int, int]:
        index = bisect_right(self.offsets, offset) - 1
        line, column = self.places[index]
        return line, column + offset - self.offsets[index]


@dataclass
class Writing:
    """A passage that is built from pieces of a file."""

    parts: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, line: int, column: int) -> None:
        if not text:
            return
        self.parts.append(text)
        self.offsets.append(self.length)
        self.places.append((line, column))
        self.length += len(text)

    def add_line(self, text: str, line: int, column: int) -> None:
        """Adds the text of a line, with a space between it and the line before."""
        if self.parts and not self.parts[-1].endswith(" "):
            last, at = self.places[-1]
            self.add(" ", last, at + len(self.parts[-1]))
        self.add(text, line, column)

    def done(self, *, heading: bool = False) -> list[Passage]:
        """The passage, or nothing if it has no word."""
        text = "".join(self.parts)
        if not any(letter.isalpha() for letter in text):
            return []
        return [Passage(text, tuple(self.offsets), tuple(self.places), heading)]


def passage(text: str, line: int, column: int) -> list[Passage]:
    """The passage of one piece, or nothing if it has no word."""
    writing = Writing()
    writing.add(text, line, column)
    return writing.done()
