"""The screen of all runs in a folder: the state, remaining time and cost of each; refreshed once a second."""

from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import DataTable, Header, Label, Static

from trueup.tui.keys import Keys
from trueup.tui.listing import Column, Line, Listing
from trueup.tui.pictures import Run, picture, runs_at
from trueup.tui.reader_threads import hand_over
from trueup.tui.run import STYLES, OneRun
from trueup.verdict.display import safe_line

COLUMNS = (
    Column("run"), Column("state"), Column("done", 2, right=True), Column("valid", 3, right=True),
    Column("failed", 1, right=True), Column("waiting", 4, right=True), Column("left", 1, right=True),
    Column("cost", 2, right=True), Column("of about", 5, right=True), Column("units", 6, right=True),
    Column("pipeline", 7), Column("updated", 8),
)  # fmt: skip


class Runs(Screen[None]):
    """All runs of a folder."""

    BINDINGS: ClassVar = [Binding("q", "app.quit", "Quit")]

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._runs: dict[str, Run] = {}
        self._looking = False

    def compose(self) -> ComposeResult:
        yield Header(icon=" ")
        yield Label("", id="hint")
        yield Listing(COLUMNS, opens="Open run", id="runs")
        yield Static(id="detail")
        yield Keys()

    def on_mount(self) -> None:
        self.show([picture(path) for path in runs_at(self._folder)])
        self.set_interval(1.0, self.look)
        self.query_one(Listing).focus()

    @work(thread=True, group="look")
    def look(self) -> None:
        """Read the folder again in a thread; a slow read is not started twice."""
        if self._looking:
            return
        self._looking = True
        try:
            runs = [picture(path) for path in runs_at(self._folder)]
            hand_over(self, self.show, runs)
        finally:
            self._looking = False

    def show(self, runs: list[Run]) -> None:
        """Show pictures of the runs."""
        if not self.is_attached:
            return
        self._runs = {str(run.path): run for run in runs if not run.gone}
        self.query_one(Listing).show([_line(run) for run in self._runs.values()])
        hint = self.query_one("#hint", Label)
        hint.set_class(bool(self._runs), "empty")
        hint.update(
            Text("" if self._runs else f"No runs in {safe_line(str(self._folder))}: `trueup run PIPELINE` starts one.")
        )
        self._tell()

    def _tell(self) -> None:
        chosen = self._runs.get(self.query_one(Listing).chosen or "")
        self.query_one("#detail", Static).update(detail(chosen) if chosen else Text())

    def on_data_table_row_highlighted(self, _: DataTable.RowHighlighted) -> None:
        self._tell()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        run = self._runs.get(str(event.row_key.value))
        if run is not None:
            self.app.push_screen(OneRun(run.path))


def _line(run: Run) -> Line:
    found = run.status
    name, state = safe_line(run.name), Text(run.state, STYLES.get(run.state, ""))
    if run.fault:
        blank = (Text(""),) * (len(COLUMNS) - 2)
        return Line(str(run.path), (Text(name), state, *blank), (name, run.state, *[None] * len(blank)))
    estimated = found["estimated_usd"]
    money = found["money"]
    left = run.live.get("seconds_left")
    values: tuple[Any, ...] = (
        name, run.state, run.share, found["valid"], found["failed"], found["pending"], left,
        None if money["unpriced"] else money["usd"], estimated, found["units"], found["pipeline"], found["updated"],
    )  # fmt: skip
    numbers = [f"{found[each]:,}" for each in ("valid", "failed", "pending")]
    failed = Text(numbers[1], "red" if found["failed"] else "")
    return Line(
        str(run.path),
        (
            Text(name), state, Text(f"{run.share}%"), Text(numbers[0]), failed, Text(numbers[2]), Text(run.left or "-"),
            Text(_short_cost(run)), Text("?" if estimated is None else f"${estimated:.4f}"), Text(f"{found['units']:,}"),
            Text(safe_line(str(found["pipeline"]))), Text(_minute(found["updated"])),
        ),
        values,
    )  # fmt: skip


def _short_cost(run: Run) -> str:
    """The cost in a column; a partly unknown cost is marked, and explained elsewhere."""
    money = run.status["money"]
    if not money["calls"]:
        return "-"
    return f"${money['usd']:.4f}{'+?' * bool(money['unpriced'])}" if money["unpriced"] < money["calls"] else "?"


def _minute(stamp: Any) -> str:
    return str(stamp)[5:16].replace("T", " ")  # month to minute, to save width


def detail(run: Run) -> Text:
    """A run in a few lines, with the columns that its row may leave out."""
    out = Text.assemble((safe_line(run.name), "bold"))
    if run.fault:
        return out.append(f"\n{safe_line(run.fault)}", "red")
    found = run.status
    out.append(f" · {safe_line(str(found['pipeline']))} · updated {_minute(found['updated'])}\n")
    out.append(f"{found['units']:,} units: {found['valid']:,} valid, {found['failed']:,} failed, ")
    out.append(f"{found['pending']:,} waiting · {run.share}%")
    if run.left:
        out.append(f" · {run.left} left")
    if run.cost:
        out.append(f" · {run.cost}")
    if found["reason"]:
        out.append(f"\n{safe_line(found['reason'])}", "yellow")
    return out
