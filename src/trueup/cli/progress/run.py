"""Progress of a run on standard error: a bar with numbers on a terminal, otherwise a plain line from time to time.

The numbers come from `Live`. Text that models wrote is made safe first.
"""

import sys
import time
from typing import TYPE_CHECKING, Any

from trueup.cli.terminal.bars import drawn, one_line
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from rich.console import Console

    from trueup.batch.pipeline.reporting.live import Live

_EVERY = 5.0  # seconds between lines of a log
_TOLD = ("FAILED", "torn", "batch ", "script", "trying again", "waiting")  # marks of log lines to show
_CODES = 3


class Watcher:
    """Show the progress of a run: a changing bar on a terminal, a line from time to time in a log."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._shown = time.monotonic()
        self._live: Live | None = None
        self._console = None if quiet else _terminal()

    def live(self, live: "Live") -> None:
        """Take the state of a run, once per second."""
        if self._quiet:
            return
        self._live = live
        try:
            if self._console is not None:
                self._redraw(live, self._console)
            elif time.monotonic() - self._shown >= _EVERY:
                self._shown = time.monotonic()
                sys.stderr.write(f"trueup run: {one_line(parts_of(live))}\n")
                sys.stderr.flush()
        except OSError:
            self._leave()

    def said(self, message: str) -> None:
        """Take a line of the run's log, and show it only if a person must know it."""
        if self._quiet or not any(word in message for word in _TOLD):
            return
        text = safe_line(message)
        try:
            if self._bar is not None:
                self._bar.console.print(text)
            else:
                sys.stderr.write(f"trueup run: {text}\n")
        except OSError:
            self._leave()

    def _leave(self) -> None:
        """The reader has gone, but the run continues."""
        self._quiet, self._bar = True, None

    def close(self) -> None:
        """Draw the last numbers, and remove the bar."""
        if self._bar is None:
            return
        try:
            if self._live is not None and self._console is not None:
                self._live.look()
                self._redraw(self._live, self._console)
            self._bar.stop()
        except OSError:
            pass  # the reader has gone
        self._bar = None

    def _redraw(self, live: "Live", console: "Console") -> None:
        from rich.live import Live as Screen

        if self._bar is None:
            self._bar = Screen(console=console, auto_refresh=False, transient=True)
            self._bar.start()
        self._bar.update(drawn(parts_of(live), live.done, live.total, console.width), refresh=True)


def _terminal() -> "Console | None":
    """The terminal of standard error, if a bar can be redrawn on it."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    return None if console.is_dumb_terminal else console


def parts_of(live: "Live") -> list[str]:
    """The state of a run: counts, rate, time left, calls in progress, cost, failures by code."""
    from trueup.batch.pipeline.reporting.words import batches, by_code, clock, cost

    done, total = live.done, live.total
    left = clock(live.seconds_left) if live.seconds > 2 and total > done else ""
    parts = [
        f"{100 * done // max(total, 1):3d}%",
        f"{done:,} of {total:,}",
        f"{live.failed:,} failed",
        f"{live.rate:,.1f}/s" if live.rate < 10 else f"{live.rate:,.0f}/s",
        f"{left} left" if left else "",
        f"{live.under_way} call{'s' * (live.under_way != 1)} under way" if live.under_way else "",
        batches(live.status),
        cost(live.status) if live.spent or live.cap is not None or live.status["money"]["unpriced"] else "",
        by_code(live.codes, _CODES),
    ]
    return [safe_line(part) for part in parts if part]
