"""The result of an ask: the verdict, the value, how it was obtained, every attempt, the cost, and what to send next.

A bad reply never raises: `outcome` is the result, and `stopped` is the reason if the ask ended early.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic

import msgspec

from trueup.ask.clients.request import CallFailure
from trueup.ask.loop.plan import Outcome, Purpose
from trueup.ask.policy import Mode
from trueup.verdict.facts import Finding, Findings
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Rejected, T, Verdict

_GOOD = frozenset({"accepted", "repaired", "regenerated", "fallback"})
_USABLE = _GOOD | {"degraded"}


class Attempt(msgspec.Struct, frozen=True):
    """One call: why and how it was made, and its result, which is a verdict or a failure."""

    number: int
    """The number of the call, from 1."""
    purpose: Purpose
    """Why the call was made: `ask`, `repair` or `regenerate`."""
    nth: int
    """Its number among the calls with the same purpose, such as 2 for the second repair."""
    retry: int
    """How many times the same request had been sent before."""
    model: str
    """The model that was asked; empty for the client's own."""
    mode: Mode
    """How the provider was held to the schema: `json_schema`, `json_object` or `text`."""
    verdict: Verdict | None = None
    """The verdict on the reply; None if no reply arrived."""
    failure: CallFailure | None = None
    """Why no reply arrived; None if one did."""
    usage: dict[str, int] = {}
    """Token counts of this call; empty if the provider did not count and nothing was estimated."""
    cost: float | None = None
    """The cost of the call; None if the price or a count is not known."""
    at: float = 0.0
    """When the call began, in seconds after the start of the ask."""
    seconds: float = 0.0
    """How long the call took."""
    aborted: bool = False
    """Whether a stream was aborted at its first certain fault."""
    saved: int | None = None
    """The largest number of tokens that aborting saved; None if not known."""
    estimated: bool = False
    """Whether part of `usage` and `cost` is estimated, because the call was cut off or the provider does not count."""
    cached: bool = False
    """Whether the reply came from the cache, so that nothing was sent."""
    client: str = ""
    """The client that was asked: its kind and address, without keys; empty if it has no name."""

    def to_dict(self) -> dict[str, Any]:
        """The attempt as JSON-able data."""
        plain = {name: getattr(self, name) for name in self.__struct_fields__ if name not in {"verdict", "failure"}}
        plain["verdict"] = None if self.verdict is None else self.verdict.to_dict()
        plain["failure"] = None if self.failure is None else msgspec.to_builtins(self.failure)
        return plain


class Answer(Generic[T]):
    """The result of asking a model under a contract. An answer is falsy unless it is ok.

    - `verdict`: the verdict on the reply that the answer contains.
    - `outcome`: `accepted`, `repaired`, `regenerated`, `fallback`, `degraded` or `failed`.
    - `attempts`: every call that was made.
    - `reason`: why the ask ended without a valid reply, such as `repairs` or `deadline`; empty if there is a valid reply.
    - `stopped`: the same reason as a finding; None if nothing stopped the ask.
    - `seconds`: how long the ask took.
    - `warned`: a finding for each request that may have exceeded a budget; empty by default.
    - `next_messages`: the messages to send next. They are made when you first read them; empty by default.
    """

    def __init__(
        self,
        verdict: Verdict[T],
        outcome: Outcome,
        attempts: tuple[Attempt, ...],
        *,
        reason: str = "",
        stopped: Finding | None = None,
        seconds: float = 0.0,
        next_messages: Callable[[], list[Any]] = list,
        warned: tuple[Finding, ...] = (),
    ) -> None:
        self.verdict = verdict
        self.outcome: Outcome = outcome
        self.attempts = attempts
        self.reason = reason
        self.stopped = stopped
        self.seconds = seconds
        self.warned = warned
        self._next = next_messages

    @property
    def ok(self) -> bool:
        """Whether there is a reply that satisfies the contract: the model's own or the fallback."""
        return self.outcome in _GOOD

    def __bool__(self) -> bool:
        """An answer without a valid reply is falsy."""
        return self.ok

    @property
    def value(self) -> T | None:
        """The value of a reply that satisfies the contract; None for a degraded or failed answer."""
        return self.verdict.value if self.ok else None

    @property
    def data(self) -> Any:
        """The plain data. For a degraded answer, the best reading, which breaks the contract; None if the answer failed."""
        return self.verdict.data if self.outcome in _USABLE else None

    @property
    def text(self) -> str:
        """The reply's text, to show to the user; empty if the answer failed."""
        return self.verdict.reply.text if self.outcome in _USABLE else ""

    @property
    def reply(self) -> Reply:
        """The reply that the verdict is about, in the same shape for every provider."""
        return self.verdict.reply

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that may be run; empty if the answer failed."""
        return self.verdict.calls if self.outcome in _USABLE else ()

    @property
    def findings(self) -> Findings:
        """The findings on the reply, on the end of the ask, and on requests that may have exceeded a budget."""
        if self.stopped is None and not self.warned:
            return self.verdict.findings
        ended = () if self.stopped is None else (self.stopped,)
        return Findings((*self.verdict.findings, *ended, *self.warned))

    @property
    def repairs(self) -> int:
        """How many times a faulty reply was sent back to be corrected."""
        return len({(a.model, a.nth) for a in self.attempts if a.purpose == "repair"})

    @property
    def regenerations(self) -> int:
        """How many times another reply was requested because the reply did not fit the state."""
        return len({(a.model, a.nth) for a in self.attempts if a.purpose == "regenerate"})

    @property
    def retries(self) -> int:
        """How many times a call was repeated after the provider failed."""
        return len([a for a in self.attempts if a.retry])

    @property
    def model(self) -> str:
        """The model that gave the reply: the name that was requested, or the name in the reply."""
        last = next((a for a in reversed(self.attempts) if a.verdict is self.verdict), None)
        return (last.model if last else "") or self.verdict.reply.model

    @property
    def usage(self) -> dict[str, int]:
        """The tokens of all attempts, as the provider counted them; estimates for calls that were cut off."""
        total: dict[str, int] = {}
        for attempt in self.attempts:
            for name, count in attempt.usage.items():
                total[name] = total.get(name, 0) + count
        return total

    @property
    def cost(self) -> float | None:
        """The cost of all attempts; None, never 0, if the price or a count of any attempt is not known.

        Calls that the provider refused, or that never reached it, cost nothing.
        """
        costs = [a.cost for a in self.attempts if a.verdict is not None or a.usage]
        return sum(c for c in costs if c is not None) if costs and None not in costs else None

    @property
    def estimated(self) -> bool:
        """Whether part of `usage` and `cost` is estimated, because a call was cut off or the provider does not count."""
        return any(a.estimated for a in self.attempts)

    @property
    def saved(self) -> int | None:
        """The largest number of tokens that aborting streams saved; None if the limits of the replies are not known."""
        aborted = [a.saved for a in self.attempts if a.aborted]
        return None if None in aborted else sum(count for count in aborted if count is not None)

    @cached_property
    def next_messages(self) -> list[Any]:
        """The messages to send next: the conversation with the reply if it is ok, else the request to correct it."""
        return self._next()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the next messages themselves, because the function that makes them contains the whole ask."""
        return {**self.__dict__, "next_messages": self.next_messages, "_next": list}

    def unwrap(self) -> T:
        """Return the value, or raise `Rejected` if no reply satisfied the contract."""
        if not self.ok:
            raise Rejected(self.verdict)
        return self.verdict.unwrap()

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-able data."""
        return {
            "ok": self.ok,
            "outcome": self.outcome,
            "reason": self.reason,
            "stopped": None if self.stopped is None else self.stopped.to_dict(),
            "verdict": self.verdict.to_dict(),
            "attempts": [attempt.to_dict() for attempt in self.attempts],
            "usage": self.usage,
            "cost": self.cost,
            "estimated": self.estimated,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it: how it was obtained, then its verdict."""
        from trueup.verdict.notebook import verdict_html  # loaded only in a notebook

        return verdict_html(self.verdict, f"Answer: {self.outcome}", self._how())

    def _how(self) -> str:
        """How the answer was obtained, in a few words."""
        counts = ((len(self.attempts), "attempt"), (self.repairs, "repair"), (self.retries, "repeated call"))
        words = [f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n]
        tokens = self.usage.get("total_tokens")
        words += [f"{tokens:,} tokens"] if tokens is not None else []
        words += [f"{self.seconds:.1f} s", self.model, self.reason]
        return " · ".join(filter(None, words))

    def __repr__(self) -> str:
        n = len(self.attempts)
        why = f": {self.reason}" if self.reason else ""
        return f"<Answer {self.outcome}{why}, {n} attempt{'s' * (n != 1)}>"
