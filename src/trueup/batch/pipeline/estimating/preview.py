"""Previews a run before it costs anything: calls, tokens and money by step, from a sample of its units.

Takes the units of a new run, or the units that an existing run has left. They are counted, and a sample goes through the steps:
prompts are rendered, expressions are evaluated, and made-up replies that fit a step's schema replace the model's. Prompts do not
show how long replies are, how many attempts a unit needs, or how many items a list has. These figures come from an earlier run,
if one is named.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from trueup.ask.budgets.tokens import counter, estimate
from trueup.batch.judging.records import merged
from trueup.batch.pipeline.config import Pipeline, PipelineStep
from trueup.batch.pipeline.estimating.cost import Prices
from trueup.batch.pipeline.estimating.estimate import GUESSED_PROMPT, GUESSED_REPLY
from trueup.batch.pipeline.lint.sample_values import mock_of
from trueup.batch.pipeline.prompts.templates import PromptError, Prompts
from trueup.batch.pipeline.providers.choose import chosen
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.replies import last_replies, replies_in
from trueup.batch.pipeline.rundir.state import Chunk, Money
from trueup.batch.pipeline.steps.expression import ExpressionStep, UnitError
from trueup.batch.pipeline.steps.fan_out import FanOut
from trueup.batch.pipeline.steps.llm import LlmStep
from trueup.batch.pipeline.units.items import Unit
from trueup.batch.pipeline.units.sampling import Units, sampled

SAMPLE = 200  # units whose prompts are rendered, among those that wait for the same step
_CHILDREN = 20  # children of one unit that are followed; they represent all of them


class StepPreview(NamedTuple):
    """One step that asks a model: the units that reach it, and the calls, tokens and money for them. `usd` is None if the price
    is not known.
    """

    step: str
    provider: str
    model: str
    units: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    most_calls: int  # if every unit needs all of its attempts
    most_usd: float | None
    measured: bool  # whether the figures for one call come from an earlier run


class Preview(NamedTuple):
    """The preview of a run. `margin` is the 95 % margin of the tokens of its prompts, as a share, due to sampling."""

    units: int
    sampled: int
    steps: tuple[StepPreview, ...]
    margin: float
    notes: tuple[str, ...]
    spent: float = 0.0  # by the run so far, if it exists

    @property
    def usd(self) -> float | None:
        """The cost of all steps together, or None if a price is not known."""
        return _sum(row.usd for row in self.steps)

    @property
    def most_usd(self) -> float | None:
        """The cost of all steps together if every unit needs all of its attempts."""
        return _sum(row.most_usd for row in self.steps)


class StepFigures(NamedTuple):
    """The figures of a step in an earlier run: how many units passed, and the calls and tokens for them."""

    units: int  # settled units
    passed: int
    money: Money
    asked: int  # units that were asked about, including those whose outcome was withdrawn since

    @property
    def is_measured(self) -> bool:
        """Whether replies were counted in tokens."""
        return bool(self.money.output_tokens and self.money.calls)

    @property
    def rate(self) -> float:
        """How many units come out for each one that goes in."""
        return self.passed / self.units

    @property
    def calls(self) -> float:
        """How many calls a unit needs. A reply from `--cache` counts as one, because the next run may not have it."""
        return (self.money.calls + self.money.cached) / self.asked


class WaitingUnits(NamedTuple):
    """Units that wait for a step: their number, and a sample of them."""

    step: int
    units: int
    sample: Sequence[Unit]


class _Weighed(NamedTuple):
    """A unit of the sample, and how many units it represents."""

    unit: Unit
    weight: float


def coming(units: Units, step: int = 0) -> WaitingUnits:
    """Count the units that a function yields, and take a sample."""
    number = 0

    def counted() -> Iterator[Unit]:
        nonlocal number
        for unit in units():
            number += 1
            yield unit

    sample = list(sampled(counted, SAMPLE))
    return WaitingUnits(step, number, sample)


def left_in(run: RunDir) -> list[WaitingUnits]:
    """The units that a run has left, by the step they wait for. A unit with a valid reply in an unfinished step waits for the next one."""
    state = run.state
    found = []
    for step in run.pipeline.steps:
        chunks = [chunk for chunk in state.chunks.values() if state.is_open(chunk) and chunk.at == step.index]
        started = [chunk for chunk in chunks if _has_replies(chunk, step)]
        if chunks:
            found.append(coming(partial(_waiting, run, chunks, step), step.index))
        if started and step.index + 1 < len(state.steps):
            found.append(coming(partial(_answered, run, started, step), step.index + 1))
    return [group for group in found if group.units]


def _waiting(run: RunDir, chunks: Iterable[Chunk], step: PipelineStep) -> Iterator[Unit]:
    for chunk in chunks:
        over = {unit["unit_id"] for unit in _answered(run, [chunk], step)} if _has_replies(chunk, step) else ()
        yield from (unit for unit in run.units(chunk, step.index) if unit["unit_id"] not in over)


def _has_replies(chunk: Chunk, step: PipelineStep) -> bool:
    """Whether a chunk that waits for a step may have replies to it: it was started, or it has them from a retry."""
    return step.asks and (chunk.submitted or _is_retry(chunk, step.index))


def _answered(run: RunDir, chunks: Iterable[Chunk], step: PipelineStep) -> Iterator[Unit]:
    """The units whose last reply is valid, as they come out of a step."""
    pipeline = run.pipeline
    prompts = Prompts(pipeline.inside(pipeline.template_dir))
    judge = LlmStep(pipeline, step, prompts, *chosen(pipeline, step, run.state.run.get("wanted", {})))
    for chunk in chunks:
        replies = last_replies(run, chunk, step.name)
        for unit in run.units(chunk, step.index) if replies else ():
            reply = replies.get(unit["unit_id"])
            with suppress(PromptError):
                verdict = judge.judge(reply, unit, judge.prompt(unit)) if reply else None
                if verdict is not None and verdict.ok:
                    yield merged(unit["unit_id"], unit, verdict.data)


def observed_in(run: RunDir) -> dict[str, StepFigures]:
    """The figures of every step of a run so far."""
    found = {}
    for index, row in enumerate(run.state.step_rows()):
        chunks = [chunk for chunk in run.state.chunks.values() if row["step"] in chunk.done]
        settled = row["valid"] + row["failed"]
        if row["scope"] == "fan_out":
            settled = sum(chunk.done[row["step"]].units - chunk.done[row["step"]].moved for chunk in chunks)
        asked = _asked_in(run, chunks, index) if row["scope"] == "chunk" and settled else 0
        if settled:
            found[row["step"]] = StepFigures(settled, row["valid"], row["money"], max(asked, settled))
    return found


def _asked_in(run: RunDir, chunks: Iterable[Chunk], step: int) -> int:
    """How many units have replies in a step; a unit that was retried counts once."""
    files = (run.file(chunk.name, run.state.steps[step], "results") for chunk in chunks if not _is_retry(chunk, step))
    return sum(len({row["unit_id"] for row in replies_in(file)}) for file in files)


def _is_retry(chunk: Chunk, step: int) -> bool:
    """Whether the units of a chunk reached a step before."""
    return chunk.origin == "retry" and chunk.first == step


def preview(
    pipeline: Pipeline, waiting: Iterable[WaitingUnits], wanted: Mapping[str, Any], prices: Prices,
    observed: Mapping[str, StepFigures] | None = None, *, batch: bool = False,
) -> Preview:  # fmt: skip
    """The preview of the waiting units, step by step; `observed` are the figures of an earlier run."""
    previewer = _Previewer(pipeline, wanted, prices, observed or {}, batch=batch)
    by_step: dict[int, list[_Weighed]] = {}
    units = followed = 0
    for group in waiting:
        units += group.units
        followed += len(group.sample)
        weight = group.units / max(1, len(group.sample))
        by_step.setdefault(group.step, []).extend(_Weighed(unit, weight) for unit in group.sample)
    flowing: list[_Weighed] = []
    for step in pipeline.steps:
        flowing = previewer.through(step, [*flowing, *by_step.get(step.index, ())])
    margin = previewer.margin if units > followed else 0.0
    return Preview(units, followed, tuple(previewer.rows), margin, tuple(dict.fromkeys(previewer.notes)))


class _Previewer:
    """Takes a sample through the steps, and notes the calls and tokens of each."""

    def __init__(
        self, pipeline: Pipeline, wanted: Mapping[str, Any], prices: Prices, observed: Mapping[str, StepFigures], *, batch: bool
    ) -> None:  # fmt: skip
        self._pipeline = pipeline
        self._wanted = wanted
        self._prices = prices
        self._observed = observed
        self._batch = batch
        self._prompts: Prompts | None = None
        self._written: set[str] = set()  # fields that a model writes
        self.rows: list[StepPreview] = []
        self.notes: list[str] = []
        self.margin = 0.0

    def through(self, step: PipelineStep, units: list[_Weighed]) -> list[_Weighed]:
        """The units that come out of a step."""
        if not units or step.scope == "run":
            return units
        if step.asks:
            return self._asked(step, units)
        if step.scope == "fan_out":
            return self._fanned(step, units)
        return self._worked_out(step, units)

    def _asked(self, step: PipelineStep, units: list[_Weighed]) -> list[_Weighed]:
        provider, model = chosen(self._pipeline, step, self._wanted)
        self._prompts = self._prompts or Prompts(self._pipeline.inside(self._pipeline.template_dir))
        asking = LlmStep(self._pipeline, step, self._prompts, provider, model)
        seen = self._observed.get(step.name)
        fine = self._askable(asking, units)
        units = units if seen and seen.is_measured else fine
        number = sum(each.weight for each in units)
        each_unit = seen.calls if seen and seen.is_measured else 1.0
        taken, given = self._tokens(asking, units, seen)
        calls = number * each_unit
        read, written = round(calls * taken), round(calls * given)
        usd = self._prices.cost(provider, model, {"input_tokens": read, "output_tokens": written}, batch=self._batch)
        if usd is None:
            self.notes.append(f"the price of {model or provider} is not known; pass --price IN/OUT, or set api.prices")
        attempts = max(asking.policy.repairs + 1, math.ceil(each_unit))
        row = StepPreview(
            step.name, provider, model, round(number), round(calls), read, written, usd,
            round(number * attempts), None if usd is None else usd * attempts / each_unit, bool(seen and seen.is_measured),
        )  # fmt: skip
        self.rows.append(row)
        reply = mock_of(asking.contract.schema)
        self._written |= reply.keys()
        passed = seen.rate if seen else 1.0
        if not passed:
            self.notes.append(f"{step.name}: no unit passed in the earlier run, so nothing after it is counted")
        return [_Weighed(merged(each.unit["unit_id"], each.unit, reply), each.weight * passed) for each in units]

    def _tokens(self, asking: LlmStep, units: list[_Weighed], seen: StepFigures | None) -> tuple[float, float]:
        """The tokens of one call: of its request, and of its reply."""
        if seen and seen.is_measured:
            return seen.money.input_tokens / seen.money.calls, seen.money.output_tokens / seen.money.calls
        length = min(asking.policy.max_tokens or GUESSED_REPLY, GUESSED_REPLY)
        self.notes.append(
            f"{asking.name}: replies are assumed to have {length} tokens; to use measured figures, run a --sample and pass that run to --like"
        )
        sizes = [_size(asking, each.unit) for each in units]
        total = sum(each.weight for each in units)
        mean = sum(size * each.weight for size, each in zip(sizes, units, strict=True)) / total if total else 0.0
        self.margin = max(self.margin, _margin(sizes))
        return mean, float(length)

    def _askable(self, asking: LlmStep, units: list[_Weighed]) -> list[_Weighed]:
        """The units whose prompts can be rendered. After a made-up reply, all units count: a real reply may have the fields that
        the prompt needs.
        """
        fine: list[_Weighed] = []
        fault: PromptError | None = None
        for each in units:
            try:
                asking.prompt(each.unit)
            except PromptError as error:
                fault = fault or error
            else:
                fine.append(each)
        if fault is None:
            return units
        if self._written:
            self.notes.append(
                f"{asking.name}: prompts that need a real reply are assumed to have {GUESSED_PROMPT} tokens ({fault})"
            )
            return units
        number = f"{len(units) - len(fine):,} of {len(units):,}"
        self.notes.append(f"{asking.name}: {number} units fail because their prompts cannot be rendered: {fault}")
        return fine

    def _fanned(self, step: PipelineStep, units: list[_Weighed]) -> list[_Weighed]:
        worker = FanOut(step.name, step.config)
        seen = self._observed.get(step.name)
        if seen is None and worker.field in self._written:
            self.notes.append(
                f"{step.name}: the model decides how many items {worker.field!r} has; the estimate uses the smallest number that the schema allows"
            )
        found: list[_Weighed] = []
        for each in units:
            try:
                children = worker.run(each.unit)
            except UnitError:
                continue  # it fails there without a call
            many = seen.rate if seen else len(children)
            followed = children[:: max(1, len(children) // _CHILDREN)][:_CHILDREN]
            found += [_Weighed(child, each.weight * many / len(followed)) for child in followed]
        return found

    def _worked_out(self, step: PipelineStep, units: list[_Weighed]) -> list[_Weighed]:
        worker = ExpressionStep(step.name, step.config)
        passed = self._observed[step.name].rate if step.name in self._observed else 1.0
        found = []
        for each in units:
            try:
                found.append(_Weighed(worker.run(each.unit), each.weight * passed))
            except UnitError:  # a made-up reply need not fit it
                self.notes.append(
                    f"{step.name}: its fields depend on replies; prompts that use them are assumed to have {GUESSED_PROMPT} tokens"
                )
                found.append(_Weighed(each.unit, each.weight * passed))
        return found


def _size(asking: LlmStep, unit: Unit) -> int:
    """The tokens of the first request about a unit."""
    try:
        request = asking.ask(unit, asking.prompt(unit)).request()
    except PromptError:
        return GUESSED_PROMPT  # it needs a real reply
    return estimate(request, counter(asking.policy, asking.model)).likely


def _margin(sizes: Sequence[int]) -> float:
    """The 95 % margin of a mean, as a share of it."""
    if len(sizes) < 2:
        return 0.0
    mean = sum(sizes) / len(sizes)
    variance = sum((size - mean) ** 2 for size in sizes) / (len(sizes) - 1)
    return 1.96 * math.sqrt(variance / len(sizes)) / mean if mean else 0.0


def _sum(costs: Iterable[float | None]) -> float | None:
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
