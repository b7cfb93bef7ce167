"""The tolerant parser: reads JSON-like text from an opening bracket on, whatever its faults.

Takes a text and the offset of an opener; returns a value, the offset after it and the records of the fixes. It never
recurses and never goes back further than the string it is in, so its time depends on the length alone. One pattern takes
each clean member or item. The rules of `repairs` read everything else, one function per fault.
"""

import math
from typing import Any

from trueup.recover.json import repairs, strings
from trueup.recover.json.clean import WRITABLE_DEPTH, exact
from trueup.recover.json.doubts import elides
from trueup.recover.json.frames import (
    MOST_CALLS,
    MOST_FAULTS,
    MOST_PLACES,
    Frame,
    Node,
    ParseResult,
    Record,
    TooDeep,
    TooMany,
    Trace,
    parts_of,
    shown,
    under,
)
from trueup.recover.json.lexer import (
    COMMENT,
    FOREIGN,
    ITEM,
    MEMBER,
    QUOTES,
    SKIP_ODD,
    SKIP_PLAIN,
    WORDS,
    json_word,
)
from trueup.recover.json.tokens import MAX_DIGITS

__all__ = [
    "MOST_CALLS", "MOST_FAULTS", "MOST_PLACES", "Frame", "Node", "ParseResult", "Parser", "Record", "TooDeep",
    "TooMany", "parts_of", "shown", "under",
]  # fmt: skip

# In texts at least this long, list items that are already JSON are taken whole.
_LONG = 4096
_LEAST = 256  # the least that an unsuccessful try costs
# After this many meaningless pieces, the rest is not a value; it is dropped in one piece.
_MAX_STRAYS = 64


class Parser:
    """One reading of one stretch of text."""

    __slots__ = (
        "end",
        "endless",
        "frames",
        "known",
        "max_depth",
        "pos",
        "records",
        "root",
        "spare",
        "strays",
        "text",
        "trace",
    )

    def __init__(
        self, text: str, start: int, end: int, known: frozenset[str], max_depth: int, trace: Trace | None = None
    ) -> None:
        self.text = text
        self.pos = start
        self.end = end
        self.known = known  # the schema's keys: they decide in unclear cases whether a word is a key
        self.max_depth = max_depth
        self.trace = trace
        self.frames: list[Frame] = []
        self.records: list[Record] = []
        self.root: list[Any] = []
        self.strays = 0
        self.endless = False  # nothing in the rest of the text ends words that continue over several lines
        self.spare = 2 * (end - start) if end - start >= _LONG else 0  # characters that may be tried without success

    # -- the loop ------------------------------------------------------------------------------

    def read(self) -> ParseResult:
        """Read one container; the text at the start must open one."""
        self.value(self.root, 0, None)
        return self.resume()

    def within(self, kind: str, value: Any) -> ParseResult:
        """Read the inside of a container whose opening sign is missing into an empty container."""
        self.root.append(value)
        frame = Frame(kind, value, None, self.pos, self.root, 0)
        frame.equals = kind == "="
        self.frames.append(frame)
        return self.resume()

    def resume(self) -> ParseResult:
        """Continue until every open container is closed, or the text ends."""
        frames = self.frames
        while frames:
            if self.pos >= self.end:
                break
            self.step(frames[-1])
            if len(self.records) > MOST_FAULTS:
                raise TooMany("faults", MOST_FAULTS)
        cut = bool(frames)
        if cut:
            self.close_all()
        return ParseResult(self.root[0] if self.root else None, self.pos, self.records, cut)

    def step(self, frame: Frame) -> None:
        """Take the next piece of the innermost container."""
        if frame.kind == "{":
            if not (frame.comma and self.trace is None and self.clean_members(frame)):
                self.dispatch(repairs.MEMBER, frame)
        elif frame.kind == "=":
            self.dispatch(repairs.MEMBER, frame)
        elif not (frame.comma and frame.kind == "[" and self.trace is None and self.clean_items(frame)):
            self.dispatch(repairs.ITEM, frame)

    def dispatch(self, point: "repairs.Point", frame: Frame) -> None:
        """Give the sign at the parser's position to the first rule that takes it."""
        pos = self.skip(frame.node)
        if pos < self.end:
            sign = self.text[pos]
            for rule in point.rules(sign):
                if rule(self, frame, sign):
                    return

    def clean_members(self, frame: Frame) -> bool:
        """Take clean members; True if a container was opened."""
        text, end, into, members = self.text, self.end, frame.value, frame.members
        match = MEMBER.match
        while found := match(text, self.pos, end):
            double, single, bare, string, quoted, number, word, _opener = found.groups()
            if double is not None:
                key = double
            elif single is not None:
                key = single
                self.note("S008", found.start(2) - 1, found.end(2) + 1, shown(key), (frame.node, key))
            else:
                key = bare
                self.note("S014", found.start(3), found.end(3), shown(key), (frame.node, key))
            if key in into:
                self.duplicate(frame, key)
            members[key] = found.span()
            if string is not None:
                into[key] = string
                frame.last_string = (key, found.start(4) - 1)
            elif number is not None:
                frame.last_string = None
                into[key] = self.number(number, found.start(6), (frame.node, key))
            elif word is not None:
                frame.last_string = None
                into[key] = WORDS[word]
                if word in FOREIGN:
                    self.note("S018", found.start(7), found.end(7), json_word(word), (frame.node, key))
            elif quoted is not None:
                into[key] = quoted
                frame.last_string = (key, found.start(5) - 1)
                self.note("S008", found.start(5) - 1, found.end(5) + 1, shown(quoted), (frame.node, key))
            else:
                self.pos = found.start(8)
                frame.comma = False
                self.value(into, key, (frame.node, key))
                return True
            self.pos = found.end()
            if text[self.pos - 1] != ",":
                frame.comma = False
                break
        return False

    def clean_items(self, frame: Frame) -> bool:
        """Take clean items; True if a container was opened or taken whole."""
        text, end, into = self.text, self.end, frame.value
        match = ITEM.match
        while found := match(text, self.pos, end):
            string, quoted, number, word, _opener = found.groups()
            if string is not None:
                frame.last_string = (len(into), found.start(1) - 1)
                into.append(string)
            elif number is not None:
                into.append(self.number(number, found.start(3), (frame.node, len(into))))
            elif word is not None:
                if word in FOREIGN:
                    node = (frame.node, len(into))
                    self.note("S018", found.start(4), found.end(4), json_word(word), node)
                into.append(WORDS[word])
            elif quoted is not None:
                node = (frame.node, len(into))
                self.note("S008", found.start(2) - 1, found.end(2) + 1, shown(quoted), node)
                frame.last_string = (len(into), found.start(2) - 1)
                into.append(quoted)
            else:
                self.pos = found.start(5)
                frame.comma = False
                if self.spare <= 0 or not self.taken_whole(frame):
                    self.value(into, len(into), (frame.node, len(into)))
                return True
            self.pos = found.end()
            if text[self.pos - 1] != ",":
                frame.comma = False
                break
        return False

    def taken_whole(self, frame: Frame) -> bool:
        """Take the container at the parser's position with the fast decoder, if it needs no repair."""
        if len(self.frames) + WRITABLE_DEPTH > self.max_depth:
            return False
        plain, value, end = exact(self.text, self.pos, self.end)
        if not plain:
            self.spare -= end - self.pos + _LEAST
            return False
        frame.value.append(value)
        frame.last_string = frame.last_child = None
        frame.whole = self.pos
        self.pos = end
        return True

    def reread(self, frame: Frame) -> None:
        """Read the last item, which was taken whole, step by step, because it continues after all."""
        pos, depth = self.pos, len(self.frames)
        self.pos, frame.whole = frame.whole, -1
        frame.value.pop()
        self.value(frame.value, len(frame.value), (frame.node, len(frame.value)))
        while len(self.frames) > depth:
            self.step(self.frames[-1])
        self.pos = pos

    # -- values --------------------------------------------------------------------------------

    def value(self, into: Any, slot: Any, node: Node) -> None:
        """Read the value at the parser's position, or open the container that starts there."""
        start, depth = self.pos, len(self.frames)
        sign = self.text[start]
        for rule in repairs.VALUE.rules(sign):
            if rule(self, into, slot, node):
                break
        if self.trace is not None and len(self.frames) == depth:
            self.trace.scalar(start, self.pos, node)

    def open(self, kind: str, value: Any, into: Any, slot: Any, node: Node) -> None:
        """Open a container at the parser's position."""
        if len(self.frames) >= self.max_depth:
            raise TooDeep(self.pos)
        self.put(into, slot, value)
        self.frames.append(Frame(kind, value, node, self.pos, into, slot))

    def put(self, into: Any, slot: Any, value: Any) -> None:
        if isinstance(into, list):
            into.append(value)
        else:
            into[slot] = value

    def replace(self, frame: Frame, value: Any) -> None:
        """Put a different value in the place of a frame's container."""
        if isinstance(frame.holder, list):
            frame.holder[-1] = value
        else:
            frame.holder[frame.slot] = value

    def number(self, token: str, start: int, node: Node) -> Any:
        """A clean number; one that cannot be represented becomes null, with a record."""
        if "." in token or "e" in token or "E" in token:
            real = float(token)
            if not math.isinf(real):
                return real
        elif len(token) <= MAX_DIGITS:
            return int(token)
        self.note("S034", start, start + len(token), "null", node)
        return None

    # -- ends ----------------------------------------------------------------------------------

    def pop(self, frame: Frame, at: int) -> None:
        """Close the innermost container, whose text ends at `at`."""
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
        if self.trace is not None:
            self.trace.container(frame.start, self.pos, frame.node)

    def pop_tuple(self, frame: Frame, at: int) -> None:
        """Close a tuple: it becomes a list, unless the parentheses are around a single value."""
        called = self.text[frame.start] != "("
        if len(frame.value) == 1 and not frame.comma:
            self.replace(frame, frame.value[0])
        if not called:
            self.note("S023", frame.start, frame.start + 1, "[", frame.node)
            if self.text.startswith(")", at):
                self.note("S023", at, at + 1, "]", frame.node)

    def close_all(self) -> None:
        """Close everything that is open at the end of the text."""
        top = self.frames[-1]
        at = self.end
        closers = self.open_closers()
        codes = {r[0] for r in self.records[-3:]}
        if self.trace is not None:
            # one past the end, so that the end of the text counts as inside the containers that were never closed
            for frame in self.frames:
                self.trace.container(frame.start, at + 1, frame.node)
        if (top.comma or not top.value) and not codes & {"S029", "S030", "S031"}:
            self.note("S029", at, at, "", top.node)
        self.note("S005", at, at, closers, top.node)
        while self.frames:
            frame = self.frames.pop()
            if frame.kind == "(":
                self.pop_tuple(frame, at)
        self.pos = self.end

    # -- shared by the rules -------------------------------------------------------------------

    def note(self, code: str, start: int, end: int, after: str, node: Node) -> None:
        self.records.append((code, start, end, after, node))

    def note_string(self, token: strings.StringToken, start: int, node: Node) -> None:
        """Record the fixes of a string."""
        for code in token.codes:
            if code == "S013" or code == "S028":
                self.note(code, token.stop, token.after, '"' if code == "S013" else "", node)
            else:
                self.note(code, start, token.after, shown(token.value), node)

    def duplicate(self, frame: Frame, key: str) -> None:
        """Record a repeated key: the member that it replaces is dropped."""
        start, stop = frame.members.get(key, (self.pos, self.pos))
        self.note("S032", start, stop, "", (frame.node, key))

    def skip(self, node: Node) -> int:
        """Skip whitespace, comments and invisible characters; returns the offset of the next token."""
        text, end = self.text, self.end
        pos = SKIP_PLAIN.match(text, self.pos, end).end()  # type: ignore[union-attr]
        while pos < end:
            sign = text[pos]
            if sign in "/#<" and (comment := COMMENT.match(text, pos, end)):
                stop = comment.end()
                self.note("S027" if elides(comment[0]) else "S017", pos, stop, "", node)
            elif (sign > "\x7f" or sign < " ") and (odd := SKIP_ODD.match(text, pos, end)):
                stop = odd.end()
                self.note("S026", pos, stop, "", node)
            else:
                break
            pos = SKIP_PLAIN.match(text, stop, end).end()  # type: ignore[union-attr]
        self.pos = pos
        return pos

    def stray(self, frame: Frame) -> None:
        """Drop meaningless text, up to the next sign of the structure."""
        text, pos, end = self.text, self.pos, self.end
        stop = pos + 1
        if text[pos] in QUOTES:
            code = "S040" if stop < len(text) else "S029"  # at the very end it opens a string that was cut off
        else:
            code = "S031"
            while stop < end and text[stop] not in ',;}])\n"':
                stop += 1
        self.strays += 1
        if self.strays > _MAX_STRAYS:
            code, stop = "S031", end
        self.note(code, pos, stop, "", frame.node)
        self.pos = stop

    def open_closers(self) -> str:
        return "".join(frame.closer for frame in reversed(self.frames[-64:]))

    def place(self) -> str:
        """The kind of place that a string at this position is in."""
        if not self.frames:
            return strings.LIST_ITEM
        frame = self.frames[-1]
        if frame.equals or frame.kind == "=":
            return strings.ARGUMENT
        if frame.loose:
            return strings.LOOSE_VALUE
        return strings.MEMBER_VALUE if frame.kind == "{" else strings.LIST_ITEM
