"""Coercion member by member, for a value that is still growing.

A member of an open container enters once it has closed; what it will be in the whole value leaves. Where that depends on what is
still to come (a union, a key that may be another one misspelled), the member waits until its container has closed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trueup.conform.coerce import root_node, walk
from trueup.conform.containers import matched
from trueup.conform.nodes import NONE, Node
from trueup.conform.options import Options
from trueup.conform.run import Run
from trueup.conform.schema import Schema

UNBUILT: Any = object()  # a Python type does not take a member


class Settled(NamedTuple):
    """A member that has closed: its key, its JSON data, and what a Python type makes of it."""

    slot: Any
    data: Any
    value: Any


class Members:
    """Brings the members of one open container to what a schema asks of them."""

    __slots__ = ("_node",)
    label = ""  # there is no Python type
    fields: Mapping[str, str] = {}
    names: Iterable[str] = ()

    def __init__(self, node: Node) -> None:
        self._node = node.compiled()

    def inside(self, slot: Any, container: Any) -> "Members | None":
        """The same for a container that has opened inside; None where its members have to wait for its end."""
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
        """What a closed member will be; None where it will not be there, or where its written form decides."""
        child = self._child(slot)
        if child is None or type(data) in child.fine or type(data) in child.compiled().fine:
            return Settled(slot, data, data)
        if data is None and NONE not in child.ok:
            left_out = slot in self._node.props and slot not in self._node.required
            return None if left_out else Settled(slot, data, data)
        try:
            change = walk(child, data, Run(data, walk, self._node.plan.eager), 0)
        except RecursionError:
            change = None
        if change is None:
            return Settled(slot, data, data)
        if isinstance(slot, str) and _is_written(change.trail):
            return None
        return Settled(slot, change.value, change.value)

    def closed(self, written: Any, shown: Any) -> Any:
        """A container that has closed, made of its settled members: its keys can be matched now."""
        if not isinstance(shown, dict):
            return shown
        return matched(self._node, shown, written, Run(written, walk, self._node.plan.eager))

    def _child(self, slot: Any) -> Node | None:
        node = self._node
        if isinstance(slot, int):
            return node.item_at(slot)
        child = node.props.get(slot)
        return child if child is not None else node.child_of(slot)[0]


class Whole(Members):
    """The root, seen as the only member of what holds it."""

    __slots__ = ()

    def _child(self, slot: Any) -> Node | None:  # noqa: ARG002 - there is one
        return self._node


def growing_members(schema: Schema, options: Options) -> Members | None:
    """How a value under a schema is coerced while it grows; None where nothing is.

    >>> from trueup.conform.schema import compile_schema
    >>> schema = compile_schema({"properties": {"age": {"type": "integer"}}})
    >>> growing_members(schema, Options()).inside(None, {}).settle("age", "36").data
    36
    """
    return None if options.profile == "off" else Whole(root_node(schema, options))


def _is_written(trail: list[Any]) -> bool:
    """Whether a fraction became text: the text is as it was written, which only the whole reply shows."""
    for step in trail:
        if len(step) == 3:
            if step[0] == "C008" and isinstance(step[1], float):
                return True
        elif _is_written(step[1]):
            return True
    return False
