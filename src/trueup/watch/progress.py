"""A line that says what an ask is doing, for a person who waits: what is sent, why it waits, what is repaired.

Events enter; one line on a terminal is redrawn and taken away at the end. Where nobody looks, each wait, repair and fallback is a
line of its own. What a provider or a model wrote is shown as characters that print, and never read as markup.
"""

import sys
from typing import TYPE_CHECKING, Any, Self, TextIO

from trueup.verdict import events
from trueup.verdict.events import Event
from trueup.watch.lines import visible

if TYPE_CHECKING:
    from rich.status import Status

_REASONS = {
    "rate": "told to slow down",
    "transient": "the provider failed",
    "nothing": "the reply says nothing",
    "cut": "the reply was cut off",
    "format": "the reply is not valid",
    "prose": "the reply is prose",
    "state": "the reply does not belong here",
}


def said(event: Event) -> str:
    """What an event means, in a few words; empty for one that a person need not see.

    >>> said(events.Waiting(delay=2.04, reason="rate", nth=1))
    'waiting 2.0 s: told to slow down (retry 1)'
    """
    if isinstance(event, events.Sent):
        who = f"asking {event.model}" if event.model else "asking"
        return f"{who}, call {event.attempt} of at most {event.limit}"
    if isinstance(event, events.Waiting):
        of = f"{event.nth} of {event.most}" if event.most is not None else str(event.nth)
        return f"waiting {event.delay:.1f} s: {_REASONS.get(event.reason, event.reason)} (retry {of})"
    if isinstance(event, events.Repairing):
        what = "some fields" if event.fields else "the reply"
        return f"repairing {what}, {event.nth} of {event.most}: {_REASONS.get(event.reason, event.reason)}"
    if isinstance(event, events.Regenerating):
        return f"asking anew, {event.nth} of {event.most}: {_REASONS.get(event.reason, event.reason)}"
    if isinstance(event, events.SteppedDown):
        return f"{event.what} {event.before or '?'} will not do, trying {event.after}"
    if isinstance(event, events.Aborted):
        return f"gave a stream up after {event.received} characters: {event.reason}"
    if isinstance(event, events.FellBack):
        return f"giving the configured reply: {event.reason}"
    return ""


class Progress:
    """A subscriber that shows what is going on, on standard error; used with `with`, it cleans up after itself."""

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
        """Take the line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, event: Event) -> None:
        text = visible(said(event))
        if isinstance(event, events.Finished):
            self.close()
        elif text and self._live:
            self._show(text)
        elif text and not isinstance(event, events.Sent):
            self._file.write(f"trueup: {text}\n")
            self._file.flush()

    def _show(self, text: str) -> None:
        from rich.text import Text  # only where somebody looks

        line = Text(text, no_wrap=True, overflow="ellipsis")
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._console = Console(file=self._file, force_terminal=True, highlight=False, markup=False, emoji=False)
            self._status = Status(line, console=self._console, spinner="dots")
            self._status.start()
        else:
            self._status.update(line)
