"""The books of one ask: every attempt, what it cost, what is told to the subscribers, and why it ended.

Steps, verdicts and failures enter; attempts, events and the final finding leave. Nothing is decided here.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from trueup.ask import plan
from trueup.ask.answer import Attempt
from trueup.ask.clients.request import Failure
from trueup.ask.clock import Clock
from trueup.ask.faults import rank
from trueup.ask.policy import Policy
from trueup.ask.words.prompts import as_text
from trueup.ask.words.quoting import cut
from trueup.read.reading import Failure as Said
from trueup.read.reading import failed as failed_reading
from trueup.verdict import events
from trueup.verdict.facts import Finding, Findings, finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

_STOPPED = {
    "same-fault": ("A003", "The model repeated the same fault after being told of it", "Ask another model, or in another way."),
    "repairs": ("A004", "No valid reply came in {most} repairs", "Allow more repairs, or ask another model."),
    "regenerations": ("A004", "No fitting reply came in {most} regenerations", "Give the state a fallback."),
    "retries": ("A004", "No reply came in {most} retries", "Try again later, or ask another model."),
    "cancelled": ("A005", "The asking was cancelled", ""),
}  # fmt: skip


_HELD = frozenset({"accepted", "repaired", "regenerated"})
_UNITS = {"attempts": "calls", "deadline": "seconds", "tokens": "tokens", "money": "units of money"}


class Books:
    """What happened in one ask."""

    def __init__(
        self, policy: Policy, clock: Clock, on_event: Callable[[events.Event], object] | None, contract: str
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._on_event = on_event
        self._contract = contract
        self._id = uuid4().hex[:12] if on_event else ""
        self._start = self._called_at = 0.0
        self._started = 0.0
        self._last: plan.Send | None = None
        self._aborted: tuple[bool, int | None] = (False, None)
        self.attempts: list[Attempt] = []
        self.unplaced = Findings(())

    def open(self, at: float | None = None, unplaced: Sequence[Finding] = ()) -> None:
        """Begin; `unplaced` says why nothing can be asked in this context."""
        self.unplaced = Findings(unplaced)
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

    def sent(self, send: plan.Send, at: float | None = None) -> None:
        self._called_at = self._clock.now() if at is None else at
        self.emit(events.Sent, send, temperature=send.temperature, reduced=send.reduced)

    def replied(
        self, send: plan.Send, verdict: Verdict, fault: plan.Fault | None, messages: list[Any]
    ) -> tuple[int, int, float | None]:
        """Book a reply; the tokens, those of the input, and the money that the budgets count for it leave."""
        seconds = self._clock.now() - self._called_at
        usage = verdict.reply.usage
        model = send.model or verdict.reply.model
        cost = self._policy.cost(model, usage)
        attempt = _attempt(send, seconds, self._called_at - self._start, verdict, None, usage, cost)
        if self._aborted[0]:
            attempt = replace(attempt, aborted=True, saved=self._aborted[1])
            self._aborted = (False, None)
        self.attempts.append(attempt)
        total = usage.get("total_tokens")
        if self._on_event is not None:
            self.emit(events.Replied, send, seconds=seconds, tokens=total, cost=cost)
            self._checked(send, verdict, fault)
        if self._policy.tokens is None and self._policy.money is None:
            return 0, 0, None
        if total is None:
            usage = guessed(messages, verdict.reply)
        counted = cost if cost is not None else self._policy.cost(model, usage)
        return usage["total_tokens"], usage.get("input_tokens", 0), counted

    def abort(self, saved: int | None) -> None:
        """The next reply that is booked was given up early."""
        self._aborted = (True, saved)

    def failed(self, send: plan.Send, failure: Failure, verdict: Verdict | None) -> None:
        seconds = self._clock.now() - self._called_at
        usage = {} if verdict is None else verdict.reply.usage
        self.attempts.append(_attempt(send, seconds, self._called_at - self._start, None, failure, usage, None))
        self.emit(events.Failed, send, reason=failure.reason, kind=failure.kind, status=failure.status)

    def _checked(self, send: plan.Send, verdict: Verdict, fault: plan.Fault | None) -> None:
        codes = tuple(dict.fromkeys(found.code for found in verdict.errors))
        self.emit(events.Judged, send, ok=fault is None, fault="" if fault is None else fault.kind, codes=codes)

    def planned(self, before: plan.Past, after: plan.Past, step: plan.Step, event: plan.Event) -> None:
        """Tell what the plan decided."""
        if isinstance(step, plan.Send):
            last, self._last = self._last, step
            if self._on_event is None:
                return
            self._stepped(before, after, step, last, event)
            why = event.fault.kind if isinstance(event, plan.Judged) and event.fault else ""
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

    def _stepped(
        self, before: plan.Past, after: plan.Past, step: plan.Send, last: plan.Send | None, event: plan.Event
    ) -> None:
        if last is None:
            return
        reason = event.kind if isinstance(event, plan.Failed) else "fault"
        if after.model != before.model:
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
        known = [a.usage["total_tokens"] for a in self.attempts if "total_tokens" in a.usage]
        costs = [a.cost for a in self.attempts if a.verdict is not None]
        self.emit(
            events.Finished, send, outcome=step.outcome, reason=step.reason,
            ok=step.outcome not in {"failed", "degraded"},
            repairs=len({(a.model, a.nth) for a in self.attempts if a.purpose == "repair"}),
            regenerations=len({(a.model, a.nth) for a in self.attempts if a.purpose == "regenerate"}),
            retries=sum(1 for a in self.attempts if a.retry),
            seconds=self.elapsed(), tokens=sum(known) if known else None,
            cost=sum(c for c in costs if c is not None) if costs and None not in costs else None,
            raw="" if step.outcome in _HELD else self._raw(),
        )  # fmt: skip

    def _raw(self) -> str:
        """The last reply as the model wrote it, without what must not be kept, and no longer than the policy says."""
        most = self._policy.raw
        last = next((a.verdict for a in reversed(self.attempts) if a.verdict is not None), None)
        if last is None or not most:
            return ""
        from trueup.store.redaction import Redaction  # of use only where asking failed

        given = self._policy.redaction
        rules = given if isinstance(given, Redaction) else Redaction()
        said = {"text": as_text(last.reply), "data": last.data, "calls": [call.args for call in last.reply.calls]}
        text: str = rules.clean(said)["text"]
        return text if len(text) <= most else cut(text, most - 1) + "…"

    def emit(self, kind: type[events.Event], send: plan.Send, /, **facts: Any) -> None:
        """Hand one event to the subscriber; what it raises ends the ask."""
        if self._on_event is None:
            return
        self._on_event(
            kind(
                contract=self._contract, at=self._clock.date(), ask=self._id, attempt=send.attempt, limit=send.limit,
                purpose=send.purpose, retry=send.retry, model=send.model, mode=send.mode, started=self._started, **facts,
            )  # type: ignore[call-arg]
        )  # fmt: skip

    def verdict(self, outcome: plan.Outcome) -> Verdict:
        """The verdict to give: the last one when it is ok, else the best; a failure of the transport as one."""
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
        reading = failed_reading(Said(failure.reason, failure.code, failure.status))
        return Verdict(reading.reply, None, Findings(reading.findings))

    def stopped(self, reason: plan.Reason, past: plan.Past) -> Finding | None:
        """Why the asking ended before a valid reply came, where that is more than the reply's own fault."""
        policy = self._policy
        if reason in plan.BUDGETS:
            spent: float = {
                "attempts": past.counted, "deadline": round(past.at, 3), "tokens": past.tokens, "money": past.cost,
            }[reason]  # fmt: skip
            limit = getattr(policy, reason)
            message = f"The budget has no room for another call: {spent:g} of {limit:g} {_UNITS[reason]} are spent"
            data = {"budget": reason, "limit": limit, "spent": spent}
            return finding("A001", "$", message, None, data, f"Raise {reason} in the policy, or ask for less.")
        if reason in _STOPPED:
            code, message, hint = _STOPPED[reason]
            most = getattr(policy, reason, 0)
            return finding(
                code, "$", message.replace("{most}", str(most)), None, {"reason": reason, "limit": most}, hint
            )
        return None


def _attempt(
    send: plan.Send, seconds: float, at: float, verdict: Verdict | None, failure: Failure | None,
    usage: dict[str, int], cost: float | None,
) -> Attempt:  # fmt: skip
    return Attempt(
        send.attempt,
        send.purpose,
        send.nth,
        send.retry,
        send.model,
        send.mode,
        verdict,
        failure,
        usage,
        cost,
        at,
        seconds,
    )


def guessed(messages: list[Any], reply: Reply) -> dict[str, int]:
    """Tokens where the provider does not count them: one for three characters, which is more than most have."""
    taken = sum(len(str(m.get("content") or "")) if isinstance(m, dict) else len(str(m)) for m in messages) // 3 + 8
    given = (len(reply.text) + sum(len(call.raw_args) + len(call.name) for call in reply.calls)) // 3 + 1
    return {"input_tokens": taken, "output_tokens": given, "total_tokens": taken + given}
