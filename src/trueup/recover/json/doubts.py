"""Doubts: signs that a repaired string or key ran into its neighbours, or has a quote too many.

Takes the raw content of a repaired string, or a comment; returns whether the reading can be trusted.
"""

from trueup.recover.json.lexer import KEY_AT_QUOTE
from trueup.recover.words import pattern, small
from trueup.verdict.patterns import lazy_regex

# Brackets that close in the middle, with a key or a string after them.
_RUN_ON = lazy_regex(r"""[}\]]\s*,\s*(?:[{\[]\s*)?["']|[}\]]\s*"[^"\n]{1,60}"\s*:""")
# A quote and a comma, then a key with or without its colon, or a quote on the next line.
_NEXT_MEMBER = lazy_regex(
    r"""["”](?<!\\.)\s*,\s*"[^"\n:,]{1,60}(?::|"\s*(?:["\[{]|-?[0-9]|true\b|false\b|null\b))|(?<!["”]),[ \t]*\r?\n\s*"(?![,.;])"""
)
# The first quote inside has no partner before a comma and a key: `x" (a guess), "b": "y`.
_WORDS_THEN_KEY = lazy_regex(r"""[^"\\]*+"[^"{\[\n]{1,60},\s*"[^"\n:,]{1,60}"\s*:\s""")
# A string, words and another string: `x" or "y`. In a quotation the spaces are outside the quotes.
_TWO_STRINGS = lazy_regex(r"""[^"]*[^"\s\\]"\s[^"]*\s"[^"\s][^"]*+\Z""")
_WORDS_BETWEEN = lazy_regex(r"""\s*[,.;]?\s*[^\s"][^"]*\Z""")
# A separator and a key, with or without its last quote.
_KEY_INSIDE = lazy_regex(r"""[,;]\s*"[^"\n,;:：=]{1,40}"?\s*(?:[:：]\s|=)""")
_QUOTE_AND_COMMA = lazy_regex(r"""(?<![\s\d\\])"\s*,""")
# A comment that says what the value before it should be, in the words of all languages.
_SHOULD_BE = (
    r"(?:<retraction.oops>|<retraction.wait>|<retraction.sorry>)[^\n]{0,60}<value.should_be>"
    r"|<value.should_be>:?\s*(?:[\"'`「]([^\"'`\n」]{1,80})[\"'`」]|(-?[0-9]+(?:\.[0-9]+)?|true|false|null))"
    r"\s?<member.since>?\s*[.!。]?\s*(?:\*/|-->)?\s*\Z"
)
# The beginning of a comment in place of something that was left out.
_ELIDED = r"(?://+|\#+|/\*+|<!--)[\s(\[.…-]*(?:(?<=\.\.\.)|(?<=…)|<value.elided>)"
_OMITS = r"(?m)^(?://+|\#+|/\*+|<!--)[\s(\[.-]*<value.elided>"
_NEAR = 160
_KEY_SIGNS = frozenset(",:：{}[]=\n")


def swallows(raw: str) -> bool:
    r"""Whether a repaired string ran into its neighbours: it closes brackets it did not open, or continues with keys.

    >>> swallows('x"}, {"a": "y'), swallows('x", "a" 1, "b'), swallows('say "a", "b" or c')
    (True, True, False)
    """
    found = _RUN_ON.search(raw) if "}" in raw or "]" in raw else None
    if found is not None:
        before = raw[: found.start() + 1]
        if before.count("}") > before.count("{") or before.count("]") > before.count("["):
            return True
        if raw.count("}") > raw.count("{") and raw.count('":') > 0:
            return True
    comma = raw.find(",")
    if (comma >= 0 and _WORDS_THEN_KEY.match(raw)) or (raw.count('"') == 2 and _TWO_STRINGS.match(raw)):
        return True
    return comma >= 0 and ("\n" in raw or '",' in raw or '" ' in raw) and _NEXT_MEMBER.search(raw) is not None


def takes_back(text: str, start: int, stop: int) -> bool:
    """Whether a comment right after a scalar says that the scalar should be a different one.

    >>> takes_back("[1 /* should be 2 */]", 3, 20), takes_back("[2 /* should be 2 */]", 3, 20)
    (True, False)
    """
    before = text[max(0, start - _NEAR) : start].rstrip(" \t,")
    if not before or not (before[-1].isalnum() or before[-1] in "\"'"):
        return False
    said = text[start:stop] if stop - start <= _NEAR else text[start : start + _NEAR] + "…"
    found = pattern(_SHOULD_BE).search(small(said))
    if found is None:
        return False
    meant = found[1] or found[2]
    if meant is None:
        return True
    said = small(before.rstrip("\"'"))
    return not said.endswith(meant) or said[: -len(meant)][-1:].isalnum()


def elides(comment: str) -> bool:
    """Whether a comment represents members or items that were left out.

    >>> elides("// ... and 12 more"), elides("# etc."), elides("/* the name, etc. */")
    (True, True, False)
    """
    return pattern(_ELIDED).match(small(comment[:_NEAR])) is not None


def may_object(comments: str) -> bool:
    """Whether comments, one on each line, may retract a value or represent something left out; a quick test."""
    if "..." in comments or "…" in comments:
        return True
    said = small(comments)
    return pattern(_OMITS).search(said) is not None or pattern("<value.should_be>").search(said) is not None


def is_odd_key(raw: str) -> bool:
    """Whether a key with quotes inside contains signs that separate members."""
    return not _KEY_SIGNS.isdisjoint(raw)


def is_half_quoted(raw: str) -> bool:
    """Whether a string that was never closed may have ended at a quote inside: one with words or a key after it.

    >>> is_half_quoted('Ada" and'), is_half_quoted('the "x" one'), is_half_quoted('5" pipe')
    (True, False, False)
    """
    quotes = raw.count('"') - raw.count('\\"')
    if quotes != 1:
        return quotes > 0 and _KEY_INSIDE.search(raw) is not None
    at = raw.rindex('"')
    return at > 0 and not raw[at - 1].isdigit() and _WORDS_BETWEEN.match(raw, at + 1) is not None


def is_half_escaped(raw: str) -> bool:
    r"""Whether a string has one unescaped quote, between a word and a comma: the string probably ended there.

    Escaped quotes in the string have to come in pairs, so that the unescaped one has no partner.

    >>> (
    ...     is_half_escaped(r'a \"b\";", c'),
    ...     is_half_escaped('div", and'),
    ...     is_half_escaped(r'a \"b", c'),
    ...     is_half_escaped('a "b", c'),
    ... )
    (True, True, False, False)
    """
    escaped = raw.count('\\"')
    return escaped % 2 == 0 and raw.count('"') - escaped == 1 and _QUOTE_AND_COMMA.search(raw) is not None


def without_stray(raw: str) -> str | None:
    r"""A string without the extra quote at its edge, as in `"Ada""` or `""Ada"`; None if there is none.

    >>> without_stray('Ada"'), without_stray('27"'), without_stray('"a" or "b"')
    ('Ada', None, None)
    """
    if raw.count('"') != 1 or "\\" in raw or len(raw) < 2:
        return None
    raw = raw.rstrip(" \t") if raw.rstrip(" \t").endswith('"') else raw
    if raw[-1] == '"':
        return raw[:-1] if raw[-2:-1].isalpha() else None
    return raw[1:] if raw[0] == '"' and not raw[1].isspace() else None


class QuoteTracker:
    """Tracks which quotes inside a list item belong together: an opening quote directly precedes a word."""

    __slots__ = ("astray", "opened", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.opened = False
        self.astray = False

    def passed(self, at: int) -> None:
        """Note a quote that does not close the string."""
        opens = self._opens(at)
        self.astray = self.astray or (self.opened and opens)
        self.opened = not self.opened if self.opened or opens else False

    def _opens(self, at: int) -> bool:
        before, behind = self.text[at - 1], self.text[at + 1 : at + 2]
        return (before.isspace() or before in "([{") and behind != "" and (behind.isalnum() or behind in "([{<")


# -- an object with its own quotes inside a string: code, or the whole answer once more ------------------

_NEXT_KEY = lazy_regex(r"""\s*,\s*["']([^"'\n]{1,80})["']\s*:""")
_BLANKS = " \t\r\n"


class InnerObject:
    """An object inside a string, whose first key starts at a quote."""

    __slots__ = ("depth", "ran_on", "seen", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.depth = 1  # the number of its open braces
        self.seen = at
        self.ran_on = False

    def passed(self, at: int) -> None:
        """Note a further quote that does not close the string; a key after a comma shows that the string has run on."""
        self._count(at)
        before = at
        while self.text[before - 1] in _BLANKS:
            before -= 1
        if self.depth <= 0 and self.text[before - 1] == "," and KEY_AT_QUOTE.match(self.text, at):
            self.ran_on = True

    def owns(self, at: int, end: int, known: frozenset[str]) -> bool:
        """Whether a member after this quote is part of the inner object: the object is still open, and the key unknown."""
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


def doubt_of(inner: InnerObject | None) -> tuple[str, ...]:
    """The code for a string that ends inside its inner object, or runs on past it into further members."""
    return ("S042",) if inner is not None and (inner.depth > 0 or inner.ran_on) else ()
