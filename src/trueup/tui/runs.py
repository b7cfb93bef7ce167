"""The screen of all runs in a folder: the state, remaining time and cost of each; refreshed once a second."""

from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import DataTable, Header, Label, Static

from trueup.tui.keys import KeyBar
from trueup.tui.listing import ListColumn, Listing, ListRow
from trueup.tui.pictures import RunPicture, picture, runs_at
from trueup.tui.reader_threads import hand_over
from trueup.tui.run import STYLES, RunScreen
from trueup.verdict.display import safe_line

COLUMNS = (
    ListColumn("run"), ListColumn("state"), ListColumn("done", 2, right=True), ListColumn("valid", 3, right=True),
    ListColumn("failed", 1, right=True), ListColumn("waiting", 4, right=True), ListColumn("left", 1, right=True),
    ListColumn("cost", 2, right=True), ListColumn("of about", 5, right=True), ListColumn("units", 6, right=True),
    ListColumn("pipeline", 7), ListColumn("updated", 8),
)  # fmt: skip


class Runs(Screen[None]):
    """All runs of a folder."""

    BINDINGS: ClassVar = [Binding("q", "app.quit", "Quit")]

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._runs: dict[str, RunPicture] = {}
        self._looking = False

    def compose(self) -> ComposeResult:
        yield Header(icon=" ")
        yield Label("", id="hint")
        yield Listing(COLUMNS, opens="Open run", id="runs")
        yield Static(id="detail")
        yield KeyBar()

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

    def show(self, runs: list[RunPicture]) -> None:
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
            self.app.push_screen(RunScreen(run.path))


def _line(run: RunPicture) -> ListRow:
    found = run.status
    name, state = safe_line(run.name), Text(run.state, STYLES.get(run.state, ""))
    if run.fault:
        blank = (Text(""),) * (len(COLUMNS) - 2)
        return ListRow(str(run.path), (Text(name), state, *blank), (name, run.state, *[None] * len(blank)))
    estimated = found["estimated_usd"]
    money = found["money"]
    left = run.live.get("seconds_left")
    values: tuple[Any, ...] = (
        name, run.state, run.share, found["valid"], found["failed"], found["pending"], left,
        None if money["unpriced"] else money["usd"], estimated, found["units"], found["pipeline"], found["updated"],
    )  # fmt: skip
    numbers = [f"{found[each]:,}" for each in ("valid", "failed", "pending")]
    failed = Text(numbers[1], "red" if found["failed"] else "")
    return ListRow(
        str(run.path),
        (
            Text(name), state, Text(f"{run.share}%"), Text(numbers[0]), failed, Text(numbers[2]), Text(run.left or "-"),
            Text(_short_cost(run)), Text("?" if estimated is None else f"${estimated:.4f}"), Text(f"{found['units']:,}"),
            Text(safe_line(str(found["pipeline"]))), Text(_minute(found["updated"])),
        ),
        values,
    )  # fmt: skip


def _short_cost(run: RunPicture) -> str:
    """The cost in a column; a partly unknown cost is marked, and explained elsewhere."""
    money = run.status["money"]
    if not money["calls"]:
        return "-"
    return f"${money['usd']:.4f}{'+?' * bool(money['unpriced'])}" if money["unpriced"] < money["calls"] else "?"


def _minute(stamp: Any) -> str:
    return str(stamp)[5:16].replace("T", " ")  # month to minute, to save width


def detail(run: RunPicture) -> Text:
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
