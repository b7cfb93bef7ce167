"""What a tolerant reading is made of: open containers, records of fixes, and a place in the text.

`Cursor` holds the state of one reading and the steps that objects and lists share; it reads no value by itself.
"""

import math
from typing import Any, NamedTuple

from trueup.recover.json import strings
from trueup.recover.json.clean import encode
from trueup.recover.json.lexer import CLOSER_OF, COMMENT, QUOTES, SKIP_ODD, SKIP_PLAIN
from trueup.recover.json.tokens import MAX_DIGITS
from trueup.verdict.paths import Parts

# A place in the value: None for the root, else (place of the container, key or index).
Node = tuple[Any, str | int] | None
# code, start, end, what stands there instead, place
Record = tuple[str, int, int, str, Node]

# How much of a string a record shows of what it became.
_SHOWN = 240
# From this length on, items of a list are taken whole where they are JSON as they stand.
_LONG = 4096
# After so many pieces that mean nothing, the rest is not a value; it is dropped in one piece.
_MAX_STRAYS = 64


# More faults than this in one value, and it is not read on: it would take seconds, and nobody could trust it.
MOST_FAULTS = 100_000
# More places than this that may be a value or a call, and the text is not read on: which of them counts is beyond telling.
MOST_PLACES = 40_000
MOST_CALLS = 10_000


class TooDeep(Exception):
    """The text nests deeper than the limit; carries the offset."""


class TooMany(TooDeep):
    """The text holds more of something than a limit allows; carries what it is, and the limit."""


class Frame:
    """An open container: what it is, where it hangs, and whether a separator was just read."""

    __slots__ = (
        "closer",
        "comma",
        "equals",
        "holder",
        "key_start",
        "kind",
        "last_child",
        "last_string",
        "loose",
        "members",
        "no_rest",
        "node",
        "slot",
        "start",
        "value",
        "whole",
    )

    def __init__(self, kind: str, value: Any, node: Node, start: int, holder: Any, slot: Any) -> None:
        self.kind = kind  # one of { [ ( and = for the arguments of a call
        self.closer = CLOSER_OF.get(kind, ")")
        self.value = value
        self.node = node
        self.start = start
        self.holder = holder
        self.slot = slot
        self.comma = True  # true at the start and after a separator: a member may follow
        self.last_string: tuple[Any, int] | None = None  # slot and start of a string just read
        self.no_rest = False  # no list without its opening bracket goes on here
        self.loose = False  # a key without a colon was read
        self.equals = False  # keys and values are joined by = or =>
        self.key_start = start  # where the member that is being read starts
        self.last_child: Frame | None = None  # the container that was closed last
        self.whole = -1  # where that one starts, if it was taken whole
        self.members: dict[str, tuple[int, int]] = {}  # where each member of an object stands


class Outcome(NamedTuple):
    """What a reading gave: the value, where it ended, its records, and whether the text ended first."""

    value: Any
    end: int
    records: list[Record]
    cut: bool


class Cursor:
    """The state of one reading of one stretch of text."""

    __slots__ = ("end", "frames", "known", "max_depth", "pos", "records", "root", "spare", "strays", "text")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str], max_depth: int) -> None:
        self.text = text
        self.pos = start
        self.end = end
        self.known = known
        self.max_depth = max_depth
        self.frames: list[Frame] = []
        self.records: list[Record] = []
        self.root: list[Any] = []
        self.strays = 0
        self.spare = 2 * (end - start) if end - start >= _LONG else 0  # letters that may be looked at in vain

    def note(self, code: str, start: int, end: int, after: str, node: Node) -> None:
        self.records.append((code, start, end, after, node))

    def skip(self, node: Node) -> int:
        """Go past white space, comments and invisible characters; the offset of the next token."""
        text, end = self.text, self.end
        pos = SKIP_PLAIN.match(text, self.pos, end).end()  # type: ignore[union-attr]
        while pos < end:
            sign = text[pos]
            if sign in "/#<" and (comment := COMMENT.match(text, pos, end)):
                stop = comment.end()
                self.note("S017", pos, stop, "", node)
            elif (sign > "\x7f" or sign < " ") and (odd := SKIP_ODD.match(text, pos, end)):
                stop = odd.end()
                self.note("S026", pos, stop, "", node)
            else:
                break
            pos = SKIP_PLAIN.match(text, stop, end).end()  # type: ignore[union-attr]
        self.pos = pos
        return pos

    def number(self, token: str, start: int, node: Node) -> Any:
        """A clean number; one that cannot be held becomes null, with a record."""
        if "." in token or "e" in token or "E" in token:
            real = float(token)
            if not math.isinf(real):
                return real
        elif len(token) <= MAX_DIGITS:
            return int(token)
        self.note("S034", start, start + len(token), "null", node)
        return None

    def put(self, into: Any, slot: Any, value: Any) -> None:
        if isinstance(into, list):
            into.append(value)
        else:
            into[slot] = value

    def replace(self, frame: Frame, value: Any) -> None:
        """Hang another value where a frame's container hangs."""
        if isinstance(frame.holder, list):
            frame.holder[-1] = value
        else:
            frame.holder[frame.slot] = value

    def open_closers(self) -> str:
        return "".join(frame.closer for frame in reversed(self.frames[-64:]))

    def top(self) -> Frame | None:
        return self.frames[-1] if self.frames else None

    def place(self, frame: Frame | None) -> str:
        """What kind of place a string stands in here."""
        if frame is None:
            return strings.LIST_ITEM
        if frame.equals or frame.kind == "=":
            return strings.ARGUMENT
        if frame.loose:
            return strings.LOOSE_VALUE
        return strings.MEMBER_VALUE if frame.kind == "{" else strings.LIST_ITEM

    def note_codes(self, found: strings.Read, start: int, node: Node) -> None:
        for code in found.codes:
            if code == "S013" or code == "S028":
                self.note(code, found.stop, found.after, '"' if code == "S013" else "", node)
            else:
                self.note(code, start, found.after, shown(found.value), node)

    def stray(self, frame: Frame) -> None:
        """Drop what means nothing here, up to the next sign that does."""
        text, pos, end = self.text, self.pos, self.end
        stop = pos + 1
        if text[pos] in QUOTES:
            code = "S040" if stop < len(text) else "S029"  # at the very end it opens what was cut off
        else:
            code = "S031"
            while stop < end and text[stop] not in ',;}])\n"':
                stop += 1
        self.strays += 1
        if self.strays > _MAX_STRAYS:
            code, stop = "S031", end
        self.note(code, pos, stop, "", frame.node)
        self.pos = stop

    def value(self, into: Any, slot: Any, node: Node) -> None:
        """Read the value at the cursor's place, or open the container that starts there."""
        raise NotImplementedError


def parts_of(node: Node) -> Parts:
    """The path a node stands for."""
    parts: list[str | int] = []
    while node is not None:
        node, part = node
        parts.append(part)
    return tuple(reversed(parts))


def under(node: Node, index: int) -> Node:
    """A node of an item as a node of the list that holds it."""
    out: Node = (None, index)
    for part in parts_of(node):
        out = (out, part)
    return out


def shown(value: Any) -> str:
    """A scalar as a record shows it: as JSON, a long string cut."""
    return encode(value[:_SHOWN] if isinstance(value, str) else value).decode()
