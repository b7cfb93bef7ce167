"""The plan: what to do next, decided from the policy, what has happened so far, and the last event. Pure.

`step(policy, past, event)` gives the past with the event in it, and one of `Send`, `Wait` and `Finish`. Time and chance come
in with the events; nothing here sends, sleeps, reads a clock or looks at a reply. Every decision of the loop is made here.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from trueup.ask.policy import Mode, Policy

Purpose = Literal["ask", "repair", "regenerate"]
Outcome = Literal["accepted", "repaired", "regenerated", "degraded", "fallback", "failed"]
# Why it stopped: a budget, the end of what may be tried, or what cannot be helped.
Reason = Literal[
    "", "attempts", "deadline", "tokens", "money",
    "repairs", "regenerations", "retries", "same-fault", "refusal", "rejected", "unreadable", "context", "bug", "cancelled",
]  # fmt: skip
BUDGETS: frozenset[Reason] = frozenset({"attempts", "deadline", "tokens", "money"})
FaultKind = Literal["format", "prose", "state", "nothing", "cut", "refusal", "unreadable", "context", "bug"]
FailureKind = Literal["rate", "transient", "mode", "temperature", "choice", "fatal"]
_LONGEST = 86_400.0  # seconds that a provider may ask to wait; a clock cannot count without end


class Rung(NamedTuple):
    """One model of the ladder, and the modes in which it may be asked, best first."""

    model: str
    modes: tuple[Mode, ...]


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with a reply, as far as the plan must know; `signature` is equal for equal faults."""

    kind: FaultKind
    signature: str = ""
    length: bool = False  # the provider cut it at the token limit
    fields: bool = False  # it can be repaired field by field
    marks: frozenset[str] = frozenset()  # code and place of each thing that is wrong


# What happens. `at` is in seconds since the start, `chance` at least 0 and below 1.
class Began(msgspec.Struct, frozen=True):
    ladder: tuple[Rung, ...]
    at: float = 0.0
    fallback: bool = False  # there is a reply to fall back on
    unplaced: bool = False  # the context names no known state, so no reply could be accepted


class Judged(msgspec.Struct, frozen=True):
    at: float
    fault: Fault | None = None
    chance: float = 0.0
    tokens: int = 0
    input_tokens: int = 0
    cost: float | None = None
    usable: bool = False  # better than nothing: it may be given as a degraded answer


class Failed(msgspec.Struct, frozen=True):
    at: float
    kind: FailureKind
    chance: float = 0.0
    retry_after: float | None = None


class Waited(msgspec.Struct, frozen=True):
    at: float


class Cancelled(msgspec.Struct, frozen=True):
    at: float


Event = Began | Judged | Failed | Waited | Cancelled


class Send(msgspec.Struct, frozen=True):
    """Ask the model; `attempt` of `limit` calls, `nth` of `most` of its purpose, the `retry`th time of this request."""

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
    afresh: bool = False  # a correction left as wrong what it was to correct: ask without showing the reply again
    forced: bool = True  # a call that must be made may be forced; the provider has not refused that


class Wait(msgspec.Struct, frozen=True):
    """Do nothing for some seconds, then say `Waited`."""

    seconds: float
    reason: FailureKind | FaultKind
    retry: int
    limit: int | None  # None: until the deadline, or until the caller cancels


class Finish(msgspec.Struct, frozen=True):
    """It is over; `learned` is the mode in which a model worked, when that was not the first tried."""

    outcome: Outcome
    reason: Reason = ""
    learned: tuple[str, Mode] | None = None


Step = Send | Wait | Finish


class Past(msgspec.Struct, frozen=True):
    """All that the plan remembers. The counters after `rung` are of the present model."""

    ladder: tuple[Rung, ...] = ()
    at: float = 0.0
    fallback: bool = False
    usable: bool = False
    counted: int = 0  # calls, those told to wait (429) not counted
    tokens: int = 0
    input_tokens: int = 0
    cost: float = 0.0
    model: int = 0
    rung: int = 0
    stepped: bool = False
    repairs: int = 0
    regenerations: int = 0
    retries: int = 0  # of the present request
    rated: int = 0  # 429s in a row
    same: int = 0
    signature: str = ""
    marks: frozenset[str] = frozenset()
    purpose: Purpose = "ask"
    fields: bool = False
    afresh: bool = False
    unforced: bool = False  # without forcing a call: the provider refused to
    reduced: bool = False
    bare: bool = False  # without a temperature: the provider refused one
    max_tokens: int | None = None


def step(policy: Policy, past: Past, event: Event) -> tuple[Past, Step]:
    """What to do after an event.

    >>> past, first = step(Policy(), Past(), Began((Rung("m", ("text",)),)))
    >>> first.purpose, first.attempt
    ('ask', 1)
    >>> step(Policy(), past, Judged(at=1.0))[1]
    Finish(outcome='accepted', reason='', learned=None)
    """
    if isinstance(event, Began):
        fresh = Past(ladder=event.ladder, at=event.at, fallback=event.fallback, max_tokens=policy.max_tokens)
        return _exhausted(policy, fresh, "context") if event.unplaced else _send(policy, fresh)
    past = replace(past, at=event.at)
    if isinstance(event, Judged):
        return _judged(policy, past, event)
    if isinstance(event, Failed):
        return _failed(policy, past, event)
    if isinstance(event, Waited):
        return _send(policy, past)
    return past, Finish("failed", "cancelled")


def _judged(policy: Policy, past: Past, event: Judged) -> tuple[Past, Step]:
    past = replace(
        past,
        tokens=past.tokens + event.tokens,
        input_tokens=event.input_tokens,
        cost=past.cost + (event.cost or 0.0),
        usable=past.usable or event.usable,
        rated=0,
    )
    fault = event.fault
    if fault is None:
        outcome: Outcome = {"ask": "accepted", "repair": "repaired", "regenerate": "regenerated"}[past.purpose]  # type: ignore[assignment]
        return past, Finish(outcome, "", (_model(past), _mode(past)) if past.stepped else None)
    if fault.length and past.max_tokens is not None and policy.max_tokens is not None:
        past = replace(past, max_tokens=min(2 * past.max_tokens, policy.most_tokens or 4 * policy.max_tokens))
    if fault.kind == "bug":  # nobody knows whether the reply is good; neither another one nor a fallback helps
        return past, Finish("failed", "bug")
    if fault.kind in {"nothing", "cut"}:
        return _again(policy, past, fault.kind, event.chance, None)
    if fault.kind == "unreadable" or fault.kind == "context":  # another reply would be judged alike
        return _exhausted(policy, past, fault.kind)
    if fault.kind == "refusal":
        return _next_model(policy, past, "refusal")
    if fault.kind == "state":
        return _regenerate(policy, past)
    return _repair(policy, past, fault)


def _repair(policy: Policy, past: Past, fault: Fault) -> tuple[Past, Step]:
    """A faulty reply: ask for it again with what is wrong, one mode lower where prose came in place of a value."""
    same = past.same + 1 if past.purpose == "repair" and fault.signature == past.signature else 0
    afresh = past.purpose == "repair" and (fault.length or not fault.marks.isdisjoint(past.marks))
    past = replace(past, same=same, signature=fault.signature, marks=fault.marks, afresh=afresh)
    if past.repairs >= policy.repairs:
        return _next_model(policy, past, "repairs")
    if same >= policy.same_fault:
        return _next_model(policy, past, "same-fault")
    if fault.kind == "prose" and past.rung + 1 < len(_modes(past)):
        past = replace(past, rung=past.rung + 1, stepped=True)
    fields = fault.fields and policy.repair == "fields" and not afresh
    past = replace(past, purpose="repair", repairs=past.repairs + 1, retries=0, reduced=False, fields=fields)
    return _send(policy, past)


def _regenerate(policy: Policy, past: Past) -> tuple[Past, Step]:
    if past.regenerations >= policy.regenerations:
        return _next_model(policy, past, "regenerations")
    done = past.regenerations + 1
    past = replace(past, purpose="regenerate", regenerations=done, retries=0, reduced=False, fields=False, afresh=False)
    return _send(policy, past)


def _failed(policy: Policy, past: Past, event: Failed) -> tuple[Past, Step]:
    if event.kind == "rate":  # waited for as long as there is time: without a deadline, until the caller cancels
        past = replace(past, counted=past.counted - 1, rated=past.rated + 1)
        return _wait(policy, past, event.kind, past.rated, None, event.chance, event.retry_after)
    if event.kind == "transient":
        return _again(policy, past, event.kind, event.chance, event.retry_after)
    if event.kind == "mode" and past.rung + 1 < len(_modes(past)):
        return _send(policy, replace(past, rung=past.rung + 1, stepped=True))
    if event.kind == "temperature" and not past.bare:
        return _send(policy, replace(past, bare=True))
    if event.kind == "choice" and not past.unforced:
        return _send(policy, replace(past, unforced=True))
    return _next_model(policy, past, "rejected")


def _again(
    policy: Policy, past: Past, why: FailureKind | FaultKind, chance: float, after: float | None
) -> tuple[Past, Step]:
    """The same request once more, after a wait; the last time, for a reply that says nothing, with fewer tools."""
    if past.retries >= policy.retries:
        return _next_model(policy, past, "retries")
    retry = past.retries + 1
    reduced = why == "nothing" and retry == policy.retries and policy.last_tools is not None
    past = replace(past, retries=retry, reduced=past.reduced or reduced)
    return _wait(policy, past, why, retry, policy.retries, chance, after)


def _wait(
    policy: Policy,
    past: Past,
    why: FailureKind | FaultKind,
    count: int,
    limit: int | None,
    chance: float,
    after: float | None,
) -> tuple[Past, Step]:
    """Backoff with jitter, never less than the provider asked for, never past the deadline."""
    spent = _spent(policy, past)
    if spent:
        return _exhausted(policy, past, spent)
    steps = min(policy.backoff_cap, policy.backoff * 2.0 ** min(count - 1, 60))
    seconds = steps * (0.5 + chance / 2)
    if after is not None:
        seconds = max(seconds, min(after, _LONGEST) + chance * min(1.0, policy.backoff))
    if policy.deadline is not None and past.at + seconds >= policy.deadline:
        return _exhausted(policy, past, "deadline")
    return past, Wait(seconds, why, count, limit)


def _next_model(policy: Policy, past: Past, reason: Reason) -> tuple[Past, Step]:
    """This model cannot do it: the next one from the start, or the end."""
    if past.model + 1 >= len(past.ladder):
        return _exhausted(policy, past, reason)
    fresh = Past(
        ladder=past.ladder, at=past.at, fallback=past.fallback, usable=past.usable, counted=past.counted,
        tokens=past.tokens, input_tokens=past.input_tokens, cost=past.cost, model=past.model + 1,
        max_tokens=policy.max_tokens,
    )  # fmt: skip
    return _send(policy, fresh)


def _exhausted(policy: Policy, past: Past, reason: Reason) -> tuple[Past, Step]:
    if past.fallback:
        return past, Finish("fallback", reason)
    if policy.otherwise != "failed" and past.usable:
        return past, Finish("degraded", reason)
    return past, Finish("failed", reason)


def _send(policy: Policy, past: Past) -> tuple[Past, Step]:
    """The request that the past calls for, if the budgets have room for it."""
    spent = _spent(policy, past)
    if spent:
        return _exhausted(policy, past, spent)
    past = replace(past, counted=past.counted + 1)
    left = None if policy.deadline is None else policy.deadline - past.at
    times = [limit for limit in (policy.timeout, left) if limit is not None]
    temperature, nth, most = {
        "ask": (policy.temperature, 1, 1),
        "repair": (policy.repair_temperature, past.repairs, policy.repairs),
        "regenerate": (policy.regenerate_temperature, past.regenerations, policy.regenerations),
    }[past.purpose]
    return past, Send(
        past.purpose, _model(past), _mode(past), past.counted, policy.attempts,
        retry=past.retries + past.rated, nth=nth, most=most, temperature=None if past.bare else temperature,
        max_tokens=past.max_tokens, timeout=min(times) if times else None, reduced=past.reduced, fields=past.fields,
        afresh=past.afresh, forced=not past.unforced,
    )  # fmt: skip


def _spent(policy: Policy, past: Past) -> Reason:
    """The budget that has no room for another call, if there is one."""
    if policy.deadline is not None and past.at >= policy.deadline:
        return "deadline"
    if past.counted >= policy.attempts:
        return "attempts"
    # A call costs at least its input again; what is known not to fit is not begun.
    if policy.tokens is not None and past.tokens + past.input_tokens >= policy.tokens:
        return "tokens"
    if policy.money is not None and past.cost + _least_cost(policy, past) >= policy.money:
        return "money"
    return ""


def _least_cost(policy: Policy, past: Past) -> float:
    price = policy.price(_model(past))
    return past.input_tokens * price.input / 1e6 if price else 0.0


def _model(past: Past) -> str:
    return past.ladder[past.model].model


def _modes(past: Past) -> tuple[Mode, ...]:
    return past.ladder[past.model].modes


def _mode(past: Past) -> Mode:
    return _modes(past)[past.rung]
