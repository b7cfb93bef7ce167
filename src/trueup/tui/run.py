"""The screen of one run: the funnel of its steps, its pace and cost, its failures by code, and the actions on it.

It refreshes once a second. Each key that changes the run first shows the effect and asks; pausing and resuming do not.
"""

from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import DataTable, Header, Static
from textual.worker import get_current_worker

from trueup.batch.pipeline.reporting.words import batches, so_far
from trueup.tui.commands import CommandResult, carry_out, resume
from trueup.tui.dialogs import Ask, Confirm
from trueup.tui.effects import Effect, kill_effect, retry_effect, revalidate_effect
from trueup.tui.keys import KeyBar
from trueup.tui.listing import ListColumn, Listing, ListRow
from trueup.tui.pictures import RunPicture, picture
from trueup.tui.reader_threads import hand_over
from trueup.tui.units import UnitsScreen
from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.display import safe_line

STYLES = {
    "running": "green", "done": "bold", "failed": "red", "damaged": "red", "deleted": "red", "paused": "yellow",
    "stopped": "yellow",
}  # fmt: skip
STEPS = (
    ListColumn("step"), ListColumn("progress"), ListColumn("valid", 0, right=True), ListColumn("failed", 0, right=True),
    ListColumn("waiting", 1, right=True), ListColumn("retried", 4, right=True), ListColumn("calls", 3, right=True),
    ListColumn("cost", 2, right=True), ListColumn("seconds", 5, right=True), ListColumn("kind", 6),
)  # fmt: skip
CODES = (
    ListColumn("code"),
    ListColumn("kind"),
    ListColumn("units", 0, right=True),
    ListColumn("step", 1),
    ListColumn("meaning", 2),
)
_KINDS = {"chunk": "asks a model", "expression": "expressions", "fan_out": "fans out a list", "run": "runs a script"}
_TAGS = (("failure", "codes"), ("warning", "warnings"), ("fix", "fixes"))
_LISTED = {"failure": "failed", "warning": "valid", "fix": "valid"}  # the units that a row of codes counts


def bar(valid: int, failed: int, pending: int, length: int = 24) -> Text:
    """A bar of the outcomes of a step.

    >>> bar(3, 1, 0).plain
    '██████████████████░░░░░░'
    """
    whole = valid + failed + pending
    good = round(length * valid / whole) if whole else 0
    bad = min(length - good, max(round(length * failed / whole), failed > 0)) if whole else 0
    return Text.assemble(("█" * good, "green"), ("░" * bad, "red"), ("·" * (length - good - bad), "dim"))


class RunScreen(Screen[None]):
    """One run."""

    BINDINGS: ClassVar = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("t", "retry", "Retry failed"),
        Binding("v", "revalidate", "Revalidate"),
        Binding("p", "pause", "Pause"),
        Binding("s", "resume", "Resume"),
        Binding("k", "kill", "Kill"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._run = RunPicture(path)
        self._looking = False
        self._at_work = ""  # the running command whose time depends on the size of the run

    def compose(self) -> ComposeResult:
        yield Header(icon=" ")
        yield Static(id="about")
        yield Listing(STEPS, opens="Units", id="steps")
        yield Listing(CODES, opens="Units", id="codes")
        yield Static(id="detail")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show(picture(self._path))
        self.set_interval(1.0, self.look)
        self.query_one("#steps", Listing).focus()

    def on_resize(self) -> None:
        self.show(self._run)

    @work(thread=True, group="look")
    def look(self) -> None:
        """Read the run again in a thread; a slow read is not started twice."""
        if self._looking:
            return
        self._looking = True
        try:
            hand_over(self, self.show, picture(self._path))
        finally:
            self._looking = False

    def show(self, run: RunPicture) -> None:
        """Show a picture of the run; if it cannot be read, the last figures stay."""
        if not self.is_attached:
            return
        self._run = run
        self.query_one("#about", Static).update(about(run))
        if run.status:
            length = 24 if self.size.width >= 100 else 10
            self.query_one("#steps", Listing).show([_step_line(row, length) for row in run.status["steps"]])
            self.query_one("#codes", Listing).show(list(_code_lines(run.status["steps"])))
        self._tell()

    def _tell(self) -> None:
        table = self.query_one("#steps", Listing)
        rows = self._run.status.get("steps", ())
        row = next((row for row in rows if row["step"] == table.chosen), None)
        self.query_one("#detail", Static).update(_step_detail(row) if row else Text())

    def on_data_table_row_highlighted(self, _: DataTable.RowHighlighted) -> None:
        self._tell()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        step, code, tag, *_ = (*str(event.row_key.value).split("\n"), "", "")
        self.app.push_screen(UnitsScreen(self._path, step, code, kind=_LISTED.get(tag, "")))

    # Actions on the run ---------------------------------------------------------------------------------

    def action_retry(self) -> None:
        if self._is_free():
            self._consider("retry")

    def action_kill(self) -> None:
        self._consider("kill")

    def action_pause(self) -> None:
        self._carry_out("pause")

    def action_resume(self) -> None:
        if self._is_free():
            self._go_on()

    def action_revalidate(self) -> None:
        def given(pipeline: str | None) -> None:
            if pipeline:
                self._set_to_work("revalidate: the stored replies are judged …")
                self._consider("revalidate", pipeline)

        if self._is_free():
            self.app.push_screen(Ask("Revalidate with the pipeline in this folder:"), given)

    def _is_free(self) -> bool:
        """Whether no long command is running; otherwise a message names it."""
        if self._at_work:
            self.app.notify(self._at_work, severity="warning", markup=False)
        return not self._at_work

    def _set_to_work(self, what: str) -> None:
        """Show the running command in the head until it ends."""
        self._at_work = what
        self.sub_title = what or None

    @work(thread=True)
    def _consider(self, command: str, pipeline: str = "") -> None:
        """Determine the effect of a command, and ask before running it."""
        worker = get_current_worker()
        effect = (
            retry_effect(self._path) if command == "retry"
            else kill_effect(picture(self._path)) if command == "kill"
            else revalidate_effect(self._path, pipeline, lambda: worker.is_cancelled)
        )  # fmt: skip
        hand_over(self, self._ask, command, effect)

    def _ask(self, command: str, effect: Effect) -> None:
        if command == "revalidate":
            self._set_to_work("")
        if not effect.question:
            self._tell_of(CommandResult(effect.code, effect.text))
            return

        def answered(yes: object) -> None:
            if yes and command == "kill":
                self._carry_out(command)
            elif yes and self._is_free():
                self._set_to_work(f"{command} is running …")
                self._carry_out(command, *effect.options)

        self.app.push_screen(Confirm(effect.question, effect.text), answered)

    def _carry_out(self, command: str, *options: str) -> None:
        """Run a command; its result is shown even if this screen was closed in the meantime."""
        app = self.app  # a closed screen has none

        def work() -> None:
            worker = get_current_worker()
            done = carry_out(command, self._path, *options, left=lambda: worker.is_cancelled)
            hand_over(app, self._carried_out, command, done)

        app.run_worker(work, thread=True, group="command")

    def _carried_out(self, command: str, done: CommandResult) -> None:
        if command in {"retry", "revalidate"}:
            self._set_to_work("")
        self._tell_of(done)

    @work(thread=True)
    def _go_on(self) -> None:
        hand_over(self, self._tell_of, resume(self._path))

    def _tell_of(self, done: CommandResult) -> None:
        level: Any = "information" if done.code == 0 else "warning" if done.code == 1 else "error"
        self.app.notify(safe_line(done.said[-400:]), severity=level, markup=False, timeout=8)
        if self.is_attached:
            self.look()


def units(number: int) -> str:
    """A number of units."""
    return f"{number:,} unit{'s' * (number != 1)}"


def about(run: RunPicture) -> Text:
    """The head of a run: its state, its counts, its pace, its cost."""
    out = Text()
    out.append(f"{safe_line(run.name)}  ", "bold")
    out.append(run.state, STYLES.get(run.state, ""))
    if run.fault:
        return out.append(f"\n{safe_line(run.fault)}", "red")
    if not run.status:
        return out
    found = run.status
    if found["reason"]:
        out.append(f": {safe_line(found['reason'])}", "yellow")
    out.append(f"\n{units(found['units'])}, {found['valid']:,} valid, {found['failed']:,} failed, ")
    out.append(f"{found['pending']:,} waiting{' · ' * bool(found['mode'])}{found['mode']}")
    pace = [f"{run.share}% done"]
    live = run.live
    if live:
        pace += [f"{live.get('per_second', 0):,.1f} units a second", f"{run.left} left" if run.left else ""]
        calls = live.get("under_way", 0)
        pace += [f"{calls} call{'s' * (calls != 1)} under way" if calls else ""]
    pace += [batches(found), run.cost]
    return out.append("\n" + " · ".join(part for part in pace if part))


def _step_line(row: dict[str, Any], length: int) -> ListRow:
    money = row["money"]
    price = "-" if not money["calls"] else "?" if money["unpriced"] else f"${money['usd']:.4f}"
    counts = [row[name] for name in ("valid", "failed", "pending", "retried")]
    done = row["valid"] + row["failed"]
    whole = done + row["pending"]
    texts = [Text(f"{number:,}") for number in counts]
    if row["failed"]:
        texts[1].stylize("red")
    cells = (
        Text(safe_line(row["step"])), bar(row["valid"], row["failed"], row["pending"], length), *texts,
        Text(f"{money['calls']:,}"), Text(price), Text(f"{row['seconds']:,.1f}"), Text(safe_line(row["scope"])),
    )  # fmt: skip
    values = (
        row["step"], done / whole if whole else None, *counts, money["calls"],
        None if money["unpriced"] else money["usd"], row["seconds"], row["scope"],
    )  # fmt: skip
    return ListRow(row["step"], cells, values)


def _code_lines(rows: list[dict[str, Any]]) -> list[ListRow]:
    lines = []
    for row in rows:
        for kind, counted in _TAGS:
            for code, count in sorted(row[counted].items(), key=lambda pair: (-pair[1], pair[0])):
                values = (code, kind, count, row["step"], meaning(code))
                cells = tuple(Text(safe_line(f"{value:,}" if value is count else str(value))) for value in values)
                lines.append(ListRow(f"{row['step']}\n{code}\n{kind}", cells, values))
    return lines


def meaning(code: str) -> str:
    """The meaning of a code in a few words.

    >>> meaning("W001"), meaning("Z999")
    ('code-fence', '')
    """
    found = FINDINGS.get(code) or FIXES.get(code)
    return found.name if found is not None else ""


def _step_detail(row: dict[str, Any]) -> Text:
    """A step in a line or two, with the columns that its row may leave out."""
    money = row["money"]
    parts = [
        f"{safe_line(row['step'])} {_KINDS.get(row['scope'], row['scope'])}",
        f"{row['valid']:,} valid, {row['failed']:,} failed, {row['pending']:,} waiting, {row['retried']:,} retried",
        f"{row['fixed']:,} fixed, {row['warned']:,} with a warning",
        f"{money['calls']:,} call{'s' * (money['calls'] != 1)}" if money["calls"] else "",
        so_far(money),
        f"{row['seconds']:,.1f} s",
    ]
    return Text(" · ".join(part for part in parts if part))
