"""Faults of a value that are certain before it has closed: a text that is too long, too many items or members, a
forbidden name.

Takes a growing value after each piece of text; returns findings, each once. A fault is reported only if no continuation
can resolve it: a name that may still be matched to a field, a text that may end before its last comma, and an item that
may turn out to be a key wait until the end. If a Python type examines values before their constraints do, nothing is
certain.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from trueup.conform import words
from trueup.conform.closed import closed_keys
from trueup.conform.coerce import root_node
from trueup.conform.document import SchemaPlace, facets
from trueup.conform.nodes import Node
from trueup.conform.survey import subschemas, types_at, unions
from trueup.recover.envelopes import may_wrap
from trueup.recover.json.growing import GrowingValue, members
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, parse, render

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

_LIMITS = ("maxLength", "maxItems", "maxProperties")
_SHUT = ("additionalProperties", "unevaluatedProperties")
_AT_THE_END = " \t,:{}[]"  # possible text after a string without its closing quote
_CODES = frozenset({"V003", "V007", "V012"})
_MOST_STEPS = 8
_MOST_KNOWN = 1000  # places that are remembered; a model's own names are among them


class _Allowed(NamedTuple):
    """The limits that a schema sets for one container."""

    names: frozenset[str] | None = None  # of an object; None if it can have any
    most: int | None = None  # items or members


class _Level:
    """An open container, and the limits in its schema; if the node is None, nothing is known about it."""

    __slots__ = ("allowed", "doubtful", "node", "path", "raw", "seen")

    def __init__(self, raw: Any, path: Parts, node: Node | None, allowed: _Allowed | None) -> None:
        self.raw = raw
        self.path = path
        self.node = node
        self.allowed = allowed  # None if it can be anything
        self.seen = 0
        self.doubtful: list[str] = []  # names that are not allowed, but may be an envelope


class EarlyLimits:
    """The limits of one contract, each computed when a value first reaches it."""

    __slots__ = ("_allowed", "_inside", "_strings", "is_type", "root")

    def __init__(self, root: Node, *, is_type: bool) -> None:
        self.root = root
        self.is_type = is_type
        self._allowed: dict[tuple[int, type], _Allowed | None] = {}
        self._inside: dict[tuple[int, type, Any], Node | None] = {}
        self._strings: dict[int, int] = {}

    def inside(self, node: Node, slot: Any, raw: Any, *, is_root: bool) -> Node | None:
        """The node of a container that has opened inside; all items of a list share one, and all values of a field."""
        key = (id(node), type(raw), 0 if isinstance(slot, int) and not node.prefix else slot)
        if is_root or key not in self._inside:
            found = _inside(node, slot, raw, is_root=is_root)
            if is_root or len(self._inside) >= _MOST_KNOWN:
                return found
            self._inside[key] = found
        return self._inside[key]

    def allowed(self, node: Node, kind: type) -> _Allowed | None:
        """The limits of a container at a node; None if there are none."""
        key = (id(node), kind)
        if key not in self._allowed:
            self._allowed[key] = _items(node, is_type=self.is_type) if kind is list else _members(node)
        return self._allowed[key]

    def string(self, node: Node) -> int:
        """The maximum length of a string at a node."""
        if id(node) not in self._strings:
            limit = None if node.compiled().listed else _limit(node.places, "string", "maxLength")
            self._strings[id(node)] = sys.maxsize if limit is None else limit
        return self._strings[id(node)]


class Early:
    """Examines one growing value; `limits` is the result of `limits_of`."""

    __slots__ = ("_at", "_contract", "_levels", "_limits", "_most", "_next", "_string", "_told", "_tries", "_turn")

    def __init__(self, contract: "Contract[Any]", limits: EarlyLimits) -> None:
        self._contract = contract
        self._limits = limits
        self._levels: list[_Level] = []
        self._turn = -1
        self._string: Any = None  # the open string, as the growing value knows it
        self._at: Parts = ()  # its place
        self._most = 0  # the most characters that it may have
        self._next = 0  # it is examined again at this length
        self._told: set[Parts] = set()
        self._tries: Counter[Parts] = Counter()  # how many times something was not certain yet

    def look(self, growing: GrowingValue) -> list[Finding]:
        """The faults that have become certain since the last call."""
        if growing.lost or growing.root is None:
            return []
        found: list[Finding] = []
        string = growing.open_string
        if growing.turn != self._turn or string is not self._string:
            self._turn, self._string = growing.turn, string
            for level in self._follow(growing):
                allowed, count = level.allowed, len(level.raw)
                if allowed is not None and (count != level.seen or (allowed.most is not None and count > allowed.most)):
                    found += self._members(level, allowed, growing)
                    level.seen = count
            if string is not None:
                self._measure()
        if string is not None and growing.string_size >= self._next:
            found += self._too_long(growing)
        return [one for one in found if self._is_certain(one, growing)] if found else found

    def _follow(self, growing: GrowingValue) -> list[_Level]:
        """Record which containers are open; returns those to examine, including a root that has closed."""
        levels = self._levels
        opened = growing.containers or [growing.root]
        if levels and len(opened) == len(levels) and opened[-1] is levels[-1].raw:
            return levels[-1:]
        same = 0
        while same < min(len(levels), len(opened)) and levels[same].raw is opened[same]:
            same += 1
        changed = levels[max(0, same - 1) : same]
        del levels[same:]
        for raw in opened[same:]:
            around = levels[-1] if levels else None
            slot: Any = None if around is None else _last(around.raw)
            node = self._limits.root if around is None else around.node
            path: Parts = () if around is None else (*around.path, slot)
            inner = None if node is None else self._limits.inside(node, slot, raw, is_root=around is None)
            levels.append(_Level(raw, path, inner, None if inner is None else self._limits.allowed(inner, type(raw))))
        return changed + levels[same:]

    # -- members -------------------------------------------------------------------------------

    def _members(self, level: _Level, allowed: _Allowed, growing: GrowingValue) -> Iterator[Finding]:
        raw, names, most = level.raw, allowed.names, allowed.most
        if most is not None and len(raw) > most and not self._may_shrink(level) and self._closed(level, growing) > most:
            yield words.wrong_size(level.path, "maxItems" if isinstance(raw, list) else "maxProperties", most, most + 1)
        if names is None or level.seen == len(raw):
            return
        for key, _ in members(raw, level.seen, len(raw)):
            if key not in names and not self._may_be_matched(key, level):
                level.doubtful.append(key)
        if level.doubtful and (level.path or not names.isdisjoint(raw)):
            unknown, level.doubtful = level.doubtful, []
            for key in unknown:
                if level.path or not may_wrap(key, names):
                    yield words.unknown_key((*level.path, key), sorted(names.difference(raw)))

    def _closed(self, level: _Level, growing: GrowingValue) -> int:
        """The number of members that certainly exist: closed ones, and a container that has opened after them."""
        if level is not self._levels[-1]:
            return len(level.raw)
        depth, raw, count = growing.innermost
        return count if depth and raw is level.raw else len(level.raw)

    def _may_shrink(self, level: _Level) -> bool:
        """Whether an object may lose members: a null may be dropped, or a bracket be missing before outer members."""
        raw = level.raw
        return isinstance(raw, dict) and (None in raw.values() or any(self._is_of_outer(key, level) for key in raw))

    def _may_be_matched(self, key: str, level: _Level) -> bool:
        """Whether a name is a different spelling of one of the object's names, or belongs to an object around it."""
        own = level.node is not None and level.node.names.match(key) is not None
        return own or self._is_of_outer(key, level)

    def _is_of_outer(self, key: str, level: _Level) -> bool:
        """Whether a name belongs to an object around this one, whose closing bracket may be missing."""
        outer = self._levels[: self._levels.index(level)]
        return any(around.node is not None and around.node.names.match(key) is not None for around in outer)

    # -- the open string -----------------------------------------------------------------------

    def _measure(self) -> None:
        """Look up how long the open string may be."""
        level = self._levels[-1]
        slot = _last(level.raw)
        at = (*level.path, slot)
        if at == self._at:
            return
        child = None if level.node is None or _may_wrap(level, level.node, slot) else _child(level.node, slot)
        self._at, self._most = at, sys.maxsize if child is None else self._limits.string(child)
        self._next = self._most + 1

    def _too_long(self, growing: GrowingValue) -> Iterator[Finding]:
        self._next = growing.string_size * 5 // 4  # a value that is examined again has grown by then
        if len(growing.first_line().rstrip(_AT_THE_END)) > self._most:
            yield words.wrong_size(self._at, "maxLength", self._most, self._most + 1)
        self._string = growing.open_string  # examining it may have replaced it

    def _is_certain(self, found: Finding, growing: GrowingValue) -> bool:
        """Whether the contract itself reports this for the text so far; each fault is reported once."""
        path = parse(found.path)
        if path in self._told:
            return False
        self._tries[path] += 1
        again = self._tries[path]
        if again & (again - 1) and found.data.get("rule") != "maxLength":  # the more text, the less often
            return False
        if self._is_said(path, growing.value):
            self._told.add(path)
            return True
        return False

    def _is_said(self, path: Parts, value: Any) -> bool:
        if len(path) < 2 and not self._limits.is_type:
            return True
        if not path:
            return False
        inside = render(path[1:])
        errors = self._contract.member_errors(path[0], value[path[0]])
        return any(one.path == inside and one.code in _CODES for one in errors)


def limits_of(contract: "Contract[Any]") -> EarlyLimits | None:
    """The limits that `Early` checks; None if nothing can be certain early."""
    schema = contract.schema
    if contract.accept == "lossy":
        return None  # a part of a broken value may be read as the value
    if schema is None or not _has_limits(schema.source) or schema.own_code.before_some:
        return None
    return EarlyLimits(root_node(schema, contract.options).compiled(), is_type=schema.is_type)


def _has_limits(schema: Any) -> bool:
    return any(
        any(word in here for word in _LIMITS) or any(here.get(word) is False for word in _SHUT)
        for here in subschemas(schema if isinstance(schema, dict) else True)
    )


def _members(node: Node) -> _Allowed | None:
    """The limits of an object."""
    known = [names for place in (*node.places, *node.bare) if (names := closed_keys(place)) is not None]
    names = frozenset.intersection(*known) if known else None
    most = _limit(node.places, "object", "maxProperties")
    return None if names is None and most is None else _Allowed(names, most)


def _items(node: Node, *, is_type: bool) -> _Allowed | None:
    """The limits of a list; in a set of a Python type, equal items are one."""
    is_set = is_type and any(here.rules.get("uniqueItems") for here in facets(node.places))
    most = None if is_set else _limit(node.places, "array", "maxItems")
    return None if most is None else _Allowed(None, most)


def _inside(node: Node, slot: Any, container: Any, *, is_root: bool) -> Node | None:
    """The node of a container that has opened; None if it may be converted to something else."""
    here = node if is_root else _child(node, slot)
    kind = type(container)
    for _ in range(_MOST_STEPS):
        if here is None or here.compiled().chain:
            return None
        if not here.arms:
            return here if kind in here.ok and not here.listed else None
        here = here.dispatch.get(kind)
    return None


def _child(node: Node, slot: Any) -> Node | None:
    node = node.compiled()
    if isinstance(slot, int):
        return node.item_at(slot)
    child = node.props.get(slot)
    return child if child is not None else node.child_of(slot)[0]


def _limit(places: tuple[SchemaPlace, ...], kind: str, word: str, depth: int = 0) -> int | None:
    """The maximum in a schema for a value of one kind; None without a limit, or if a text may be converted."""
    types = [types_at(place) for place in places]
    if depth > _MOST_STEPS or (kind == "string" and not all(each <= {kind, "null"} for each in types)):
        return None
    found: list[int] = []
    for here in facets(places):
        own = here.rules.get(word)
        found += [int(own)] if isinstance(own, int | float) else []
        for arms in unions(here):
            inner = [_limit((arm,), kind, word, depth + 1) for arm in arms if kind in types_at(arm)]
            known = [each for each in inner if each is not None]
            found += [max(known)] if known and len(known) == len(inner) else []
    return min(found, default=None)


def _may_wrap(level: _Level, node: Node, slot: Any) -> bool:
    """Whether a text may be the whole value, written as JSON under its own name."""
    return not level.path and isinstance(level.raw, dict) and len(level.raw) == 1 and slot not in node.props


def _last(container: Any) -> Any:
    """The slot of the last member of a container; None if it is empty."""
    if isinstance(container, list):
        return len(container) - 1 if container else None
    return next(reversed(container), None)
