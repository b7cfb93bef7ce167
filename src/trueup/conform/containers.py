"""Objects and arrays: matches their keys, removes their nulls and conforms their members.

Takes a node and a container; returns a change with a new container, or None if nothing changes.
The given container is never modified.
"""

from typing import Any

from trueup.conform.nodes import NONE, Node
from trueup.conform.run import Coercion, CoercionRun, Trail
from trueup.verdict.catalogue import PRICE

_KEY_PRICE = PRICE["C010"]
_NULL_PRICE = PRICE["C009"]

_KEPT = Coercion(None, 0, [])

Edits = dict[str, Coercion | None]  # None: the member is removed


def walk_object(node: Node, value: dict[str, Any], run: CoercionRun, depth: int) -> Coercion | None:
    """The object with its members conformed and its keys matched."""
    props, walk, below = node.props, run.walk, depth + 1
    edits: Edits = {}
    unknown: list[str] = []
    for key, item in value.items():
        child = props.get(key)
        if child is None:
            child, claimed = node.child_of(key)
            if not claimed:
                unknown.append(key)
            if child is None:
                continue
        if type(item) in child.fine:
            continue
        if item is None:
            _edit(node, child, (key, key), None, run, edits, depth=depth)
            continue
        change = walk(child, item, run, below)
        if change is not None:
            edits[key] = change
    renames = _renames(node, value, unknown, edits) if unknown else {}
    for key, name in renames.items():
        edits.pop(key, None)
        child = props.get(name)
        if child is not None:
            _edit(node, child, (key, name), value[key], run, edits, depth=depth)
    return _rebuilt(value, edits, renames) if edits or renames else None


def _edit(
    node: Node, child: Node, key_and_name: tuple[str, str], item: Any, run: CoercionRun, edits: Edits, *, depth: int
) -> None:
    """Conform one member, and record the result under the key that the object has."""
    key, name = key_and_name
    if item is None and NONE not in child.compiled().ok:
        if name in node.props and name not in node.required:
            edits[key] = None
        return
    change = run.walk(child, item, run, depth + 1)
    if change is not None:
        edits[key] = change


def _renames(node: Node, value: dict[str, Any], unknown: list[str], edits: Edits) -> dict[str, str]:
    """The names for unknown keys: configured aliases, and if a key is missing or not allowed, any similar spelling."""
    at_fault = node.closed or any(name not in value for name in node.required)
    wanted: dict[str, list[str]] = {}
    for key in unknown:
        name = node.names.match(key) if at_fault or node.names.is_alias(key) else None
        # A name whose null is removed is free for the intended key.
        if name is not None and (name not in value or edits.get(name, _KEPT) is None):
            wanted.setdefault(name, []).append(key)
    return {keys[0]: name for name, keys in wanted.items() if len(keys) == 1}


def matched(node: Node, shown: dict[str, Any], written: dict[str, Any], run: CoercionRun) -> dict[str, Any]:
    """An object whose members were conformed one by one, with its keys matched; `written` are its original members."""
    unknown = [key for key in shown if key not in node.props and not node.child_of(key)[1]]
    renames = _renames(node, shown, unknown, {}) if unknown else {}
    if not renames:
        return shown
    edits: Edits = {}
    for key, name in renames.items():
        child = node.props.get(name)
        if child is not None:
            _edit(node, child, (key, name), written[key], run, edits, depth=0)
    plain: dict[str, Any] = _rebuilt(
        {key: written[key] if key in renames else shown[key] for key in shown}, edits, renames
    ).value
    return plain


def _rebuilt(value: dict[str, Any], edits: Edits, renames: dict[str, str]) -> Coercion:
    result: dict[str, Any] = {}
    trail: Trail = []
    price = 0
    if not renames and None not in edits.values():
        result = value.copy()
        for key, change in edits.items():
            if change is not None:
                result[key] = change.value
                trail.append((key, change.trail))
                price += change.price
        return Coercion(result, price, trail)
    for key, item in value.items():
        name = key
        if key in renames:
            name = renames[key]
            trail.append((name, [("C010", key, name)]))
            price += _KEY_PRICE
        if key not in edits:
            result[name] = item
            continue
        change = edits[key]
        if change is None:
            trail.append((name, [("C009", None, None)]))
            price += _NULL_PRICE
        else:
            result[name] = change.value
            trail.append((name, change.trail))
            price += change.price
    return Coercion(result, price, trail)


def walk_array(node: Node, value: list[Any], run: CoercionRun, depth: int) -> Coercion | None:
    """The array with its items conformed; items are never dropped or moved."""
    items = node.items
    if not node.prefix and items is not None and items.fine.issuperset(map(type, value)):
        return None
    result: list[Any] | None = None
    trail: Trail = []
    price = 0
    for index, item in enumerate(value):
        child = node.item_at(index)
        if child is None or type(item) in child.fine:
            continue
        change = run.walk(child, item, run, depth + 1)
        if change is not None:
            if result is None:
                result = value.copy()
            result[index] = change.value
            trail.append((index, change.trail))
            price += change.price
    return None if result is None else Coercion(result, price, trail)
