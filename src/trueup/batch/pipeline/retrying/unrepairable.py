"""Finds faults of the configuration that no other reply can repair, so that the unit is not asked about again.

Takes a refused verdict, its unit and its prompt, and returns the finding that says why asking again cannot help, or None. A
broken rule is the configuration's fault if it always uses a field that does not exist, if it uses nothing from the reply, or if
the types of its fields do not fit together. A reply can have the fields of its schema; if the schema allows others, also the
names in the prompt. In doubt the fault is the model's.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trueup.batch.pipeline.lint.fields import ALWAYS
from trueup.batch.pipeline.running.metadata import METADATA
from trueup.checks.rules import Rule, Rules
from trueup.conform.closed import closed_keys
from trueup.conform.schema import Schema
from trueup.conform.survey import types_along
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import Expression
from trueup.verdict.facts import Finding, finding
from trueup.verdict.likeness import nearest

HOPELESS = "U035"
_HINT = "Correct the rule in the configuration; then revalidate the run, or start a new one."
_VALUE = "value"  # the name of a reply that is not an object
_UNITS = ALWAYS - {METADATA}  # a reply cannot set these; the metadata is about the reply
_SAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "boolean": True,
}  # a type error with one of these values is a type error with all values
Fields = Mapping[str, Any]


class _Fault(NamedTuple):
    """Why no reply can help: the reason, a field that the unit would need, and whether other values in the unit could help."""

    why: str
    field: str = ""
    varies: bool = False


class _Case(NamedTuple):
    """A broken rule: the unit, the names that the rule uses, and those of them that a reply may have."""

    rule: Rule
    unit: Fields
    names: frozenset[str]
    given: frozenset[str]

    @property
    def varies(self) -> bool:
        return not self.unit.keys().isdisjoint(self.names - self.given)

    @property
    def is_always_tried(self) -> bool:
        """Whether the rule applies to the unit with any reply."""
        when = self.rule.when
        return when is None or self.given.isdisjoint(_names(when))


class ConfigurationFaults:
    """Looks for faults of the configuration in the broken rules of one step."""

    def __init__(self, rules: Rules, schema: Schema | None) -> None:
        self._rules: dict[str, Rule] = {rule.name: rule for rule in rules.rules}
        self._schema = schema
        self._described = schema.root_keys if schema is not None else frozenset[str]()
        self._closed = closed_keys(schema.place) if schema is not None else None

    def look(self, findings: Iterable[Finding], data: Any, unit: Fields, prompt: str) -> Finding | None:
        """The reason why no reply can help a unit, if there is one; `data` is the value of the refused reply."""
        for found in findings:
            rule = self._rules.get(str(found.data.get("rule"))) if found.code in ("B005", "B006") else None
            if rule is not None and found.level == "error":
                fault = self._fault(rule, data, unit, prompt, failed=found.code == "B006")
                if fault:
                    said = f"No reply can pass the rule {rule.name!r}: {fault.why}"
                    about = {"rule": rule.name, "field": fault.field, "varies": fault.varies}
                    return finding(HOPELESS, "$", said, None, about, _HINT)
        return None

    def _fault(self, rule: Rule, data: Any, unit: Fields, prompt: str, *, failed: bool) -> _Fault | None:
        parts = [part for part in (rule.expr, rule.when) if part is not None]
        if any(part.source.count("dir") != len(part.tested) for part in parts):
            return None  # it may use any field
        names = frozenset().union(*map(_names, parts))
        given = frozenset(name for name in names if self._may_give(name, data, prompt))
        case = _Case(rule, unit, names, given)
        surely = failed and case.is_always_tried
        fault = self._missing(case) if surely else None
        if fault is None and not given:
            return _Fault("it uses nothing from the reply", varies=case.varies)
        return fault or (self._mistyped(case) if surely else None)

    def _may_give(self, name: str, data: Any, prompt: str) -> bool:
        """Whether a reply may have a value for a name."""
        if name == METADATA or name in self._described:
            return True
        if name in _UNITS:
            return False
        if name in data if isinstance(data, dict) else name == _VALUE:
            return True
        if self._closed is not None:
            return name in self._closed
        return not self._described or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", prompt) is not None

    def _missing(self, case: _Case) -> _Fault | None:
        """A field that is always used, and does not exist."""
        asked = {str(field.path[0]) for field in case.rule.expr.tested if field.path}
        missing = sorted(case.rule.expr.always - asked - case.given - case.unit.keys() - ALWAYS)
        if not missing:
            return None
        near = nearest(missing[0], [*self._described, *case.unit])
        also = f"; did you mean {near!r}?" if near else ""
        return _Fault(f"neither the schema nor the unit has the field {missing[0]!r}{also}", missing[0])

    def _mistyped(self, case: _Case) -> _Fault | None:
        """Fields with one type each that an operation or function of the rule does not accept."""
        expr = case.rule.expr
        if self._schema is None or expr.has_branches or any(len(field.path) > 1 for field in expr.fields):
            return None
        record = dict(case.unit)
        for name in expr.names & case.given:
            types = types_along(self._schema.place, (name,))
            kind = next(iter(types)) if len(types) == 1 else ""
            if kind not in _SAMPLES:
                return None
            record[name] = _SAMPLES[kind]
        try:
            expr.evaluate(record)
        except ExpressionError as error:
            if isinstance(error.__context__, TypeError | AttributeError):
                return _Fault(f"its fields have types that it cannot use ({error.message})", varies=case.varies)
        return None


def _names(expression: Expression) -> frozenset[str]:
    """The fields that an expression reads or tests."""
    return expression.names | {str(field.path[0]) for field in expression.tested if field.path}
