"""Fractions that were written without quotes: `{"share": 3/4}`. They are numbers only where the schema wants one.

A candidate and what the schema wants at a path enter; the candidate with those numbers leaves, or None when there are none.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.json.frames import Node, Record, parts_of
from trueup.verdict.paths import Parts

_FRACTION = re.compile(r"([+-]?[0-9]{1,15}) ?/ ?([0-9]{1,15})")
_NUMBER = frozenset({"number", "integer"})
_MOST = 200


def computed(candidate: Candidate, wants_at: Callable[[Parts], frozenset[str]]) -> Candidate | None:
    """The candidate with each fraction computed that stands where a number should."""
    places = {parts: number for parts, number in _fractions(candidate) if _is_number(wants_at(parts))}
    if not places:
        return None
    value = candidate.value
    records: list[Record] = []
    for record in candidate.records:
        parts = parts_of(record[4])
        if record[0] == "S015" and parts in places:
            record = ("S021", record[1], record[2], repr(places[parts]), record[4])
        records.append(record)
    told = {parts_of(record[4]) for record in records if record[0] == "S021"}
    for parts, number in places.items():
        value = _with(value, parts, number)
        if parts not in told:
            records.append(("S021", *candidate.spans[0], repr(number), _node(parts)))
    return Candidate(value, candidate.spans, records, candidate.form)


def _is_number(wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(_NUMBER) and "string" not in wanted


def _fractions(candidate: Candidate) -> Iterator[tuple[Parts, float]]:
    """Where fractions were written without quotes: in JSON where a bare word was read, in other forms anywhere."""
    if candidate.form == "json":
        bare = [parts_of(record[4]) for record in candidate.records if record[0] == "S015"][:_MOST]
        texts = [(parts, _at(candidate.value, parts)) for parts in bare]
    else:
        texts = list(_leaves(candidate.value))
    for parts, said in texts:
        found = _FRACTION.fullmatch(said.strip()) if isinstance(said, str) else None
        if found is not None and int(found[2]):
            yield parts, int(found[1]) / int(found[2])


def _leaves(value: Any) -> Iterator[tuple[Parts, Any]]:
    stack: list[tuple[Parts, Any]] = [((), value)]
    left = _MOST
    while stack and left:
        left -= 1
        parts, here = stack.pop()
        if isinstance(here, dict):
            stack += [((*parts, key), item) for key, item in here.items()]
        elif isinstance(here, list):
            stack += [((*parts, index), item) for index, item in enumerate(here)]
        else:
            yield parts, here


def _at(value: Any, parts: Parts) -> Any:
    for part in parts:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _with(value: Any, parts: Parts, number: float) -> Any:
    """A value with a number in one place; the containers on the way there are new."""
    if not parts:
        return number
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[parts[0]] = _with(value[parts[0]], parts[1:], number)
    return copied


def _node(parts: Parts) -> Node:
    node: Node = None
    for part in parts:
        node = (node, part)
    return node
