"""Events: frozen values that say what happened. Logs, metrics, traces and progress lines subscribe to them.

An event is plain data. It contains at most the start of a reply's text, does nothing and does not know its subscribers.
A subscriber is a callable that takes one event; trueup's own subscribers are in `watch/`.
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
    """Where in the value the finding is."""
    message: str
    """The problem, in one sentence."""


def spelled(name: str) -> str:
    """The name of an event in the spelling of logs and metrics.

    >>> spelled("SteppedDown")
    'stepped_down'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=spelled):
    """The base of all events: the contract's name, and when the event happened, in seconds since 1970."""

    contract: str = ""
    """The name of the contract; empty if it has none."""
    at: float = 0.0
    """When the event happened, in seconds since 1970."""

    @property
    def event(self) -> str:
        """The name of the event, such as `checked`."""
        return spelled(type(self).__name__)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-able data, with its name under `event`.

        >>> Checked(state="BOOKED", text="Hasta mañana", ok=True, seconds=0.001).to_dict()["event"]
        'checked'
        """
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class Checked(Event, frozen=True, kw_only=True):
    """One check: its state, the start of the reply, the result, the violations and the duration."""

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
    """How many replies before this one were rejected and asked for again."""
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
        """The event as JSON-able data; `confidence` is the name that `certainty` had before 0.2."""
        return {**msgspec.to_builtins(self), "confidence": self.certainty}


class Attempted(Event, frozen=True, kw_only=True):
    """The base of all events of an ask: its id, the call, and whether the call is a repair or a retry."""

    ask: str = ""
    """The id of the ask; all its events have the same id."""
    attempt: int = 0
    """The number of the call, from 1."""
    limit: int = 0
    """How many calls the policy allows."""
    purpose: str = "ask"
    """Why the call is made: `ask`, `repair` or `regenerate`."""
    retry: int = 0
    """How many times the same request was sent before."""
    model: str = ""
    """The model that is asked; empty for the client's own."""
    mode: str = ""
    """How the provider is held to the schema; empty before the first request."""
    started: float = 0.0
    """When the ask began, in seconds since 1970."""


class Sent(Attempted, frozen=True, kw_only=True):
    """A request is being sent."""

    temperature: float | None = None
    """The temperature of the request; None: the provider's default."""
    reduced: bool = False
    """Whether fewer tools are offered, as in the last retry after empty replies."""
    timeout: float | None = None
    """How many seconds the call may take; None: no limit."""
    max_tokens: int | None = None
    """The limit of the reply, lowered to what the budgets allow; None: the provider's default."""
    estimate: int | None = None
    """How many tokens the request probably has; None without a budget, because then nothing is estimated."""
    counted: bool = False
    """Whether the estimate is a tokenizer's count."""
    cached: bool = False
    """Whether the reply comes from the cache, so that nothing is sent."""


class Warned(Attempted, frozen=True, kw_only=True):
    """A request is sent although it may exceed a budget: it has too many bytes, but its number of tokens is not known."""

    budget: str = ""
    """The budget: `tokens` or `money`; never empty when sent."""
    allowed: float = 0.0
    """The budget of the whole ask."""
    spent: float = 0.0
    """The amount already spent."""
    needs: float = 0.0
    """The most that the request can take, with the shortest reply."""


class Replied(Attempted, frozen=True, kw_only=True):
    """A reply arrived, with its duration and cost; `cost` is None if the price is not known."""

    seconds: float = 0.0
    """How long the call took."""
    tokens: int | None = None
    """How many tokens the call took; None if the provider did not say."""
    cost: float | None = None
    """The cost of the call; None if the price or a count is not known."""
    estimated: bool = False
    """Whether the tokens and the cost are estimates, because the provider did not count."""
    cached: bool = False
    """Whether the reply came from the cache, at no cost."""


class Judged(Attempted, frozen=True, kw_only=True):
    """A reply was judged; `fault` is the kind of its fault, `codes` are its errors."""

    ok: bool = True
    """Whether the reply passed."""
    fault: str = ""
    """The kind of the reply's fault; empty if it passed."""
    codes: tuple[str, ...] = ()
    """The codes of its errors; empty if it passed."""


class Failed(Attempted, frozen=True, kw_only=True):
    """No reply arrived; `kind` is the kind of failure: rate, transient, mode, feature, refusal, fatal."""

    reason: str = ""
    """The message of the provider or the transport; empty if there is none."""
    kind: str = ""
    """The kind of failure, which decides what is tried next: `rate`, `transient`, `mode`, `feature`, `refusal` or `fatal`; never empty when sent."""
    status: int | None = None
    """The HTTP status; None if there was no response."""
    tokens: int | None = None
    """How many tokens the call took before it failed; None if it took none."""
    cost: float | None = None
    """The cost of the call; None if it cost nothing, or the price is not known."""
    estimated: bool = False
    """Whether the tokens and the cost are estimates, because the provider did not count."""


class Waiting(Attempted, frozen=True, kw_only=True):
    """A wait of `delay` seconds before retry `nth` of `most`; `most` is None if only the deadline limits the retries."""

    delay: float = 0.0
    """The length of the wait, in seconds."""
    reason: str = ""
    """Why the call is repeated; empty if not known."""
    nth: int = 0
    """The number of the retry that follows, from 1."""
    most: int | None = None
    """How many retries there may be; None if only the deadline limits them."""


class Repairing(Attempted, frozen=True, kw_only=True):
    """Repair `nth` of `most` of a faulty reply begins; with `fields`, the model is asked only for some fields."""

    nth: int = 0
    """The number of the repair, from 1."""
    most: int = 0
    """How many repairs the policy allows."""
    reason: str = ""
    """The fault of the reply; empty if no reason was given."""
    fields: bool = False
    """Whether the model is asked only for the fields that are wrong."""


class Regenerating(Attempted, frozen=True, kw_only=True):
    """The model is asked, with a hint, to replace a reply that does not fit the state."""

    nth: int = 0
    """The number of the regeneration, from 1."""
    most: int = 0
    """How many regenerations the policy allows."""
    reason: str = ""
    """Why the reply does not fit the state; empty if no reason was given."""


class SteppedDown(Attempted, frozen=True, kw_only=True):
    """The ask moves to the next rung of its ladder: `what` is `mode`, `model` or `client`."""

    what: str = "mode"
    """The part that changes: the `mode`, the `model`, or the `client` with its model."""
    before: str = ""
    """The mode or model used until now; empty for the client's own model."""
    after: str = ""
    """The mode or model used from now on; empty for the client's own model."""
    reason: str = ""
    """Why it changes; empty if no reason was given."""


class BreakerChanged(Attempted, frozen=True, kw_only=True):
    """The circuit breaker of a rung opened, lets one test call through, or closed."""

    state: str = ""
    """The new state: `open`, `half-open` or `closed`; never empty when sent."""
    client: str = ""
    """The client of the rung, as in `Attempt.client`; empty if it has no name."""
    failures: int = 0
    """How many calls to it have failed in a row."""


class Aborted(Attempted, frozen=True, kw_only=True):
    """A stream was aborted at its first certain fault, after `received` characters; that saved at most `saved` tokens."""

    reason: str = ""
    """The first certain fault; empty if no reason was given."""
    received: int = 0
    """How many characters had arrived."""
    saved: int | None = None
    """The largest number of tokens that this saved; None if not known."""


class Abandoned(Attempted, frozen=True, kw_only=True):
    """A call was abandoned because it could not be stopped, such as a function that sleeps: it keeps running in its thread, and its result is ignored."""

    timeout: float | None = None
    """How many seconds trueup waited for the call; None if it was cancelled."""


class Ran(Event, frozen=True, kw_only=True):
    """A tool call of a run has a result: the tool ran, or the model receives the reason why it did not."""

    turn: int = 1
    """The turn of the run, from 1."""
    tool: str = ""
    """The tool that was called; never empty when sent."""
    call: str = ""
    """The id of the call; empty if it has none."""
    status: str = ""
    """The result: `done`, `failed`, `refused`, `vetoed`, `skipped` or `stopped`; never empty when sent."""
    seconds: float = 0.0
    """How long the tool took."""
    reason: str = ""
    """Why the call was not made, the type of the exception that the tool raised, or `returned` if the tool returned an error; empty if `done`."""


class FellBack(Attempted, frozen=True, kw_only=True):
    """The configured fallback reply replaces the model's reply."""

    reason: str = ""
    """Why no reply from the model was good enough; empty if no reason was given."""


class Finished(Attempted, frozen=True, kw_only=True):
    """The ask is over; `cost` is None if a price or a count is not known.

    If no reply was valid, `raw` is the model's last reply, redacted and cut as the policy says.
    """

    outcome: str = ""
    """The result: `accepted`, `repaired`, `regenerated`, `degraded`, `fallback` or `failed`; empty only before the end."""
    reason: str = ""
    """Why the ask ended early; empty if it did not."""
    ok: bool = True
    """Whether there is a reply that satisfies the contract."""
    repairs: int = 0
    """How many repairs there were."""
    regenerations: int = 0
    """How many regenerations there were."""
    retries: int = 0
    """How many calls were repeated after a failure."""
    seconds: float = 0.0
    """How long the ask took."""
    tokens: int | None = None
    """How many tokens the ask took; None if a count is not known."""
    cost: float | None = None
    """The cost of the ask; None if a price or a count is not known."""
    estimated: bool = False
    """Whether part of the tokens and the cost are estimates, because the provider did not count."""
    raw: str = ""
    """If no reply was valid, the last reply, redacted and cut as the policy says; empty otherwise."""


Subscriber = Callable[[Event], object]


def cut(text: str) -> str:
    """The start of a text that an event contains, with `…` where it was cut.

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
    """The event for one check, made from its verdict."""
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
