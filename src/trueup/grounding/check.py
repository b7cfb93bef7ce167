"""Grounding: look up every value of a reply in its sources. Takes a verdict and context; returns findings and evidence.

A contract with `grounded` has one `Grounding`. It reports a value that has no evidence, that only the prompt's example
contains, that belongs to another record, or that changes the words of a quotation. A value that a rule of the contract
computes does not have to be in the source.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trueup.conform.schema import compile_schema
from trueup.expressions.errors import ExpressionError
from trueup.grounding.lookup import UNCHECKABLE, Lookup, LookupResult, Where
from trueup.grounding.records import RecordValue, strangers
from trueup.grounding.report import altered, missing, no_source, only_in_prompt, other_record
from trueup.grounding.settings import (
    FieldPattern,
    GroundingSettings,
    LookupRule,
    LookupRules,
    as_written,
    compile_settings,
    covers,
    examples_in,
    named_in,
)
from trueup.grounding.sources import Sources, prompt_text, sources_in
from trueup.verdict.evidence import Evidence
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, parse, render
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

_GRADES = {"exact": 0, "normalized": 1, "fuzzy": 2}
_MOST_FINDINGS = 100  # the evidence lists every value


class Grounded(NamedTuple):
    """The result of grounding one reply."""

    findings: list[Finding]
    evidence: dict[str, Evidence]


class Grounding:
    """The grounding of one contract."""

    __slots__ = ("_computed", "_of_tools", "_prompts", "_rules", "_schema", "_tools", "settings")

    def __init__(
        self,
        settings: GroundingSettings,
        schema: Any,
        *,
        named: bool,
        computed: tuple[tuple[tuple[FieldPattern, ...], Any], ...] = (),
        tools: Sequence[Tool] = (),
    ) -> None:
        self.settings = settings
        self._schema = schema
        self._rules = LookupRules(settings, schema, named=named)
        self._prompts = prompt_text(examples_in(schema))
        self._computed = computed
        self._tools = {tool.name: tool for tool in tools}
        self._of_tools: dict[str, LookupRules] = {}

    looks_at = frozenset({"source", "input", "history", "question", "prompt", "today"})

    def refuse_bad(self, context: Mapping[str, Any]) -> None:
        """Raise `BadSource` if no reply can be checked with the `source` or the `today` of a context."""
        if "source" in context or "today" in context:
            sources_in(context, self.settings.source, self.settings.roles, data=self._schema is not None)

    def judge_part(self, parts: Parts, data: Any, context: Mapping[str, Any]) -> list[Finding]:
        """Findings on one part of an incomplete value. Values that a rule may compute are checked with the whole."""
        sources = sources_in(context, self.settings.source, self.settings.roles, data=True)
        if sources is None:
            return []
        sources = sources._replace(prompts=(*sources.prompts, *self._prompts))
        rest = [field for determined, _ in self._computed for field in determined]
        found = self._judge_data([(parts, data, self._rules)], sources, {}, inside=parts).findings
        return [one for one in found if not any(covers(field, parse(one.path)) for field in rest)]

    def judge(self, verdict: Verdict, context: Mapping[str, Any], fields: Mapping[str, Any]) -> Grounded:
        """Ground a reply: its value, or the claims in its text if the contract has no schema.

        `fields` are the names that rules can use: the value, and the fields of its unit.
        """
        calls = [call for call in verdict.calls if call.args] if self.settings.calls else []
        prose = self._schema is None and not verdict.calls and bool(verdict.reply.text.strip())
        if not prose and not calls and (self._schema is None or verdict.data is None):
            return Grounded([], {})
        sources = sources_in(context, self.settings.source, self.settings.roles, data=self._schema is not None)
        if sources is None:
            return Grounded([no_source(self.settings, context)], {})
        sources = sources._replace(prompts=(*sources.prompts, *self._prompts))
        if prose:
            from trueup.grounding.prose import judge_prose  # only contracts without a schema need it

            return Grounded(*judge_prose(verdict.reply.text, sources, self.settings))
        parts: list[tuple[Parts, Any, LookupRules]] = [] if verdict.data is None else [((), verdict.data, self._rules)]
        parts += [(("calls", call.index, "args"), call.args, self._rules_of(call.name)) for call in calls]
        return self._judge_data(parts, sources, fields)

    def _rules_of(self, tool: str) -> LookupRules:
        """The lookup rules for a tool's arguments."""
        if tool not in self._of_tools:
            known = self._tools.get(tool)
            schema = (
                None if known is None or not isinstance(known.parameters, dict) else compile_schema(known.parameters)
            )
            self._of_tools[tool] = LookupRules(self.settings, schema, named=False)
        return self._of_tools[tool]

    def _judge_data(
        self,
        values: list[tuple[Parts, Any, LookupRules]],
        sources: Sources,
        fields: Mapping[str, Any],
        inside: Parts = (),
    ) -> Grounded:
        lookup = Lookup(sources)
        leaves: list[RecordValue] = []
        rules: dict[Parts, LookupRule] = {}
        for before, data, known in values:
            for parts, value in _leaves(data):
                rule = known.of((*inside, *parts))
                if rule.wanted:
                    rules[*before, *parts] = rule
                    leaves.append(
                        RecordValue((*before, *parts), value, self._found(value, parts, rule, lookup, sources))
                    )
        computed = self._settled(fields, leaves)
        findings: list[Finding] = []
        evidence: dict[str, Evidence] = {}
        others = {
            stranger.leaf.parts: stranger
            for stranger in strangers([leaf for leaf in leaves if leaf.parts not in computed], sources.documents)
        }
        for leaf in leaves:
            found, path = leaf.found, render(leaf.parts)
            if leaf.parts in computed:
                evidence[path] = Evidence("computed", tuple(where.place() for where in found.places[:4]))
                continue
            level = rules[leaf.parts].level
            nearest: Where | None = None
            if found.grade == "none":
                nearest = lookup.nearest(leaf.value, found, _name(leaf.parts))
                findings.append(_absent(leaf, path, nearest, level))
            elif leaf.parts in others:
                findings.append(other_record(others[leaf.parts], path, level))
            evidence[path] = found.evidence(nearest)
        return Grounded(findings[:_MOST_FINDINGS], evidence)

    def _found(self, value: Any, parts: Parts, rule: LookupRule, lookup: Lookup, sources: Sources) -> LookupResult:
        if rule.patterns is not None and as_written(value) in rule.patterns:
            return _shown(rule.patterns[as_written(value)], sources)
        if isinstance(value, dict | list):
            return UNCHECKABLE  # empty, so there is nothing to look up
        found = lookup.find(value, _name(parts), quotation=rule.quotation)
        if found.grade == "none" and rule.is_enum and rule.patterns is None:
            return UNCHECKABLE
        if found.grade in _GRADES and _GRADES[found.grade] > _GRADES[self.settings.least]:
            return found._replace(grade="none", places=())
        return found

    def _settled(self, fields: Mapping[str, Any], leaves: list[RecordValue]) -> frozenset[Parts]:
        """The paths of values that a passing rule computes from other values.

        If `a + b == c` and two of the three have evidence, the rule computes the third. Values that only agree with
        each other prove nothing.
        """
        settled: set[Parts] = set()
        unknown = [leaf.parts for leaf in leaves if not leaf.found.places] if self._computed else []
        holding = [determined for determined, rule in self._computed if unknown and rule.holds(fields)]
        while True:
            before = len(settled)
            for determined in holding:
                settled.update(_computed(determined, [parts for parts in unknown if parts not in settled]))
            if len(settled) == before:
                return frozenset(settled)


def _computed(determined: tuple[FieldPattern, ...], unknown: list[Parts]) -> Iterator[Parts]:
    """The values that a rule determines and that are the only ones of their record without evidence."""
    records: dict[Parts, list[tuple[FieldPattern, Parts]]] = {}
    for parts in unknown:
        for field in determined:
            if covers(field, parts):
                record = tuple(part for part in parts if isinstance(part, int))
                records.setdefault(record, []).append((field, parts))
    for found in records.values():
        if len({field for field, _ in found}) == 1:
            yield from (parts for _, parts in found)


def _absent(leaf: RecordValue, path: str, nearest: Where | None, level: Any) -> Finding:
    found = leaf.found
    if found.altered is not None:
        return altered(leaf.value, path, nearest, found.altered.words, level)
    if found.in_prompt is not None:
        return only_in_prompt(leaf.value, path, found.in_prompt, nearest, level)
    return missing(leaf.value, path, nearest, level)


def _shown(patterns: Any, sources: Sources) -> LookupResult:
    """The places where a pattern for this value matches."""
    places = [
        Where(document, span)
        for document in sources.documents
        for pattern in patterns
        for span in pattern.spans(document.content)
        if not Where(document, span).is_example
    ]
    return LookupResult("normalized", tuple(places), "pattern") if places else LookupResult("none", (), "pattern")


def _leaves(data: Any) -> Iterator[tuple[Parts, Any]]:
    """Every value of a reply that has no parts, in order. Empty objects and lists count as values."""
    stack: list[tuple[Parts, Any]] = [((), data)]
    while stack:
        parts, value = stack.pop()
        if isinstance(value, dict) and value:
            stack += [((*parts, str(key)), part) for key, part in reversed(value.items())]
        elif isinstance(value, list) and value:
            stack += [((*parts, index), value[index]) for index in range(len(value) - 1, -1, -1)]
        else:
            yield parts, value


def _name(parts: Parts) -> str:
    """The name of a field: the last key of its path."""
    return next((part for part in reversed(parts) if isinstance(part, str)), "")


class ComputedBy(NamedTuple):
    """A rule of the contract that determines a value."""

    expr: Any
    when: Any
    budget: int

    def holds(self, record: Mapping[str, Any]) -> bool:
        """Whether the rule applies to a record and passes."""
        try:
            return (self.when is None or bool(self.when.evaluate(record, self.budget))) and bool(
                self.expr.evaluate(record, self.budget)
            )
        except ExpressionError:
            return False


def make_grounding(spec: Any, schema: Any, rules: Any, tools: Sequence[Tool] = ()) -> Grounding | None:
    """The grounding of a contract, from its `grounded:`, schema and compiled rules; None if it does not ask for any."""
    named = named_in(schema) and spec is None
    if spec is None and not named:
        return None
    settings = GroundingSettings() if spec is None else compile_settings(spec)
    computed: list[tuple[tuple[FieldPattern, ...], ComputedBy]] = []
    if rules is not None:
        from trueup.grounding.computed import determined

        seen = ((determined(rule.expr.source), rule) for rule in rules.rules)
        computed = [(found, ComputedBy(rule.expr, rule.when, rules.budget)) for found, rule in seen if found]
    return Grounding(settings, schema, named=named, computed=tuple(computed), tools=tools)
