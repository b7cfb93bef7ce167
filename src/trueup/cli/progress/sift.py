"""Progress of a sift on standard error: a bar on a terminal, plain lines in a log, JSON lines for programs, or nothing.

Ids and names are made safe first. One report is one line.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

from trueup.batch.counting.groups import ranked
from trueup.batch.sift import SiftProgress
from trueup.cli.terminal.bars import drawn, one_line
from trueup.verdict.display import safe_line

Kind = Literal["auto", "bar", "plain", "json", "none"]
_EVERY = {"bar": 0.1, "plain": 5.0, "json": 0.5}
_TOP = 3


class ProgressDisplay:
    """Show reports at a limited rate; `close` leaves the last report visible."""

    def __init__(self, kind: Kind) -> None:
        if kind == "auto":
            kind = "bar" if sys.stderr.isatty() else "plain"
        self._kind = kind
        self._shown = 0.0 if kind == "plain" else -10.0  # a short run writes no lines to a log
        self._began = time.monotonic()
        self._last: SiftProgress | None = None
        self._bar = _bar() if kind == "bar" else None

    def __call__(self, report: SiftProgress) -> None:
        self._last = report
        now = time.monotonic() - self._began
        if self._kind == "none" or now - self._shown < _EVERY[self._kind]:
            return
        self._shown = now
        self._show(report)

    def close(self, *, shown: bool = True) -> None:
        """End, and show the last report if it was not shown."""
        if self._last is not None and shown and self._kind in {"bar", "json"}:
            self._show(self._last)
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar(None)

    def _show(self, report: SiftProgress) -> None:
        try:
            if self._bar is not None:
                self._bar(report)
            elif self._kind == "json":
                _write(_as_json(report))
            else:
                _write(f"trueup sift: {line_of(report)}")
        except OSError:  # the reader has gone, but the work continues
            self._kind = "none"
            self._bar = None


def parts_of(report: SiftProgress) -> list[str]:
    """The numbers of one report, most important first."""
    counts = report.tally.counts
    share = f"{100 * report.done / report.total:3.0f}%" if report.total else "100%"
    judged = counts["units"] - (report.kept_units if report.step == "judging" else 0)
    rate = max(judged, 0) / report.seconds if report.seconds else 0
    left = _left(report)
    parts = [
        f"{report.step} {share}",
        f"{counts['valid']:,} valid",
        f"{counts['failed']:,} failed",
        f"{counts['fixed']:,} fixed",
        f"{rate:,.0f}/s",
    ]
    return [*parts, *filter(None, (f"{left} left" if left else "", _top(report)))]


def line_of(report: SiftProgress) -> str:
    """The same numbers on one line."""
    return one_line(parts_of(report))


def _top(report: SiftProgress) -> str:
    failing = [(code, row[3]) for code, row in ranked(report.tally.codes) if row[3]]
    return " ".join(f"{code}×{units:,}" for code, units in failing[:_TOP])


def _left(report: SiftProgress) -> str:
    from trueup.batch.pipeline.reporting.words import clock

    done = report.done - report.kept_bytes  # since this start
    if report.step != "judging" or done <= 0 or report.seconds < 1:
        return ""
    return clock(report.seconds * (report.total - report.done) / done)


def _as_json(report: SiftProgress) -> str:
    import orjson

    counts = report.tally.counts
    row: dict[str, Any] = {"step": report.step, "done": report.done, "total": report.total}
    row |= {name: counts[name] for name in ("units", "valid", "failed", "fixed")}
    levels = {"codes": 3, "warnings": 4}  # units that fail with a code, and units that it warns about
    row |= {name: {code: hit[at] for code, hit in report.tally.codes.items() if hit[at]} for name, at in levels.items()}
    row["seconds"] = round(report.seconds, 3)
    return orjson.dumps(row).decode()


def _write(text: str) -> None:
    sys.stderr.write(safe_line(text) + "\n")
    sys.stderr.flush()


def _bar() -> Callable[[SiftProgress | None], None]:
    """A live line without its own thread, because workers have yet to be started from this process."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    live = Live(console=console, auto_refresh=False, transient=True)
    live.start()

    def show(report: SiftProgress | None) -> None:
        if report is None:
            live.stop()
            return
        parts = [safe_line(part) for part in parts_of(report)]
        live.update(drawn(parts, report.done, report.total, console.width), refresh=True)

    return show
