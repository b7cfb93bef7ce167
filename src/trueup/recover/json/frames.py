"""What a reading is made of: open containers, records of fixes, places in the value, and the limits of a reading."""

from typing import Any, NamedTuple, Protocol

from trueup.recover.json.lexer import CLOSER_OF
from trueup.verdict.codec import encode
from trueup.verdict.paths import Parts

# A place in the value: None for the root, else (place of the container, key or index).
Node = tuple[Any, str | int] | None
# code, start, end, what stands there instead, place
Record = tuple[str, int, int, str, Node]

# How much of a string a record shows of what it became.
_SHOWN = 240
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
        "closer", "comma", "equals", "holder", "key_start", "kind", "last_child", "last_string", "loose", "members",
        "no_rest", "node", "slot", "start", "value", "whole",
    )  # fmt: skip

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


class Trace(Protocol):
    """Keeps where keys, scalars and containers stand while a text is read."""

    def key(self, start: int, stop: int, node: Node) -> None: ...
    def scalar(self, start: int, stop: int, node: Node) -> None: ...
    def container(self, start: int, stop: int, node: Node) -> None: ...


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
