"""Code that the parts of a view share: settings, lines of styled pieces, cutting and wrapping by cells."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

Line = list[tuple[str, str]]  # text, style

GRADE_STYLE = {"lossless": "green", "guess": "yellow", "lossy": "red"}


class Layout(NamedTuple):
    """How to show a view: the width in cells, whether to wrap long sentences, whether to show everything, names.

    `name` is the name of the input, `text` the name of the text that places refer to. `value` is False if no value was
    expected.
    """

    width: int = 80
    wrap: bool = True
    everything: bool = False
    name: str = "reply"
    schema: str = ""
    tools: str = ""
    text: str = ""
    value: bool = True
    contract: str = ""

    @property
    def place(self) -> str:
        """The name of the text that places refer to."""
        return self.text or self.name


def cells(line: Line) -> int:
    """The width of a line in cells."""
    return sum(cell_len(text) for text, _ in line)


def short(text: str, room: int) -> str:
    """Text cut to a number of cells, with a mark at the cut.

    >>> short("a long word", 7)
    'a long…'
    """
    return text if cell_len(text) <= room else set_cell_size(text, max(1, room - 1)) + "…"


def wrapped(text: str, width: int, first: int = 0) -> list[str]:
    """Text wrapped to a width (0: not wrapped), between words if possible. The first line has `taken` cells less.

    >>> wrapped("one two three four five six", 20, 10)
    ['one two', 'three four five six']
    """
    if width <= 0:
        return [text]
    head, *rest = textwrap.wrap(text, max(width, 20), initial_indent=" " * first) or [""]
    return [head[first:], *rest]


def indented(lines: Iterable[Line], by: int) -> Iterator[Line]:
    """Indented lines."""
    for line in lines:
        yield [(" " * by, ""), *line] if line else line


def count(number: int, word: str) -> str:
    """A number and its word.

    >>> count(1, "fix"), count(2000, "fix"), count(2, "error")
    ('1 fix', '2,000 fixes', '2 errors')
    """
    if number == 1:
        return f"1 {word}"
    return f"{number:,} {word}{'es' if word.endswith('x') else 's'}"
