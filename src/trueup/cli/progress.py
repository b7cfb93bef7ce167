"""Progress of a sift on standard error: a bar on a terminal, plain lines in a log, JSON lines for programs, or nothing.

What it shows of ids and names is made safe first; one report is one line.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

from trueup.batch.sift import Progress
from trueup.verdict.display import safe_line

Kind = Literal["auto", "bar", "plain", "json", "none"]
_EVERY = {"bar": 0.1, "plain": 5.0, "json": 0.5}
_TOP = 3


class Shower:
    """Shows reports, not more often than is of use; `close` leaves the last one standing."""

    def __init__(self, kind: Kind) -> None:
        if kind == "auto":
            kind = "bar" if sys.stderr.isatty() else "plain"
        self._kind = kind
        self._shown = 0.0 if kind == "plain" else -10.0  # a short run needs no lines in a log
        self._began = time.monotonic()
        self._last: Progress | None = None
        self._bar = _bar() if kind == "bar" else None

    def __call__(self, report: Progress) -> None:
        self._last = report
        now = time.monotonic() - self._began
        if self._kind == "none" or now - self._shown < _EVERY[self._kind]:
            return
        self._shown = now
        self._show(report)

    def close(self, *, shown: bool = True) -> None:
        """End; the last report is shown where it was not."""
        if self._last is not None and shown and self._kind in {"bar", "json"}:
            self._show(self._last)
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar(None)

    def _show(self, report: Progress) -> None:
        try:
            if self._bar is not None:
                self._bar(report)
            elif self._kind == "json":
                _write(_as_json(report))
            else:
                _write(f"trueup sift: {line_of(report)}")
        except OSError:  # whoever looked has gone, which is no reason to stop the work
            self._kind = "none"
            self._bar = None


def line_of(report: Progress) -> str:
    """One report on one line."""
    counts = report.tally.counts
    share = f"{100 * report.done / report.total:3.0f}%" if report.total else "100%"
    rate = counts["units"] / report.seconds if report.seconds else 0
    left = _left(report)
    parts = [
        f"{report.step} {share}",
        f"{counts['valid']:,} valid",
        f"{counts['failed']:,} failed",
        f"{counts['fixed']:,} fixed",
        f"{rate:,.0f}/s",
    ]
    if left:
        parts.append(f"{left} left")
    top = _top(report)
    return "  ".join(parts) + (f"  {top}" if top else "")


def _top(report: Progress) -> str:
    ranked = sorted(report.tally.codes.items(), key=lambda item: (-item[1][0], item[0]))
    return " ".join(f"{code}×{row[0]:,}" for code, row in ranked[:_TOP])


def _left(report: Progress) -> str:
    if report.step != "judging" or not report.done or report.seconds < 1:
        return ""
    seconds = int(report.seconds * (report.total - report.done) / report.done)
    return (
        f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        if seconds >= 3600
        else f"{seconds // 60}:{seconds % 60:02d}"
    )


def _as_json(report: Progress) -> str:
    import orjson

    counts = report.tally.counts
    row: dict[str, Any] = {"step": report.step, "done": report.done, "total": report.total}
    row |= {name: counts[name] for name in ("units", "valid", "failed", "fixed")}
    row |= {"seconds": round(report.seconds, 3), "codes": {code: hit[0] for code, hit in report.tally.codes.items()}}
    return orjson.dumps(row).decode()


def _write(text: str) -> None:
    sys.stderr.write(safe_line(text) + "\n")
    sys.stderr.flush()


def _bar() -> Callable[[Progress | None], None]:
    """A live line, redrawn by hand: no thread runs beside the workers that are still to be started."""
    from rich.console import Console
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    live = Live(console=console, auto_refresh=False, transient=True)
    live.start()

    def show(report: Progress | None) -> None:
        if report is None:
            live.stop()
            return
        grid = Table.grid(padding=(0, 1))
        grid.add_row(ProgressBar(total=report.total or 1, completed=report.done if report.total else 1, width=20),
                     Text(safe_line(line_of(report)), overflow="ellipsis", no_wrap=True))  # fmt: skip
        live.update(grid, refresh=True)

    return show
