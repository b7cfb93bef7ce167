"""The record of one ask: every attempt, its cost, the events for the subscribers, and why the ask ended.

Takes steps, verdicts and failures; returns attempts, events and the final finding. It makes no decisions.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec.structs import replace

from trueup.ask.answer import Attempt
from trueup.ask.clients.request import CallFailure, Request
from trueup.ask.drivers.clock import Clock
from trueup.ask.loop import plan
from trueup.ask.policy import Policy
from trueup.ask.replies.faults import rank
from trueup.ask.words.faults import as_text
from trueup.ask.words.quoting import cut
from trueup.read.reading import ProviderFailure
from trueup.read.reading import failed as failed_reading
from trueup.verdict import events
from trueup.verdict.facts import NO_FINDINGS, Finding, Findings, finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.ask.budgets.allowance import Budget, BudgetFit
    from trueup.ask.requests.outgoing import Outgoing

_STOPPED = {
    "same-fault": ("A003", "The reply still had the same fault after a correction", "Ask another model, or change the prompt."),
    "repairs": ("A004", "No valid reply after {most} repairs", "Allow more repairs, or ask another model."),
    "regenerations": ("A004", "No reply that fits the state after {most} regenerations", "Give the state a fallback."),
    "retries": ("A004", "No reply after {most} retries", "Try again later, or ask another model."),
    "cancelled": ("A005", "`ask` was cancelled", ""),
}  # fmt: skip


_WHOLE: tuple[bool, int | None, dict[str, int]] = (False, None, {})  # a reply that was not aborted
_HELD = frozenset({"accepted", "repaired", "regenerated"})
UNITS = {"attempts": "calls", "deadline": "seconds", "tokens": "tokens", "money": "units of money"}


class AttemptLog:
    """The record of one ask."""

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        on_event: Callable[[events.Event], object] | None,
        contract: str,
        clients: Sequence[str] = (),
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._on_event = on_event
        self._contract = contract
        self._clients = tuple(clients) or ("",)
        self._id = uuid4().hex[:12] if on_event else ""
        self._start = self._called_at = 0.0
        self._started = 0.0
        self._last: plan.Send | None = None
        self._aborted: tuple[bool, int | None, dict[str, int]] = _WHOLE
        self._needs: float | None = None  # what a request that did not fit a budget needed of it
        self.attempts: list[Attempt] = []
        self.warned: tuple[Finding, ...] = ()
        self.unplaced = NO_FINDINGS

    def open(self, at: float | None = None, unplaced: Findings = NO_FINDINGS) -> None:
        """Begin the record; `unplaced` are the findings if nothing can be asked in this context."""
        self.unplaced = unplaced
        self._start = self._called_at = self._clock.now() if at is None else at
        self._started = self._clock.date()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock.now() - self._start

    @property
    def last(self) -> plan.Send:
        """The last request that was planned."""
        if self._last is None:
            raise RuntimeError("nothing has been sent")
        return self._last

    def sent(
        self,
        send: plan.Send,
        request: Request,
        fit: "BudgetFit | None",
        past: plan.Past,
        at: float | None = None,
        *,
        stored: bool = False,
    ) -> None:
        """Record that a request is sent, or would be if its reply were not `stored`; `fit` is how it fits the budgets."""
        self._called_at = self._clock.now() if at is None else at
        self._needs = None
        if fit is not None and fit.risked is not None:
            self._warn(send, fit, fit.risked, past)
        if self._on_event is None:
            return
        guess = None if fit is None else fit.estimate
        self.emit(
            events.Sent, send, temperature=send.temperature, reduced=send.reduced, max_tokens=request.max_tokens,
            estimate=None if guess is None else guess.likely, counted=guess is not None and guess.counted, cached=stored,
            timeout=request.timeout,
        )  # fmt: skip

    def _warn(self, send: plan.Send, fit: "BudgetFit", budget: "Budget", past: plan.Past) -> None:
        limit, spent, needs = getattr(self._policy, budget), _spent(budget, past), fit.needs
        self.emit(events.Warned, send, budget=budget, allowed=limit, spent=spent, needs=needs)
        message = (
            f"The request may not fit the budget: it may need up to {needs:g} {UNITS[budget]}, "
            f"and {spent:g} of {limit:g} are spent"
        )
        data = {"budget": budget, "limit": limit, "spent": spent, "needs": needs}
        hint = f"Raise {budget} in the policy."
        if not fit.estimate.least:  # no tokenizer, and no request was counted before
            hint = "Give the policy a tokenizer, so that requests are counted before they are sent."
        self.warned = (*self.warned, finding("A007", "$", message, None, data, hint))

    def refused(self, fit: "BudgetFit") -> None:
        """Record a request that was not sent because it does not fit a budget."""
        self._needs = fit.needs

    def replied(
        self,
        send: plan.Send,
        verdict: Verdict,
        fault: plan.ReplyFault | None,
        outgoing: "Outgoing",
        request: Callable[[], Request],
    ) -> tuple[int, float | None]:
        """Record a reply; return the tokens and the money that the budgets count for it."""
        reply, cached = verdict.reply, outgoing.stored is not None
        (aborted, saved, counted), self._aborted = self._aborted, _WHOLE
        usage: dict[str, int] = {} if cached else reply.usage
        estimated = False
        partial = aborted or (
            fault is not None and fault.kind == "cut"
        )  # its counts, if any, are not for the whole reply
        if not cached and (partial or (outgoing.limited and not _is_counted(reply))):
            known = replace(reply, usage=counted or usage)
            usage, estimated = outgoing.allowance.spent(request(), known, whole=not partial), True
        elif outgoing.limited and not cached:
            outgoing.allowance.measure(request(), usage.get("input_tokens", 0))
        cost = 0.0 if cached else self._policy.cost(self._model(send, outgoing) or reply.model, usage)
        attempt = self._attempt(
            send, outgoing, verdict, None, usage, cost, aborted=aborted, saved=saved, estimated=estimated, cached=cached
        )
        self.attempts.append(attempt)
        if self._on_event is not None:
            tokens = 0 if cached else usage.get("total_tokens")
            self.emit(
                events.Replied,
                send,
                seconds=attempt.seconds,
                tokens=tokens,
                cost=cost,
                estimated=estimated,
                cached=cached,
            )
            self._checked(send, verdict, fault)
        return usage.get("total_tokens", 0), cost

    def abort(self, saved: int | None, usage: dict[str, int]) -> None:
        """Note that the next recorded reply was aborted early; `usage` is what the provider had counted by then."""
        self._aborted = (True, saved, usage)

    def failed(
        self, send: plan.Send, failure: CallFailure, reply: Reply, outgoing: "Outgoing", request: Callable[[], Request]
    ) -> tuple[int, float | None]:
        """Record a call without a complete reply; `reply` is the part that arrived. Return the tokens and the money that it cost."""
        usage, estimated = reply.usage, False
        if not {"input_tokens", "output_tokens"} <= usage.keys() or reply.finish == "unknown":
            usage, estimated = {}, _may_cost(failure, reply)
            if estimated:
                usage = outgoing.allowance.spent(request(), reply)
        cost = self._policy.cost(self._model(send, outgoing) or reply.model, usage) if usage else None
        self.attempts.append(self._attempt(send, outgoing, None, failure, usage, cost, estimated=estimated))
        tokens = usage.get("total_tokens")
        self.emit(
            events.Failed, send, reason=failure.reason, kind=failure.kind, status=failure.status, tokens=tokens, cost=cost,
            estimated=estimated,
        )  # fmt: skip
        return tokens or 0, cost

    def _model(self, send: plan.Send, outgoing: "Outgoing") -> str:
        """The model that was asked; a hook or a parameter may have changed it."""
        return send.model if outgoing.request is None else outgoing.request.asked_model

    def _attempt(
        self,
        send: plan.Send,
        outgoing: "Outgoing",
        verdict: Verdict | None,
        failure: CallFailure | None,
        usage: dict[str, int],
        cost: float | None,
        *,
        aborted: bool = False,
        saved: int | None = None,
        estimated: bool = False,
        cached: bool = False,
    ) -> Attempt:
        began, seconds = self._called_at - self._start, self._clock.now() - self._called_at
        return Attempt(
            send.attempt, send.purpose, send.nth, send.retry, self._model(send, outgoing), send.mode, verdict, failure,
            usage, cost, began, seconds, aborted, saved, estimated, cached, self._clients[send.client],
        )  # fmt: skip

    def breaker(self, rung: plan.PlanRung, state: str, failures: int) -> None:
        """Report that the circuit breaker of a rung changed."""
        send = self._last or plan.Send("ask", rung.model, rung.modes[0], 0, self._policy.attempts)
        told = {"state": state, "client": self._clients[rung.client], "failures": failures}
        self.emit(events.BreakerChanged, replace(send, model=rung.model), **told)

    def _checked(self, send: plan.Send, verdict: Verdict, fault: plan.ReplyFault | None) -> None:
        codes = tuple(dict.fromkeys(found.code for found in verdict.errors))
        self.emit(events.Judged, send, ok=fault is None, fault="" if fault is None else fault.kind, codes=codes)

    def planned(self, before: plan.Past, after: plan.Past, step: plan.Step, event: plan.Event) -> None:
        """Report the plan's decision."""
        if isinstance(step, plan.Send):
            last, self._last = self._last, step
            if self._on_event is None:
                return
            self._stepped(step, last, event)
            why = event.fault.kind if isinstance(event, plan.ReplyJudged) and event.fault else ""
            if step.purpose == "repair" and after.repairs != before.repairs:
                self.emit(events.Repairing, step, nth=step.nth, most=step.most, reason=why, fields=step.fields)
            elif step.purpose == "regenerate" and after.regenerations != before.regenerations:
                self.emit(events.Regenerating, step, nth=step.nth, most=step.most, reason=why)
        elif self._on_event is None:
            return
        elif isinstance(step, plan.Wait):
            self.emit(
                events.Waiting, self.last, delay=step.seconds, reason=step.reason, nth=step.retry, most=step.limit
            )
        else:
            self._finished(step)

    def _stepped(self, step: plan.Send, last: plan.Send | None, event: plan.Event) -> None:
        if last is None:
            return
        reason = event.kind if isinstance(event, plan.CallFailed) else "fault"
        if step.client != last.client:
            was, now = (" ".join(filter(None, (self._clients[s.client], s.model))) for s in (last, step))
            self.emit(events.SteppedDown, step, what="client", before=was, after=now, reason=reason)
        elif step.model != last.model:
            self.emit(events.SteppedDown, step, what="model", before=last.model, after=step.model, reason=reason)
        elif step.mode != last.mode:
            self.emit(events.SteppedDown, step, what="mode", before=last.mode, after=step.mode, reason=reason)

    def _finished(self, step: plan.Finish) -> None:
        send = self._last or plan.Send("ask", "", "text", 0, self._policy.attempts)  # nothing was sent
        if self.unplaced:
            codes = tuple(found.code for found in self.unplaced)
            self.emit(events.Judged, send, ok=False, fault="context", codes=codes)
        if step.outcome == "fallback":
            self.emit(events.FellBack, send, reason=step.reason)
        known = [a.usage.get("total_tokens", 0) for a in self.attempts if a.cached or "total_tokens" in a.usage]
        costs = [a.cost for a in self.attempts if a.verdict is not None or a.usage]
        self.emit(
            events.Finished, send, outcome=step.outcome, reason=step.reason,
            ok=step.outcome not in {"failed", "degraded"},
            repairs=len({(a.model, a.nth) for a in self.attempts if a.purpose == "repair"}),
            regenerations=len({(a.model, a.nth) for a in self.attempts if a.purpose == "regenerate"}),
            retries=sum(1 for a in self.attempts if a.retry),
            seconds=self.elapsed(), tokens=sum(known) if known else None,
            cost=sum(c for c in costs if c is not None) if costs and None not in costs else None,
            estimated=any(a.estimated for a in self.attempts),
            raw="" if step.outcome in _HELD else self._raw(),
        )  # fmt: skip

    def _raw(self) -> str:
        """The last reply as the model wrote it, redacted, and cut to the length in the policy."""
        most = self._policy.raw
        last = next((a.verdict for a in reversed(self.attempts) if a.verdict is not None), None)
        if last is None or not most:
            return ""
        from trueup.store.redaction import Redaction  # needed only if the ask failed

        given = self._policy.redaction
        rules = given if isinstance(given, Redaction) else Redaction()
        said = {"text": as_text(last.reply), "data": last.data, "calls": [call.args for call in last.reply.calls]}
        text: str = rules.clean(said)["text"]
        return text if len(text) <= most else cut(text, most - 1) + "…"

    def emit(self, kind: type[events.Event], send: plan.Send, /, **facts: Any) -> None:
        """Pass one event to the subscriber; an exception from it ends the ask."""
        if self._on_event is None:
            return
        self._on_event(
            kind(
                contract=self._contract, at=self._clock.date(), ask=self._id, attempt=send.attempt, limit=send.limit,
                purpose=send.purpose, retry=send.retry, model=send.model, mode=send.mode, started=self._started, **facts,
            )  # type: ignore[call-arg]
        )  # fmt: skip

    def verdict(self, outcome: plan.Outcome) -> Verdict:
        """The verdict of the answer: the last one if it is ok, otherwise the best one. A transport failure becomes a verdict."""
        judged = [a.verdict for a in self.attempts if a.verdict is not None]
        if not judged:
            return self._no_reply()
        if outcome in _HELD:
            return judged[-1]
        return min(reversed(judged), key=rank)

    def _no_reply(self) -> Verdict:
        failure = next((a.failure for a in reversed(self.attempts) if a.failure is not None), None)
        if failure is None:
            return Verdict(Reply(finish="error"), None, self.unplaced)
        reading = failed_reading(ProviderFailure(failure.reason, failure.code, failure.status))
        return Verdict(reading.reply, None, Findings(reading.findings))

    def stopped(self, reason: plan.Reason, past: plan.Past) -> Finding | None:
        """The finding on why the ask ended without a valid reply, unless the faults of the reply explain it."""
        policy = self._policy
        if reason in plan.BUDGETS:
            spent = _spent(reason, past)
            limit = getattr(policy, reason)
            message = f"The budget has no room for another call: {spent:g} of {limit:g} {UNITS[reason]} are spent"
            data = {"budget": reason, "limit": limit, "spent": spent}
            if self._needs is not None and reason in {"tokens", "money"}:
                message += f", and the next one needs {self._needs:g}"
                data["needs"] = self._needs
            return finding("A001", "$", message, None, data, f"Raise {reason} in the policy, or ask for less.")
        if reason in _STOPPED:
            code, message, hint = _STOPPED[reason]
            most = getattr(policy, reason, 0)
            return finding(
                code, "$", message.replace("{most}", str(most)), None, {"reason": reason, "limit": most}, hint
            )
        return None


def _may_cost(failure: CallFailure, reply: Reply) -> bool:
    """Whether the provider may charge for a failed call: it received the request, and did not answer with only an error."""
    if _says(reply) or reply.usage:
        return True
    return failure.status is None and not failure.unsent


def _is_counted(reply: Reply) -> bool:
    """Whether the provider counted a reply. A server that does not count may report 0, which is never right for a request or a text."""
    usage = reply.usage
    return bool(usage.get("input_tokens") and "output_tokens" in usage and (usage["output_tokens"] or not _says(reply)))


def _says(reply: Reply) -> bool:
    return bool(reply.text or reply.calls or reply.reasoning)


def _spent(budget: str, past: plan.Past) -> float:
    spent = {"attempts": past.counted, "deadline": round(past.at, 3), "tokens": past.tokens, "money": past.cost}
    return spent[budget]
