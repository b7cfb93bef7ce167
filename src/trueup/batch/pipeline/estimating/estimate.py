"""Estimates the cost of the remaining calls, before a run starts and before a list is fanned out.

Takes the waiting units and a prompt of one of them, and returns calls and money up to the next fan-out; the number of units after
it is not known. Without a price the cost is unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trueup.batch.pipeline.estimating.cost import Prices
from trueup.batch.pipeline.prompts.templates import PromptError
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import read_records
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.steps.llm import LlmStep

GUESSED_REPLY = 400  # tokens of a reply, if no limit is set
GUESSED_PROMPT = 300  # of a prompt that cannot be rendered yet


class CallEstimate(NamedTuple):
    """The remaining calls, and their cost; None if a price is not known."""

    calls: int
    usd: float | None

    def __str__(self) -> str:
        cost = "at an unknown cost" if self.usd is None else f"for about ${self.usd:.4f}"
        return f"about {self.calls:,} call{'s' * (self.calls != 1)} to make {cost}"


def estimate(run: OwnedRun, chunks: Iterable[Chunk], asking: Mapping[str, LlmStep], prices: Prices) -> CallEstimate:
    """The estimate for the next steps of some chunks, up to the next fan-out."""
    state = run.state
    calls, usd, known = 0, 0.0, True
    each: dict[tuple[str, bool], float | None] = {}
    for chunk in chunks:
        for index in range(chunk.at, len(state.steps)):
            if state.scopes[index] == "fan_out":
                break
            step = asking.get(state.steps[index])
            if step is None:
                continue
            first = index == chunk.at
            if (step.name, first) not in each:
                each[step.name, first] = _cost(step, _sample(run, chunk) if first else None, prices)
            cost = each[step.name, first]
            calls += chunk.waiting
            usd += chunk.waiting * (cost or 0.0)
            known = known and cost is not None
    return CallEstimate(calls, usd if known else None)


def _sample(run: OwnedRun, chunk: Chunk) -> Any:
    return next(iter(read_records(run.folder(chunk.name) / run.state.source_of(chunk, chunk.at))), None)


def _cost(step: LlmStep, unit: Any, prices: Prices) -> float | None:
    taken = GUESSED_PROMPT
    if unit is not None:
        try:
            taken = len(step.prompt(unit)) // 3 + 8
        except PromptError:
            pass  # the unit will fail because of it, and cost nothing
    return prices.estimate(step.provider, step.model, taken, step.policy.max_tokens or GUESSED_REPLY)


def recorded(run: OwnedRun) -> float:
    """The cost of the replies recorded in unfinished steps."""
    usd = 0.0
    for chunk in run.state.chunks.values():
        if run.state.is_open(chunk):
            file = run.file(chunk.name, run.state.steps[chunk.at], "results")
            run.disk.mend(file)
            usd += sum(row.get("usd", 0.0) for row in read_records(file))
    return usd
