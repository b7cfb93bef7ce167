"""Chooses the arm of a union that a value means: the one it fits, or the one it can be coerced to most cheaply.

Takes a union node and a value; returns the change, or None. Two arms with the same price and different values
are refused: the choice would be ours, not the model's.
"""

from typing import Any

import msgspec

from trueup.conform.nodes import Node
from trueup.conform.run import Coercion, CoercionRun


def choose(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    """The best change for a value at a union, computed once per value."""
    key = (id(node), id(value))
    known = run.memo.get(key)
    if known is not None:
        return known[1]
    run.memo[key] = (value, None)  # a union that leads back to itself here adds nothing
    change = _best(node, value, run, depth)
    run.memo[key] = (value, change)
    return change


def _best(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    fitting = [arm for arm in node.arms if _fits(arm, value, run)]
    if fitting:
        changes = [(arm, run.walk(arm, value, run, depth)) for arm in fitting]
        made = [change for _, change in changes if change is not None]
        if len(made) == len(changes):
            return min(made, key=_price)
        if any(change is None and run.fits(arm, value, value) for arm, change in changes):
            return None
        # The schema next to the union does not fit yet: `{"a": 1, "b": null}` if a or b is needed, and neither may be null.
        return _cheapest([change for arm, change in changes if change and run.fits(arm, change.value, value)])
    possible = [arm for arm in node.arms if _may_be(arm, value)]
    valid: list[Coercion] = []
    for arm in possible:
        change = run.walk(arm, value, run, depth)
        if change is not None and run.fits(arm, change.value, value):
            valid.append(change)
    if valid:
        return _cheapest(valid)
    likely = [arm for arm in possible if type(value) in arm.ok]
    # Nothing becomes valid; if only one arm can be meant, the value is coerced as far as possible.
    return run.walk(likely[0], value, run, depth) if len(likely) == 1 else None


def _cheapest(changes: list[Coercion]) -> Coercion | None:
    """The cheapest change; None if there is none, or several with different values."""
    if not changes:
        return None
    best = min(changes, key=_price)
    return best if all(same(best.value, rival.value) for rival in changes if rival.price == best.price) else None


def _fits(arm: Node, value: Any, run: CoercionRun) -> bool:
    """True if a value fits this arm, even if the schema next to the union has other rules."""
    if not run.fits(arm, value, value, whole=False):
        return False
    return not arm.also or type(value) in arm.ok or run.fits(arm, value, value)


def _price(change: Coercion) -> int:
    return change.price


def _may_be(arm: Node, value: Any) -> bool:
    """False if a tag of the object (a key with a fixed value) belongs to a different arm."""
    if type(value) is not dict or not arm.ready:
        return True
    for key, child in arm.props.items():
        tag = value.get(key)
        if type(tag) is not str:
            continue
        if child.compiled().listed and not child.arms and tag not in child.texts and not _matches(child, tag):
            return False
    return True


def _matches(child: Node, tag: str) -> bool:
    return child.table is not None and child.table.match(tag, eager=child.plan.eager) is not None


def same(one: Any, other: Any) -> bool:
    """True if two values are the same JSON text; 1, true and 1.0 all differ."""
    try:
        return msgspec.json.encode(one) == msgspec.json.encode(other)
    except (ValueError, TypeError, RecursionError):
        return False
