"""Coercion: brings a value to the types of its schema.

Takes a value and a schema; returns a value that fits (or comes closer) and a note of every change. A valid value is returned
unchanged, except for a whole float where the schema wants an integer. The given value is never modified, nothing is raised, and
conforming twice is the same as conforming once.
"""

import re
from typing import Any, NamedTuple

from trueup.conform.containers import walk_array, walk_object
from trueup.conform.embedded import read_json
from trueup.conform.nodes import Node, Plan
from trueup.conform.options import STANDARD, Options
from trueup.conform.run import Coercion, CoercionRun, Trail
from trueup.conform.scalars import NULLS, recast
from trueup.conform.schema import Schema
from trueup.conform.unions import choose, same
from trueup.verdict.catalogue import PRICE
from trueup.verdict.patterns import lazy_regex

# The maximum number of steps into a value; Python's stack allows three times as many. Deeper values are judged unchanged.
MAX_STEPS = 250
_MAX_PLANS = 8

# A line of a list that a model wrote into a string.
_BULLETED = lazy_regex(r"^[ \t]*(?:[-*•+]|[0-9]{1,3}[.)])[ \t]+(\S.*)$", re.MULTILINE)
_MOST_LISTS = 8  # up to this many nested lists with one item are replaced by that item

# These readings change the type, and are only used if the whole value becomes valid.
_MUST_FIT = frozenset({"C008", "C016", "C014"})


class CoercionNote(NamedTuple):
    """One coercion: its code, its path in the result, and the value before and after; with `is_key`, the key before and after."""

    code: str
    path: tuple[str | int, ...]
    before: Any
    after: Any
    is_key: bool = False


def conform(value: Any, schema: Schema, options: Options = STANDARD) -> tuple[Any, list[CoercionNote]]:
    """Bring a value to the types that its schema wants.

    >>> from trueup.conform.schema import compile_schema
    >>> schema = compile_schema({"properties": {"age": {"type": "integer"}}})
    >>> value, notes = conform({"age": "36"}, schema)
    >>> value, notes[0].code, notes[0].path, notes[0].before
    ({'age': 36}, 'C001', ('age',), '36')
    """
    if options.profile == "off":
        return value, []
    root = root_node(schema, options)
    if type(value) in root.fine:
        return value, []
    try:
        change = walk(root, value, CoercionRun(value, walk, eager=root.plan.eager), 0)
        notes: list[CoercionNote] = []
        if change is None:
            return value, notes
        _gather(change.trail, (), notes)
    except RecursionError:  # the caller's own stack was nearly used up
        return value, []
    return change.value, notes


def root_node(schema: Schema, options: Options) -> Node:
    """The node for the whole value of a schema under these options."""
    kept = schema.plans.get(id(options))
    return kept[1] if kept is not None and kept[0] is options else _plan(schema, options)


def _plan(schema: Schema, options: Options) -> Node:
    for other, node in list(schema.plans.values()):
        if other == options:
            return node
    eager = options.profile == "eager"
    plan = Plan(options.aliases, options.enum_prefixes, options.enum_delimiters, eager=eager)
    root = plan.node([schema.place])
    if len(schema.plans) >= _MAX_PLANS:
        schema.plans.clear()
    # The options are kept with their plan, so that their id is not reused.
    schema.plans[id(options)] = (options, root)
    return root


def _gather(trail: Trail, path: tuple[str | int, ...], notes: list[CoercionNote]) -> None:
    """The notes of a trail in the order of the value, each with its path from the root."""
    for step in trail:
        if len(step) == 3:
            notes.append(CoercionNote(step[0], path, step[1], step[2]))
        else:
            _gather(step[1], (*path, step[0]), notes)


def walk(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    """The change that brings a value to what a node wants, or None."""
    if not node.ready:
        node.compiled()
    kind = type(value)
    if kind in node.fine or depth > MAX_STEPS:
        return None
    if node.arms:
        arm = node.dispatch.get(kind)
        return choose(node, value, run, depth + 1) if arm is None else walk(arm, value, run, depth + 1)
    if node.chain:
        return _walk_chain(node, value, run, depth + 1)
    if kind not in node.ok:
        return _recast(node, value, run, depth)
    if kind is dict and not node.listed:
        return walk_object(node, value, run, depth)
    if kind is list and not node.listed:
        return walk_array(node, value, run, depth)
    return _enum(node, value, run, depth) if node.listed else None


def _walk_chain(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    """The change for several unions that all apply, one after the other, as long as they agree."""
    total = _pass(node, value, run, depth)
    # Two contradictory unions would undo each other's changes forever.
    return None if total is None or _pass(node, total.value, run, depth) is not None else total


def _pass(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    total: Coercion | None = None
    for union in node.chain:
        change = walk(union, value if total is None else total.value, run, depth)
        if change is not None:
            total = change if total is None else _joined(total, change)
    return total


def _joined(first: Coercion, then: Coercion) -> Coercion:
    return Coercion(then.value, first.price + then.price, first.trail + then.trail)


def _enum(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    if type(value) is str:
        if value in node.texts:
            return None
        match = node.table.match(value, eager=run.eager) if node.table is not None else None
        if match is not None:
            after, code = match
            return Coercion(after, PRICE[code], [(code, value, after)])
    elif run.fits(node, value, value):
        return None
    return _recast(node, value, run, depth)


def _recast(node: Node, value: Any, run: CoercionRun, depth: int) -> Coercion | None:
    """The cheapest change to a type that the node allows."""
    kind = type(value)
    ways: list[Coercion] = []
    for after, code in recast(value, node.types, eager=run.eager):
        if (node.listed or code in _MUST_FIT) and not run.fits(node, after, value):
            continue
        ways.append(Coercion(after, PRICE[code], [(code, value, after)]))
    if kind is list:
        ways += _from_list(node, value, run, depth)
    elif kind is str and (dict in node.ok or list in node.ok):
        ways += _from_text(node, value, run, depth)
    if not ways and list in node.ok and kind is not list and value is not None:
        ways += _to_list(node, value, run, depth)
    if len(ways) < 2:
        return ways[0] if ways else None
    ways = [way for way in ways if run.fits(node, way.value, value)]
    if not ways:
        return None
    best = min(ways, key=lambda way: way.price)
    rivals = [way for way in ways if way.price == best.price]
    return best if all(same(best.value, rival.value) for rival in rivals) else None


def _from_text(node: Node, text: str, run: CoercionRun, depth: int) -> list[Coercion]:
    """A string of JSON as the object or array that it spells."""
    inner = read_json(text)
    if inner is None:
        return []
    change = walk(node, inner, run, depth + 1)
    if change is None and type(inner) not in node.ok:
        return []
    first = Coercion(inner, PRICE["C005"], [("C005", text, inner)])
    return [first if change is None else _joined(first, change)]


def _from_list(node: Node, value: list[Any], run: CoercionRun, depth: int) -> list[Coercion]:
    """A list with one item as that item, if no list is allowed."""
    if len(value) != 1 or list in node.ok or _is_buried(value):
        return []
    element = value[0]
    change = walk(node, element, run, depth + 1)
    if change is None and not (type(element) is dict and dict in node.ok) and not run.fits(node, element, element):
        return []
    first = Coercion(element, PRICE["C007"], [("C007", value, element)])
    return [first if change is None else _joined(first, change)]


def _is_buried(value: list[Any]) -> bool:
    """Whether there are more nested lists with one item each than anybody could intend."""
    inner: Any = value
    for _ in range(_MOST_LISTS):
        if type(inner) is not list or len(inner) != 1:
            return False
        inner = inner[0]
    return type(inner) is list


def _to_list(node: Node, value: Any, run: CoercionRun, depth: int) -> list[Coercion]:
    """A single value as a list with one item, if that list is valid."""
    if type(value) is str:
        table = None if node.items is None else node.items.compiled().table
        parts = None if table is None else table.split(value)
        if parts is not None:
            return [Coercion(parts, PRICE["C015"], [("C015", value, parts)])]
        bulleted = [item.rstrip() for item in _BULLETED.findall(value)] if "\n" in value else []
        if len(bulleted) > 1 and len(bulleted) == len(value.split("\n")) - value.count("\n\n"):
            return (
                [Coercion(bulleted, PRICE["F010"], [("F010", value, bulleted)])]
                if run.fits(node, bulleted, value)
                else []
            )
        bare = value.strip()
        # Broken JSON of a list is not an item's text, but "[urgent] call" is.
        if not bare or bare.lower() in NULLS or (bare[0] == "[" and (bare[-1] == "]" or "]" not in bare)):
            return []
    # A value that is being wrapped is not wrapped again: lists of lists would never end.
    if id(value) in run.wrapped:
        return []
    child = node.item_at(0)
    run.wrapped.add(id(value))
    change = walk(child, value, run, depth + 1) if child is not None else None
    run.wrapped.discard(id(value))
    item = value if change is None else change.value
    if not run.fits(node, [item], value):
        return []
    first = Coercion([item], PRICE["C006"], [("C006", value, [value])])
    return [
        first if change is None else Coercion([item], first.price + change.price, [*first.trail, (0, change.trail)])
    ]
