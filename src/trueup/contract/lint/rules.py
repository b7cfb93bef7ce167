"""Lint of business rules: what the rules themselves refuse, names that stand twice, fields that no schema has."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from trueup.checks.problems import BadRules, Problem
from trueup.checks.rules import compile_rules
from trueup.conform.schema import Schema
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, Place, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression
from trueup.verdict.paths import Parts

_FIRST = re.compile(r"[^.\[]+")
_FIELD_LISTS = ("required", "types", "ranges", "enums")
_EXPRESSIONS = ("expr", "when")


def lint_rules(spec: Any, schema: Schema | None, marks: Origins) -> Iterator[Fault]:
    """What is wrong with the rules of a contract: a list of rules, or a mapping with `rules` and the simple checks."""
    if spec is None:
        return
    base: Parts = ("rules", "rules") if isinstance(spec, dict) else ("rules",)
    compiled: dict[str, frozenset[str]] = {}
    try:
        rules = compile_rules(spec).rules
        compiled = {part.source: part.names for rule in rules for part in (rule.expr, rule.when) if part is not None}
    except BadRules as error:
        for problem in error.problems:
            if "rules are named" not in problem.message:  # said below, with the place of the second
                yield _of_problem(problem, spec, base, marks)
    yield from _names(spec, base, marks)
    if schema is not None and schema.root_keys:
        yield from _fields(spec, base, _Known(frozenset(schema.root_keys), compiled), marks)


def _of_problem(problem: Problem, spec: Any, base: Parts, marks: Origins) -> Fault:
    path: Parts = (*base, *problem.where[1:]) if problem.where[:1] == ("rules",) else ("rules", *problem.where)
    expression = path[-1] in _EXPRESSIONS
    if expression and isinstance(_listed(spec)[int(path[-2])], str):
        path = path[:-1]  # the rule is nothing but its expression
    place = marks.value(path)
    hint = f"Did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    if expression:
        column = f" (column {problem.column} of the expression)" if problem.column and not place.inner else ""
        return fault("N012", inside(place, problem.column), path, problem.message + column, hint)
    unknown = problem.message.startswith("there is no key")
    return fault("N005" if unknown else "N006", marks.key(path) if unknown else place, path, problem.message, hint)


def inside(place: Place, column: int) -> Place:
    """The place of a column of a text, where the text stands on one line as it is; else the place of the text."""
    return place._replace(column=place.inner + column - 1) if place.inner and column > 0 else place


def _listed(spec: Any) -> list[Any]:
    rules = spec.get("rules") if isinstance(spec, dict) else spec
    return rules if isinstance(rules, list) else []


def _names(spec: Any, base: Parts, marks: Origins) -> Iterator[Fault]:
    """Names that two rules have; a rule without one is called by its expression."""
    seen: dict[str, Parts] = {}
    for index, rule in enumerate(_listed(spec)):
        name = rule.get("name", rule.get("expr")) if isinstance(rule, dict) else rule
        path: Parts = (*base, index, "name") if isinstance(rule, dict) and "name" in rule else (*base, index)
        if isinstance(name, str) and name in seen:
            first = marks.value(seen[name])
            message = f"two rules are named {name!r}; the first is at {first.file}:{first.line}"
            yield fault(
                "N011", marks.value(path), path, message, "Give each a name of its own: failures name the rule."
            )
        elif isinstance(name, str):
            seen[name] = path


class _Known:
    """The fields that a schema has, and the names that expressions use, as far as they are compiled already."""

    def __init__(self, fields: frozenset[str], compiled: dict[str, frozenset[str]]) -> None:
        self.fields = fields
        self._compiled = compiled

    def unknown(self, source: str) -> list[str]:
        """The names of an expression that are no fields; none of one that does not compile: that is said already."""
        names = self._compiled.get(source)
        if names is None:
            try:
                names = compile_expression(source).names
            except ExpressionError:
                return []
        return sorted(names - self.fields)


def _fields(spec: Any, base: Parts, known: _Known, marks: Origins) -> Iterator[Fault]:
    """Fields that the schema does not have, in simple checks and in expressions."""
    for section in _FIELD_LISTS if isinstance(spec, dict) else ():
        given = spec.get(section)
        for index, name in enumerate(given if isinstance(given, list | dict) else ()):
            first = _FIRST.match(name) if isinstance(name, str) else None
            if first is not None and first[0] not in known.fields:
                at: Parts = ("rules", section, index) if isinstance(given, list) else ("rules", section, name)
                yield _no_field(first[0], at, marks.key(at), known.fields)
    for index, rule in enumerate(_listed(spec)):
        for key in _EXPRESSIONS:
            source = rule.get(key) if isinstance(rule, dict) else rule if key == "expr" else None
            path = (*base, index, key) if isinstance(rule, dict) else (*base, index)
            if not isinstance(source, str):
                continue
            for name in known.unknown(source):
                found = re.search(rf"(?<![\w.]){re.escape(name)}\b", source)
                place = inside(marks.value(path), found.start() + 1 if found else 1)
                yield _no_field(name, path, place, known.fields)


def _no_field(name: str, path: Parts, place: Place, known: Iterable[str]) -> Fault:
    hint = did_you_mean(name, known, "It can only come with a unit's input.")
    return fault("N013", place, path, f"the schema has no field {name!r}", hint)
