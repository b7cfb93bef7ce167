"""Repairs brackets by indentation: finds which one is missing, wrong or extra in a value of many lines.

Takes a text and the offset of an opener; returns the value with every bracket where the indentation puts it. Returns None
if the indentation does not decide: strings that run on, members that are not indented, brackets that nothing explains.
"""

from typing import NamedTuple

from trueup.recover.json.lexer import CLOSER_OF
from trueup.recover.json.parser import Parser, ParseResult, Record
from trueup.verdict.patterns import lazy_regex

Edit = tuple[int, int, str, str]

# Strings and comments of one line, whose brackets do not count.
_MASKED = lazy_regex(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*[^*\n]*\*/|(?<=[\s,])\#[^\n]*""")
_LINE = lazy_regex(r"([ \t]*)([^\n]*)(?:\n|\Z)")
_INDENT = lazy_regex(r"(?:[ \t\r]*+\n)*+([ \t]*)(?=\S)")
_CLOSING = lazy_regex(r"[}\])]+(?=[\s,;]*\Z)")
_BRACKETS = lazy_regex(r"[{}\[\]]")
_BRACKET_CODES = frozenset(("S005", "S006", "S007"))
_MOST_EDITS = 50


class _Open(NamedTuple):
    """An open bracket: what closes it, and the indentation of its line."""

    closer: str
    indent: int


class _Stuck(Exception):
    """The indentation does not decide."""


class _Walk:
    """One walk over the lines of a value."""

    __slots__ = ("edits", "end", "frames", "last")

    def __init__(self) -> None:
        self.frames: list[_Open] = []
        self.edits: list[Edit] = []
        self.end = -1  # after the bracket that closes the root
        self.last = 0  # after what was last read

    def line(self, at: int, indent: int, masked: str, below: int) -> None:
        """Take one line; `masked` is its text with the content of strings and comments blanked out."""
        closing = _CLOSING.match(masked)
        floor = indent if closing else indent - 1
        while self.frames and self.frames[-1].indent > floor:
            if len(self.frames) == 1:
                raise _Stuck
            self.insert(self.frames.pop().closer)
        if closing:
            self.close(at, indent, closing[0])
        else:
            self.brackets(at, indent, masked, below)
        self.last = at + len(masked.rstrip())

    def close(self, at: int, indent: int, run: str) -> None:
        """A line that starts with closing brackets: each closes what was opened at this indentation."""
        for place, sign in enumerate(run, at):
            if self.end >= 0:
                return
            if not self.frames:
                raise _Stuck  # it closes something that another sign opened
            if self.frames[-1].indent != indent:
                self.edit(place, place + 1, "", "S007")
                continue
            expected = self.frames.pop().closer
            if sign != expected:
                self.edit(place, place + 1, expected, "S006")
            if not self.frames:
                self.end = place + 1

    def brackets(self, at: int, indent: int, masked: str, below: int) -> None:
        """Take the brackets of any other line: one that opens on it may close on it. `below` is the next line's indentation."""
        for found in _BRACKETS.finditer(masked):
            sign, place = found[0], at + found.start()
            if sign in CLOSER_OF:
                self.frames.append(_Open(CLOSER_OF[sign], indent))
            elif (
                self.frames and self.frames[-1].indent < indent and (indent <= below or self.frames[-1].closer != sign)
            ):
                self.edit(place, place + 1, "", "S007")  # the container it would close continues below
            elif not self.frames or self.frames[-1].closer != sign:
                raise _Stuck
            else:
                self.frames.pop()
                if not self.frames:
                    self.end = place + 1
                    return

    def insert(self, closer: str) -> None:
        self.edit(self.last, self.last, closer, "S005")

    def edit(self, start: int, stop: int, after: str, code: str) -> None:
        self.edits.append((start, stop, after, code))
        if len(self.edits) > _MOST_EDITS:
            raise _Stuck


def _walked(text: str, begin: int, stop: int) -> _Walk | None:
    """The walk over the lines from an opener on; None if the indentation does not decide."""
    walk = _Walk()
    at = begin
    indent = begin - (text.rfind("\n", 0, begin) + 1)
    if text[begin - indent : begin].strip():
        indent = 0
    try:
        while at < stop and walk.end < 0:
            found = _LINE.match(text, at, stop)
            if found is None or found.end() == at:
                break
            first = at == begin
            masked = _MASKED.sub(lambda m: ("\x01" if m[1] else " ") * len(m[0]), found[2])
            if '"' in masked:
                return None
            if masked.strip():
                below = _INDENT.match(text, found.end(), stop)
                deep = len(below[1].expandtabs(4)) if below else -1
                walk.line(found.start(2), indent if first else len(found[1].expandtabs(4)), masked, deep)
            at = found.end()
        sign = text[walk.last - 1]
        if walk.frames and (not walk.edits or sign in ",:{[" or (sign.isalnum() and walk.last == len(text))):
            return None  # the text was cut off, and its continuation is missing
        while walk.frames:
            walk.insert(walk.frames.pop().closer)
    except _Stuck:
        return None
    if walk.end < 0:
        walk.end = stop
    return walk


def rebracketed(text: str, begin: int, stop: int, known: frozenset[str], max_depth: int) -> ParseResult | None:
    """The value with its brackets where the indentation puts them; None if it does not decide, or brackets stay faulty."""
    if text.find("\n", begin, stop) < 0:
        return None
    walk = _walked(text, begin, stop)
    if walk is None or not walk.edits:
        return None
    pieces: list[str] = []
    offsets: list[int] = []
    at = begin
    for start, end, after, _ in walk.edits:
        pieces += (text[at:start], after)
        offsets.extend(range(at, start))
        offsets.extend([start] * len(after))
        at = end
    pieces.append(text[at : walk.end])
    offsets.extend(range(at, walk.end + 1))
    repaired = "".join(pieces)
    outcome = Parser(repaired, 0, len(repaired), known, max_depth).read()
    if outcome.cut or any(record[0] in _BRACKET_CODES for record in outcome.records):
        return None
    records: list[Record] = [(code, offsets[a], offsets[b], after, node) for code, a, b, after, node in outcome.records]
    records += [(code, start, end, after, None) for start, end, after, code in walk.edits]
    return ParseResult(outcome.value, offsets[outcome.end], records, cut=False)
