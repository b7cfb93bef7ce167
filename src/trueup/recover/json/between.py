"""What stands between members and between items: separators, ellipses, pieces of a string, missing commas."""

from typing import Any

from trueup.recover.json import strings
from trueup.recover.json.closing import Closing
from trueup.recover.json.frames import Frame
from trueup.recover.json.lexer import ARGUMENT_AHEAD, BARE_KEY, QUOTES, SKIP_PLAIN, SPACED_KEY, WIDE


class Between(Closing):
    """The part of the reader that stands between two values."""

    __slots__ = ()

    def separator(self, frame: Frame, sign: str) -> None:
        pos = self.pos
        if frame.comma:
            self.note("S003", pos, pos + 1, "", frame.node)
        elif sign != ",":
            self.note("S024" if sign in WIDE else "S038", pos, pos + 1, ",", frame.node)
        frame.comma = True
        self.pos = pos + 1

    def elide(self, frame: Frame, stop: int) -> None:
        self.note("S027", self.pos, stop, "", frame.node)
        frame.comma = False
        frame.last_string = None
        self.pos = stop
        if SKIP_PLAIN.match(self.text, stop, self.end).end() < self.end:  # type: ignore[union-attr]
            after = self.skip(frame.node)
            if after < self.end and self.text[after] not in ",}])":
                frame.comma = True

    def comma_missing(self, frame: Frame, sign: str) -> bool:
        """A member or item starts where a comma should be: note it, unless a string must be joined or reopened."""
        if frame.kind in "{=" and not self.member_starts(frame):
            return self.rejoin(frame, sign)
        if self.is_remark(frame, sign):
            self.note("S005", self.pos, self.pos, frame.closer, frame.node)
            self.pop(frame, self.pos)
            return False
        self.note("S002", self.pos, self.pos, ",", frame.node)
        frame.comma = True
        return True

    def member_starts(self, frame: Frame) -> bool:
        if frame.equals and ARGUMENT_AHEAD.match(self.text, self.pos, self.end):
            return True
        return strings.starts_member(self.text, self.pos, self.end, self.known)

    def is_remark(self, frame: Frame, sign: str) -> bool:
        """`Note: …` on a line of its own behind the root's last member: prose, and the root was never closed."""
        if len(self.frames) > 1 or frame.kind != "{" or not self.known or sign in QUOTES or not sign.isalpha():
            return False
        word = SPACED_KEY.match(self.text, self.pos, self.end) or BARE_KEY.match(self.text, self.pos, self.end)
        bare = any(record[0] == "S014" and record[4] and record[4][0] is None for record in self.records)
        return word is not None and word[0] not in self.known and not bare and self.text[self.pos - 1] == "\n"

    def rejoin(self, frame: Frame, sign: str) -> bool:
        """Text after a member's value that starts no member: a further piece of its string, or a stray."""
        last = frame.last_string
        text, pos = self.text, self.pos
        if text.startswith("```", pos):
            self.end = pos
            return False
        if last is not None and sign == "+":
            self.pos = pos + 1
            at = self.skip(frame.node)
            if at < self.end and text[at] in QUOTES:
                self.piece(frame, last, pos)
                return False
            self.pos = pos
        elif last is not None and sign in QUOTES and isinstance(frame.value[last[0]], str):
            self.piece(frame, last, pos)
            return False
        self.stray(frame)
        return False

    def piece(self, frame: Frame, last: tuple[Any, int], start: int) -> None:
        """Join the string at the reader's place to the string before it."""
        slot = last[0]
        piece = strings.read_string(self.text, self.pos, self.end, self.place(frame), self.known, self.open_closers())
        if any(record[0] == "S012" and record[1] == last[1] for record in self.records[-3:]):
            self.note("S042", last[1], piece.after, "", (frame.node, slot))
        frame.value[slot] += piece.value
        self.note("S022", start, piece.after, "", (frame.node, slot))
        self.note_codes(piece, self.pos, (frame.node, slot))
        self.pos = piece.after
