"""The plan: decides what to do next, from the policy, the past of the ask, and the last event. Pure.

`step(policy, past, event)` returns the past with the event added, and `Send`, `Wait` or `Finish`. Events contain the time and random
numbers; this module does not send, wait, read a clock or look at a reply. It makes every decision of the loop.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from trueup.ask.policy import Mode, Policy

Purpose = Literal["ask", "repair", "regenerate"]
Outcome = Literal["accepted", "repaired", "regenerated", "degraded", "fallback", "failed"]
# Why the ask stopped: a budget, the end of the retries, or a failure that cannot be repaired.
Reason = Literal[
    "", "attempts", "deadline", "tokens", "money",
    "repairs", "regenerations", "retries", "same-fault", "refusal", "rejected", "unreadable", "context", "bug", "cancelled",
]  # fmt: skip
BUDGETS: frozenset[Reason] = frozenset({"attempts", "deadline", "tokens", "money"})
FaultKind = Literal["format", "prose", "state", "nothing", "cut", "refusal", "unreadable", "context", "bug"]
FailureKind = Literal["rate", "transient", "mode", "feature", "refusal", "fatal"]
_LONGEST = 86_400.0  # the most seconds that a provider may ask to wait


class PlanRung(NamedTuple):
    """One model of the ladder, the modes in which it may be asked, best first, and the features that it is known to reject."""

    model: str
    modes: tuple[Mode, ...]
    without: frozenset[str] = frozenset()
    client: int = 0  # which of the clients is asked
    share: float | None = None  # its share of the deadline, relative to the other rungs'; None: all of it


class ReplyFault(msgspec.Struct, frozen=True):
    """The fault of a reply, in the form that the plan needs; `signature` is equal for equal faults."""

    kind: FaultKind
    signature: str = ""
    length: bool = False  # the provider cut it at the token limit
    fields: bool = False  # it can be repaired field by field
    marks: frozenset[str] = frozenset()  # code and place of each fault


# Events. `at` is in seconds since the start; `chance` is a random number from 0 to below 1.
# `resting` has, for each rung, the seconds until its circuit breaker lets a call through; empty if all do.
# `again` is whether a failed call may be repeated: other asks may have used up the shared retries.
class Began(msgspec.Struct, frozen=True):
    ladder: tuple[PlanRung, ...]
    at: float = 0.0
    fallback: bool = False  # there is a fallback reply
    unplaced: bool = False  # the context does not name a known state, so no reply can be accepted
    resting: tuple[float, ...] = ()


class ReplyJudged(msgspec.Struct, frozen=True):
    at: float
    fault: ReplyFault | None = None
    chance: float = 0.0
    tokens: int = 0
    cost: float | None = None
    usable: bool = False  # it may be given as a degraded answer
    resting: tuple[float, ...] = ()
    again: bool = True


class CallFailed(msgspec.Struct, frozen=True):
    at: float
    kind: FailureKind
    chance: float = 0.0
    retry_after: float | None = None
    feature: str = ""  # the rejected feature
    resting: tuple[float, ...] = ()
    tokens: int = 0
    cost: float | None = None
    again: bool = True


class Unaffordable(msgspec.Struct, frozen=True):
    """The planned request does not fit what is left of a budget, and was not sent."""

    at: float
    budget: Reason
    resting: tuple[float, ...] = ()


class Waited(msgspec.Struct, frozen=True):
    at: float


class AskCancelled(msgspec.Struct, frozen=True):
    at: float


Event = Began | ReplyJudged | CallFailed | Unaffordable | Waited | AskCancelled


class Send(msgspec.Struct, frozen=True):
    """Ask the model: call `attempt` of `limit`, `nth` of `most` for its purpose, retry number `retry` of this request."""

    purpose: Purpose
    model: str
    mode: Mode
    attempt: int
    limit: int
    retry: int = 0
    nth: int = 0
    most: int = 0
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    reduced: bool = False  # with the policy's `last_tools` only
    fields: bool = False
    afresh: bool = False  # a correction did not help: ask without showing the reply again
    without: frozenset[str] = frozenset()  # features that the provider rejected
    client: int = 0  # which of the clients is asked

    @property
    def forced(self) -> bool:
        """Whether a required call may be forced, because the provider has not rejected that."""
        return "tool_choice" not in self.without


class Wait(msgspec.Struct, frozen=True):
    """Wait for some seconds, then report `Waited`."""

    seconds: float
    reason: FailureKind | FaultKind
    retry: int
    limit: int | None  # None: until the deadline, or until the caller cancels


class Finish(msgspec.Struct, frozen=True):
    """The ask is over."""

    outcome: Outcome
    reason: Reason = ""


Step = Send | Wait | Finish


class Past(msgspec.Struct, frozen=True):
    """Everything that the plan remembers. The counters after `rung` are for the current rung of the ladder."""

    ladder: tuple[PlanRung, ...] = ()
    at: float = 0.0
    fallback: bool = False
    usable: bool = False
    counted: int = 0  # calls, without rate-limited ones (429)
    tokens: int = 0
    cost: float = 0.0
    tried: frozenset[int] = frozenset()  # rungs that were asked before this one
    last: bool = False  # this rung was resting, and no other was left: it is the last to be asked
    later: tuple[tuple[float, int], ...] = ()  # busy rungs: when each may be asked again, and its index
    model: int = 0  # the current rung of the ladder
    rung: int = 0  # and its mode
    until: float | None = None  # when the rung's share of the time is over; None: at the deadline
    repairs: int = 0
    regenerations: int = 0
    retries: int = 0  # of the current request
    rated: int = 0  # 429s in a row
    waited: float = 0.0  # seconds that the provider asked to wait
    same: int = 0
    signature: str = ""
    marks: frozenset[str] = frozenset()
    purpose: Purpose = "ask"
    fields: bool = False
    afresh: bool = False
    without: frozenset[str] = frozenset()  # features that the provider rejected
    reduced: bool = False
    max_tokens: int | None = None


def step(policy: Policy, past: Past, event: Event) -> tuple[Past, Step]:
    """The next step after an event, and the past that includes it.

    >>> past, first = step(Policy(), Past(), Began((PlanRung("m", ("text",)),)))
    >>> first.purpose, first.attempt
    ('ask', 1)
    >>> step(Policy(), past, ReplyJudged(at=1.0))[1]
    Finish(outcome='accepted', reason='')
    """
    if isinstance(event, Began):
        fresh = Past(ladder=event.ladder, at=event.at, fallback=event.fallback)
        if event.unplaced:
            return _exhausted(policy, fresh, "context")
        first = _choose(fresh, event.resting, None) if event.resting else None
        rung, last = first or (0, False)
        return _send(policy, _on_rung(policy, fresh, rung, last=last))
    past = replace(past, at=event.at)
    if isinstance(event, ReplyJudged):
        return _judged(policy, past, event)
    if isinstance(event, CallFailed):
        past = replace(past, tokens=past.tokens + event.tokens, cost=past.cost + (event.cost or 0.0))
        return _failed(policy, past, event)
    if isinstance(event, Unaffordable):
        return _next_model(policy, replace(past, counted=past.counted - 1), event.budget, event.resting)
    if isinstance(event, Waited):
        return _send(policy, past)
    return past, Finish("failed", "cancelled")


def _judged(policy: Policy, past: Past, event: ReplyJudged) -> tuple[Past, Step]:
    past = replace(
        past,
        tokens=past.tokens + event.tokens,
        cost=past.cost + (event.cost or 0.0),
        usable=past.usable or event.usable,
        rated=0,
    )
    fault = event.fault
    if fault is None:
        outcome: Outcome = {"ask": "accepted", "repair": "repaired", "regenerate": "regenerated"}[past.purpose]  # type: ignore[assignment]
        return past, Finish(outcome)
    if fault.length and past.max_tokens is not None and policy.max_tokens is not None:
        past = replace(past, max_tokens=min(2 * past.max_tokens, policy.most_tokens or 4 * policy.max_tokens))
    if fault.kind == "bug":  # it is not known whether the reply is good; another reply or a fallback does not help
        return past, Finish("failed", "bug")
    if fault.kind in {"nothing", "cut"}:
        return _again(policy, past, fault.kind, event)
    if fault.kind == "unreadable" or fault.kind == "context":  # another reply would get the same verdict
        return _exhausted(policy, past, fault.kind)
    if fault.kind == "refusal":
        return _next_model(policy, past, "refusal", event.resting)
    if fault.kind == "state":
        return _regenerate(policy, past, event)
    return _repair(policy, past, fault, event)


def _repair(policy: Policy, past: Past, fault: ReplyFault, event: ReplyJudged) -> tuple[Past, Step]:
    """After a faulty reply: ask for a correction, in the next lower mode if the reply was prose instead of a value."""
    same = past.same + 1 if past.purpose == "repair" and fault.signature == past.signature else 0
    afresh = past.purpose == "repair" and (fault.length or not fault.marks.isdisjoint(past.marks))
    past = replace(past, same=same, signature=fault.signature, marks=fault.marks, afresh=afresh)
    if past.repairs >= policy.repairs:
        return _next_model(policy, past, "repairs", event.resting)
    if same >= policy.same_fault:
        return _next_model(policy, past, "same-fault", event.resting)
    if fault.kind == "prose" and past.rung + 1 < len(_modes(past)):
        past = replace(past, rung=past.rung + 1)
    fields = fault.fields and policy.repair == "fields" and not afresh
    past = replace(past, purpose="repair", repairs=past.repairs + 1, retries=0, reduced=False, fields=fields)
    return _send(policy, past)


def _regenerate(policy: Policy, past: Past, event: ReplyJudged) -> tuple[Past, Step]:
    if past.regenerations >= policy.regenerations:
        return _next_model(policy, past, "regenerations", event.resting)
    done = past.regenerations + 1
    past = replace(past, purpose="regenerate", regenerations=done, retries=0, reduced=False, fields=False, afresh=False)
    return _send(policy, past)


def _failed(policy: Policy, past: Past, event: CallFailed) -> tuple[Past, Step]:
    if event.kind == "rate":
        if policy.waits is None:  # wait until the deadline, or without a deadline, until the caller cancels
            past = replace(past, counted=past.counted - 1)
        elif past.rated >= policy.waits:
            return _next_model(policy, past, "retries", event.resting)
        past = replace(past, rated=past.rated + 1)
        return _wait(policy, past, event.kind, past.rated, policy.waits, event)
    if event.kind == "transient":
        if policy.deadline is not None and past.at >= policy.deadline:  # the deadline ended the call, or has passed
            return _exhausted(policy, past, "deadline")
        return _again(policy, past, event.kind, event)
    if event.kind == "mode" and past.rung + 1 < len(_modes(past)):
        return _send(policy, replace(past, rung=past.rung + 1))
    if event.kind == "feature" and event.feature and event.feature not in past.without:
        return _send(policy, replace(past, without=past.without | {event.feature}))
    # A feature that is rejected although it was left out is part of the mode.
    if event.kind == "feature" and past.rung + 1 < len(_modes(past)):
        return _send(policy, replace(past, rung=past.rung + 1))
    return _next_model(policy, past, "refusal" if event.kind == "refusal" else "rejected", event.resting)


def _again(
    policy: Policy, past: Past, why: FailureKind | FaultKind, event: CallFailed | ReplyJudged
) -> tuple[Past, Step]:
    """The same request again, after a wait; after empty replies, the last retry has fewer tools."""
    if past.retries >= policy.retries:
        return _next_model(policy, past, "retries", event.resting)
    retry = past.retries + 1
    reduced = why == "nothing" and retry == policy.retries and policy.last_tools is not None
    past = replace(past, retries=retry, reduced=past.reduced or reduced)
    return _wait(policy, past, why, retry, policy.retries, event)


def _wait(
    policy: Policy,
    past: Past,
    why: FailureKind | FaultKind,
    count: int,
    limit: int | None,
    event: CallFailed | ReplyJudged,
) -> tuple[Past, Step]:
    """Wait for the time that the provider asked for, otherwise for a growing backoff; with jitter, and never past the deadline.

    Another rung is asked instead if the deadline does not allow the wait, if the wait is too long, or if a breaker opened. An eager
    policy never waits if there is another rung.
    """
    spent = _spent(policy, past)
    if spent:
        return _exhausted(policy, past, spent)
    after = event.retry_after if isinstance(event, CallFailed) else None
    if after is not None and after > 0:  # 0, or a time in the past, means nothing
        seconds = min(after, _LONGEST) + event.chance * min(1.0, policy.backoff)
    else:
        longest = min(policy.backoff_cap, policy.backoff * 2.0 ** min(count - 1, 60))
        seconds = longest * (0.5 + event.chance / 2)
    over = policy.deadline if past.until is None else past.until
    if over is not None and past.at + seconds >= over:
        return _next_model(policy, past, "deadline", event.resting)
    busy = why == "rate" or after is not None
    if busy:
        past = replace(past, waited=past.waited + seconds)
    impatient = past.waited > policy.patience or (bool(event.resting) and event.resting[past.model] > 0)
    if impatient or policy.eager:
        following = _choose(past, event.resting, past.model)
        if following is not None and not following[1]:
            later = (*past.later, (past.at + seconds, past.model)) if busy and not policy.eager else past.later
            return _next_model(policy, replace(past, later=later), "retries", event.resting)
    if not event.again or (impatient and policy.eager):
        return _exhausted(policy, past, "retries")
    return past, Wait(seconds, why, count, limit)


def _next_model(policy: Policy, past: Past, reason: Reason, resting: tuple[float, ...]) -> tuple[Past, Step]:
    """Leave this rung: ask the next one from the beginning, or one that was busy before, or end the ask."""
    chosen = _choose(past, resting, past.model)
    fresh = Past(
        ladder=past.ladder, at=past.at, fallback=past.fallback, usable=past.usable, counted=past.counted,
        tokens=past.tokens, cost=past.cost, tried=past.tried | {past.model}, later=past.later,
    )  # fmt: skip
    if chosen is not None:
        rung, last = chosen
        return _send(policy, _on_rung(policy, fresh, rung, last=last))
    free = [one for one in past.later if policy.deadline is None or one[0] < policy.deadline]
    if not free or _spent(policy, past):
        return _exhausted(policy, past, reason)
    soonest, rung = min(free)
    fresh = replace(fresh, later=tuple(one for one in past.later if one[1] != rung))
    return _on_rung(policy, fresh, rung, last=True), Wait(max(0.0, soonest - past.at), "rate", 1, None)


def _choose(past: Past, resting: tuple[float, ...], after: int | None) -> tuple[int, bool] | None:
    """The rung to ask next, and whether it is the last; None if there is no other rung.

    A resting rung is skipped if another one is left. Otherwise, the rung that may be asked soonest is tried once.
    """
    if past.last:
        return None
    rests = resting or (0.0,) * len(past.ladder)
    below = -1 if after is None else after
    ready = next((i for i in range(below + 1, len(past.ladder)) if rests[i] <= 0), None)
    if ready is not None:
        return ready, False
    left = [i for i in range(len(past.ladder)) if i != after and i not in past.tried]
    return (min(left, key=lambda i: rests[i]), True) if left else None


def _on_rung(policy: Policy, past: Past, rung: int, *, last: bool) -> Past:
    """The past when a rung is asked for the first time."""
    until = _until(policy, past, rung)
    return replace(
        past, model=rung, last=last, until=until, without=past.ladder[rung].without, max_tokens=policy.max_tokens
    )


def _until(policy: Policy, past: Past, rung: int) -> float | None:
    """When the time of a rung is over: its share of the remaining time, relative to the shares of the rungs after it."""
    share = past.ladder[rung].share
    below = sum(each.share or 0.0 for each in past.ladder[rung + 1 :])
    if share is None or policy.deadline is None or not below:
        return None
    return past.at + (policy.deadline - past.at) * share / (share + below)


def _exhausted(policy: Policy, past: Past, reason: Reason) -> tuple[Past, Step]:
    if past.fallback:
        return past, Finish("fallback", reason)
    if policy.otherwise != "failed" and past.usable:
        return past, Finish("degraded", reason)
    return past, Finish("failed", reason)


def _send(policy: Policy, past: Past) -> tuple[Past, Step]:
    """The next request, if the budgets allow it."""
    spent = _spent(policy, past)
    if spent:
        return _exhausted(policy, past, spent)
    if past.until is not None and past.at >= past.until:
        return _next_model(policy, past, "deadline", ())
    past = replace(past, counted=past.counted + 1)
    over = policy.deadline if past.until is None else past.until
    timeout, left = policy.timeout, None if over is None else over - past.at
    if timeout is None or (left is not None and left < timeout):
        timeout = left
    temperature, nth, most = _counted(policy, past)
    return past, Send(
        past.purpose, _model(past), _mode(past), past.counted, policy.attempts,
        retry=past.retries + past.rated, nth=nth, most=most,
        temperature=None if "temperature" in past.without else temperature,
        max_tokens=past.max_tokens, timeout=timeout, reduced=past.reduced, fields=past.fields,
        afresh=past.afresh, without=past.without, client=past.ladder[past.model].client,
    )  # fmt: skip


def _counted(policy: Policy, past: Past) -> tuple[float | None, int, int]:
    """The temperature of a request, its number among those with the same purpose, and their limit."""
    if past.purpose == "ask":
        return policy.temperature, 1, 1
    if past.purpose == "repair":
        return policy.repair_temperature, past.repairs, policy.repairs
    return policy.regenerate_temperature, past.regenerations, policy.regenerations


def _spent(policy: Policy, past: Past) -> Reason:
    """The budget that does not allow another call, if any."""
    if policy.deadline is not None and past.at >= policy.deadline:
        return "deadline"
    if past.counted >= policy.attempts:
        return "attempts"
    if policy.tokens is not None and past.tokens >= policy.tokens:
        return "tokens"
    if policy.money is not None and past.cost >= policy.money:
        return "money"
    return ""


def _model(past: Past) -> str:
    return past.ladder[past.model].model


def _modes(past: Past) -> tuple[Mode, ...]:
    return past.ladder[past.model].modes


def _mode(past: Past) -> Mode:
    return _modes(past)[past.rung]
