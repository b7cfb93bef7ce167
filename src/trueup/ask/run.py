"""The result of a run of a model with tools: every step, the last answer, the conversation to continue with, and the cost.

A run that stops early does not raise: `reason` says why it stopped. Its parts are frozen. This module does not ask or call anything.
"""

from typing import Any, Generic, Literal

import msgspec

from trueup.ask.answer import Answer
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, Findings
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Rejected, T, Verdict

Status = Literal["done", "failed", "refused", "vetoed", "skipped", "stopped"]


class Called(msgspec.Struct, frozen=True):
    """One call of a run: as the model requested it, as it was made, and its result."""

    given: ToolCall
    """The call as the model requested it."""
    call: ToolCall
    """The call as it was made: repaired, or changed by `on_call`."""
    status: Status
    """`done`; `failed`: the tool raised, or returned an error such as `{"error": …}`; `refused`: it did not pass; `vetoed` by `on_call`; `skipped`: it requires a call that did not succeed; `stopped`: the run ended first."""
    text: str
    """The text that is sent to the model as the result."""
    value: Any = None
    """The whole value that the tool returned; None if it returned nothing or raised, or if the call was not made."""
    error: Exception | None = None
    """The exception that the tool raised, or an `Unmet` if the call was `skipped`; None otherwise, even if the tool returned an error."""
    findings: tuple[Finding, ...] = ()
    """The faults of the call; empty unless it is `refused`."""
    seconds: float = 0.0
    """How long the tool took."""
    left_out: int = 0
    """How many characters of the result were not sent to the model, because it was too long."""

    @property
    def ok(self) -> bool:
        """Whether the call was made and returned no error."""
        return self.status == "done"

    def to_dict(self) -> dict[str, Any]:
        """The call as JSON-able data, with the value as the text that was sent to the model."""
        return {
            "given": msgspec.to_builtins(self.given),
            "call": msgspec.to_builtins(self.call),
            "status": self.status,
            "text": self.text,
            "error": None if self.error is None else type(self.error).__name__,
            "findings": [found.to_dict() for found in self.findings],
            "seconds": self.seconds,
            "left_out": self.left_out,
        }


class Step(msgspec.Struct, frozen=True):
    """One turn of a run: the request, the model's answer, and the results of its calls."""

    number: int
    """The number of the turn, from 1."""
    request: list[Any]
    """The messages that were sent to the model."""
    answer: Answer
    """The answer, with every attempt."""
    calls: tuple[Called, ...] = ()
    """The calls of the answer, in order; empty if it does not make any."""
    messages: list[Any] = []
    """The messages that the turn adds to the conversation: the model's message, and the results of its calls. Empty if no reply was accepted."""

    def to_dict(self) -> dict[str, Any]:
        """The step as JSON-able data, without the messages of its request."""
        return {
            "number": self.number,
            "answer": self.answer.to_dict(),
            "calls": [called.to_dict() for called in self.calls],
        }


class RunPart(msgspec.Struct, frozen=True):
    """A piece of a run as it happens: text or a value that may be shown, a call, or its result."""

    kind: Literal["text", "value", "restart", "call", "result"]
    """`text` adds text, `value` is the value so far, `restart` takes back what was shown in this turn, `call` is a call that is about to be made, `result` is the result of a call."""
    turn: int = 1
    """The number of the turn that the part belongs to, from 1."""
    text: str = ""
    """The text to add; empty unless the kind is `text`."""
    value: Any = None
    """The whole value so far; None unless the kind is `value`."""
    call: ToolCall | None = None
    """The call that is about to be made; None unless the kind is `call`."""
    result: Called | None = None
    """The result of a call; None unless the kind is `result`."""


class Run(Generic[T]):
    """The result of a run of a model with tools. A run is falsy unless it ended with a valid final reply.

    - `answer`: the last answer. If the run was completed, this answer makes no more calls. None: the budgets did not allow even one ask.
    - `steps`: every turn, in order.
    - `messages`: the conversation to continue with; every call in it has a result.
    - `reason`: why the run stopped before a valid final reply, such as `turns` or `deadline`; empty if it did not.
    - `stopped`: the same reason as a finding; None if nothing stopped the run.
    - `seconds`: how long the run took.
    """

    def __init__(
        self,
        answer: Answer[T] | None,
        steps: tuple[Step, ...],
        messages: list[Any],
        *,
        reason: str = "",
        stopped: Finding | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.answer = answer
        self.steps = steps
        self.messages = messages
        self.reason = reason
        self.stopped = stopped
        self.seconds = seconds

    @property
    def ok(self) -> bool:
        """Whether the run ended with a final reply that satisfies the contract."""
        return not self.reason and self.answer is not None and self.answer.ok

    def __bool__(self) -> bool:
        """A run without a valid final reply is falsy."""
        return self.ok

    @property
    def value(self) -> T | None:
        """The value of the final reply; None if the run stopped before it."""
        return self.answer.value if self.ok and self.answer is not None else None

    @property
    def data(self) -> Any:
        """The plain data of the final reply; None if the run stopped before it."""
        return self.answer.data if self.ok and self.answer is not None else None

    @property
    def text(self) -> str:
        """The text of the last answer; empty if there is none."""
        return "" if self.answer is None else self.answer.text

    @property
    def calls(self) -> tuple[Called, ...]:
        """Every call of the run, in order."""
        return tuple(called for step in self.steps for called in step.calls)

    @property
    def findings(self) -> Findings:
        """The findings on the last reply, and why the run stopped."""
        if self.stopped is None:
            return Findings() if self.answer is None else self.answer.findings
        return Findings((*(() if self.answer is None else self.answer.verdict.findings), self.stopped))

    @property
    def usage(self) -> dict[str, int]:
        """The tokens of all turns."""
        total: dict[str, int] = {}
        for step in self.steps:
            for name, count in step.answer.usage.items():
                total[name] = total.get(name, 0) + count
        return total

    @property
    def cost(self) -> float | None:
        """The cost of all turns; None, never 0, if the cost of any turn is not known."""
        costs = [step.answer.cost for step in self.steps]
        return sum(c for c in costs if c is not None) if costs and None not in costs else None

    def unwrap(self) -> T:
        """Return the value of the final reply, or raise `Rejected` if the run stopped before it."""
        if self.ok and self.answer is not None:
            return self.answer.unwrap()
        verdict: Verdict = Verdict(Reply(finish="error")) if self.answer is None else self.answer.verdict
        raise Rejected(verdict.with_findings(self.findings, runs=False))

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON-able data."""
        return {
            "ok": self.ok,
            "reason": self.reason,
            "stopped": None if self.stopped is None else self.stopped.to_dict(),
            "text": self.text,
            "data": msgspec.json.decode(written(self.data)),
            "steps": [step.to_dict() for step in self.steps],
            "usage": self.usage,
            "cost": self.cost,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        turns, calls = len(self.steps), len(self.calls)
        state = "ok" if self.ok else f"stopped: {self.reason}"
        return f"<Run {state}, {turns} turn{'s' * (turns != 1)}, {calls} call{'s' * (calls != 1)}>"
