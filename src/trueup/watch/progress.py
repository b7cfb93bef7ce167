"""A line for a person who waits for an ask: what is being sent, why it is waiting, what is being repaired.

Takes events; redraws one line on a terminal, and removes it at the end. The line counts down the remaining seconds of a
call or a wait. Without a terminal, each wait, repair and fallback is printed on a separate line. Text from a provider
or a model is shown as printable characters and never read as markup.
"""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TextIO

import msgspec

from trueup.verdict import events
from trueup.verdict.events import Event
from trueup.watch.lines import visible

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

_REASONS = {
    "rate": "rate limited",
    "transient": "the provider failed",
    "nothing": "the reply says nothing",
    "cut": "the reply was cut off",
    "format": "the reply is not valid",
    "prose": "the reply is prose",
    "state": "the reply does not fit the state",
}


_BREAKER = {
    "open": "{} has failed {} times in a row: asking others for a while",
    "half-open": "trying {} again",
    "closed": "{} works again",
}


def said(event: Event) -> str:
    """The meaning of an event in a few words; empty for an event that people need not see.

    >>> said(events.Waiting(delay=2.04, reason="rate", nth=1))
    'waiting 2.0 s: rate limited (retry 1)'
    >>> said(events.Sent(attempt=1, limit=12, timeout=59.8))
    'asking, call 1 of at most 12, 60 s left'
    """
    if isinstance(event, events.Sent):
        who = f"asking {event.model}" if event.model else "asking"
        left = "" if event.timeout is None else f", {event.timeout:.0f} s left"
        return f"{who}, call {event.attempt} of at most {event.limit}{left}"
    if isinstance(event, events.Waiting):
        of = f"{event.nth} of {event.most}" if event.most is not None else str(event.nth)
        return f"waiting {event.delay:.1f} s: {_REASONS.get(event.reason, event.reason)} (retry {of})"
    if isinstance(event, events.Repairing):
        what = "some fields" if event.fields else "the reply"
        return f"repairing {what}, {event.nth} of {event.most}: {_REASONS.get(event.reason, event.reason)}"
    if isinstance(event, events.Regenerating):
        return f"asking again, {event.nth} of {event.most}: {_REASONS.get(event.reason, event.reason)}"
    if isinstance(event, events.SteppedDown):
        return f"{event.what} {event.before or '?'} was rejected, trying {event.after}"
    if isinstance(event, events.BreakerChanged):
        who = " ".join(filter(None, (event.client, event.model))) or "the model"
        return _BREAKER.get(event.state, "").format(who, event.failures)
    if isinstance(event, events.Aborted):
        return f"aborted a stream after {event.received} characters: {event.reason}"
    if isinstance(event, events.Abandoned):
        return "stopped waiting for a call that cannot be stopped: it is still running"
    if isinstance(event, events.Warned):
        return f"the request may exceed the budget of {event.budget}"
    if isinstance(event, events.FellBack):
        return f"returning the configured reply: {event.reason}"
    return ""


def later(event: Event, seconds: float) -> Event:
    """An event as it is shown some seconds later: a call or a wait has less time left.

    >>> said(later(events.Waiting(delay=2.0, reason="rate", nth=1), 1.5))
    'waiting 0.5 s: rate limited (retry 1)'
    """
    if isinstance(event, events.Waiting):
        return msgspec.structs.replace(event, delay=max(0.0, event.delay - seconds))
    if isinstance(event, events.Sent) and event.timeout is not None:
        return msgspec.structs.replace(event, timeout=max(0.0, event.timeout - seconds))
    return event


class _Line:
    """The line for an event, made again each time it is drawn."""

    def __init__(self, event: Event, now: Callable[[], float] = time.monotonic) -> None:
        self._event = event
        self._now = now
        self._began = now()

    def __rich__(self) -> "Text":
        from rich.text import Text  # only with a terminal

        return Text(visible(said(later(self._event, self._now() - self._began))), no_wrap=True, overflow="ellipsis")


class Progress:
    """A subscriber that shows the progress on standard error; used with `with`, it cleans up after itself."""

    def __init__(self, file: TextIO | None = None, *, live: bool | None = None) -> None:
        self._file = file or sys.stderr
        self._live = self._file.isatty() if live is None else live
        self._status: Status | None = None
        self._console: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the line."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, event: Event) -> None:
        text = visible(said(event))
        if isinstance(event, events.Finished):
            self.close()
        elif text and self._live:
            self._show(_Line(event))
        elif text and not isinstance(event, events.Sent):
            self._file.write(f"trueup: {text}\n")
            self._file.flush()

    def _show(self, line: _Line) -> None:
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._console = Console(file=self._file, force_terminal=True, highlight=False, markup=False, emoji=False)
            self._status = Status(line, console=self._console, spinner="dots")
            self._status.start()
        else:
            self._status.update(line)
