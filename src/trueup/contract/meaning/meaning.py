"""Meaning: judges a reply beyond its structure: rules, evidence, the reply's worth, the state, scores, custom checks.

Takes the verdict on the structure and the conversation's context; returns the verdict with further findings. Each part
is optional and independent of the others. Rules are about data, so they run only if the structure is valid.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from trueup.checks.steps import Steps, refuse, run
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.checks.current_state import CurrentState
    from trueup.checks.quality import Scored
    from trueup.checks.reply import Worth
    from trueup.checks.state import Situation
    from trueup.conform.schema import Schema
    from trueup.contract.meaning.outcome import CheckOutcome
    from trueup.grounding.check import Grounded

Context = Mapping[str, Any]
Wait = Callable[[Any], Any]

# These belong to the unit and not to the model: a reply that names one of them does not change it.
RESERVED = frozenset({"unit_id", "_metadata", "retry_count", "error"})


class RuleCheck(Protocol):
    """Business rules over a record: `checks.rules.Rules`."""

    @property
    def names(self) -> frozenset[str] | None: ...

    def check(self, record: dict[str, Any]) -> list[Finding]: ...

    def hold(self, record: dict[str, Any]) -> bool: ...


class ReplyCheck(Protocol):
    """Whether a reply is worth its price: `checks.reply.ReplyRules`."""

    @property
    def asks(self) -> bool: ...

    @property
    def awaits(self) -> bool: ...

    def worth(self, reply: Reply) -> "Worth": ...

    def judge(self, reply: Reply, context: Context) -> "Steps[Worth]": ...


class StateCheck(Protocol):
    """Whether a reply agrees with the conversation's state: `checks.state.States`.

    A finding about one call has the path `$.calls[n]`, n being the call's `index`: an error there refuses the call.
    """

    def check(self, reply: Reply, calls: Sequence[ToolCall], context: Context) -> list[Finding]: ...

    def standing(self, context: Context) -> "CurrentState": ...

    def situation(self, context: Context) -> "Situation": ...

    def fallback(self, state: Any) -> str | None: ...


class ScoreCheck(Protocol):
    """A score of a reply: `checks.quality.Quality` or `checks.relevance.Relevance`."""

    @property
    def given(self) -> dict[str, Any]: ...

    @property
    def level(self) -> Level: ...

    @property
    def is_shadow(self) -> bool: ...

    @property
    def looks_at(self) -> frozenset[str]: ...

    def judge(self, reply: Reply, context: Context) -> "Scored": ...


class EvidenceCheck(Protocol):
    """Whether the values of a reply are in its sources: `grounding.check.Grounding`."""

    @property
    def looks_at(self) -> frozenset[str]: ...

    @property
    def settings(self) -> Any: ...

    def refuse_bad(self, context: Context) -> None: ...

    def judge_part(self, parts: Parts, data: Any, context: Context) -> list[Finding]: ...

    def judge(self, verdict: Verdict, context: Context, fields: Mapping[str, Any]) -> "Grounded": ...


class UserCheck(Protocol):
    """A user's check: `contract.plugins.CustomCheck` or `PlainCheck`."""

    @property
    def awaits(self) -> bool: ...

    def judge(self, verdict: Verdict, context: Context) -> "Steps[CheckOutcome]": ...


class Meaning:
    """The further checks of one contract, run in the order rules, evidence, reply, states, scores, custom checks."""

    __slots__ = ("_names", "_strict", "asks", "checks", "grounding", "reply", "rules", "scores", "states")

    def __init__(
        self,
        rules: RuleCheck | None = None,
        reply: ReplyCheck | None = None,
        states: StateCheck | None = None,
        checks: Sequence[UserCheck] = (),
        scores: Mapping[str, ScoreCheck] | None = None,
        grounding: EvidenceCheck | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self.rules = rules
        self.grounding = grounding
        self._names = getattr(rules, "names", None)
        self.reply = reply
        self.states = states
        self.checks = tuple(checks)
        self.scores = dict(scores or {})
        self._strict = strict
        self.asks = bool(checks) or (reply is not None and reply.asks)  # whether custom rules or checks may run

    @property
    def listens(self) -> bool:
        """Whether the judgement may depend on earlier messages of the conversation."""
        return self.asks or self.states is not None or bool(self.scores) or self.grounding is not None

    @property
    def scores_refuse(self) -> bool:
        """Whether a score can refuse a reply; it needs all of it."""
        return any((one.level == "error" or self._strict) and not one.is_shadow for one in self.scores.values())

    @property
    def awaits(self) -> bool:
        """Whether a rule or a check is asynchronous."""
        return (self.reply is not None and self.reply.awaits) or any(check.awaits for check in self.checks)

    def judge(self, verdict: Verdict, context: Context, wait: Wait = refuse) -> Verdict:
        """The verdict with further findings; the same object if there are none. `wait` runs asynchronous checks."""
        if self.asks:
            return run(self.steps(verdict, context), wait)
        return self._judged(verdict, context, None if self.reply is None else self.reply.worth(prose(verdict)))

    def steps(self, verdict: Verdict, context: Context) -> Steps[Verdict]:
        """The same as a generator: a custom rule or check may have to wait."""
        worth = None
        if self.reply is not None:
            worth = yield from self.reply.judge(prose(verdict), context)
        verdict = self._judged(verdict, context, worth)
        return (yield from self._checked(verdict, context)) if self.checks else verdict

    def _judged(self, verdict: Verdict, context: Context, worth: "Worth | None") -> Verdict:
        """The verdict with the findings of rules and states, and the findings of the reply rules."""
        findings: list[Finding] = []
        metrics: dict[str, Any] = {}
        passed = ""
        if self.rules is not None and verdict.data is not None and verdict.ok:
            findings += self._broken_rules(verdict.data, context)
        evidence = None
        if self.grounding is not None:
            grounded = self.grounding.judge(verdict, context, record(verdict.data, context))
            findings += grounded.findings
            evidence = grounded.evidence
        if worth is not None:
            metrics, passed = worth.metrics, worth.reason
            findings += () if not verdict.reply.text and _has_no_reply(verdict) else worth.findings
        if self.states is not None:
            calls = verdict.calls if verdict.calls or verdict.refused else verdict.reply.calls
            findings += self.states.check(prose(verdict, keep_places=True), calls, context)
        for score in self.scores.values():
            scored = score.judge(prose(verdict), context)
            findings += scored.findings
            metrics = {**metrics, **scored.metrics}
        if findings or metrics or evidence:
            return verdict.with_more(findings, metrics, strict=self._strict, passed=passed, evidence=evidence)
        return verdict

    def _checked(self, verdict: Verdict, context: Context) -> Steps[Verdict]:
        """The verdict with the findings of custom checks. Each sees the metrics of earlier ones, but not their
        findings.
        """
        findings: list[Finding] = []
        for check in self.checks:
            outcome = yield from check.judge(verdict, context)
            findings += outcome.findings
            verdict = verdict.with_more((), outcome.metrics) if outcome.metrics else verdict
        return verdict.with_more(findings, {}, strict=self._strict) if findings else verdict

    def _broken_rules(self, data: Any, context: Context) -> list[Finding]:
        assert self.rules is not None
        fields = context.get("input")
        if type(fields) is dict and self.keeps_rules(data, fields):
            return []  # their findings are combined only if there are any
        found = self.rules.check(record(data, context))
        if isinstance(data, dict):
            return found
        return [msgspec.structs.replace(one, path=_of_whole(one.path)) for one in found]

    def keeps_rules(self, data: Any, fields: Mapping[str, Any]) -> bool:
        """Whether the rules have no findings about a value, which they see with the fields of its unit."""
        if self.rules is None or data is None:
            return True
        alone = type(data) is dict and self._names is not None and self._names.isdisjoint(fields)
        return self.rules.hold(data if alone else _over(fields, data))

    def judge_value(self, verdict: Verdict, context: Context) -> Verdict:
        """The same for a value without a reply: only rules and sources are checked; the context must name a state."""
        findings: list[Finding] = []
        if self.rules is not None and verdict.data is not None and verdict.ok:
            findings += self._broken_rules(verdict.data, context)
        evidence = None
        if self.grounding is not None:
            grounded = self.grounding.judge(verdict, context, record(verdict.data, context))
            findings += grounded.findings
            evidence = grounded.evidence
        if self.states is not None:
            findings += self.states.standing(context).findings
        return (
            verdict.with_more(findings, {}, strict=self._strict, evidence=evidence) if findings or evidence else verdict
        )


def _of_whole(path: str) -> str:
    """The path in a value that is not an object: rules refer to it by the name `value`.

    >>> _of_whole("$.value[0].name"), _of_whole("$.value"), _of_whole("$.max_hp")
    ('$[0].name', '$', '$.max_hp')
    """
    rest = path.removeprefix("$.value")
    return f"${rest}" if rest != path and (not rest or rest[0] in ".[") else path


def prose(verdict: Verdict, *, keep_places: bool = False) -> Reply:
    """The reply without the calls that leaked into its text, which are not text for the user.

    An object that contains calls may also contain text, as `content`; that text stays. With `keep_places`, calls are
    replaced by spaces, so that positions in the text do not change.
    """
    reply = verdict.reply
    if reply.calls or reply.turns is not None or not (verdict.calls or verdict.refused):
        return reply
    from trueup.contract.tool_calls.rest_of_reply import held  # needed only if a call was written into a text

    pieces: list[str] = []
    at = 0
    for (start, stop), said in held(verdict).items():
        content = said.get("content")
        kept = content if isinstance(content, str) else ""
        if keep_places:
            place = reply.text.find(kept, max(start, at), stop) - max(start, at)
            kept = (" " * place + kept).ljust(stop - max(start, at))[: stop - max(start, at)]
        pieces += (reply.text[at:start], kept)
        at = max(at, stop)
    calls = (*verdict.calls, *(refusal.call for refusal in verdict.refused))
    return msgspec.structs.replace(reply, text="".join((*pieces, reply.text[at:])), calls=calls)


def _has_no_reply(verdict: Verdict) -> bool:
    """Whether the provider failed or did not send a reply, so that its length must not be judged."""
    return any(found.code in ("R001", "R002") for found in verdict.findings)


def record(data: Any, context: Context) -> dict[str, Any]:
    """The record for rules: the fields of the unit's input, overridden by the reply's data.

    Fields that belong to the unit are not overridden. Data that is not an object gets the name `value`.

    >>> record({"hp": 3, "unit_id": "mine"}, {"input": {"unit_id": "u1", "max_hp": 9}})
    {'unit_id': 'u1', 'max_hp': 9, 'hp': 3}
    """
    before = context.get("input")
    if not before or not (type(before) is dict or isinstance(before, Mapping)):  # the second way is slow
        return data if isinstance(data, dict) else {"value": data}
    return _over(before, data)


def _over(before: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """The fields of a unit, overridden by a value."""
    fields = data if isinstance(data, dict) else {"value": data}
    merged = {**before, **fields}
    if len(merged) < len(before) + len(fields):  # both have a name
        for name in fields:
            if name in before and (name in RESERVED or str(name)[:1] == "_"):
                merged[name] = before[name]
    return merged


def make_meaning(
    rules: Any, reply: Any, states: Any, checks: Any, scores: Mapping[str, ScoreCheck] | None = None, *,
    strict: bool, schema: "Schema | None" = None, given: Any = None, grounded: Any = None,
    tools: Sequence[Tool] = (),
) -> Meaning:  # fmt: skip
    """The further checks from the options of a contract: each part is compiled by its own room, which is loaded only if
    needed.

    `schema` and the fields that come with the input determine the names that rules may use.
    """
    if rules is not None:
        from trueup.checks.problems import BadRules
        from trueup.checks.rules import compile_rules
        from trueup.contract.meaning.unknown_names import Provided, declared

        rules = compile_rules(rules)
        unprovided = () if schema is None else tuple(Provided(schema, declared(given)).problems(rules))
        if unprovided:
            raise BadRules(unprovided)
    if checks:
        from trueup.contract.plugins import read_checks

        checks = read_checks(checks)
    if reply is not None:
        from trueup.checks.reply import compile_reply

        reply = compile_reply(reply, os.environ)
    if states is not None:
        from trueup.checks.state import States, compile_states

        states = states if isinstance(states, States) else compile_states(states)
    grounding = None
    if grounded is not False and (grounded is not None or (schema is not None and schema.names_grounded)):
        from trueup.grounding.check import make_grounding

        grounding = make_grounding(grounded, schema, rules, tools)
    return Meaning(
        rules=rules, reply=reply, states=states, checks=checks or (), scores=scores, grounding=grounding, strict=strict
    )
