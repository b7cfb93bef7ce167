"""Events: what happened, as frozen values; logs, metrics, traces and progress lines subscribe to them.

An event is plain data: it holds no reply beyond a short cut of its text, does nothing by itself and names nobody who
listens. A subscriber is a callable that takes one event; those of the house live in `watch/`.
"""

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.verdict import Verdict

CUT = 200  # characters of a reply that an event carries


class Violation(NamedTuple):
    """One finding of a check, without its data."""

    code: str
    """The code of the finding."""
    path: str
    """Where in the value it is."""
    message: str
    """What is wrong, in one sentence."""


def spelled(name: str) -> str:
    """The name of an event as logs and metrics spell it.

    >>> spelled("SteppedDown")
    'stepped_down'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=spelled):
    """What all events share: the contract's name, and when it happened, in seconds since 1970."""

    contract: str = ""
    """The name of the contract; empty if it has none."""
    at: float = 0.0
    """When it happened, in seconds since 1970."""

    @property
    def event(self) -> str:
        """The name of what happened, such as `checked`."""
        return spelled(type(self).__name__)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-able data, its name under `event`.

        >>> Checked(state="BOOKED", text="Hasta mañana", ok=True, seconds=0.001).to_dict()["event"]
        'checked'
        """
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class Checked(Event, frozen=True, kw_only=True):
    """One check: the state it was made in, the start of the reply, the result, the violations, the time it took."""

    state: str = ""
    """The state that the reply was judged in; empty if there is none."""
    text: str = ""
    """The start of the reply, at most 200 characters; empty if it has no text."""
    ok: bool = True
    """Whether the reply passed."""
    violations: tuple[Violation, ...] = ()
    """The errors; empty if it passed."""
    warnings: tuple[Violation, ...] = ()
    """The warnings; empty if there are none."""
    fixes: int = 0
    """How many changes were made to the reply."""
    certainty: float = 1.0
    """How sure the judgement is, as in `Verdict.certainty`."""
    seconds: float = 0.0
    """How long the check took."""
    regenerations: int = 0
    """How many replies were asked for again before this one."""
    model: str = ""
    """The model that gave the reply; empty if not known."""

    @property
    def result(self) -> str:
        """`ok` or `refused`."""
        return "ok" if self.ok else "refused"

    @property
    def confidence(self) -> float:
        """Deprecated since 0.2: use `certainty`."""
        warnings.warn(
            "Checked.confidence is deprecated since 0.2; use Checked.certainty", DeprecationWarning, stacklevel=2
        )
        return self.certainty

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-able data; `confidence` is `certainty` under its name before 0.2."""
        return {**msgspec.to_builtins(self), "confidence": self.certainty}


class Attempted(Event, frozen=True, kw_only=True):
    """What the events of asking share: the ask, the call it belongs to, and whether that is a repair or a retry."""

    ask: str = ""
    """The id of the ask; all its events have the same."""
    attempt: int = 0
    """The number of the call, from 1."""
    limit: int = 0
    """How many calls the policy allows."""
    purpose: str = "ask"
    """Why the call is made: `ask`, `repair` or `regenerate`."""
    retry: int = 0
    """How often the same request was sent before."""
    model: str = ""
    """The model that is asked; empty for the client's own."""
    mode: str = ""
    """How the provider is held to the schema; empty before the first request."""
    started: float = 0.0
    """When the ask began, in seconds since 1970."""


class Sent(Attempted, frozen=True, kw_only=True):
    """A request goes out."""

    temperature: float | None = None
    """The temperature of the request; None: the provider's default."""
    reduced: bool = False
    """Whether fewer tools are offered, as in the last retry after empty replies."""
    timeout: float | None = None
    """How many seconds the call may take; None: as long as it likes."""
    max_tokens: int | None = None
    """The limit of the reply, lowered to what the budgets allow; None: the provider's default."""
    estimate: int | None = None
    """How many tokens the request probably has; None without a budget, when nothing is estimated."""
    counted: bool = False
    """Whether the estimate is a tokenizer's count."""
    cached: bool = False
    """Whether the reply comes from the cache, so that nothing is sent."""


class Warned(Attempted, frozen=True, kw_only=True):
    """A request is sent although it may exceed a budget: its bytes are too many, but how many tokens they are is not known."""

    budget: str = ""
    """The budget: `tokens` or `money`; never empty when sent."""
    allowed: float = 0.0
    """How much of it there is for the whole ask."""
    spent: float = 0.0
    """How much of it is spent."""
    needs: float = 0.0
    """How much of it the request may take at most, with the shortest reply."""


class Replied(Attempted, frozen=True, kw_only=True):
    """A reply came in, after so many seconds, for so much; `cost` is None when the price is not known."""

    seconds: float = 0.0
    """How long the call took."""
    tokens: int | None = None
    """How many tokens it took; None if the provider did not say."""
    cost: float | None = None
    """What it cost; None if the price or a count is not known."""
    estimated: bool = False
    """Whether the tokens and the cost are estimates, because the provider did not count."""
    cached: bool = False
    """Whether the reply came from the cache, for nothing."""


class Judged(Attempted, frozen=True, kw_only=True):
    """A reply was judged; `fault` is the kind of what is wrong with it, `codes` are its errors."""

    ok: bool = True
    """Whether the reply passed."""
    fault: str = ""
    """The kind of what is wrong with it; empty if it passed."""
    codes: tuple[str, ...] = ()
    """The codes of its errors; empty if it passed."""


class Failed(Attempted, frozen=True, kw_only=True):
    """No reply came; `kind` is how the plan sees it: rate, transient, mode, feature, refusal, fatal."""

    reason: str = ""
    """What the provider or the transport said; empty if nothing."""
    kind: str = ""
    """What follows from it: `rate`, `transient`, `mode`, `feature`, `refusal` or `fatal`; never empty when sent."""
    status: int | None = None
    """The HTTP status; None if there was no response."""
    tokens: int | None = None
    """How many tokens the call took before it failed; None if it took none."""
    cost: float | None = None
    """What it cost; None if it cost nothing, or the price is not known."""
    estimated: bool = False
    """Whether the tokens and the cost are estimates, because the provider did not count."""


class Waiting(Attempted, frozen=True, kw_only=True):
    """A wait of `delay` seconds before the `nth` of `most` retries; `most` is None if only the deadline limits them."""

    delay: float = 0.0
    """How many seconds are waited."""
    reason: str = ""
    """Why; empty if nothing is known."""
    nth: int = 0
    """The number of the retry that follows, from 1."""
    most: int | None = None
    """How many retries there may be; None if only the deadline limits them."""


class Repairing(Attempted, frozen=True, kw_only=True):
    """The `nth` of `most` repairs of a faulty reply begins; with `fields`, the model is asked only for some fields."""

    nth: int = 0
    """The number of the repair, from 1."""
    most: int = 0
    """How many repairs the policy allows."""
    reason: str = ""
    """What is wrong with the reply; empty if nothing is said."""
    fields: bool = False
    """Whether the model is asked only for the fields that are wrong."""


class Regenerating(Attempted, frozen=True, kw_only=True):
    """The model is asked, with a hint, for another reply in place of one that does not fit the state."""

    nth: int = 0
    """The number of the regeneration, from 1."""
    most: int = 0
    """How many regenerations the policy allows."""
    reason: str = ""
    """What does not fit the state; empty if nothing is said."""


class SteppedDown(Attempted, frozen=True, kw_only=True):
    """The next rung of a ladder: `what` is `mode`, `model` or `client`."""

    what: str = "mode"
    """What is changed: the `mode`, the `model`, or the `client` with its model."""
    before: str = ""
    """What was asked until now; empty for the client's own model."""
    after: str = ""
    """What is asked from now on; empty for the client's own model."""
    reason: str = ""
    """Why; empty if nothing is said."""


class BreakerChanged(Attempted, frozen=True, kw_only=True):
    """The circuit breaker of a rung opened, lets one call through to try it, or closed."""

    state: str = ""
    """The new state: `open`, `half-open` or `closed`; never empty when sent."""
    client: str = ""
    """The client of the rung, as in `Attempt.client`; empty if it has no name."""
    failures: int = 0
    """How many calls to it have failed in a row."""


class Aborted(Attempted, frozen=True, kw_only=True):
    """A stream was given up at its first certain fault; `received` characters had come, `saved` tokens at most did not."""

    reason: str = ""
    """The first certain fault; empty if nothing is said."""
    received: int = 0
    """How many characters had arrived."""
    saved: int | None = None
    """The most tokens that were not sent because of it; None if not known."""


class Abandoned(Attempted, frozen=True, kw_only=True):
    """A call was given up and could not be stopped, such as a function that sleeps: it still runs in its thread, and nobody waits for it."""

    timeout: float | None = None
    """How many seconds it was waited for; None if it was cancelled."""


class Ran(Event, frozen=True, kw_only=True):
    """A tool call of a run has a result: it was made, or the model was told why not."""

    turn: int = 1
    """The turn of the run, from 1."""
    tool: str = ""
    """The tool that was called; never empty when sent."""
    call: str = ""
    """The id of the call; empty if it has none."""
    status: str = ""
    """What came of it: `done`, `failed`, `refused`, `vetoed`, `skipped` or `stopped`; never empty when sent."""
    seconds: float = 0.0
    """How long the tool took."""
    reason: str = ""
    """Why the call was not made, or the type of the exception that the tool raised, or `returned` if it returned an error; empty if it is `done`."""


class FellBack(Attempted, frozen=True, kw_only=True):
    """The configured reply is given in place of the model's."""

    reason: str = ""
    """Why no reply of the model was good enough; empty if nothing is said."""


class Finished(Attempted, frozen=True, kw_only=True):
    """The ask is over; `cost` is None if a price or a count is not known.

    If no reply was valid, `raw` is the last one as the model wrote it, redacted and cut as the policy says.
    """

    outcome: str = ""
    """What came of it: `accepted`, `repaired`, `regenerated`, `degraded`, `fallback` or `failed`; empty only before the end."""
    reason: str = ""
    """Why it ended before its time; empty if it did not."""
    ok: bool = True
    """Whether there is a reply that keeps the contract."""
    repairs: int = 0
    """How many repairs there were."""
    regenerations: int = 0
    """How many regenerations there were."""
    retries: int = 0
    """How many calls were repeated after a failure."""
    seconds: float = 0.0
    """How long it took."""
    tokens: int | None = None
    """How many tokens it took; None if a count is not known."""
    cost: float | None = None
    """What it cost; None if a price or a count is not known."""
    estimated: bool = False
    """Whether part of the tokens and the cost are estimates, because the provider did not count."""
    raw: str = ""
    """If no reply was valid, the last one, redacted and cut as the policy says; empty otherwise."""


Subscriber = Callable[[Event], object]


def cut(text: str) -> str:
    """The part of a text that an event carries, with a mark where it was cut.

    >>> len(cut("a" * 500)), cut("short")
    (200, 'short')
    """
    return text if len(text) <= CUT else text[: CUT - 1] + "…"


def checked(
    verdict: Verdict,
    *,
    state: str = "",
    seconds: float = 0.0,
    regenerations: int = 0,
    contract: str = "",
    at: float = 0.0,
) -> Checked:
    """The event of one check, from its verdict."""
    findings = verdict.findings
    return Checked(
        contract=contract,
        at=at,
        state=state,
        text=cut(verdict.reply.text),
        ok=verdict.ok,
        violations=tuple(Violation(f.code, f.path, f.message) for f in findings.errors),
        warnings=tuple(Violation(f.code, f.path, f.message) for f in findings.warnings),
        fixes=len(verdict.fixes),
        certainty=verdict.certainty,
        seconds=seconds,
        regenerations=regenerations,
        model=verdict.reply.model,
    )
