"""The first call of asks that differ only in their messages, prepared once.

Takes a contract, a client and a policy; returns the plan's first step and its request. A good first reply ends the ask, as in the
plan; after any other reply, a `Loop` with the original start time continues.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from trueup.ask.answer import Answer, Attempt
from trueup.ask.clients.request import Request
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.loop import plan
from trueup.ask.loop.loop import AskedClient, Loop, Retries, label
from trueup.ask.memory import MODES, Memory
from trueup.ask.policy import Policy
from trueup.ask.replies.faults import failure_in
from trueup.ask.requests.messages import said
from trueup.ask.rungs import Rung
from trueup.verdict.verdict import Verdict

_SAMPLE = [{"role": "user", "content": "?"}]


class Opening:
    """The beginning of asks with the same contract, client and policy."""

    __slots__ = ("_client", "_clock", "_end", "_loop", "_memory", "_request", "send")

    def __init__(
        self, loop: Loop, send: plan.Send, request: Request, end: plan.Finish, clock: Clock, memory: Memory
    ) -> None:
        self._loop = loop
        self._request = request
        self._end = end
        self._clock = clock
        self._memory = memory
        self._client = label(loop.client)
        self.send = send

    def request(self, messages: list[Any]) -> Request:
        """The first request."""
        return msgspec.structs.replace(self._request, messages=messages)

    def judge(self, raw: Any, context: dict[str, Any]) -> Verdict:
        """The verdict on the first reply."""
        return self._loop.completed(self._loop.contract.check(self._loop.received(raw), context))

    def answer(self, verdict: Verdict, messages: list[Any], began: float, sent: float) -> Answer | None:
        """The answer if the first reply is good; None if the model must be asked again."""
        if verdict.findings and (not verdict.ok or failure_in(verdict) is not None):
            return None
        send, now, reply = self.send, self._clock.now(), verdict.reply
        cost = self._loop.policy.cost(send.model or reply.model, reply.usage)
        attempt = Attempt(
            send.attempt, send.purpose, send.nth, send.retry, send.model, send.mode, verdict, None, reply.usage,
            cost, sent - began, now - sent, client=self._client,
        )  # fmt: skip
        return Answer(
            verdict, self._end.outcome, (attempt,), reason=self._end.reason, seconds=now - began,
            next_messages=self._next(messages, verdict),
        )  # fmt: skip

    def loop(
        self, messages: list[Any], context: dict[str, Any], began: float, sent: float, retries: Retries | None = None
    ) -> Loop:
        """The ask in its state after the first request was sent."""
        known = self._loop
        loop = Loop(
            known.contract, known.rungs, messages, known.policy, context=context, memory=self._memory,
            clock=self._clock, retries=retries,
        )  # fmt: skip
        loop.start(began)
        loop.request(sent)
        return loop

    def _next(self, messages: list[Any], verdict: Verdict) -> Callable[[], list[Any]]:
        return lambda: [*messages, *said(verdict.reply, self._loop.client.provider)]


def opening_of(
    contract: Any,
    client: "AskedClient | tuple[Rung, ...]",
    policy: Policy,
    *,
    clock: Clock = SYSTEM,
    memory: Memory = MODES,
) -> Opening | None:
    """The opening of such asks. None if their first calls may differ: with budgets, prices, several models, or instructions.

    It asks the first of several rungs, so do not use it while that rung's circuit breaker is open.

    >>> from trueup import Contract
    >>> from trueup.ask.loop.loop import Traits
    >>> opening_of(Contract(), Traits(), Policy()).send.attempt
    1
    """
    if policy.tokens is not None or policy.money is not None or policy.prices or policy.models:
        return None
    loop = Loop(contract, client, _SAMPLE, policy, clock=clock, memory=memory.without_breakers())
    send = loop.start(anywhere=True)
    if not isinstance(send, plan.Send):
        return None
    request = loop.request()
    if request.messages != _SAMPLE:
        return None
    begun, _ = plan.step(policy, plan.Past(), plan.Began((plan.PlanRung(send.model, (send.mode,)),)))
    _, end = plan.step(policy, begun, plan.ReplyJudged(0.0))
    return Opening(loop, send, request, end, clock, memory) if isinstance(end, plan.Finish) else None
