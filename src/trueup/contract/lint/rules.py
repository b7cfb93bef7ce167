"""Lint of business rules: faults that the rules themselves report, duplicate names, fields missing from the schema."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trueup.checks.problems import BadRules, Problem
from trueup.checks.rules import compile_rules
from trueup.conform.schema import Schema
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, FilePlace, Marks, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.values import allowed, never_given
from trueup.contract.lint.values import said as said_of_value
from trueup.contract.meaning.unknown_names import Provided, declared, said, suggested
from trueup.expressions.errors import CONSTANTS, ExpressionError
from trueup.expressions.language import Expression, compile_expression
from trueup.expressions.messages import compile_message
from trueup.verdict.paths import Parts

_FIELD_LISTS = ("required", "types", "ranges", "enums")
_EXPRESSIONS = ("expr", "when")


def lint_rules(spec: Any, schema: Schema | None, marks: Origins, given: Any = None) -> Iterator[Fault]:
    """The faults in the rules of a contract: a list of rules, or a mapping with `rules` and the simple checks.

    `given` are the fields that come with a unit's input; True for any.
    """
    if spec is None:
        return
    base: Parts = ("rules", "rules") if isinstance(spec, dict) else ("rules",)
    compiled: dict[str, Expression] = {}
    try:
        rules = compile_rules(spec).rules
        compiled = {part.source: part for rule in rules for part in (rule.expr, rule.when) if part is not None}
    except BadRules as error:
        for problem in error.problems:
            if "rules are named" not in problem.message:  # reported below, with the place of the second
                yield _of_problem(problem, spec, base, marks)
    yield from names_given_twice(spec, base, marks)
    fields = declared(given)
    if schema is not None and fields is not None:
        yield from _fields(spec, base, _Known(schema, compiled, fields), marks)


def _of_problem(problem: Problem, spec: Any, base: Parts, marks: Origins) -> Fault:
    path: Parts = (*base, *problem.where[1:]) if problem.where[:1] == ("rules",) else ("rules", *problem.where)
    expression = path[-1] in _EXPRESSIONS
    if expression and isinstance(_listed(spec)[int(path[-2])], str):
        path = path[:-1]  # the rule is only an expression
    place = marks.value(path)
    hint = f"Did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    if expression:
        column = f" (column {problem.column} of the expression)" if problem.column and not place.inner else ""
        return fault("N012", inside(place, problem.column), path, problem.message + column, hint)
    unknown = problem.message.startswith("unknown key")
    return fault("N005" if unknown else "N006", marks.key(path) if unknown else place, path, problem.message, hint)


def inside(place: FilePlace, column: int) -> FilePlace:
    """The position of a column within a text, if the text is unescaped and on one line; else the position of the text."""
    return place._replace(column=place.inner + column - 1) if place.inner and column > 0 else place


def _listed(spec: Any) -> list[Any]:
    rules = spec.get("rules") if isinstance(spec, dict) else spec
    return rules if isinstance(rules, list) else []


def names_given_twice(spec: Any, base: Parts, marks: Marks | Origins) -> Iterator[Fault]:
    """Names that two rules have; a rule without a name is named after its expression."""
    seen: dict[str, Parts] = {}
    for index, rule in enumerate(_listed(spec)):
        name = rule.get("name", rule.get("expr")) if isinstance(rule, dict) else rule
        path: Parts = (*base, index, "name") if isinstance(rule, dict) and "name" in rule else (*base, index)
        if isinstance(name, str) and name in seen:
            first = marks.value(seen[name])
            message = f"two rules are named {name!r}; the first is at {first.file}:{first.line}"
            yield fault(
                "N011", marks.value(path), path, message, "Give each rule its own name: findings name the rule."
            )
        elif isinstance(name, str):
            seen[name] = path


class _Known:
    """The fields of a schema, and the expressions that are compiled already."""

    def __init__(self, schema: Schema, compiled: dict[str, Expression], given: frozenset[str]) -> None:
        self.provided = Provided(schema, given)
        self._schema = schema
        self._given = given
        self._compiled = compiled

    def unknown(self, path: Sequence[str | int]) -> tuple[str, Iterable[str]] | None:
        """The first part of a field's path that is not in the schema, and the names that the schema has there."""
        here: Schema | None = None if path[0] in self._given else self._schema
        for index, part in enumerate(path):
            if here is None or not isinstance(part, str) or not here.root_keys:
                return None
            if part not in here.root_keys:
                return ".".join(str(step) for step in path[: index + 1]), here.root_keys
            here = here.member(part)
        return None

    def allowed(self, path: Parts) -> list[Any] | None:
        """The values that the schema lists for a field; None if it lists none, or the field comes with the input."""
        source = self._schema.source
        return None if path[0] in self._given else allowed(source, source, path)

    def expression(self, source: Any) -> Expression | None:
        """The expression in a text; None if it does not compile, which is reported elsewhere."""
        if not isinstance(source, str):
            return None
        if source in self._compiled:
            return self._compiled[source]
        try:
            return compile_expression(source)
        except ExpressionError:
            return None


def guarded_fields(expressions: Iterable[Expression]) -> frozenset[str]:
    """The fields that a rule tests for with `'x' in dir()`: such a rule also works on records without them."""
    return frozenset(field.path[0] for expression in expressions for field in expression.tested)


def _fields(spec: Any, base: Parts, known: _Known, marks: Origins) -> Iterator[Fault]:
    """Fields that are not in the schema: in simple checks, in expressions, in messages."""
    for section in _FIELD_LISTS if isinstance(spec, dict) else ():
        given = spec.get(section)
        for index, name in enumerate(given if isinstance(given, list | dict) else ()):
            if isinstance(name, str):
                at: Parts = ("rules", section, index) if isinstance(given, list) else ("rules", section, name)
                yield from _no_field(name.split("."), at, marks.key(at), known)
    for index, rule in enumerate(_listed(spec)):
        sources = {key: rule.get(key) for key in _EXPRESSIONS} if isinstance(rule, dict) else {"expr": rule}
        compiled = {key: found for key in sources if (found := known.expression(sources[key])) is not None}
        guarded = guarded_fields(compiled.values())
        for key, expression in compiled.items():
            path = (*base, index, key) if isinstance(rule, dict) else (*base, index)
            for field, column in expression.fields:
                if field[:1] and field[0] not in guarded:
                    yield from _no_field(field, path, inside(marks.value(path), column), known)
            for one, values in never_given(expression.source, known.allowed):
                hint = did_you_mean(str(one.value), [str(value) for value in values])
                message = said_of_value(one.path, one.value, values)
                yield fault("N040", inside(marks.value(path), one.column), path, message, hint)
        template = rule.get("error") if isinstance(rule, dict) else None
        if isinstance(template, str):
            path = (*base, index, "error")
            for steps in sorted(compile_message(template).fields, key=str):
                if steps != ("_computed",) and steps[0] not in guarded:
                    yield from _no_field(steps, path, marks.value(path), known, used=False)


def _no_field(
    field: Sequence[str | int], path: Parts, place: FilePlace, known: _Known, *, used: bool = True
) -> Iterator[Fault]:
    """A field that is not in the schema: an error if it is `used` and nothing can provide it, else a warning."""
    missing = known.provided.missing(field) if used else None
    if missing is not None:
        near = suggested(*missing)
        yield fault("N026", place, path, said(missing[0]), f"Did you mean {near!r}?" if near else "")
        return
    found = known.unknown(field)
    if found is not None:
        name, names = found
        otherwise = "If it comes with a unit's input, list it under `input`."
        meant = CONSTANTS.get(name)
        hint = f"Did you mean {meant}?" if meant else did_you_mean(name.rsplit(".", 1)[-1], names, otherwise)
        yield fault("N013", place, path, f"the schema has no field {name!r}", hint)
