"""Runs on the screen: a live line while one runs, a table of its steps at the end. What models wrote is made safe first."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from trueup.batch.pipeline.live import Live
    from trueup.batch.pipeline.running import Result

_EVERY = 5.0  # seconds between lines of a log
_TOLD = ("FAILED", "torn", "batch ", "script", "trying again", "waiting")  # words of the log that a person must see


class Watcher:
    """Shows a run while it runs: a line that changes on a terminal, a line now and then in a log."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._shown = time.monotonic()
        self._live: Live | None = None

    def live(self, live: "Live") -> None:
        """Hear how a run goes, once a second."""
        if self._quiet:
            return
        self._live = live
        try:
            if sys.stderr.isatty():
                self._redraw(live)
            elif time.monotonic() - self._shown >= _EVERY:
                self._shown = time.monotonic()
                sys.stderr.write(f"trueup run: {line_of(live)}\n")
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
        if self._bar is not None:
            if self._live is not None:
                self._redraw(self._live)
            self._bar.stop()
            self._bar = None

    def _redraw(self, live: "Live") -> None:
        from rich.console import Console
        from rich.live import Live as Screen
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        if self._bar is None:
            console = Console(stderr=True, markup=False, highlight=False, emoji=False)
            self._bar = Screen(console=console, auto_refresh=False, transient=True)
            self._bar.start()
        done, total = progress(live)
        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(total, 1), completed=min(done, total), width=20)
        grid.add_row(bar, Text(line_of(live), overflow="ellipsis", no_wrap=True))
        self._bar.update(grid, refresh=True)


def progress(live: "Live") -> tuple[int, int]:
    """Units settled over all steps, and how many there are to settle as far as that is known."""
    state = live.run.state
    rows = state.step_rows()
    now = sum(sum(both) for both in live.settled.values())
    before = sum(row["valid"] + row["failed"] + row["retried"] for row in rows)
    total = 0
    coming = 0
    for row in rows:
        came = max(row["valid"] + row["failed"] + row["retried"] + row["pending"], coming)
        total += came
        coming = came - row["failed"] - row["retried"]
    return max(before, now), total


def line_of(live: "Live") -> str:
    """How a run goes, on one line."""
    done, total = progress(live)
    rows = live.run.state.step_rows()
    failed = sum(both[1] for both in live.settled.values())
    parts = [
        f"{100 * done // max(total, 1):3d}%",
        f"{done:,} of {total:,}",
        f"{failed:,} failed",
        f"{live.rate:,.0f}/s",
    ]
    if live.rate > 0 and total > done and live.seconds > 2:
        parts.append(f"{clock((total - done) / live.rate)} left")
    if live.under_way:
        parts.append(f"{live.under_way} calls")
    if live.spent:
        parts.append(f"${live.spent:.4f}")
    codes: dict[str, int] = {}
    for row in rows:
        for code, number in row["codes"].items():
            codes[code] = codes.get(code, 0) + number
    parts += [f"{code}×{number:,}" for code, number in sorted(codes.items(), key=lambda item: -item[1])[:3]]
    return "  ".join(parts)


def clock(seconds: float) -> str:
    """A time to come: 0:42, 12:05, 3:10:00."""
    whole = int(seconds)
    hours = f"{whole // 3600}:{whole // 60 % 60:02d}" if whole >= 3600 else str(whole // 60)
    return f"{hours}:{whole % 60:02d}"


def print_end(path: Path, result: "Result", as_json: bool) -> None:
    """How a run stands at the end of this time."""
    from trueup.batch.pipeline.rundir import RunDir
    from trueup.batch.pipeline.status import status

    found = RunDir.look(path)
    if as_json:
        print_json({"path": str(path), **status(found.state)})
        return
    show_run(path, status(found.state))
    if result.status == "done":
        _say(f"{path / 'validated.jsonl'}", "failures.jsonl beside it" if found.state.step_rows() else "")


def print_json(value: Any) -> None:
    from trueup.cli.pretty import document
    from trueup.cli.terminal import is_terminal, write

    write(document(value, indented=is_terminal()) + "\n")


def _say(first: str, then: str) -> None:
    from trueup.cli.terminal import write

    write(safe_line(first) + (f" ({then})" if then else "") + "\n")


def show_run(path: Path, found: dict[str, Any], *, running: bool = False) -> None:
    """A run: its head, and the table of its steps."""
    from rich.text import Text

    from trueup.cli.table import table
    from trueup.cli.terminal import open_console

    console = open_console()
    status = "running" if running else found["status"] if found["status"] != "running" else "stopped"
    style = {"done": "green", "failed": "red", "running": "cyan"}.get(status, "yellow")
    console.print(Text.assemble((safe_line(str(path)), "bold"), "  ", (status, style)), soft_wrap=True)
    if found["reason"]:
        console.print(Text(safe_line(found["reason"]), "dim"), soft_wrap=True)
    head = ["step", "valid", "failed", "retried", "pending", "cost", "failures by code"]
    rows = [_row(row) for row in found["steps"]]
    for line in table(head, rows, "<>>>>><", console.width):
        console.print(Text.assemble(*line), soft_wrap=True)
    for name in ("warnings", "fixes"):
        for row in found["steps"]:
            if row[name]:
                console.print(Text(f"{name} in {row['step']}: {by_code(row[name])}", "dim"), soft_wrap=True)
    lost = found["money"]["lost"]
    if lost:
        calls = "1 call was" if lost == 1 else f"{lost} calls were"
        console.print(
            Text(f"{calls} under way when the run was cut; what that cost is not known", "yellow"),
            soft_wrap=True,
        )


def _row(row: dict[str, Any]) -> list[str]:
    import msgspec

    from trueup.batch.pipeline.cost import shown
    from trueup.batch.pipeline.state import Money

    money = msgspec.convert(row["money"], Money)
    cost = shown(money) if money.calls else "-"
    numbers = [f"{row[name]:,}" for name in ("valid", "failed", "retried", "pending")]
    return [row["step"], *numbers, cost, by_code(row["codes"]) or "-"]


def by_code(counts: dict[str, int]) -> str:
    """Units by code, the most frequent first.

    >>> by_code({"C001": 1, "W001": 3})
    'W001×3 C001×1'
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return " ".join(f"{code}×{number:,}" for code, number in ranked)
