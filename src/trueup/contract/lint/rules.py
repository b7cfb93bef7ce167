"""Lint of business rules: names that stand twice, expressions that do not compile, fields that no schema has."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from trueup.conform.schema import Schema
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, Place, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.verdict.paths import Parts

_FIRST = re.compile(r"[^.\[]+")
_FIELD_LISTS = ("required", "types", "ranges", "enums")
_EXPRESSIONS = ("expr", "when")


def lint_rules(rules: Any, schema: Schema | None, marks: Origins) -> Iterator[Fault]:
    """What is wrong with the rules of a contract: a list of rules, or a mapping with `rules` and the simple checks."""
    known = frozenset(schema.root_keys) if schema is not None else frozenset[str]()
    base: Parts = ("rules",)
    if isinstance(rules, dict):
        for part in _FIELD_LISTS:
            yield from _fields(rules.get(part), (*base, part), known, marks)
        rules, base = rules.get("rules"), ("rules", "rules")
    if not isinstance(rules, list):
        return
    seen: dict[str, int] = {}
    for index, rule in enumerate(rules):
        if isinstance(rule, dict):
            yield from _twice(rule.get("name"), (*base, index), seen, marks)
            for key in _EXPRESSIONS:
                if isinstance(rule.get(key), str):
                    yield from lint_expression(rule[key], (*base, index, key), known, marks)


def lint_expression(source: str, path: Parts, known: Iterable[str], marks: Origins) -> Iterator[Fault]:
    """What is wrong with one expression: its fault with the column, or the fields that are not known."""
    from trueup.expressions.errors import ExpressionError
    from trueup.expressions.language import compile_expression

    place = marks.value(path)
    try:
        names = compile_expression(source).names
    except ExpressionError as error:
        hint = f"Did you mean {error.suggestion!r}?" if error.suggestion else ""
        where = _inside(place, error.column)
        message = error.message if place.inner else f"{error.message} (column {error.column} of the expression)"
        yield fault("N012", where, path, message, hint)
        return
    known = list(known)
    if known:
        for name in sorted(names):
            if name not in known:
                yield _no_field(name, path, _inside(place, _column(source, name)), known)


def _inside(place: Place, column: int) -> Place:
    """The place of a column of a text, where the text stands on one line as it is; else the place of the text."""
    return place._replace(column=place.inner + column - 1) if place.inner and column > 0 else place


def _column(source: str, name: str) -> int:
    found = re.search(rf"(?<![\w.]){re.escape(name)}\b", source)
    return found.start() + 1 if found else 1


def _twice(name: Any, path: Parts, seen: dict[str, int], marks: Origins) -> Iterator[Fault]:
    if not isinstance(name, str):
        return
    if name in seen:
        first = marks.value((*path[:-1], seen[name], "name"))
        message = f"two rules are named {name!r}; the first is at {first.file}:{first.line}"
        hint = "Records of failures name the rule: give each a name of its own."
        yield fault("N011", marks.value((*path, "name")), (*path, "name"), message, hint)
    index = path[-1]
    assert isinstance(index, int)
    seen.setdefault(name, index)


def _fields(given: Any, path: Parts, known: frozenset[str], marks: Origins) -> Iterator[Fault]:
    """Fields of the simple checks that the schema does not have: a list of names, or a mapping by name."""
    if not known or not isinstance(given, list | dict):
        return
    for index, name in enumerate(given):
        first = _FIRST.match(name) if isinstance(name, str) else None
        if first is not None and first[0] not in known:
            at = (*path, index) if isinstance(given, list) else (*path, name)
            yield _no_field(first[0], at, marks.key(at), known)


def _no_field(name: str, path: Parts, place: Place, known: Iterable[str]) -> Fault:
    hint = did_you_mean(name, known, "It can only come with a unit's input.")
    return fault("N013", place, path, f"the schema has no field {name!r}", hint)
