"""A schema as a graph of nodes, compiled once per set of options, which says what can be coerced, and into what.

Takes places of a document; returns nodes. `$ref` and `allOf` are merged, unions keep their arms, and recursion is
a loop in the graph. A node is compiled when a value first reaches it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueup.conform.document import SchemaPlace, facets
from trueup.conform.enums import EnumTable
from trueup.conform.names import SimilarNames
from trueup.conform.survey import ALL_TYPES, own_types, unions

Kind = type[Any]
NONE: Kind = type(None)

_PYTHON: dict[str, Kind] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": float,
    "integer": int,
    "boolean": bool,
    "null": NONE,
}
ALL_KINDS: frozenset[Kind] = frozenset(_PYTHON.values())

# Keywords of a base schema that matter to the arms of a union next to it.
_SHAPE = frozenset(
    "type enum const properties required patternProperties additionalProperties items prefixItems "
    "additionalItems unevaluatedProperties".split()
)

# The depth of nested arms that are examined when a union is sorted by type.
_MAX_NESTING = 50


class Plan:
    """The nodes of one schema under one set of options."""

    def __init__(
        self, aliases: Mapping[str, Sequence[str]], prefixes: Sequence[str], delimiters: Sequence[str], *, eager: bool
    ) -> None:
        self.eager = eager
        self.aliases = aliases
        self.prefixes = prefixes
        self.delimiters = delimiters
        self.nesting = 0
        self.lock = threading.RLock()
        self._nodes: dict[tuple[int, ...], Node] = {}

    def node(
        self, places: Sequence[SchemaPlace], bare: Sequence[SchemaPlace] = (), also: Sequence[SchemaPlace] = ()
    ) -> "Node":
        """The node for a value that all these places describe; for `bare` ones, their unions do not count."""
        own = tuple(dict.fromkeys(places))
        key = (*map(id, own), 0, *map(id, bare))
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Node(self, own, tuple(bare), tuple(also))
        return node


class Node:
    """The rules of a schema for one value, in the form that coercion needs."""

    __slots__ = (
        "_names",
        "also",
        "arms",
        "bare",
        "chain",
        "closed",
        "compiling",
        "dispatch",
        "fine",
        "items",
        "listed",
        "ok",
        "other",
        "patterns",
        "places",
        "plan",
        "prefix",
        "props",
        "ready",
        "required",
        "table",
        "texts",
        "types",
    )

    def __init__(
        self, plan: Plan, places: tuple[SchemaPlace, ...], bare: tuple[SchemaPlace, ...], also: tuple[SchemaPlace, ...]
    ) -> None:
        self.plan = plan
        self.places = places
        self.bare = bare
        self.also = also
        self.ready = self.compiling = False
        self.fine: frozenset[Kind] = frozenset()  # kinds that need no check at all
        self.ok: frozenset[Kind] = ALL_KINDS  # kinds that the schema allows here
        self.types: frozenset[str] = ALL_TYPES
        self.listed = self.closed = False
        self.texts: frozenset[str] = frozenset()
        self.table: EnumTable | None = None
        self.props: dict[str, Node] = {}
        self.required: frozenset[str] = frozenset()
        self.patterns: list[tuple[Callable[[Any], bool], Node]] = []
        self.other: Node | None = None
        self.prefix: list[Node] = []
        self.items: Node | None = None
        self.arms: list[Node] = []
        self.chain: list[Node] = []
        self.dispatch: dict[Kind, Node] = {}
        self._names: SimilarNames | None = None

    @property
    def names(self) -> SimilarNames:
        """The keys of this object, prepared for matching similar spellings."""
        if self._names is None:
            self._names = SimilarNames(dict.fromkeys([*self.props, *sorted(self.required)]), self.plan.aliases)
        return self._names

    @property
    def is_plain(self) -> bool:
        """True if this node has only rules about scalar types that coercion can help with."""
        return self.fine == self.ok and not self.ok & {dict, list}

    def item_at(self, index: int) -> "Node | None":
        return self.prefix[index] if index < len(self.prefix) else self.items

    def child_of(self, key: str) -> "tuple[Node | None, bool]":
        """The node of a key that is not a named property, and whether a pattern claims the key."""
        for check, node in self.patterns:
            if check(key):
                return node, True
        return self.other, False

    def compiled(self) -> "Node":
        """This node, compiled if necessary."""
        if not self.ready:
            with self.plan.lock:
                self._compile()
        return self

    def _compile(self) -> None:
        """Compile this node from its places; children stay uncompiled until a value reaches them.

        `fine` and `ready` are set last, because another thread may read them.
        """
        if self.ready or self.compiling:
            return
        self.compiling = True
        own = facets(self.places)
        groups = [group for place in own for group in unions(place)]
        everything = list(dict.fromkeys([*own, *self.bare]))
        self._read_types(everything)
        self._read_enum(everything)
        self._read_object(everything)
        self._read_array(everything)
        if groups:
            self._read_unions(groups, everything)
        else:
            self._sum_up()
        self.ready, self.compiling = True, False

    def _read_types(self, places: list[SchemaPlace]) -> None:
        for place in places:
            self.types &= own_types(place)
        self.ok = frozenset(_PYTHON[name] for name in self.types)
        if "number" in self.types:
            self.ok |= {int}

    def _read_enum(self, places: list[SchemaPlace]) -> None:
        lists = [
            place.rules["enum"] if "enum" in place.rules else [place.rules["const"]]
            for place in places
            if "enum" in place.rules or "const" in place.rules
        ]
        if not lists:
            return
        self.listed = True
        values = [value for value in lists[0] if all(value in other for other in lists[1:])]
        texts = [value for value in values if isinstance(value, str)]
        self.texts = frozenset(texts)
        if texts:
            self.table = EnumTable(texts, self.plan.aliases, self.plan.prefixes, self.plan.delimiters)

    def _read_object(self, places: list[SchemaPlace]) -> None:
        props: dict[str, list[SchemaPlace]] = {}
        others: list[SchemaPlace] = []
        required: set[str] = set()
        for place in places:
            schema = place.rules
            for key in schema.get("properties") or ():
                props.setdefault(key, []).append(place.child("properties", key))
            for pattern in schema.get("patternProperties") or ():
                check = place.document.word("pattern", pattern)
                self.patterns.append((check, self.plan.node([place.child("patternProperties", pattern)])))
            required.update(schema.get("required") or ())
            for keyword in ("additionalProperties", "unevaluatedProperties"):
                self.closed = self.closed or schema.get(keyword) is False
                if isinstance(schema.get(keyword), dict):
                    others.append(place.child(keyword))
        self.props = {key: self.plan.node(found) for key, found in props.items()}
        self.required = frozenset(required)
        self.other = self.plan.node(others) if others else None

    def _read_array(self, places: list[SchemaPlace]) -> None:
        rows = [row for row in map(_array_row, places) if row is not None]
        longest = max((len(prefix) for prefix, _ in rows), default=0)
        for index in range(longest):
            found = [prefix[index] if index < len(prefix) else rest for prefix, rest in rows]
            self.prefix.append(self.plan.node([place for place in found if place is not None]))
        rests = [rest for _, rest in rows if rest is not None]
        self.items = self.plan.node(rests) if rests else None

    def _sum_up(self) -> None:
        """Set the kinds of value that need no check: allowed, and with nothing inside to coerce."""
        fine = set() if self.listed else set(self.ok)
        if self.props or self.patterns or self.other or self.required:
            fine.discard(dict)
        if self.prefix or self.items:
            fine.discard(list)
        self.fine = frozenset(fine)

    def _read_unions(self, groups: list[list[SchemaPlace]], everything: list[SchemaPlace]) -> None:
        base = [p for p in everything if p.schema is False or not _SHAPE.isdisjoint(p.rules)]
        also = self.places + self.also if base else ()
        if len(groups) > 1:
            self.chain = [self._union_of(group, base, also) for group in groups]
        else:
            self._take_arms([self.plan.node([arm], base, also) for arm in groups[0]])

    def _union_of(self, group: list[SchemaPlace], base: list[SchemaPlace], also: tuple[SchemaPlace, ...]) -> "Node":
        node = Node(self.plan, self.places, (), self.also)
        node.ok, node.types, node.ready = self.ok, self.types, True
        node._take_arms([self.plan.node([arm], base, also) for arm in group])
        return node

    def _take_arms(self, arms: list["Node"]) -> None:
        """Set the arms, and dispatch a kind directly if only one arm can take it."""
        self.arms = arms
        if self.plan.nesting >= _MAX_NESTING:
            return
        self.plan.nesting += 1
        for arm in arms:
            arm.compiled()
        self.plan.nesting -= 1
        if not all(arm.ready for arm in arms):
            return
        self.ok = frozenset().union(*(arm.ok for arm in arms))
        self.types = frozenset().union(*(arm.types for arm in arms))
        if all(arm.is_plain for arm in arms):
            # `integer or null` is not a choice between arms, only a longer list of types.
            self.arms, self.fine = [], self.ok
            return
        # A float may be an integer (5.0) or not (5.5), so its kind alone does not decide the arm.
        for kind in self.ok - {float} if "integer" in self.types else self.ok:
            takers = [arm for arm in arms if kind in arm.ok]
            if len(takers) == 1 and (kind in (dict, list) or not takers[0].listed) and not takers[0].chain:
                self.dispatch[kind] = takers[0]
        self.fine = frozenset(kind for kind, arm in self.dispatch.items() if kind in arm.fine)


def _array_row(place: SchemaPlace) -> tuple[list[SchemaPlace], SchemaPlace | None] | None:
    """The places of an array's first items and of all others, with the keywords of any draft."""
    schema = place.rules
    if "items" not in schema and "prefixItems" not in schema:
        return None
    items = schema.get("items")
    first = "prefixItems" if isinstance(schema.get("prefixItems"), list) else "items"
    listed = schema.get(first)
    prefix = [place.child(first, index) for index in range(len(listed))] if isinstance(listed, list) else []
    rest = "additionalItems" if isinstance(items, list) else "items"
    return prefix, place.child(rest) if isinstance(schema.get(rest), dict | bool) else None
