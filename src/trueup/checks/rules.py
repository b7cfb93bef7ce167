"""Business rules: conditions between the fields of a record that go beyond a schema.

A `validation:` section (`required`, `types`, `ranges`, `enums`, `rules`), or a list of rules alone, is compiled once.
`Rules.check()` takes a record and returns findings. A missing required field ends the check. A rule that cannot be
evaluated counts as failed; a rule whose `when` cannot be evaluated is skipped with a warning. Records are never
changed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from trueup.checks.fields import Check, Field, Required, read_checks, read_required
from trueup.checks.problems import BadRules, Problem, Where
from trueup.expressions.errors import ExpressionError, nearest
from trueup.expressions.language import Expression, Functions, compile_expression
from trueup.expressions.messages import MISSING, Message, compile_message
from trueup.expressions.values import as_data
from trueup.expressions.work import BUDGET
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding
from trueup.verdict.paths import render

SECTIONS = ("required", "types", "ranges", "enums", "rules", "budget")
RULE_KEYS = ("name", "expr", "error", "level", "when")
LEVELS = get_args(Level)
_COMPUTED_PARTS = 100
_COMPUTED_TEXT = 1_000


class Rule(NamedTuple):
    """One rule: its condition, when it applies, and the message if it fails."""

    name: str
    expr: Expression
    when: Expression | None
    error: Message | None
    level: Level
    path: str


class Rules:
    """The rules of one contract; `compile_rules` makes them.

    `required` are fields that must be present, `checks` the checks of types, ranges and enums, `rules` the expressions,
    and `budget` the number of steps that one expression may take.
    """

    __slots__ = ("_checks", "_required", "_tests", "budget", "rules")

    def __init__(self, required: Required, checks: tuple[Check, ...], rules: tuple[Rule, ...], budget: int) -> None:
        self._required = required
        self._checks = checks
        self.rules = rules
        self.budget = budget
        self._tests = tuple((rule.expr.evaluate, None if rule.when is None else rule.when.evaluate) for rule in rules)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that are named outside of expressions."""
        return (*self._required.fields, *(check.field for check in self._checks))

    @property
    def names(self) -> frozenset[str] | None:
        """Every name that these rules look up in a record; None if that is not known in advance.

        >>> sorted(compile_rules({"rules": ["a > b.c"], "required": ["d.e"]}).names)
        ['a', 'b', 'd', 'd.e']
        """
        found = {name for field in self.fields for name in (field.name, *map(str, field.steps[:1]))}
        for expression in (one for rule in self.rules for one in (rule.expr, rule.when) if one is not None):
            if expression.source.count("dir") != len(expression.tested):
                return None  # it may look up a name that is the value of another field
            found |= expression.names
            found.update(str(field.path[0]) for field in expression.tested)
        return frozenset(found)

    def hold(self, record: Mapping[str, Any]) -> bool:
        """Whether `check` finds nothing wrong with a `record`, without making the findings.

        >>> compile_rules(["hp <= max_hp"]).hold({"hp": 12, "max_hp": 10})
        False
        """
        if self._required.fields or self._checks:
            return not self.check(record)
        budget = self.budget
        try:
            for evaluate, when in self._tests:
                if (when is None or when(record, budget)) and not evaluate(record, budget):
                    return False
        except ExpressionError:
            return False
        return True

    def check(self, record: Mapping[str, Any]) -> list[Finding]:
        """The findings about a `record`.

        >>> rules = compile_rules([{"name": "alive", "expr": "hp <= max_hp", "error": "{hp} is over {max_hp}"}])
        >>> [str(found) for found in rules.check({"hp": 12, "max_hp": 10})]
        ['B005 $.hp: 12 is over 10']
        """
        findings = list(self._required.check(record)) if self._required.fields else []
        if findings:
            return findings
        for check in self._checks:
            findings += check.check(record)
        for rule in self.rules:
            try:
                if rule.when is not None and not rule.when.evaluate(record, self.budget):
                    continue
            except ExpressionError as error:
                findings.append(_skipped(rule, error))
                continue
            try:
                if not rule.expr.evaluate(record, self.budget):
                    findings.append(_broken(rule, record, self.budget))
            except ExpressionError as error:
                findings.append(_failed(rule, error))
        return findings


def _broken(rule: Rule, record: Mapping[str, Any], budget: int) -> Finding:
    """A rule that is broken."""
    data: dict[str, Any] = {"rule": rule.name, "expr": rule.expr.source}
    computed: Any = MISSING
    try:
        left = rule.expr.left(record, budget)
        computed = left[:_COMPUTED_TEXT] if isinstance(left, str) else as_data(left, _COMPUTED_PARTS)
        data["computed"] = computed
    except ExpressionError:  # the rule itself was evaluated; only its left side is too large to show
        pass
    if rule.error is not None:
        message = rule.error.render(record, computed)
    else:
        said = "" if rule.name == rule.expr.source else f": {rule.expr.source}"
        message = f"{rule.name} does not hold{said}"
    return Finding("B005", rule.path, message, None, data, "", rule.level)


def _failed(rule: Rule, error: ExpressionError) -> Finding:
    """A rule that cannot be evaluated on this record counts as broken."""
    message = f"{rule.name} cannot be evaluated: {error}"
    return Finding("B006", rule.path, message, None, _why(rule.name, rule.expr, error), "", rule.level)


def _skipped(rule: Rule, error: ExpressionError) -> Finding:
    """A rule whose condition cannot be evaluated: nobody knows whether it applies."""
    assert rule.when is not None
    message = f"{rule.name} was skipped: its condition cannot be evaluated: {error}"
    return Finding("B007", rule.path, message, None, _why(rule.name, rule.when, error), "", "warning")


def _why(name: str, expression: Expression, error: ExpressionError) -> dict[str, Any]:
    return {"rule": name, "expr": expression.source, "reason": error.message, "column": error.column}


def compile_rules(spec: Any, *, functions: Functions | None = None) -> Rules:
    """Rules from `spec`: a list of rules, or a mapping of sections. `BadRules` lists all mistakes in it.

    `functions` can be called in expressions, in addition to the language's own; None: no additional ones.

    >>> compile_rules({"ranges": {"score": [1, 10]}}).check({"score": 11})[0].message
    'score is 11; expected a number from 1 to 10'
    """
    if isinstance(spec, Rules):
        return spec
    if isinstance(spec, list | tuple):
        spec = {"rules": spec}
    if not isinstance(spec, Mapping):
        raise BadRules(
            [Problem((), f"rules must be a list, or a mapping of {', '.join(SECTIONS)}; got {spec!r}"[:300])]
        )
    problems = list(_unknown_keys(spec, SECTIONS, ()))
    required = _sorted_out(read_required(spec.get("required") or ()), problems)
    checks: list[Check] = []
    for section in ("types", "ranges", "enums"):
        checks += _sorted_out(read_checks(section, spec.get(section) or {}), problems)
    rules = _sorted_out(_read_rules(spec.get("rules") or (), functions), problems)
    for name, count in Counter(rule.name for rule in rules).items():
        if count > 1:
            problems.append(Problem(("rules",), f"{count} rules are named {name!r}; give each its own name"))
    budget = spec.get("budget", BUDGET)
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        problems.append(Problem(("budget",), f"budget must be a number of steps; got {budget!r}"))
    if problems:
        raise BadRules(problems)
    return Rules(Required(tuple(required)), tuple(checks), tuple(rules), budget)


def _sorted_out(read: Iterator[Any], problems: list[Problem]) -> list[Any]:
    """The rules that could be read; mistakes are added to the problems."""
    good: list[Any] = []
    for one in read:
        (problems if isinstance(one, Problem) else good).append(one)
    return good


def _unknown_keys(source: Mapping[Any, Any], known: tuple[str, ...], where: Where) -> Iterator[Problem]:
    for key in source:
        if key not in known:
            suggestion = nearest(str(key), list(known))
            yield Problem((*where, str(key)), f"unknown key {key!r}; the keys are {', '.join(known)}", 0, suggestion)


def _read_rules(source: Any, functions: Functions | None) -> Iterator[Rule | Problem]:
    if not isinstance(source, list | tuple):
        yield Problem(("rules",), "rules is a list")
        return
    for index, one in enumerate(source):
        yield from _read_rule({"expr": one} if isinstance(one, str) else one, ("rules", index), functions)


def _read_rule(source: Any, where: Where, functions: Functions | None) -> Iterator[Rule | Problem]:
    if not isinstance(source, Mapping):
        yield Problem(
            where, f"a rule must be a mapping of {', '.join(RULE_KEYS)}, or an expression; got {source!r}"[:300]
        )
        return
    problems = list(_unknown_keys(source, RULE_KEYS, where))
    if "expr" not in source:
        problems.append(Problem(where, "a rule has an expr"))
    compiled: dict[str, Expression] = {}
    for key in ("expr", "when"):
        if source.get(key) is not None or (key == "expr" and key in source):
            try:
                compiled[key] = compile_expression(source[key], functions=functions)
            except ExpressionError as error:
                problems.append(Problem((*where, key), error.message, error.column, error.suggestion))
    name, level, error_text = source.get("name", source.get("expr")), source.get("level", "error"), source.get("error")
    if not isinstance(name, str) or not name.strip():
        problems.append(Problem((*where, "name"), f"the name of a rule must be text; got {name!r}"))
    if level not in LEVELS:
        problems.append(Problem((*where, "level"), f"level must be error or warning; got {level!r}"))
    if error_text is not None and not isinstance(error_text, str):
        problems.append(Problem((*where, "error"), f"error must be text; got {error_text!r}"))
    yield from problems
    if not problems:
        message = None if error_text is None else compile_message(str(error_text))
        expr = compiled["expr"]
        path = render(expr.fields[0].path) if expr.fields else "$"
        yield Rule(str(name), expr, compiled.get("when"), message, level, path)
