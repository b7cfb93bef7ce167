"""Lifts members that are one level too deep because a bracket is missing on their line: `{"a": {"x": 1, "b": 2}`.

Takes a candidate whose last bracket was added, and a function that prices a value. Returns the candidate with the fewest
members lifted so that it fits the schema. Returns None if two such readings fit, or nothing does.
"""

from collections.abc import Callable, Iterator
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.json.parser import Node, Record, parts_of
from trueup.verdict.paths import Parts, with_value

# Each try costs as much as judging the value, so tries are limited, and long values are not tried.
_MOST_TRIED = 24
_LONGEST = 16384


def lifted(candidate: Candidate, price: Callable[[Any], int | None]) -> Candidate | None:
    """The candidate with members lifted out of the container that was closed too late; None if that does not decide.

    `price` returns what it costs to bring a value to the schema, or None if the value does not fit.
    """
    added = [record for record in candidate.records if record[0] == "S005"]
    if len(added) != 1 or candidate.end - candidate.spans[0][0] > _LONGEST:
        return None
    pairs = list(_nested(candidate.value, parts_of(added[0][4])))
    tried = 0
    for size in range(1, max((len(child) for _, _, child in pairs), default=0)):
        found: list[tuple[int, Any, Parts]] = []
        for path, parent, child in pairs:
            if size >= len(child) or (moved := _moved(parent, path[-1], child, size)) is None:
                continue
            tried += 1
            if tried > _MOST_TRIED:
                return None
            value = with_value(candidate.value, path[:-1], moved)
            if (cost := price(value)) is not None:
                found.append((cost, value, path))
        least = min((cost for cost, _, _ in found), default=0)
        best = [(value, path) for cost, value, path in found if cost == least]
        if len(best) == 1:
            return _placed(candidate, *best[0], size)
        if best:
            return None
    return None


def _nested(value: Any, start: Parts) -> Iterator[tuple[Parts, Any, Any]]:
    """Containers that end where the one at a path ends, inside another of the same kind: path, outer and inner container."""
    try:
        for part in start:
            value = value[part]
    except (LookupError, TypeError):
        return  # the key occurred twice: a different value is there now
    path = start
    while isinstance(value, dict | list) and value:
        last = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        path = (*path, last)
        if isinstance(value[last], dict | list) and type(value[last]) is type(value):
            yield path, value, value[last]
        value = value[last]


def _moved(parent: Any, slot: Any, child: Any, size: int) -> Any:
    """The outer container with the last members of the inner one appended; None if a key would occur twice."""
    if isinstance(parent, list):
        return [*parent[:-1], child[:-size], *child[-size:]]
    items = list(child.items())
    if any(key in parent for key, _ in items[-size:]):
        return None
    return {**parent, slot: dict(items[:-size]), **dict(items[-size:])}


def _placed(candidate: Candidate, value: Any, path: Parts, size: int) -> Candidate:
    """The candidate with the lifted value, and its records at their new paths."""
    inner = candidate.value
    for part in path:
        inner = inner[part]
    keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
    outer = path[:-1]
    slot: Any = path[-1]
    places: dict[Any, Any] = {
        key: key if isinstance(inner, dict) else slot + 1 + i for i, key in enumerate(keys[-size:])
    }
    records: list[Record] = []
    for code, start, stop, after, node in candidate.records:
        parts = parts_of(node)
        if code == "S005":
            parts = path
        elif parts[: len(path)] == path and len(parts) > len(path) and parts[len(path)] in places:
            parts = (*outer, places[parts[len(path)]], *parts[len(path) + 1 :])
        records.append((code, start, stop, after, _node(parts)))
    return Candidate(value, candidate.spans, records, candidate.form)


def _node(parts: Parts) -> Node:
    node: Node = None
    for part in parts:
        node = (node, part)
    return node
