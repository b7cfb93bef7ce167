"""Finds reasoning: the text that a model writes for itself, before or between parts of its answer.

Takes a text and returns its stretches of reasoning; or takes the pieces of a stream and returns the text outside reasoning
as soon as it is certain. A mark inside a string of a value is text. A stream cannot know at first that its prompt opened
the reasoning: `retracted` then says how many of the returned characters turned out to be reasoning.
"""

import re
from functools import cache
from typing import Final

from trueup.recover.marks import (
    CLOSES_UNOPENED,
    LONGEST_REASONING,
    OPENS_REASONING,
    SPECIAL_TOKEN,
    STARTS_REASONING,
    TURN_HEADER,
    begins_reasoning,
    begins_special,
    may_reason,
    next_closing,
    next_opening,
)
from trueup.verdict.patterns import lazy_regex

_BRACKET: Final = lazy_regex(r"[{\[]")
_QUOTE_OR_ESCAPE: Final = lazy_regex(r'\\.|"')
_SPECIAL: Final = lazy_regex(SPECIAL_TOKEN)
_OPENERS: Final = frozenset("{[")
_ENDS_VALUE: Final = frozenset("\n}])")
_MAY_START_LINE: Final = lazy_regex(r"[\n}\])]")
_FENCE = 3  # the least number of characters of a fence


def reasoning_spans(text: str) -> list[tuple[int, int]]:
    """The stretches of a reply that are reasoning, in order; an unclosed block runs to the end.

    >>> reasoning_spans("<think>2 + 2</think>4"), reasoning_spans('{"a": "<think>"}'), reasoning_spans("Hm.</think>4")
    ([(0, 20)], [], [(0, 11)])
    """
    if not may_reason(text):
        return []
    spans = _opened(text, 0)
    closed = _closes_prompt(text, spans[0][0] if spans else len(text))
    return [(0, closed), *_opened(text, closed)] if closed else spans


def _opened(text: str, at: int) -> list[tuple[int, int]]:
    """The reasoning after an offset that a mark opens."""
    spans: list[tuple[int, int]] = []
    search = at
    bracket = -1
    while opened := next_opening(text, search):
        search = opened.end()
        if bracket < at:
            opener = _BRACKET.search(text, at)
            bracket = opener.start() if opener else len(text)
        if bracket < opened.start() and not _starts_line(text, opened.start()):
            continue  # a tag inside a string of the value
        closed = next_closing(text, opened.end())
        stop = closed.end() if closed else len(text)
        spans.append((opened.start(), stop))
        at = search = stop
    return spans


def _starts_line(text: str, at: int) -> bool:
    """Whether there is only whitespace between an offset and the line's start or a value's end before it."""
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    return at == 0 or text[at - 1] in _ENDS_VALUE


def _closes_prompt(text: str, stop: int) -> int:
    """The end of reasoning that the prompt opened, so that its beginning is not in the text; 0 if there is none."""
    place = _InValue()
    at = 0
    for mark in CLOSES_UNOPENED.finditer(text, 0, stop):
        place.take(text[at : mark.start()])
        if place.closes("", mark[0]):
            return mark.end()
        at = mark.start()
    return 0


@cache
def _marks(*, prose: bool) -> re.Pattern[str]:
    """A pattern for the marks to find outside reasoning."""
    tokens = f"|{TURN_HEADER}|{SPECIAL_TOKEN}" if prose else ""
    return re.compile(f"(?P<opens>{OPENS_REASONING.pattern})|(?P<closes>{CLOSES_UNOPENED.pattern}){tokens}")


@cache
def _beginnings(*, prose: bool) -> re.Pattern[str]:
    """A pattern for the end of a text that may become one of them."""
    reasoning = begins_reasoning()
    return re.compile(f"{reasoning.pattern}|{begins_special().pattern}") if prose else reasoning


class _InValue:
    """The state of a stream in or before a value, inside whose strings a mark is text."""

    __slots__ = ("_begun", "_escaped", "_first", "_fresh", "_quoted")

    def __init__(self) -> None:
        self._begun = False  # whether a bracket followed the last reasoning
        self._fresh = True  # whether the next text starts a line
        self._first = ""  # the first character of the stream
        self._quoted = False  # whether this line has an odd number of quotes so far
        self._escaped = False

    def take(self, text: str) -> None:
        """Move past some text."""
        self._begun = self._begun or _BRACKET.search(text) is not None
        self._fresh = self._starts_line(text, len(text))
        self._first = self._first or text.lstrip()[:1]
        if self._first not in _OPENERS:
            self._quoted, self._escaped = self._on_line(text)

    def is_plain(self, text: str) -> bool:
        """Move past some text if it certainly has no mark; a quick test that is False in case of doubt."""
        within = self._begun and not self._fresh and self._first in _OPENERS
        if within and _MAY_START_LINE.search(text) is None:
            return True
        if STARTS_REASONING.search(text) is not None:
            return False
        self.take(text)
        return True

    def leave(self) -> None:
        """Move past reasoning."""
        self._begun = False

    def opens(self, text: str, at: int) -> bool:
        """Whether an opening mark at an offset of the text really opens reasoning."""
        begun = self._begun or _BRACKET.search(text, 0, at) is not None
        return not begun or self._starts_line(text, at)

    def closes(self, text: str, mark: str) -> bool:
        """Whether a mark after this text closes reasoning that was not opened."""
        first = self._first or text.lstrip()[:1]
        if first in _OPENERS or (not first and _SPECIAL.fullmatch(mark) is not None):
            return False
        return not self._on_line(text)[0]

    def _starts_line(self, text: str, at: int) -> bool:
        while at > 0 and text[at - 1] in " \t":
            at -= 1
        return text[at - 1] in _ENDS_VALUE if at else self._fresh

    def _on_line(self, text: str) -> tuple[bool, bool]:
        """Whether the text ends inside quotes on its last line, and right after a backslash."""
        line = text.rfind("\n") + 1
        quoted, escaped = (False, False) if line else (self._quoted, self._escaped)
        if "\\" not in text and not escaped:
            return quoted ^ (text.count('"', line) % 2 == 1), False
        at = line + escaped
        for sign in _QUOTE_OR_ESCAPE.finditer(text, at):
            quoted ^= sign[0] == '"'
            at = sign.end()
        return quoted, "\\" in text[at:] if len(text) > line else escaped


class _InProse:
    """The state of a stream in prose, in whose code marks and tokens are text."""

    __slots__ = ("_fence", "_head", "_ticked")

    def __init__(self) -> None:
        self._fence = ""
        self._head = ""  # the first characters of this line
        self._ticked = False  # whether it has an odd number of backticks so far

    def is_plain(self, _: str) -> bool:
        """Always False: in prose, a fence may open anywhere."""
        return False

    def take(self, text: str) -> None:
        """Move past some text."""
        self._fence, self._head, self._ticked = self._after(text)

    def leave(self) -> None:
        """Move past reasoning."""

    def opens(self, text: str, at: int) -> bool:
        """Whether a mark at an offset of the text is a real one."""
        fence, _, ticked = self._after(text[:at])
        return not fence and not ticked

    def closes(self, text: str, mark: str) -> bool:  # noqa: ARG002 - as in a value
        """Whether a mark after this text closes reasoning that was not opened."""
        return self.opens(text, len(text))

    def _after(self, text: str) -> tuple[str, str, bool]:
        fence, head, ticked = self._fence, self._head, self._ticked
        for number, line in enumerate(text.split("\n")):
            if number:
                head, ticked = "", False
            before = head
            head = (head + line).lstrip()[:_FENCE] if len(head) < _FENCE else head
            if len(before) < _FENCE and head in ("```", "~~~") and fence in ("", head):
                fence = "" if fence else head
            ticked ^= line.count("`") % 2 == 1
        return fence, head, ticked


class Visible:
    """The text of a stream outside reasoning, the same for any division into pieces.

    Only text that may be the beginning of a mark is held back. `inside` says whether the stream is inside reasoning. If the
    prompt opened the reasoning, this is known only when it closes: then `misled` is set, and the first `retracted` characters
    that were returned are void. `prose` has no values whose strings may contain a mark, and special tokens are removed too;
    inside code, both are text.

    >>> stream = Visible()
    >>> stream.feed("Well, <thi"), stream.feed("nk>2 + 2"), stream.inside, stream.feed("</think>4")
    ('Well, ', '', True, '4')
    """

    __slots__ = ("_given", "_held", "_place", "_prose", "_unopened", "inside", "misled", "retracted")

    def __init__(self, *, prose: bool = False) -> None:
        self.inside = False
        self.misled = False
        self.retracted = 0
        self._prose = prose
        self._place: _InValue | _InProse = _InProse() if prose else _InValue()
        self._held = ""
        self._given = 0
        self._unopened = True  # no mark so far: the prompt may have opened reasoning

    def feed(self, piece: str) -> str:
        """Take a piece; returns the text that is certainly outside reasoning."""
        if not (self._held or self.inside or self._prose) and self._place.is_plain(piece):
            self._given += len(piece)
            return piece
        return self._pass(self._held + piece, more=True)

    def finish(self) -> str:
        """End the stream; returns the text that was held back and is not a mark."""
        return self._pass(self._held, more=False)

    def _pass(self, text: str, *, more: bool) -> str:
        out: list[str] = []
        at = 0
        self._held = ""
        while at < len(text):
            at = self._within(text, at, more=more) if self.inside else self._outside(text, at, out, more=more)
        self._given += sum(map(len, out))
        return "".join(out)

    def _within(self, text: str, at: int, *, more: bool) -> int:
        closed = next_closing(text, at)
        if closed is not None:
            self.inside = False
            self._place.leave()
            return closed.end()
        begun = begins_reasoning().search(text, max(at, len(text) - LONGEST_REASONING)) if more else None
        self._held = text[begun.start() :] if begun else ""
        return len(text)

    def _outside(self, text: str, at: int, out: list[str], *, more: bool) -> int:
        """Return the text up to the next mark, or up to a possible beginning of one, and move past it."""
        mark = _marks(prose=self._prose).search(text, at)
        limit = mark.start() if mark else len(text)
        sure = max(at, min(limit, len(text) - LONGEST_REASONING))
        self._give(text[at:sure], out)
        begun = self._begun(text, sure, limit) if more else -1
        if begun >= 0:
            self._give(text[sure:begun], out)
            self._held = text[begun:]
            return len(text)
        self._give(text[sure:limit], out)
        if mark is None:
            return limit
        if not self._is_mark(mark, out):
            self._give(mark[0], out)
        return mark.end()

    def _is_mark(self, mark: re.Match[str], out: list[str]) -> bool:
        """Whether a mark after the returned text is a real one; if so, the state changes accordingly."""
        if mark.lastgroup == "opens":
            if not self._place.opens("", 0):
                return False
            self.inside, self._unopened = True, False
        elif mark.lastgroup == "closes":
            if not self._place.closes("", mark[0]) or not (self._unopened or self._prose):
                return False
            if self._unopened:
                self.misled, self.retracted, self._unopened = True, self._given, False
                out.clear()
                self._place.leave()
        else:
            return self._place.opens("", 0)
        return True

    def _begun(self, text: str, at: int, limit: int) -> int:
        """Where an incomplete mark may begin; -1 if nowhere."""
        search = max(at, len(text) - LONGEST_REASONING)
        beginnings = _beginnings(prose=self._prose)
        while search <= limit and (begun := beginnings.search(text, search)) and begun.start() <= limit:
            before = text[at : begun.start()]
            if self._place.opens(before, len(before)) or (self._unopened and self._place.closes(before, "")):
                return begun.start()
            search = begun.start() + 1
        return -1

    def _give(self, text: str, out: list[str]) -> None:
        if text:
            out.append(text)
            self._place.take(text)
