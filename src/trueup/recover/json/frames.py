"""The parts of a reading: open containers, records of fixes, places in the value, and the limits."""

from typing import Any, NamedTuple, Protocol

from trueup.recover.json.lexer import CLOSER_OF
from trueup.verdict.codec import encode
from trueup.verdict.paths import Parts

# A place in the value: None for the root, otherwise (place of the container, key or index).
Node = tuple[Any, str | int] | None
# code, start, end, replacement, place
Record = tuple[str, int, int, str, Node]

# How many characters of a repaired string a record shows.
_SHOWN = 240
# Reading stops after this many faults in one value: it would take seconds, and the result could not be trusted.
MOST_FAULTS = 100_000
# Reading stops after this many places that may be a value or a call: nothing could decide which of them counts.
MOST_PLACES = 40_000
MOST_CALLS = 10_000


class TooDeep(Exception):
    """The text nests deeper than the limit; has the offset."""


class TooMany(TooDeep):
    """The text contains more of something than a limit allows; has its name and the limit."""


class Frame:
    """An open container: its kind, its parent, and whether a separator was just read."""

    __slots__ = (
        "closer", "comma", "equals", "holder", "key_start", "kind", "last_child", "last_string", "loose", "members",
        "no_rest", "node", "slot", "start", "value", "whole",
    )  # fmt: skip

    def __init__(self, kind: str, value: Any, node: Node, start: int, holder: Any, slot: Any) -> None:
        self.kind = kind  # one of { [ ( or, for the arguments of a call, =
        self.closer = CLOSER_OF.get(kind, ")")
        self.value = value
        self.node = node
        self.start = start
        self.holder = holder
        self.slot = slot
        self.comma = True  # True at the start and after a separator: a member may follow
        self.last_string: tuple[Any, int] | None = None  # slot and start of a string just read
        self.no_rest = False  # no list without its opening bracket continues here
        self.loose = False  # a key without a colon was read
        self.equals = False  # keys and values are separated by = or =>
        self.key_start = start  # the start of the member that is being read
        self.last_child: Frame | None = None  # the container that was last closed
        self.whole = -1  # the start of that container, if it was taken whole
        self.members: dict[str, tuple[int, int]] = {}  # the span of each member of an object


class ParseResult(NamedTuple):
    """The result of a reading: the value, where it ended, its records, and whether the text ended first."""

    value: Any
    end: int
    records: list[Record]
    cut: bool


class Trace(Protocol):
    """Keeps the places of keys, scalars and containers while a text is read."""

    def key(self, start: int, stop: int, node: Node) -> None: ...
    def scalar(self, start: int, stop: int, node: Node) -> None: ...
    def container(self, start: int, stop: int, node: Node) -> None: ...


def parts_of(node: Node) -> Parts:
    """The path of a node."""
    parts: list[str | int] = []
    while node is not None:
        node, part = node
        parts.append(part)
    return tuple(reversed(parts))


def under(node: Node, index: int) -> Node:
    """A node inside an item, as a node of the list that contains the item."""
    out: Node = (None, index)
    for part in parts_of(node):
        out = (out, part)
    return out


def shown(value: Any) -> str:
    """A scalar as a record shows it: JSON, with a long string shortened."""
    return encode(value[:_SHOWN] if isinstance(value, str) else value).decode()
