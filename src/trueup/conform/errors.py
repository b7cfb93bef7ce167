"""Explains what is wrong with a value under a schema: takes a place and a value, and returns findings, the best first.

It does not use the compiler's errors, which double with every shared `$ref` and quote whole instances. Here every
subschema checks every place of the value once, depth does not use the stack, and the search stops at a limit.
jsonschema-rs alone decides what is valid.
"""

from collections.abc import Iterator
from typing import Any

from trueup.conform import arms, keywords, words
from trueup.conform.document import Members, SchemaPlace, reference
from trueup.conform.run import Fuel
from trueup.conform.survey import root_keys, type_of
from trueup.conform.words import Parts
from trueup.verdict.facts import Finding

_ENOUGH = 200
_RANK = {"V001": 0, "V002": 0, "V003": 1, "V005": 1, "V008": 1, "V009": 3, "V011": 3}
_COMBINING = frozenset({"allOf", "anyOf", "oneOf", "not", "if"})

Step = tuple[SchemaPlace, Any, "Cell"]


class Cell:
    """A place of the value; the same place is always the same cell, no matter how it was reached."""

    __slots__ = ("_below", "path")

    def __init__(self, path: Parts) -> None:
        self.path = path
        self._below: dict[str | int, Cell] = {}

    def below(self, key: str | int) -> "Cell":
        cell = self._below.get(key)
        if cell is None:
            cell = self._below[key] = Cell((*self.path, key))
        return cell


def explain(place: SchemaPlace, value: Any, limit: int) -> list[Finding]:
    """The findings for a value that does not fit, at most `limit` of them; empty if it fits."""
    if place.valid(value):
        return []
    found = FaultSearch(Fuel(value), max(limit, _ENOUGH)).faults(place, value, Cell(()))
    if not found:
        found = [words.not_allowed((), "schema", "The value breaks a rule of the schema")]
    order = sorted(range(len(found)), key=lambda at: (_RANK.get(found[at].code, 2), at))
    return [found[at] for at in order[:limit]]


class FaultSearch:
    """One search for faults, with the places that it has already checked."""

    def __init__(self, fuel: Fuel, enough: int, nesting: int = 0) -> None:
        self.fuel = fuel
        self.enough = enough
        self.nesting = nesting
        self._seen: set[tuple[int, int]] = set()

    def faults(self, place: SchemaPlace, value: Any, cell: Cell) -> list[Finding]:
        """Every fault of a value at a place, each once, in the order of the value."""
        found: dict[tuple[str, str], Finding] = {}
        stack: list[Iterator[Step | Finding]] = [self._look(place, value, cell)]
        while stack and len(found) < self.enough:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
            elif isinstance(step, Finding):
                found.setdefault((step.code, step.path), step)
            elif not keywords.plainly_fits(step[0], step[1]):
                key = (id(step[0]), id(step[2]))
                if key not in self._seen:
                    self._seen.add(key)
                    stack.append(self._look(*step))
        return list(found.values())

    def _look(self, place: SchemaPlace, value: Any, cell: Cell) -> Iterator[Step | Finding]:
        """The faults of one place itself, and the next places to check."""
        if type(value) is dict and (members := keywords.members(place)) is not None:
            yield from self._members(place, members, value, cell)
            return
        if place.schema is False:
            yield words.not_allowed(cell.path, "false", "Nothing is allowed here", "Leave it out.")
        target = reference(place)
        if target is not None:
            yield target, value, cell
            if not place.document.modern_refs:
                return
        expected = keywords.wrong_type(place, value)
        if expected is not None:
            yield words.wrong_type(cell.path, expected, value)
            return
        yield from keywords.enum(place, value, cell.path)
        check = keywords.BY_TYPE.get(type_of(value))
        if check is not None:
            yield from check(place, value, cell.path)
        if isinstance(value, dict):
            yield from self._properties(place, value, cell)
        elif isinstance(value, list):
            yield from self._items(place, value, cell)
        if not _COMBINING.isdisjoint(place.rules):
            yield from self._combined(place, value, cell)

    def _members(
        self, place: SchemaPlace, members: Members, value: dict[str, Any], cell: Cell
    ) -> Iterator[Step | Finding]:
        """The same for an object with only named members, the usual case."""
        known, required, closed = members
        keys = value.keys()
        if not required <= keys or (closed and not keys <= known.keys()):
            yield from keywords.keys(place, value, cell.path)
        for key, item in value.items():
            below = known.get(key)
            if below is not None and type(item) not in (below.plain or ()) and not below.holds(item, len(cell.path)):
                yield below, item, cell.below(key)

    def _properties(self, place: SchemaPlace, value: dict[str, Any], cell: Cell) -> Iterator[Step | Finding]:
        schema = place.rules
        known = schema.get("properties") or {}
        patterns = [(place.document.word("pattern", p), p) for p in schema.get("patternProperties") or ()]
        other = place.child("additionalProperties") if isinstance(schema.get("additionalProperties"), dict) else None
        for key, item in value.items():
            matched = [expression for check, expression in patterns if check(key)] if patterns else ()
            if key in known:
                below = place.child("properties", key)
                # most members are valid
                if type(item) not in (below.plain or ()) and not below.holds(item, len(cell.path)):
                    yield below, item, cell.below(key)
            elif other is not None and not matched:
                yield other, item, cell.below(key)
            for expression in matched:
                yield place.child("patternProperties", expression), item, cell.below(key)
        for keyword in ("dependentSchemas", "dependencies"):
            for key, part in (schema.get(keyword) or {}).items():
                if key in value and isinstance(part, dict | bool):
                    yield place.child(keyword, key), value, cell
        if schema.get("unevaluatedProperties") is False and not self.fuel.fits(place, value, value):
            names = root_keys(place)
            for key in value:
                if key not in names and not any(check(key) for check, _ in patterns):
                    yield words.unknown_key((*cell.path, key), sorted(names))

    def _items(self, place: SchemaPlace, value: list[Any], cell: Cell) -> Iterator[Step | Finding]:
        schema = place.rules
        first = "prefixItems" if "prefixItems" in schema else "items"
        listed = schema.get(first)
        count = len(listed) if isinstance(listed, list) else 0
        for index in range(min(count, len(value))):
            yield place.child(first, index), value[index], cell.below(index)
        rest = "additionalItems" if isinstance(schema.get("items"), list) else "items"
        if rest in schema and schema[rest] is not True:
            below = place.child(rest)
            for index in range(count, len(value)):
                item = value[index]
                if type(item) not in (below.plain or ()) and not below.holds(item, len(cell.path)):
                    yield below, item, cell.below(index)

    def _combined(self, place: SchemaPlace, value: Any, cell: Cell) -> Iterator[Step | Finding]:
        schema = place.rules
        for index in range(len(schema.get("allOf") or ())):
            yield place.child("allOf", index), value, cell
        for keyword in ("anyOf", "oneOf"):
            if schema.get(keyword):
                yield from self._union(place, keyword, value, cell)
        if "not" in schema and self.fuel.fits(place.child("not"), value, value):
            yield words.not_allowed(cell.path, "not", "The schema excludes this value")
        if "if" in schema:
            branch = "then" if self.fuel.fits(place.child("if"), value, value) else "else"
            if branch in schema:
                yield place.child(branch), value, cell

    def _union(self, place: SchemaPlace, keyword: str, value: Any, cell: Cell) -> Iterator[Step | Finding]:
        schema = place.rules
        group = [place.child(keyword, index) for index in range(len(schema[keyword]))]
        fitting = [arm for arm in group if self.fuel.fits(arm, value, value)]
        if len(fitting) > 1 and keyword == "oneOf":
            yield words.several_arms_fit(cell.path, [arms.label(arm, group.index(arm)) for arm in fitting])
        if fitting:
            return
        likely = arms.likely_arms(group, value, cell.path)
        if isinstance(likely, Finding):
            yield likely
        elif len(likely) == 1:
            yield likely[0], value, cell
        else:
            yield self._nearest(group, likely, value, cell)

    def _nearest(self, group: list[SchemaPlace], likely: list[SchemaPlace], value: Any, cell: Cell) -> Finding:
        """The finding for a union without a deciding tag: the closest arm, and the value's faults under it."""
        names = [arms.label(arm, index) for index, arm in enumerate(group)]
        best: tuple[int, str, list[Finding]] = (0, "", [])
        if self.nesting < arms.MAX_NESTING:
            for arm in likely[: arms.MAX_TRIED]:
                faults = FaultSearch(self.fuel, 12, self.nesting + 1).faults(arm, value, cell)
                score = arms.distance(faults, len(cell.path))
                if not best[1] or score < best[0]:
                    best = (score, names[group.index(arm)], faults)
        return words.no_arm_fits(cell.path, names, best[1], best[2])
