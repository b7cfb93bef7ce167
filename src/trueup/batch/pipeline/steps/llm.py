"""Steps that ask a model: a unit becomes a prompt, and the step's schema and rules judge its replies.

Takes a unit and its recorded replies, and returns an `UnitAsk` with the next request or the outcome. The plan of `ask` decides
everything from the replies alone, so recorded replies lead to the same result again without a call.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from trueup.ask.clients.request import CallFailure, Request
from trueup.ask.loop.loop import Loop
from trueup.ask.loop.plan import Finish, Send, Wait
from trueup.ask.memory import Memory
from trueup.ask.policy import Mode, Policy
from trueup.batch.judging.records import NO_SOURCE, evidence_of, merged, stage_of
from trueup.batch.pipeline.config import MODES, Pipeline, PipelineStep
from trueup.batch.pipeline.prompts.templates import Prompts, fields_of
from trueup.batch.pipeline.retrying.unrepairable import HOPELESS
from trueup.batch.pipeline.running.metadata import METADATA, log_lines, metadata, noted
from trueup.batch.pipeline.running.outcomes import Unit, failure_record
from trueup.batch.pipeline.running.phases import PhasedContract, Phases
from trueup.batch.pipeline.steps.coercion import coercion_of
from trueup.contract.contract import Contract
from trueup.grounding.sources import lacking_in, source_of_unit
from trueup.verdict.facts import Finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

Recorded = dict[str, Any]  # a line of the results: a reply, or a failure
_PASSED = frozenset({"accepted", "repaired", "regenerated"})


class FrozenClock:
    """A clock that never advances: a step's decisions may not depend on time or chance."""

    __slots__ = ()

    def now(self) -> float:
        return 0.0

    def date(self) -> float:
        return 0.0

    def chance(self) -> float:
        return 0.5


STILL = FrozenClock()


class AskedModel:
    """The provider and model, as far as the loop needs them."""

    def __init__(self, key: str, modes: tuple[Mode, ...], provider: str) -> None:
        self.key = key
        self.modes = modes
        self.provider = provider
        self.finishes = False


class LlmStep:
    """A step of scope `chunk`, compiled once."""

    def __init__(self, pipeline: Pipeline, step: PipelineStep, prompts: Prompts, provider: str, model: str) -> None:
        self.name = step.name
        self.provider = provider
        self.model = model
        self._template = step.template
        self._prompts = prompts
        self._config = pipeline.data
        shared = pipeline.section("prompts").get("global_context")
        self._shared: dict[str, Any] = shared if isinstance(shared, dict) else {}
        self.contract = step_contract(pipeline, step)
        self.policy = _policy(pipeline, step, model)
        self._whom = AskedModel(provider, ("text",) if provider == "replay" else self.policy.modes, _shape(provider))
        self._memory = Memory()

    def prompt(self, unit: Unit) -> str:
        """The prompt for a unit; raises PromptError."""
        return self._prompts.render(self._template, fields_of(unit, self._config, self._shared))

    def judge(self, record: Recorded, unit: Unit, prompt: str) -> Verdict:
        """The verdict on a recorded reply to a unit; nothing is counted."""
        seen = {**unit, METADATA: metadata(unit, self.name, record)}
        before, self.contract.phases = self.contract.phases, Phases()
        try:
            return self.contract.check(reply_of(record), context_of(self.contract, seen, prompt))
        finally:
            self.contract.phases = before

    def ask(self, unit: Unit, prompt: str, more: int | None = None) -> "UnitAsk":
        """Start to ask about a unit; `more` is how many further replies it may have after an earlier try."""
        policy = self.policy if more is None else replace(self.policy, repairs=more)
        most = max(policy.repairs, policy.retries) if more is None else more
        seen = dict(unit)
        loop = Loop(
            self.contract, self._whom, prompt, policy,
            context=context_of(self.contract, seen, prompt), memory=self._memory, clock=STILL,
        )  # fmt: skip
        return UnitAsk(unit, loop, self.name, seen, most + 1)


class UnitAsk:
    """One unit in a step: the next request, or the outcome."""

    __slots__ = ("_left", "_loop", "_name", "_page", "_seen", "_step", "fault", "given", "unit")

    def __init__(self, unit: Unit, loop: Loop, name: str, seen: Unit, most: int) -> None:
        self.unit = unit
        self._loop = loop
        self._name = name
        self._seen = seen  # the unit as the rules see it: with the metadata of the reply that is judged
        self._left = most  # replies that the unit may still have, empty ones included
        self._page = ""  # what the server sent instead of a reply
        self._step: Send | Wait | Finish = loop.start()
        self.given = 0  # replies from an earlier try, before this step
        self.fault: Finding | None = None  # why no reply can help, if that is known

    @property
    def finished(self) -> bool:
        return type(self._step) is Finish

    @property
    def passed(self) -> bool:
        """Whether the unit has a reply that is valid."""
        return self.finished and self._loop.answer().outcome in _PASSED

    def request(self) -> Request:
        """The request to send now. The sender handles waits: the plan's own waits are taken to be over."""
        while isinstance(self._step, Wait):
            self._step = self._loop.waited()
        return self._loop.request()

    def repeat(self, record: Recorded) -> None:
        """Take a recorded reply or failure as the answer to the request that was sent at this point."""
        self.request()
        self.answer(record)

    def answer(self, record: Recorded) -> None:
        """Take the answer to the latest request."""
        failure = record.get("failure")
        self._page = record.get("page", "")
        if failure is not None:
            self._step = self._loop.failed(msgspec.convert(failure, CallFailure))
        else:
            self._seen[METADATA] = metadata(self.unit, self._name, record)
            verdict = self._loop.judge(reply_of(record))
            self._step = self._loop.judged(verdict)
            self._left -= 1
            self.fault = next((found for found in verdict.errors if found.code == HOPELESS), None)
            in_vain = self.fault or any(found.code == NO_SOURCE for found in verdict.errors)
            if (self._left < 1 or in_vain) and not self.finished:
                self._step = self._loop.cancelled()

    def answered(self, record: Recorded) -> "UnitAsk":
        """Take the answer, and return the ask itself."""
        self.answer(record)
        return self

    def answered_late(self, record: Recorded) -> "UnitAsk":
        """Take the answer to a request that was sent long ago, perhaps by another process."""
        if not self.finished:
            self.repeat(record)
        return self

    def outcome(self, before: Recorded | None = None) -> "UnitOutcome":
        """The unit if it passed, or its failure record; `before` is the record of an earlier try."""
        answer = self._loop.answer()
        verdict, unit = answer.verdict, self.unit
        if answer.outcome in _PASSED:
            notes = log_lines(unit, verdict) if verdict.fixes or verdict.warnings else ()
            return UnitOutcome(passed_row(unit["unit_id"], self._seen, self._name, verdict), None, notes)
        tries: dict[str, int] = dict(before["tries"]) if before else {}
        for attempt in answer.attempts[self.given :]:
            stage = "transport" if attempt.verdict is None else stage_of(attempt.verdict.findings.errors)
            tries[stage] = tries.get(stage, 0) + 1
        judged = sum(number for stage, number in tries.items() if stage != "transport")
        raw = verdict.reply.text if judged else self._page
        record = failure_record(unit, verdict.findings, raw, verdict.fixes, max(0, judged - 1), tries=tries)
        record |= evidence_told(verdict, self._seen, self._name)
        return UnitOutcome(None, record)


class UnitOutcome(NamedTuple):
    """The result of a unit in a step: the unit if it passed, with log lines, or its failure record."""

    unit: Unit | None
    failure: Recorded | None
    notes: tuple[str, ...] = ()


# Fields that the run sets about a unit. A reply cannot set them.
OWN = frozenset({"_repetition_id", "_repetition_seed", "_fan_parent_id", "_fan_index"})


def passed_row(unit_id: str, seen: Unit, step: str, verdict: Verdict) -> Unit:
    """The stored form of a unit that passed a step; `seen` is the unit as the rules saw it."""
    if verdict.fixes or verdict.warnings or verdict.evidence:
        seen = {**seen, METADATA: noted(seen[METADATA], step, verdict)}
    return merged(unit_id, seen, _without_own(verdict.data))


def evidence_told(verdict: Verdict, seen: Unit, step: str) -> Recorded:
    """The evidence for a failure record: of each value, and the model that replied; empty if nothing was looked up."""
    if not verdict.evidence:
        return {}
    model = seen[METADATA][step].get("model", "")
    named = model or "model" in seen  # a field of the unit does not name the model that answered
    return {"evidence": evidence_of(verdict), **({"model": model} if named else {})}


def context_of(contract: Contract, seen: Unit, prompt: str | None) -> dict[str, Any]:
    """The context for judging a reply: its unit and its prompt. The sources of a grounded contract come from the unit; the prompt
    has examples.
    """
    context: dict[str, Any] = {"input": seen}
    if prompt:
        context["question"] = prompt
    grounding = None if contract.meaning is None else contract.meaning.grounding
    if grounding is None:
        return context
    if prompt:
        context["prompt"] = prompt
    field = grounding.settings.source
    if not lacking_in(seen, field):
        context["source"] = source_of_unit(seen, field)
    return context


def _without_own(data: Any) -> Any:
    if isinstance(data, dict) and not OWN.isdisjoint(data):
        return {name: value for name, value in data.items() if name not in OWN}
    return data


def reply_of(record: Recorded) -> Any:
    """The reply in a line of the results; for a plain one just its text, which is judged fastest."""
    finish, refusal = record.get("finish", "stop"), record.get("refusal", "")
    if finish in {"stop", "unknown"} and not refusal:
        return record["raw_response"]
    return Reply(text=record["raw_response"], finish=finish, refusal=refusal)


def step_contract(pipeline: Pipeline, step: PipelineStep) -> PhasedContract:
    """The contract of a step: its schema, then its rules."""
    schema: Any = True
    if step.schema:
        schema = pipeline.inside(pipeline.schema_dir, step.schema)
    options: dict[str, Any] = {key: step.config[key] for key in ("accept", "strict") if key in step.config}
    if (grounded := step.config.get("grounded")) is not None:
        options["grounded"] = grounded
    coerce = coercion_of(pipeline, step)
    # rules may use every field of the unit, including fields that earlier steps added
    return PhasedContract(schema, rules=step.validation or None, input=True, name=step.name, coerce=coerce, **options)


def _policy(pipeline: Pipeline, step: PipelineStep, model: str) -> Policy:
    """How often a unit may be asked about, according to the configuration."""
    tries = int(pipeline.number(("api", "retry", "max_attempts"), 3, 1))
    judged = int(pipeline.number(("processing", "validation_retry", "max_attempts"), tries, 1))
    first = pipeline.number(("api", "retry", "initial_delay_seconds"), 30)
    api: Mapping[str, Any] = pipeline.section("api")
    most = step.config.get("max_tokens", api.get("max_tokens"))
    heat = step.config.get("temperature", api.get("temperature"))
    return Policy(
        models=(model,) if model else (),
        modes=_modes(step.config.get("mode", api.get("mode", "text"))),
        temperature=heat,
        max_tokens=most if type(most) is int else None,
        repairs=judged - 1,
        regenerations=0,
        retries=tries - 1,  # the first call is one of them
        backoff=max(float(first), 0.001),
        backoff_cap=max(float(first), 0.001) * 2.0 ** min(tries, 10),
        attempts=1_000_000,
        deadline=None,
        timeout=float(pipeline.number(("api", "timeout_seconds"), 120, 0.001)),
        instruct="never",  # the template says what to write
        otherwise="failed",
        last_tools=None,
    )


def _modes(given: Any) -> Any:
    return MODES.get(given if isinstance(given, str) else "", MODES["text"])


def _shape(provider: str) -> str:
    return provider if provider in {"anthropic", "gemini"} else "openai"


def recorded(reply: Reply) -> Recorded:
    """The stored fields of a reply."""
    record: Recorded = {"raw_response": reply.text, "usage": reply.usage}
    if reply.finish not in {"stop", "unknown"}:
        record["finish"] = reply.finish
    if reply.refusal:
        record["refusal"] = reply.refusal
    if reply.model:
        record["model"] = reply.model
    return record
