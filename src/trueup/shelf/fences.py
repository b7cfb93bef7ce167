"""Fenced blocks: takes a text; returns each block with its language and position, and the text without code.

Fences follow Markdown: three or more backticks or tildes at the start of a line. An unclosed fence continues to the
end.
"""

import re
from typing import NamedTuple

from trueup.verdict.patterns import lazy_regex

_FENCE_LINE = lazy_regex(r"^[ \t>]{0,40}(`{3,}|~{3,})[ \t]*([\w+#.\-]{0,40})[^\n`]*$", re.MULTILINE)
_INLINE = lazy_regex(r"``[^`\n]{1,400}``|`[^`\n]{1,400}`")


class FencedBlock(NamedTuple):
    """A fenced block: its language in lower case, the position of its content, and whether its fence is closed."""

    language: str
    start: int
    stop: int
    closed: bool
    outer: int
    """The start of the line with its opening fence."""


def blocks(text: str) -> list[FencedBlock]:
    """The fenced blocks of a text, in order.

    >>> blocks("```Python\\nx = 1\\n```")
    [FencedBlock(language='python', start=10, stop=16, closed=True, outer=0)]
    """
    found: list[FencedBlock] = []
    if "```" not in text and "~~~" not in text:
        return found
    mark, language, start, outer = "", "", 0, 0
    for line in _FENCE_LINE.finditer(text):
        if not mark:
            mark, language, start, outer = line[1], line[2].lower(), min(line.end() + 1, len(text)), line.start()
        elif line[1].startswith(mark) and not line[2]:
            found.append(FencedBlock(language, start, max(start, line.start()), closed=True, outer=outer))
            mark = ""
    if mark:
        found.append(FencedBlock(language, start, len(text), closed=False, outer=outer))
    return found


def without_code(text: str) -> str:
    """A text with spaces instead of code, in fences and between backticks; positions stay the same.

    >>> without_code("Run `x` now")
    'Run     now'
    """
    pieces: list[str] = []
    at = 0
    for block in blocks(text):
        stop = text.find("\n", block.stop)
        stop = len(text) if stop < 0 or not block.closed else stop
        pieces += (text[at : block.outer], _blank(text[block.outer : stop]))
        at = stop
    pieces.append(text[at:])
    return _INLINE.sub(lambda found: " " * len(found[0]), "".join(pieces)) if "`" in text else "".join(pieces)


def _blank(text: str) -> str:
    """Spaces instead of a text, with its line breaks."""
    return "\n".join(" " * len(line) for line in text.split("\n"))
