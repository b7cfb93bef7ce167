"""A run while it runs, on standard error: a bar with its numbers on a terminal, a plain line now and then anywhere else.

The numbers are those of `Live`. What models wrote is made safe first.
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
_TOLD = ("FAILED", "torn", "batch ", "script", "trying again", "waiting")  # words of the log that a person must see
_CODES = 3


class Watcher:
    """Shows a run while it runs: a bar that changes on a terminal, a line now and then in a log."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._shown = time.monotonic()
        self._live: Live | None = None
        self._console = None if quiet else _terminal()

    def live(self, live: "Live") -> None:
        """Hear how a run goes, once a second."""
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
        """Hear a line of the run's log; only what a person must know is shown."""
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
        """Whoever looked has gone, which is no reason to stop the run."""
        self._quiet, self._bar = True, None

    def close(self) -> None:
        """Draw the last numbers, and take the bar away."""
        if self._bar is None:
            return
        try:
            if self._live is not None and self._console is not None:
                self._live.look()
                self._redraw(self._live, self._console)
            self._bar.stop()
        except OSError:
            pass  # whoever looked has gone
        self._bar = None

    def _redraw(self, live: "Live", console: "Console") -> None:
        from rich.live import Live as Screen

        if self._bar is None:
            self._bar = Screen(console=console, auto_refresh=False, transient=True)
            self._bar.start()
        self._bar.update(drawn(parts_of(live), live.done, live.total, console.width), refresh=True)


def _terminal() -> "Console | None":
    """The terminal behind standard error, if there is one that a bar can be redrawn on."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    return None if console.is_dumb_terminal else console


def parts_of(live: "Live") -> list[str]:
    """How a run goes: counts, rate, time left, calls under way, cost, failures by code."""
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
