"""An object with quotes of its own inside a string: code, or the start of the whole answer once more.

A text and the quotes inside one of its strings enter; whether a member behind a quote belongs to the inner object
leaves, and the doubt about a string that ends in its middle.
"""

import re

from trueup.recover.json.lexer import KEY_AT_QUOTE

_NEXT_KEY = re.compile(r"""\s*,\s*["']([^"'\n]{1,80})["']\s*:""")
_BLANKS = " \t\r\n"


class Inner:
    """The inner object whose first key starts at a quote."""

    __slots__ = ("depth", "ran_on", "seen", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.depth = 1  # how many of its braces are open
        self.seen = at
        self.ran_on = False

    def passed(self, at: int) -> None:
        """A further quote that does not close the string: with a key behind a comma, the string has run on."""
        self._count(at)
        before = at
        while self.text[before - 1] in _BLANKS:
            before -= 1
        if self.depth <= 0 and self.text[before - 1] == "," and KEY_AT_QUOTE.match(self.text, at):
            self.ran_on = True

    def holds(self, at: int, end: int, known: frozenset[str]) -> bool:
        """Whether a member behind this quote is one of the inner object: it is still open, and the key unknown."""
        self._count(at)
        key = _NEXT_KEY.match(self.text, at + 1, end) if self.depth > 0 else None
        return key is not None and key[1] not in known

    def _count(self, at: int) -> None:
        self.depth += self.text.count("{", self.seen, at) - self.text.count("}", self.seen, at)
        self.seen = at


def opens_object(text: str, body: int, at: int) -> bool:
    """Whether the quote at `at`, inside the string that starts at `body`, starts the first key of an object."""
    before = at
    while before > body and text[before - 1] in _BLANKS:
        before -= 1
    return before > body and text[before - 1] == "{" and KEY_AT_QUOTE.match(text, at) is not None


def doubt_of(inner: Inner | None) -> tuple[str, ...]:
    """The code of a string that ends inside its inner object, or runs on past it with further members."""
    return ("S042",) if inner is not None and (inner.depth > 0 or inner.ran_on) else ()
