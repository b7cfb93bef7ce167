"""Checks a step's `validation` section: invalid rules, fields that do not exist, and rules that fail on made-up data."""

import re
from collections.abc import Iterator
from typing import Any

from trueup.batch.pipeline.config import Pipeline, PipelineStep
from trueup.batch.pipeline.lint.fields import KnownFields
from trueup.checks.problems import BadRules, Problem
from trueup.checks.rules import compile_rules
from trueup.conform.closed import closed_keys
from trueup.conform.schema import Schema
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.rules import guarded_fields, inside, names_given_twice
from trueup.contract.lint.values import never_given, said
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import Expression, compile_expression
from trueup.expressions.messages import compile_message, read_path
from trueup.verdict.paths import Parts

_EXPRESSIONS = ("expr", "when")


def lint_validation(
    pipeline: Pipeline, step: PipelineStep, known: KnownFields | None, schema: Schema | None
) -> Iterator[Fault]:
    """The faults in the rules of a step. `known` are the possible fields; None if they cannot be determined."""
    spec, base = step.validation or {}, ("validation", step.name)
    try:
        compile_rules(spec)
    except BadRules as error:
        for problem in error.problems:
            if "rules are named" not in problem.message:  # reported below, with the place of the second
                yield _of_problem(pipeline, problem, base)
    yield from names_given_twice(spec, (*base, "rules"), pipeline.marks)
    if known is None:
        return
    closed = schema is not None and closed_keys(schema.place) is not None
    look = _Look(pipeline, known, closed=closed)
    for part in ("required", "types", "ranges", "enums"):
        yield from look.fields(spec.get(part), (*base, part))
    yield from look.enums(spec.get("enums"), (*base, "enums"))
    rules = spec.get("rules")
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        given = {"expr": rule} if isinstance(rule, str) else rule
        if isinstance(given, dict):
            yield from look.rule(given, (*base, "rules", index), bare=isinstance(rule, str))


def _of_problem(pipeline: Pipeline, problem: Problem, base: Parts) -> Fault:
    path: Parts = (*base, *problem.where)
    marks = pipeline.marks
    hint = f"Did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    if path[-1] in _EXPRESSIONS:
        return fault("N012", inside(marks.value(path), problem.column), path, problem.message, hint)
    unknown = problem.message.startswith("unknown key")
    return fault(
        "N005" if unknown else "N006", marks.key(path) if unknown else marks.value(path), path, problem.message, hint
    )


def _compiled(source: Any) -> Expression | None:
    """The expression; None if there is none or it does not compile, which is reported elsewhere."""
    try:
        return compile_expression(source) if isinstance(source, str) else None
    except ExpressionError:
        return None


class _Look:
    """The rules of one step with the fields known there; if `closed`, replies cannot add others."""

    def __init__(self, pipeline: Pipeline, known: KnownFields, *, closed: bool) -> None:
        self._pipeline = pipeline
        self._known = known
        self._closed = closed

    def fields(self, given: Any, path: Parts) -> Iterator[Fault]:
        """Fields of a simple check that do not exist."""
        for index, name in enumerate(given if isinstance(given, list | dict) else ()):
            first = str(name).split(".")[0].split("[")[0]
            if first not in self._known.names:
                at = (*path, index) if isinstance(given, list) else (*path, name)
                place = self._pipeline.marks.value(at) if isinstance(given, list) else self._pipeline.marks.key(at)
                # a check of a required field always fails; other checks ignore a missing field
                yield self._no_field(first, at, place, used=path[-1] == "required")

    def enums(self, given: Any, path: Parts) -> Iterator[Fault]:
        """Listed values that the schema of the field does not allow, ignoring case."""
        for name, values in given.items() if isinstance(given, dict) else ():
            steps = read_path(str(name))
            allowed = self._known.allowed(steps)
            if allowed is None or not isinstance(values, list):
                continue
            folded = {_folded(value) for value in allowed}
            strange = [index for index, value in enumerate(values) if _folded(value) not in folded]
            if values and len(strange) == len(values):
                message = f"the schema allows none of the values listed for {name!r}; it allows {_shown(allowed)}"
                yield self._pipeline.fault("N006", (*path, name), message, "Every unit would fail here.")
                continue
            for index in strange:
                at = (*path, name, index)
                hint = did_you_mean(str(values[index]), [str(value) for value in allowed])
                yield self._pipeline.fault("N040", at, said(steps, values[index], allowed), hint)

    def rule(self, rule: dict[str, Any], path: Parts, *, bare: bool) -> Iterator[Fault]:
        """The faults of one rule. Fields that it tests with `in dir()` may be missing. If `when` is false, `expr` is not tried."""
        compiled = {key: expression for key in _EXPRESSIONS if (expression := _compiled(rule.get(key))) is not None}
        guarded = guarded_fields(compiled.values())
        missing = False
        for key, expression in compiled.items():
            at = path if bare else (*path, key)
            place = self._pipeline.marks.value(at)
            for name in sorted(expression.names - self._known.names - guarded):
                missing = True
                found = re.search(rf"(?<![\w.]){re.escape(name)}\b", expression.source)
                yield self._no_field(name, at, inside(place, found.start() + 1 if found else 1), used=True)
            for one, allowed in never_given(expression.source, self._known.allowed):
                hint = did_you_mean(str(one.value), [str(value) for value in allowed])
                yield fault("N040", inside(place, one.column), at, said(one.path, one.value, allowed), hint)
        yield from self._message(rule.get("error"), (*path, "error"), guarded)
        if not missing:
            yield from self._tried(compiled, path, bare=bare)

    def _message(self, template: Any, path: Parts, guarded: frozenset[Any]) -> Iterator[Fault]:
        """Names in a message that are not fields: they are shown unchanged."""
        if not isinstance(template, str):
            return
        for steps in sorted(compile_message(template).fields, key=str):
            name = str(steps[0])
            if name not in self._known.names and name not in guarded and name != "_computed":
                column = template.find("{" + name) + 1
                place = inside(self._pipeline.marks.value(path), column)
                hint = self._known.hint(name, "The message shows the name unchanged.")
                yield fault("N013", place, path, f"no schema has the field {name!r}", hint)

    def _tried(self, compiled: dict[str, Expression], path: Parts, *, bare: bool) -> Iterator[Fault]:
        for key in ("when", "expr"):
            try:
                if key in compiled and not compiled[key].evaluate(self._known.fields) and key == "when":
                    return
            except ExpressionError as error:
                at = path if bare else (*path, key)
                where = inside(self._pipeline.marks.value(at), error.column)
                yield fault("N039", where, at, f"the expression fails on made-up data: {error.message}")

    def _no_field(self, name: str, path: Parts, place: Any, *, used: bool) -> Fault:
        """A field that does not exist: an error if it is used and the schema allows no others, else a warning."""
        hint = self._known.hint(name, "A unit without it fails.")
        if used and self._closed:
            message = f"the field {name!r} does not exist, and the schema allows no other fields"
            return fault("N026", place, path, message, hint)
        return fault("N013", place, path, f"no schema has the field {name!r}", hint)


def _folded(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else repr(value)


def _shown(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:8])) + (" …" if len(values) > 8 else "")
