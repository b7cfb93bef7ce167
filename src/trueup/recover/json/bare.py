"""Finds where words without quotes end: `{"title": Dune (Part Two), "year": 1965}`.

Takes a text and the offset of the first word; returns the offset after the last one. Brackets that the words open are
balanced, and words in an object may continue over several lines.
"""

from trueup.recover.json.lexer import CLOSER_OF, QUOTES
from trueup.recover.json.strings import (
    ARGUMENT,
    CLOSING_AHEAD,
    LIST_ITEM,
    OBJECT_AHEAD,
    comma_closes,
    is_prose,
    past,
    starts_member,
)
from trueup.verdict.patterns import lazy_regex

_WHOLE_TOKEN = lazy_regex(r"-?[0-9][0-9.eE+-]{0,40}|true|false|null|True|False|None")
_BARE_STOP = lazy_regex(r"""```|[,，、،;{}\[\]()\n｝］"'”]|//|/\*|(?<=[ \t])\#|\Z""")
_OPENS = "([{"
_QUOTED_KEY_AHEAD = lazy_regex(r"""\s*(?:"[^"\n]{1,80}"|'[^'\n]{1,80}')\s*:""")
_BARE_ARGUMENT_STOP = lazy_regex(rf"[ \t](?=[^\W\d]\w*=(?![=>]))|{_BARE_STOP.pattern}")
_APOSTROPHE = lazy_regex(r"\w'\w")
_QUOTE_THEN_END = lazy_regex(r"""["'”]\s*(?:[,}\])]|\Z)""")


class Bare:
    """Finds where words without quotes end, from left to right, balancing the brackets that the words open."""

    __slots__ = ("end", "first", "known", "lines", "opened", "place", "start", "text")

    def __init__(self, text: str, start: int, end: int, place: str, known: frozenset[str]) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.place = place
        self.known = known
        self.first = True  # no comma has been passed yet
        self.lines = False
        self.opened: list[str] = []  # the closers of the brackets that the words opened

    def stop(self, open_closers: str, *, lines: bool) -> int:
        """The end: a bracket, the end of a line, or a comma with a new member after it.

        `lines` allows a value of several lines, which continues up to a key or a bracket that closes an open container.
        """
        stops = _BARE_ARGUMENT_STOP if self.place is ARGUMENT else _BARE_STOP
        self.lines = lines
        at = self.start
        while True:
            at = stops.search(self.text, at, self.end).start()  # type: ignore[union-attr]
            if at >= self.end:
                return self.end
            sign = self.text[at]
            if sign in _OPENS:
                if self._is_value(at):
                    return at
                self.opened.append(CLOSER_OF[sign])
            elif sign in ")]}｝］":
                if self.opened and self.opened[-1] == sign:
                    self.opened.pop()
                elif sign != ")" or ")" in open_closers:
                    return at
            elif sign == "\n":
                if not lines or self._next_line_ends(at):
                    return at
            else:
                passed = self._passed(sign, at)
                if passed < 0:
                    return at if passed == -1 else at + 1
                at += passed
            at += 1

    def _is_value(self, at: int) -> bool:
        """Whether a bracket after the words opens a separate value."""
        whole = _WHOLE_TOKEN.fullmatch(self.text[self.start : at].rstrip())
        return whole is not None or (self.text[at] == "{" and OBJECT_AHEAD.match(self.text, at, self.end) is not None)

    def _next_line_ends(self, at: int) -> bool:
        """Whether the lines below belong to something else: a bracket, a fence, or the next member."""
        text, end = self.text, self.end
        here = past(text, at)
        if here >= end or text[here] in "}]｝］":
            return True
        if text[here] == "," or not starts_member(text, here, end, self.known):
            return text[here] == "," and comma_closes(text, here, end, self.place, self.known, first=True)
        return text[here] in QUOTES or not is_prose(text, here, end, self.known)

    def _passed(self, sign: str, at: int) -> int:
        """How many characters to skip after a sign inside the words; -1 if the words end before the sign, -2 if after it."""
        text, end, in_list = self.text, self.end, self.place is LIST_ITEM
        if sign in ",，、،":
            return 0 if not self._comma_ends(at) else -1
        if sign == "`":
            return self._past_block(at)
        if sign == ";":
            ends = in_list or starts_member(text, at + 1, end, self.known) or CLOSING_AHEAD.match(text, at + 1, end)
            return -1 if ends else 0
        if sign in "/#":
            alone = text[at - 1].isspace() or _WHOLE_TOKEN.fullmatch(text, self.start, at)
            return -1 if at > self.start and alone else int(sign == "/")
        if at > self.start and (text[at - 1] == "\\" or (sign == "'" and _APOSTROPHE.match(text, at - 1, end))):
            return 0
        if _QUOTE_THEN_END.match(text, at, end):
            return -2
        return -1 if in_list or (at > self.start and starts_member(text, at, end, self.known)) else 0

    def _past_block(self, at: int) -> int:
        """How far a block of code inside the words extends; -1 if its mark ends the words."""
        text, end = self.text, self.end
        closed = text.find("```", at + 3, end) if self.lines and text[:at].rstrip(" \t")[-1:] == "\n" else -1
        return closed + 2 - at if closed > 0 and text.find("}", closed + 3, end) >= 0 else -1

    def _comma_ends(self, at: int) -> bool:
        text, end, start = self.text, self.end, self.start
        if self.opened:  # inside brackets that the words opened, only a quoted key ends the words
            key = _QUOTED_KEY_AHEAD.match(text, at + 1, end)
            return key is not None
        whole = self.first and _WHOLE_TOKEN.fullmatch(text[start:at].rstrip())
        if self.place is LIST_ITEM or (whole and not text[at + 1 : at + 2].isdigit()):
            return True
        ends = comma_closes(text, at, end, self.place, self.known, first=self.first)
        self.first = False
        return ends
