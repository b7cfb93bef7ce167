"""Lint of a step's `validation` section: what the rules themselves refuse, fields that nothing gives, rules on made-up data."""

import re
from collections.abc import Iterator
from typing import Any

from trueup.batch.pipeline.config import Pipeline, Step
from trueup.checks.problems import BadRules, Problem
from trueup.checks.rules import compile_rules
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.rules import guarded_fields, inside
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import Expression, compile_expression
from trueup.verdict.paths import Parts

_EXPRESSIONS = ("expr", "when")


def lint_validation(pipeline: Pipeline, step: Step, known: set[str] | None, mock: dict[str, Any]) -> Iterator[Fault]:
    """What is wrong with the rules of a step; `known` are the fields there can be, None where nobody knows."""
    spec, base = step.validation or {}, ("validation", step.name)
    try:
        compile_rules(spec)
    except BadRules as error:
        for problem in error.problems:
            yield _of_problem(pipeline, problem, base)
    if known is None:
        return
    for part in ("required", "types", "ranges", "enums"):
        yield from _fields(pipeline, spec.get(part), (*base, part), known)
    rules = spec.get("rules")
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, dict):
            yield from _rule(pipeline, rule, (*base, "rules", index), known, mock)


def _of_problem(pipeline: Pipeline, problem: Problem, base: Parts) -> Fault:
    path: Parts = (*base, *problem.where)
    marks = pipeline.marks
    hint = f"Did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    if path[-1] in _EXPRESSIONS:
        return fault("N012", inside(marks.value(path), problem.column), path, problem.message, hint)
    if "rules are named" in problem.message:
        return fault("N011", marks.value(path), path, problem.message, "Give each a name of its own.")
    unknown = problem.message.startswith("there is no key")
    return fault(
        "N005" if unknown else "N006", marks.key(path) if unknown else marks.value(path), path, problem.message, hint
    )


def _rule(
    pipeline: Pipeline, rule: dict[str, Any], path: Parts, known: set[str], mock: dict[str, Any]
) -> Iterator[Fault]:
    """Faults of one rule. Fields that it asks for with `in dir()` may be missing; if `when` is false, `expr` is not tried."""
    compiled = {key: expression for key in _EXPRESSIONS if (expression := _compiled(rule.get(key))) is not None}
    allowed = known | guarded_fields(compiled.values())
    missing = False
    for key, expression in compiled.items():
        place = pipeline.marks.value((*path, key))
        for name in sorted(expression.names - allowed):
            missing = True
            found = re.search(rf"(?<![\w.]){re.escape(name)}\b", expression.source)
            yield _no_field(name, (*path, key), inside(place, found.start() + 1 if found else 1), known)
    if missing:
        return
    for key in ("when", "expr"):
        try:
            if key in compiled and not compiled[key].evaluate(mock) and key == "when":
                return
        except ExpressionError as error:
            where = inside(pipeline.marks.value((*path, key)), error.column)
            yield fault("N039", where, (*path, key), f"the expression fails on made-up data: {error.message}")


def _compiled(source: Any) -> Expression | None:
    """The expression; None if there is none or it does not compile, which is reported elsewhere."""
    try:
        return compile_expression(source) if isinstance(source, str) else None
    except ExpressionError:
        return None


def _fields(pipeline: Pipeline, given: Any, path: Parts, known: set[str]) -> Iterator[Fault]:
    for index, name in enumerate(given if isinstance(given, list | dict) else ()):
        first = str(name).split(".")[0].split("[")[0]
        if first not in known:
            at = (*path, index) if isinstance(given, list) else (*path, name)
            place = pipeline.marks.value(at) if isinstance(given, list) else pipeline.marks.key(at)
            yield _no_field(first, at, place, known)


def _no_field(name: str, path: Parts, place: Any, known: set[str]) -> Fault:
    hint = did_you_mean(name, known, "A unit without it fails.")
    return fault("N013", place, path, f"no schema has the field {name!r}", hint)
