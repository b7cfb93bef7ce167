"""Finds fences with a program instead of the answer.

Takes a text; returns the stretches inside closed fences with a programming language. JSON in such a fence is an answer.
"""

import re

from trueup.recover.marks import CODE_LANGUAGES
from trueup.verdict.patterns import lazy_regex

_FENCE_LINE = lazy_regex(r"^[ \t]*(```+|~~~+)[ \t]*([\w+#.-]*)[^\n`]*$", re.MULTILINE)
_OPENS = lazy_regex(r"\s*+[{\[]")


def code_blocks(text: str) -> list[tuple[int, int]]:
    """The content of each closed fence with a programming language, in order, unless the content is JSON.

    >>> code_blocks("```js\\nf() { }\\n```\\n```js\\n{}\\n```\\n```json\\n{}\\n```")
    [(5, 14)]
    """
    blocks: list[tuple[int, int]] = []
    if "```" not in text and "~~~" not in text:
        return blocks
    mark = ""
    language, start = "", 0
    for line in _FENCE_LINE.finditer(text):
        if not mark:
            mark, language, start = line[1], line[2].lower(), line.end()
        elif line[1].startswith(mark) and not line[2]:
            if language in CODE_LANGUAGES and not _OPENS.match(text, start, line.start()):
                blocks.append((start, line.start()))
            mark = ""
    return blocks
