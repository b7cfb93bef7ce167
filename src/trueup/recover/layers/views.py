"""Text written inside a string: one level of escaping taken off, with the way back to the original offsets.

Serves JSON that was encoded twice and JSON copied out of a string with its backslashes (`{\\"a\\": 1}`).
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable

from trueup.recover.candidate import Candidate
from trueup.recover.json.lexer import ESCAPE, SIMPLE_ESCAPES
from trueup.recover.json.parser import Record

ESCAPED_START = re.compile(r"""[{\[](?:\\[nrt]|[\s{\[]){0,60}\\{1,8}["']""")


_QUOTED_BRACKET = re.compile(r"(?m)^[ \t]{0,3}>[ \t]*[{}\[\]\"']")
_QUOTE_MARK = re.compile(r"(?m)^[ \t]{0,3}>[ ]?")


# A number or a mark at the start of a line, and of the line on which a bracket opens.
_LINE_MARK = r"[ \t]*(?:([0-9]{1,4})[ \t]?[:|.)]?|(//|>>>|\.\.\.|[+#*|]))(?:[ \t]|(?=[\r\n]|\Z))"
_PREFIX = re.compile(_LINE_MARK)
_LINED = re.compile(rf"(?m)^{_LINE_MARK}[ \t]*(?=[{{\[][ \t]*\r?$)")
_MARK_OF = {"//": "//", ">>>": ">", "...": ">", "+": "+", "#": "#", "*": "*", "|": "|"}
_LEAST_LINES = 3
# Braces of an object inside another one, each written twice.
_DOUBLED_TWICE = 4


class Unfolded:
    """A stretch of text with one level of escapes taken off; `back` finds where a character came from."""

    __slots__ = ("_found", "_pieces", "text")

    def __init__(self, text: str, pieces: "Callable[[], _Pieces]") -> None:
        self.text = text
        self._pieces = pieces  # worked out when somebody first asks where something came from
        self._found: _Pieces | None = None

    def back(self, at: int) -> int:
        pieces = self._found
        if pieces is None:
            pieces = self._found = self._pieces()
        at = min(at, len(self.text))
        piece = bisect_right(pieces.places, at) - 1
        return pieces.sources[piece] + (at - pieces.places[piece]) * pieces.steps[piece]


class _Pieces:
    """What an unfolded text is put together from: where each piece begins in it, and where it came from."""

    __slots__ = ("length", "out", "places", "sources", "steps")

    def __init__(self) -> None:
        self.out: list[str] = []
        self.places: list[int] = []
        self.sources: list[int] = []
        self.steps: list[int] = []
        self.length = 0

    def add(self, piece: str, source: int, step: int) -> None:
        """A piece as it stands in the original (step 1), or one that stands for a single place there (step 0)."""
        self.out.append(piece)
        self.places.append(self.length)
        self.sources.append(source)
        self.steps.append(step)
        self.length += len(piece)

    def whole(self) -> Unfolded:
        """The text that they make."""
        return Unfolded("".join(self.out), lambda: self)


def unfold(text: str, start: int, stop: int) -> Unfolded:
    r"""Take one level of escapes off a stretch of text.

    >>> unfold(r"{\"a\": 1}", 0, 10).text
    '{"a": 1}'
    """
    stretch = text[start:stop]
    if stretch.count("\\") == stretch.count('\\"'):  # quotes alone are escaped, as nearly always
        return Unfolded(stretch.replace('\\"', '"'), lambda: _unfolded(text, start, stop))
    return _unfolded(text, start, stop).whole()


def _unfolded(text: str, start: int, stop: int) -> _Pieces:
    pieces = _Pieces()
    at = start
    for found in ESCAPE.finditer(text, start, stop):
        pieces.add(text[at : found.start()], at, 1)
        escape = found[1]
        meaning = SIMPLE_ESCAPES.get(escape)
        if meaning is None:
            # halves of a surrogate pair stay escaped: the string they stand in is decoded later
            wide = escape[0] == "u" and len(escape) == 5
            meaning = escape if not wide else found[0] if escape[1] in "dD" else chr(int(escape[1:], 16))
        pieces.add(meaning, found.start(), 0)
        at = found.end()
    pieces.add(text[at:stop], at, 1)
    return pieces


_BRACES = re.compile(r"\{+|\}+")
_DOUBLED_START = re.compile(r"""\{\{\s*(?:["'“][^"'”\n{}]{1,80}["'”]|\w{1,60})\s*:""")
_ENTITY = re.compile(
    r"&(?:quot|apos|amp|lt|gt|nbsp|[lr][ds]quo|#34|#39|#160|#822[01]|#x22|#x27|#x201[cd]);", re.IGNORECASE
)
_ENTITY_START = re.compile(
    r"[{\[](?:\s|&nbsp;)*+&(?:quot|apos|l[ds]quo|#34|#39|#8220|#x22|#x27|#x201c);", re.IGNORECASE
)
_BREAK = re.compile(r'"(?:[^"\\]|\\[\s\S])*"?|\\[nrt]')
_BREAK_START = re.compile(r'[{\[]\s*\\[nrt](?:\\[nrt]|\s)*["{\[\]}\d]')
_MARKED = re.compile(r"\\(\\|[_\[\]{}])")
_MARKS = ("\\[", "\\]", "\\{", "\\}", "\\_")
_MARKED_START = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"?|(?<!\\)\\[\[\]{}]|[{,]\s*\w*\\_')


def unentity(text: str) -> Unfolded | None:
    """Take HTML entities off JSON that was escaped for a page; None when no bracket opens onto one."""
    if "&" not in text or not _ENTITY_START.search(text):
        return None
    return _replaced(text, _ENTITY, lambda found: html.unescape(found[0]))


def unmark(text: str) -> Unfolded | None:
    """Take Markdown's backslashes off brackets and underscores that stand outside strings; None when there are none."""
    if "\\" not in text or not any(mark in text for mark in _MARKS):
        return None
    if all(found[0][0] == '"' for found in _MARKED_START.finditer(text)):
        return None
    return _replaced(text, _MARKED, lambda found: found[0] if found[1] == "\\" else found[1])


def unbreak(text: str) -> Unfolded | None:
    """Take line breaks for what they are where they stand escaped between tokens; None when no bracket opens onto one."""
    opened = _BREAK_START.search(text) if "\\" in text else None
    if opened is None or ((first := ESCAPED_START.search(text)) and first.start() < opened.start()):
        return None
    return _replaced(text, _BREAK, lambda found: found[0] if found[0][0] == '"' else " ")


def undouble(text: str) -> Unfolded | None:
    """Halve braces that are doubled throughout, as in a template; None when one is not, or only the outermost are."""
    if "{{" not in text or not _DOUBLED_START.search(text):
        return None
    if any(len(found[0]) % 2 for found in _BRACES.finditer(text)):
        return None
    opening = text.count("{")
    if opening < _DOUBLED_TWICE or opening != text.count("}"):
        return None
    return _replaced(text, _BRACES, lambda found: found[0][::2])


def _replaced(text: str, pattern: re.Pattern[str], meaning: Callable[[re.Match[str]], str]) -> Unfolded:
    pieces = _Pieces()
    at = 0
    for found in pattern.finditer(text):
        plain = meaning(found)
        pieces.add(text[at : found.start()], at, 1)
        pieces.add(plain, found.start(), 0)
        at = found.end()
    pieces.add(text[at:], at, 1)
    return pieces.whole()


def unquote(text: str) -> Unfolded | None:
    """Take the `>` marks of a Markdown quotation off; None unless brackets stand on two or more marked lines."""
    marks = list(_QUOTE_MARK.finditer(text)) if ">" in text else []
    if len(marks) < 2 or not _QUOTED_BRACKET.search(text):
        return None
    return _replaced(text, _QUOTE_MARK, lambda _: "")


def unlined(text: str) -> Unfolded | None:
    r"""Take the numbers or marks off the lines of a value: `1: {`, `+ {`, `# {`, `>>> {`; None when there are none.

    >>> unlined('1: {\n2:   "a": 1\n3: }').text
    '{\n  "a": 1\n}'
    """
    first = _LINED.search(text)
    if first is None:
        return None
    kind, number = _MARK_OF[first[2]] if first[2] else "", int(first[1] or 0)
    pieces = _Pieces()
    pieces.add(text[: first.start()], 0, 1)
    at, last = first.start(), ""
    count = 0
    while found := _PREFIX.match(text, at):
        mark = _MARK_OF.get(found[2] or "", "") if found[2] else ""
        if mark != kind or (found[1] and int(found[1]) != number + count):
            break
        stop = text.find("\n", found.end())
        stop = len(text) if stop < 0 else stop + 1
        pieces.add(text[found.end() : stop], found.end(), 1)
        last = text[found.end() : stop].strip()[:1]
        at = stop
        count += 1
    if count < _LEAST_LINES or last not in ("}", "]"):
        return None
    pieces.add(text[at:], at, 1)
    return pieces.whole()


def refold(inner: Candidate, unfolded: Unfolded, code: str) -> Candidate:
    """A candidate of the unfolded text as one of the original text."""
    back = unfolded.back
    spans = [(back(a), back(b)) for a, b in inner.spans]
    records: list[Record] = [(c, back(a), back(b), after, node) for c, a, b, after, node in inner.records]
    records.append((code, spans[0][0], spans[-1][1], "", None))
    return Candidate(inner.value, spans, records, inner.form)
