"""Events: what happened, as frozen values; logs, metrics, traces and progress lines subscribe to them.

An event is plain data: it holds no reply beyond a short cut of its text, does nothing by itself and names nobody who
listens. A subscriber is a callable that takes one event; those of the house live in `watch/`.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.verdict import Verdict

CUT = 200  # characters of a reply that an event carries


class Violation(NamedTuple):
    """One finding of a check, without its data."""

    code: str
    path: str
    message: str


def spelled(name: str) -> str:
    """The name of an event as logs and metrics spell it.

    >>> spelled("SteppedDown")
    'stepped_down'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=spelled):
    """What all events share: the contract's name, and when it happened, in seconds since 1970."""

    contract: str = ""
    at: float = 0.0

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
    """One check: the state it was made in, the reply cut at 200 characters, the result, the violations, the time it took.

    `regenerations` says how many replies were asked for anew before this one.
    """

    state: str = ""
    text: str = ""
    ok: bool = True
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    fixes: int = 0
    confidence: float = 1.0
    seconds: float = 0.0
    regenerations: int = 0
    model: str = ""

    @property
    def result(self) -> str:
        """`ok` or `refused`."""
        return "ok" if self.ok else "refused"


class Attempted(Event, frozen=True, kw_only=True):
    """What the events of asking share: the ask, the call it belongs to, and whether that is a repair or a retry.

    `attempt` of `limit` calls; `purpose` is `ask`, `repair` or `regenerate`; `retry` counts the same request again.
    `started` is when the asking began, in seconds since 1970.
    """

    ask: str = ""
    attempt: int = 0
    limit: int = 0
    purpose: str = "ask"
    retry: int = 0
    model: str = ""
    mode: str = ""
    started: float = 0.0


class Sent(Attempted, frozen=True, kw_only=True):
    """A request goes out."""

    temperature: float | None = None
    reduced: bool = False


class Replied(Attempted, frozen=True, kw_only=True):
    """A reply came in, after so many seconds, for so much; `cost` is None when the price is not known."""

    seconds: float = 0.0
    tokens: int | None = None
    cost: float | None = None


class Judged(Attempted, frozen=True, kw_only=True):
    """A reply was judged; `fault` is the kind of what is wrong with it, `codes` are its errors."""

    ok: bool = True
    fault: str = ""
    codes: tuple[str, ...] = ()


class Failed(Attempted, frozen=True, kw_only=True):
    """No reply came; `kind` is how the plan sees it: rate, transient, mode, temperature, fatal."""

    reason: str = ""
    kind: str = ""
    status: int | None = None


class Waiting(Attempted, frozen=True, kw_only=True):
    """A wait of `delay` seconds before the `nth` of `most` retries; `most` is None if only the deadline limits them."""

    delay: float = 0.0
    reason: str = ""
    nth: int = 0
    most: int | None = None


class Repairing(Attempted, frozen=True, kw_only=True):
    """The `nth` of `most` repairs of a faulty reply begins; with `fields`, the model is asked only for some fields."""

    nth: int = 0
    most: int = 0
    reason: str = ""
    fields: bool = False


class Regenerating(Attempted, frozen=True, kw_only=True):
    """The model is asked, with a hint, for another reply in place of one that does not fit the state."""

    nth: int = 0
    most: int = 0
    reason: str = ""


class SteppedDown(Attempted, frozen=True, kw_only=True):
    """The next rung of a ladder: `what` is `mode` or `model`."""

    what: str = "mode"
    before: str = ""
    after: str = ""
    reason: str = ""


class Aborted(Attempted, frozen=True, kw_only=True):
    """A stream was given up at its first certain fault; `received` characters had come, `saved` tokens at most did not."""

    reason: str = ""
    received: int = 0
    saved: int | None = None


class FellBack(Attempted, frozen=True, kw_only=True):
    """The configured reply is given in place of the model's."""

    reason: str = ""


class Finished(Attempted, frozen=True, kw_only=True):
    """The ask is over; `cost` is None if a price or a count is not known.

    If no reply was valid, `raw` is the last one as the model wrote it, redacted and cut as the policy says.
    """

    outcome: str = ""
    reason: str = ""
    ok: bool = True
    repairs: int = 0
    regenerations: int = 0
    retries: int = 0
    seconds: float = 0.0
    tokens: int | None = None
    cost: float | None = None
    raw: str = ""


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
        confidence=verdict.confidence,
        seconds=seconds,
        regenerations=regenerations,
        model=verdict.reply.model,
    )
