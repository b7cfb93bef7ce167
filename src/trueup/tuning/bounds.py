"""Bounds: every number in a contract that values are compared with, and the values in labelled replies.

These are bounds of the schema, of `ranges`, of comparisons in rules, and the minimum number of characters in a reply. A
reply counts for a bound if the bound alone decides about it: nothing else refuses the reply.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from trueup.checks.fields import Ranged, read_checks
from trueup.contract.meaning.meaning import record
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import Expression, compile_expression
from trueup.expressions.work import BUDGET
from trueup.tuning.edits import Remove
from trueup.tuning.evidence import JudgedCase
from trueup.tuning.proposals import Workshop
from trueup.tuning.schemas import BOUNDS, Bound, bounds_in, values_at
from trueup.tuning.units import rule_list
from trueup.verdict.paths import Parts, folded, render

Number = int | float
_STRICT = (ast.Lt, ast.Gt)
_LOOSE = (ast.LtE, ast.GtE)
_LESS = (ast.Lt, ast.LtE)


class Numbered(NamedTuple):
    """A labelled reply with the number that is compared with a bound."""

    which: int
    """The reply's number in the evidence."""
    number: Number
    passes: bool
    should: bool


class LabelledBound(NamedTuple):
    """A bound, and the labelled replies that it decides about."""

    at: Parts
    """The bound's name, made from its place."""
    edit_at: Parts
    """The scalar that contains it."""
    name: str
    unit: str
    value: Number
    upper: bool
    """Whether numbers above the bound fail."""
    inclusive: bool
    """Whether a value equal to the bound passes."""
    cases: tuple[Numbered, ...]
    is_whole: bool
    before: str = ""
    """The text before and after the number in its scalar, if the scalar is an expression."""
    behind: str = ""
    note: str = ""

    def written(self, value: Number) -> Any:
        """The scalar with another value."""
        return f"{self.before}{value}{self.behind}" if self.before or self.behind else value

    def shown(self, value: Number) -> str:
        """A value for people."""
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"

    def step(self, value: Number) -> Number:
        """The smallest useful difference."""
        if self.is_whole:
            return 1
        digits = len(repr(value).partition(".")[2])
        return float(10**-digits)


def limits(shop: Workshop) -> Iterator[LabelledBound]:
    """The bounds of a contract that can be measured."""
    data = shop.data
    if isinstance(data.get("schema"), dict):
        yield from (_of_schema(shop, bound) for bound in bounds_in(data["schema"]))
    rules = data.get("rules")
    if isinstance(rules, dict):
        yield from _of_ranges(shop, rules.get("ranges") or {})
    path, listed = rule_list(data)
    for index, rule in enumerate(listed):
        yield from _of_rule(
            shop, {"expr": rule} if isinstance(rule, str) else rule, (*path, index), is_text=isinstance(rule, str)
        )
    least = _least(data.get("reply"))
    if least is not None:
        cases = _cases(shop, "reply:min_text", lambda one: one.length, least, upper=False)
        yield LabelledBound(
            ("reply", "min_text"),
            ("reply", "min_text"),
            "reply.min_text",
            "reply:min_text",
            least,
            upper=False,
            inclusive=True,
            cases=cases,
            is_whole=True,
        )


def _least(reply: Any) -> int | None:
    given = reply.get("min_text") if isinstance(reply, dict) else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _cases(
    shop: Workshop,
    unit: str,
    number: Callable[[JudgedCase], Number | None],
    value: Number,
    *,
    upper: bool,
    inclusive: bool = True,
) -> tuple[Numbered, ...]:
    """The labelled replies that a bound decides about: accepted replies, and replies that only this bound refuses."""
    found = []
    for one in shop.evidence.labelled:
        if one.refusing not in ((), (unit,)):
            continue
        measured = number(one)
        if measured is None or isinstance(measured, bool):
            continue
        beyond = measured > value if upper else measured < value
        passes = not beyond and (inclusive or measured != value)
        if passes is one.ok and one.said.should is not None:
            found.append(Numbered(one.number, measured, passes, one.said.should))
    return tuple(found)


def _of_schema(shop: Workshop, bound: Bound) -> LabelledBound:
    side, kind = BOUNDS[bound.keyword]
    upper, inclusive = side > 0, not bound.keyword.startswith("exclusive")

    def number(one: JudgedCase) -> Number | None:
        values = values_at(one.data, bound.path)
        if kind == "length":
            sizes: list[Number] = [len(value) for value in values if isinstance(value, str)]
        elif kind == "items":
            sizes = [len(value) for value in values if isinstance(value, list)]
        else:
            sizes = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        return (max(sizes) if upper else min(sizes)) if sizes else None

    code = "V004" if kind == "number" else "V007"
    path = "$" + "".join("[]" if part is None else f".{part}" for part in bound.path)
    unit = f"{code} {_rendered(bound.path)}"
    at: Parts = ("schema", *bound.at)
    cases = _cases(shop, unit, number, bound.limit, upper=upper, inclusive=inclusive)
    if any(not one.passes for one in cases):  # without the bound, rules may still refuse the reply
        trial = shop.try_out([Remove(at)], lambda one: unit in one.units)
        flipped = frozenset(() if trial is None else trial.flipped)
        cases = tuple(one for one in cases if one.passes or one.which in flipped)
    whole = isinstance(bound.limit, int) and (kind != "number" or _all_whole(cases))
    return LabelledBound(at, at, f"{bound.keyword} of {path}", unit, bound.limit, upper, inclusive, cases, whole)


def _rendered(path: tuple[str | None, ...]) -> str:
    return folded(render(tuple(0 if part is None else part for part in path)))


def _all_whole(cases: tuple[Numbered, ...]) -> bool:
    return all(isinstance(one.number, int) or one.number.is_integer() for one in cases)


def _of_ranges(shop: Workshop, ranges: Mapping[str, Any]) -> Iterator[LabelledBound]:
    for check in read_checks("ranges", ranges):
        if not isinstance(check, Ranged):
            continue
        name = check.field.name
        unit = f"B003 {folded(check.field.path)}"
        for index, (bound, upper) in enumerate(((check.low, False), (check.high, True))):
            if bound is None:
                continue

            def number(one: JudgedCase, check: Ranged = check) -> Number | None:
                value = check.field.value(_record(one)) if one.structured else None
                return value if isinstance(value, int | float) else None

            key: str | int = index if isinstance(ranges[name], list) else ("min", "max")[index]
            at: Parts = ("rules", "ranges", name, key)
            cases = _cases(shop, unit, number, bound, upper=upper)
            whole = isinstance(bound, int) and _all_whole(cases)
            title = f"The {'highest' if upper else 'lowest'} {name!r}"
            yield LabelledBound(at, at, title, unit, bound, upper, inclusive=True, cases=cases, is_whole=whole)


def _record(one: JudgedCase) -> dict[str, Any]:
    return record(one.data, one.case.context or {})


def _of_rule(shop: Workshop, rule: Mapping[str, Any], at: Parts, *, is_text: bool) -> Iterator[LabelledBound]:
    source = str(rule.get("expr"))
    name = str(rule.get("name", source))
    if rule.get("level", "error") != "error" or "\n" in source:
        return
    for number in comparisons(source):
        cases = _rule_cases(shop, f"rule:{name}", source, number, rule.get("when"))
        edit_at = at if is_text else (*at, "expr")
        said = str(rule.get("error") or "")
        note = f"The message of the rule also mentions {number.text}." if number.text in said.split() else ""
        whole = isinstance(number.value, int) and _all_whole(cases)
        yield LabelledBound(
            at, edit_at, f"Rule {name!r}", f"rule:{name}", number.value, number.upper, number.inclusive, cases, whole,
            source[: number.start], source[number.end :], note,
        )  # fmt: skip


class ComparedNumber(NamedTuple):
    """A number that an expression compares something with."""

    value: Number
    text: str
    start: int
    end: int
    other: str
    """The expression on the other side of the comparison."""
    upper: bool
    inclusive: bool


def comparisons(source: str) -> list[ComparedNumber]:
    """The numbers of an expression that are compared with less than or greater than.

    >>> [(one.value, one.other, one.upper) for one in comparisons("0 <= age <= 125")]
    [(0, 'age', False), (125, 'age', True)]
    """
    try:
        tree = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError):
        return []
    if not source.isascii():
        return []  # places are counted in bytes
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for sign, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            for constant, other, on_right in ((right, left, True), (left, right, False)):
                one = _compared(source, sign, constant, other, on_right=on_right)
                if one is not None:
                    found.append(one)
    return found


def _compared(
    source: str, sign: ast.cmpop, constant: ast.expr, other: ast.expr, *, on_right: bool
) -> ComparedNumber | None:
    if not isinstance(sign, _STRICT + _LOOSE) or isinstance(other, ast.Constant):
        return None
    text = ast.get_source_segment(source, constant) or ""
    try:
        value = ast.literal_eval(constant)
    except ValueError:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or constant.end_col_offset is None:
        return None
    upper = isinstance(sign, _LESS) is on_right  # x < 5, or 5 > x
    said = ast.get_source_segment(source, other) or ""
    return ComparedNumber(
        value, text, constant.col_offset, constant.end_col_offset, said, upper, isinstance(sign, _LOOSE)
    )


def _rule_cases(
    shop: Workshop, unit: str, source: str, number: ComparedNumber, when: str | None
) -> tuple[Numbered, ...]:
    """The replies that a rule accepts or refuses because of one of its numbers."""
    try:
        other = compile_expression(number.other)
        condition = None if when is None else compile_expression(when)
        open_end, shut_end = (
            compile_expression(f"{source[: number.start]}({extreme}){source[number.end :]}")
            for extreme in (("1e300", "-1e300") if number.upper else ("-1e300", "1e300"))
        )
    except ExpressionError:
        return ()

    def measured(one: JudgedCase) -> Number | None:
        if not one.structured:
            return None
        fields = _record(one)
        if condition is not None and not _value(condition, fields):
            return None
        if not _value(open_end, fields) or _value(shut_end, fields):
            return None  # the number does not decide
        value = _value(other, fields)
        return value if isinstance(value, int | float) else None

    return _cases(shop, unit, measured, number.value, upper=number.upper, inclusive=number.inclusive)


def _value(expression: Expression, fields: dict[str, Any]) -> Any:
    try:
        return expression.evaluate(fields, BUDGET)
    except ExpressionError:
        return None
