"""Expression steps: compute fields from fields, repeatedly until a condition holds, with seeded dice.

Takes a unit and returns it with the computed fields, or raises a `UnitError` that names the failed expression. Values must be
JSON: a value that cannot be stored exactly (a set, NaN, too many items) is refused, not converted.
"""

import math
from collections.abc import Mapping
from typing import Any

from trueup.batch.pipeline.units.seeds import Dice, step_seed
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import Expression, compile_expression
from trueup.expressions.work import weigh

Unit = dict[str, Any]
MAX_ITERATIONS = 1000
MOST_VALUES = 1_000_000  # values in the result of one expression
_DEPTH = 100
# fields of the run, which expressions do not see
HIDDEN = frozenset({"_metadata"})


class UnitError(ValueError):
    """An expression does not work for this unit; `code` says why."""

    def __init__(self, message: str, code: str = "U031") -> None:
        super().__init__(message)
        self.code = code


class Formulas:
    """Named expressions that are evaluated in order; each can use the results of the earlier ones."""

    def __init__(self, sources: Mapping[str, Any], dice: Dice) -> None:
        functions = dice.functions()
        self._compiled: list[tuple[str, Expression]] = [
            (str(name), compile_expression(str(source), functions=functions)) for name, source in sources.items()
        ]

    def work_out(self, fields: Mapping[str, Any]) -> Unit:
        """The fields that the expressions compute."""
        known = dict(fields)
        return {name: self._value(name, expression, known) for name, expression in self._compiled}

    def _value(self, name: str, expression: Expression, known: Unit) -> Any:
        value = evaluate(name, expression, known)
        known[name] = value
        return value


def evaluate(name: str, expression: Expression, fields: Mapping[str, Any]) -> Any:
    """The value of an expression, or a UnitError that names it."""
    try:
        value = expression.evaluate(fields)
        weigh(value, MOST_VALUES)  # a value that is fed back into an expression must not double with each iteration
        return value
    except ExpressionError as error:
        raise UnitError(f"{name}: {error}") from None


class ExpressionStep:
    """A step of scope `expression`, compiled once."""

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        self.name = name
        self._dice = Dice()
        self._init = Formulas(config.get("init") or {}, self._dice)
        self._formulas = Formulas(config.get("expressions") or {}, self._dice)
        until = config.get("loop_until")
        functions = self._dice.functions()
        self._until = None if until is None else compile_expression(str(until), functions=functions)
        most = config.get("max_iterations", MAX_ITERATIONS)
        self._most = most if type(most) is int and most > 0 else MAX_ITERATIONS

    def run(self, unit: Unit) -> Unit:
        """The unit with the fields that the step adds; the input unit does not change."""
        self._dice.seed(step_seed(unit, self.name))
        known = {name: value for name, value in unit.items() if name not in HIDDEN}
        made = self._init.work_out(known)
        known.update(made)
        turns = 0
        while True:
            turns += 1
            found = self._formulas.work_out(known)
            known.update(found)
            made.update(found)
            if self._until is None or evaluate("loop_until", self._until, known):
                break
            if turns >= self._most:
                raise UnitError(f"loop_until was still false after {self._most:,} iterations", "U032")
        for name, value in made.items():
            refuse_unstorable(name, value)
        result = {**unit, **made}
        if self._until is not None:
            result["_metadata"] = {**_mapping(unit.get("_metadata")), "iterations": turns}
        result["unit_id"] = unit["unit_id"]
        return result


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def refuse_unstorable(name: str, value: Any) -> None:
    """Raise UnitError for a value that JSON would not store exactly."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    seen = 0
    while stack:
        item, depth = stack.pop()
        seen += 1
        kind = type(item)
        if seen > MOST_VALUES or depth > _DEPTH:
            raise UnitError(f"{name}: the value is too large or too deep to be stored", "U033")
        if kind in (str, int, bool) or item is None:
            continue
        if kind is float:
            if not math.isfinite(item):
                raise UnitError(f"{name}: JSON cannot represent the number {item}", "U033")
        elif kind in (list, tuple):
            stack += [(inner, depth + 1) for inner in item]
        elif kind is dict:
            if any(type(key) is not str for key in item):
                raise UnitError(f"{name}: the keys of an object must be text", "U033")
            stack += [(inner, depth + 1) for inner in item.values()]
        else:
            raise UnitError(f"{name}: a value of type {kind.__name__} cannot be stored; make it a list", "U033")
