"""Coercion member by member, for a value that is still growing.

Takes a member of an open container once the member has closed; returns its final form. If that depends on text that is
still missing (a union, a key that may be misspelled), the member waits until its container has closed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trueup.conform.coerce import root_node, walk
from trueup.conform.containers import matched
from trueup.conform.nodes import NONE, Node
from trueup.conform.options import Options
from trueup.conform.run import CoercionRun
from trueup.conform.schema import Schema

UNBUILT: Any = object()  # a Python type does not take a member


class Settled(NamedTuple):
    """A member that has closed: its key, its JSON data, and the value that a Python type makes from it."""

    slot: Any
    data: Any
    value: Any


class Members:
    """Brings the members of one open container to the types of a schema."""

    __slots__ = ("_node",)
    label = ""  # without a Python type
    fields: Mapping[str, str] = {}
    names: Iterable[str] = ()

    def __init__(self, node: Node) -> None:
        self._node = node.compiled()

    def inside(self, slot: Any, container: Any) -> "Members | None":
        """The same for a container that has opened inside; None if its members have to wait for its end."""
        node = self._child(slot)
        kind = type(container)
        for _ in range(8):
            if node is None or node.compiled().chain:
                return None
            if not node.arms:
                return Members(node) if kind in node.ok and not node.listed and kind not in node.fine else None
            node = node.dispatch.get(kind)
        return None

    def settle(self, slot: Any, data: Any) -> Settled | None:
        """The final form of a closed member; None if it will be removed, or if its written form decides."""
        child = self._child(slot)
        if child is None or type(data) in child.fine or type(data) in child.compiled().fine:
            return Settled(slot, data, data)
        if data is None and NONE not in child.ok:
            left_out = slot in self._node.props and slot not in self._node.required
            return None if left_out else Settled(slot, data, data)
        try:
            change = walk(child, data, CoercionRun(data, walk, eager=self._node.plan.eager), 0)
        except RecursionError:
            change = None
        if change is None:
            return Settled(slot, data, data)
        if isinstance(slot, str) and _is_written(change.trail):
            return None
        return Settled(slot, change.value, change.value)

    def closed(self, written: Any, shown: Any) -> Any:
        """A container that has closed, made from its settled members; its keys can now be matched."""
        if not isinstance(shown, dict):
            return shown
        return matched(self._node, shown, written, CoercionRun(written, walk, eager=self._node.plan.eager))

    def _child(self, slot: Any) -> Node | None:
        node = self._node
        if isinstance(slot, int):
            return node.item_at(slot)
        child = node.props.get(slot)
        return child if child is not None else node.child_of(slot)[0]


class RootMember(Members):
    """The root, as the only member of an imaginary container."""

    __slots__ = ()

    def _child(self, slot: Any) -> Node | None:  # noqa: ARG002 - there is only one
        return self._node


def growing_members(schema: Schema, options: Options) -> Members | None:
    """The coercion of a growing value under a schema; None if nothing is coerced.

    >>> from trueup.conform.schema import compile_schema
    >>> schema = compile_schema({"properties": {"age": {"type": "integer"}}})
    >>> growing_members(schema, Options()).inside(None, {}).settle("age", "36").data
    36
    """
    return None if options.profile == "off" else RootMember(root_node(schema, options))


def _is_written(trail: list[Any]) -> bool:
    """Whether a float became text: its written form counts, which only the whole reply shows."""
    for step in trail:
        if len(step) == 3:
            if step[0] == "C008" and isinstance(step[1], float):
                return True
        elif _is_written(step[1]):
            return True
    return False
