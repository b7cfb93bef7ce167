"""Closing: what a closing bracket ends, and what the end of the text leaves open.

A bracket of the right kind, of the wrong kind, or one too many; each way out is a record.
"""

import re

from trueup.recover.json.frames import Frame
from trueup.recover.json.lexer import KEY_AHEAD, SKIP_PLAIN
from trueup.recover.json.mismatch import Mismatch, settle
from trueup.recover.json.values import Values

_COMMENTS = re.compile(r"(?:[ \t\r\n]*+(?://[^\n]{0,1000}\n|#[^\n]{0,1000}\n|/\*[^*]{0,1000}\*/)){0,20}")


def goes_on(text: str, at: int, end: int) -> bool:
    """Whether a comma and a member stand behind an object that was closed, and a brace behind them."""
    at = SKIP_PLAIN.match(text, at, end).end()  # type: ignore[union-attr]
    if at >= end or text[at] != ",":
        return False
    at = _COMMENTS.match(text, at + 1, end).end()  # type: ignore[union-attr]
    return KEY_AHEAD.match(text, at, end) is not None and text.find("}", at, end) >= 0


class Closing(Values):
    """The part of the reader that ends containers."""

    __slots__ = ()

    def closer(self, frame: Frame, sign: str) -> None:
        """A closing bracket: the right one, one of another kind, or one too many."""
        pos = self.pos
        if sign == frame.closer and not self.closed_too_soon(frame):
            if self.text[pos] != sign:
                self.note("S024", pos, pos + 1, sign, frame.node)
            self.pos = pos + 1
            self.pop(frame, pos)
            return
        if sign == frame.closer:
            self.note("S007", pos, pos + 1, "", frame.node)
            self.pos = pos + 1
            return
        choice = settle(self.text, pos, self.end, [f.closer for f in self.frames], sign)
        if choice is Mismatch.EXTRA:
            self.note("S007", pos, pos + 1, "", frame.node)
            self.pos = pos + 1
        elif choice is Mismatch.WRONG:
            self.note("S006", pos, pos + 1, frame.closer, frame.node)
            self.pos = pos + 1
            self.pop(frame, pos)
        else:
            self.note("S005", pos, pos, frame.closer, frame.node)
            self.pop(frame, pos)

    def closed_too_soon(self, frame: Frame) -> bool:
        """`{"a": 1}, "b": 2}`: the root closes, yet a member follows."""
        return len(self.frames) == 1 and frame.kind == "{" and goes_on(self.text, self.pos + 1, self.end)

    def pop(self, frame: Frame, at: int) -> None:
        self.frames.pop()
        if frame.comma and frame.value:
            comma = self.text.rfind(",", frame.start, at)
            if comma >= 0:
                self.note("S001", comma, comma + 1, "", frame.node)
        if frame.closer == ")" and self.text[frame.start] != "(" and self.text.startswith(")", at):
            self.note("F003", at, at + 1, "}" if frame.kind == "=" else "", frame.node)
        if frame.kind == "(":
            self.pop_tuple(frame, at)
        if self.frames:
            above = self.frames[-1]
            above.last_string = None
            above.last_child = frame
            if frame.slot in above.members:
                above.members[frame.slot] = (above.members[frame.slot][0], self.pos)

    def pop_tuple(self, frame: Frame, at: int) -> None:
        """A tuple is a list; parentheses around one value alone are only parentheses."""
        called = self.text[frame.start] != "("
        if len(frame.value) == 1 and not frame.comma:
            self.replace(frame, frame.value[0])
        if not called:
            self.note("S023", frame.start, frame.start + 1, "[", frame.node)
            if self.text.startswith(")", at):
                self.note("S023", at, at + 1, "]", frame.node)

    def close_all(self) -> None:
        """The text ended: close what is open."""
        top = self.frames[-1]
        at = self.end
        closers = self.open_closers()
        codes = {r[0] for r in self.records[-3:]}
        if (top.comma or not top.value) and not codes & {"S029", "S030", "S031"}:
            self.note("S029", at, at, "", top.node)
        self.note("S005", at, at, closers, top.node)
        while self.frames:
            frame = self.frames.pop()
            if frame.kind == "(":
                self.pop_tuple(frame, at)
        self.pos = self.end
