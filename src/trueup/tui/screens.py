"""The screens: all runs, one run, the units of one step. Each looks again once a second and asks before it ends anything."""

from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, DataTable, Footer, Header, Input, Label, Static

from trueup.tui.commands import Done, carry_out, resume
from trueup.tui.marked import unit_text
from trueup.tui.pictures import MOST_UNITS, Run, UnitRow, picture, runs_at, unit_at, units_at
from trueup.verdict.display import safe_line

_STATES = {"running": "green", "done": "bold", "failed": "red", "damaged": "red", "paused": "yellow"}
_BAR = 24


def _cell(text: str) -> Text:
    """A cell that says what it is given: a plain string would be read as markup."""
    return Text(safe_line(text))


def bar(valid: int, failed: int, pending: int) -> Text:
    """A bar of what became of the units of a step.

    >>> bar(3, 1, 0).plain
    '██████████████████░░░░░░'
    """
    whole = valid + failed + pending
    good = round(_BAR * valid / whole) if whole else 0
    bad = min(_BAR - good, max(round(_BAR * failed / whole), failed > 0)) if whole else 0
    return Text.assemble(("█" * good, "green"), ("░" * bad, "red"), ("·" * (_BAR - good - bad), "dim"))


class Confirm(ModalScreen[bool]):
    """One question with yes and no."""

    BINDINGS: ClassVar = [Binding("y", "answer(True)", "Yes"), Binding("n,escape", "answer(False)", "No")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Label(Text(self._question))
            with Horizontal():
                yield Button("Yes (y)", id="yes", variant="warning")
                yield Button("No (n)", id="no", variant="primary")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class Ask(ModalScreen[str]):
    """One line of text; empty when it was left."""

    BINDINGS: ClassVar = [Binding("escape", "leave", "Leave")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Label(Text(self._question))
            yield Input(id="answer")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        self.dismiss("")


class Runs(Screen[None]):
    """All runs of a folder."""

    BINDINGS: ClassVar = [Binding("enter", "open", "Open", show=True), Binding("q", "app.quit", "Quit")]
    COLUMNS = ("run", "pipeline", "state", "units", "valid", "failed", "waiting", "cost", "updated")

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._paths: list[Path] = []

    def compose(self) -> ComposeResult:
        yield Header()
        yield Label("", id="hint")
        yield DataTable(id="runs", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns(*self.COLUMNS)
        self.look()
        self.set_interval(1.0, self.look)

    def look(self) -> None:
        """Look at the folder again."""
        table = self.query_one(DataTable)
        paths = runs_at(self._folder)
        row = table.cursor_row
        chosen = self._paths[row] if 0 <= row < len(self._paths) else None
        table.clear()
        for path in paths:
            table.add_row(*_run_row(picture(path)))
        self._paths = paths
        if chosen in paths:
            table.move_cursor(row=paths.index(chosen))
        hint = self.query_one("#hint", Label)
        hint.update(Text("" if paths else f"No runs in {self._folder}: `trueup run PIPELINE` starts one."))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        self.app.push_screen(OneRun(self._paths[event.cursor_row]))


def _run_row(run: Run) -> list[Text | str]:
    found = run.status
    state = Text(run.state, _STATES.get(run.state, ""))
    if run.fault:
        return [_cell(run.name), "", state, "", "", "", "", "", ""]
    numbers = [f"{found[name]:,}" for name in ("units", "valid", "failed", "pending")]
    return [
        _cell(run.name), _cell(str(found["pipeline"])), state, *numbers, run.cost,
        str(found["updated"])[5:16].replace("T", " "),  # month to minute: the columns are many
    ]  # fmt: skip


class OneRun(Screen[None]):
    """One run: the funnel of its steps, how fast it goes, what failed."""

    BINDINGS: ClassVar = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("t", "retry", "Retry failed"),
        Binding("v", "revalidate", "Revalidate"),
        Binding("p", "pause", "Pause"),
        Binding("s", "resume", "Go on"),
        Binding("k", "kill", "Kill"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._steps: list[str] = []

    def compose(self) -> ComposeResult:
        yield Header()
        yield Static(id="about")
        yield DataTable(id="steps", cursor_type="row")
        yield Label("Failures, warnings and fixes by code", classes="heading")
        yield DataTable(id="codes", cursor_type="row")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#steps", DataTable).add_columns(
            "step", "kind", "units", "valid", "failed", "waiting", "calls", "cost"
        )
        self.query_one("#codes", DataTable).add_columns("step", "code", "kind", "units")
        self.look()
        self.set_interval(1.0, self.look)

    def look(self) -> None:
        """Look at the run again."""
        run = picture(self._path)
        self.query_one("#about", Static).update(_about(run))
        if run.fault:
            return
        steps, codes = self.query_one("#steps", DataTable), self.query_one("#codes", DataTable)
        kept = steps.cursor_row, codes.cursor_row
        steps.clear()
        codes.clear()
        for row in run.status["steps"]:
            money = row["money"]
            price = "unknown" if money["unpriced"] else f"${money['usd']:.4f}"
            steps.add_row(
                _cell(row["step"]), _cell(row["scope"]), bar(row["valid"], row["failed"], row["pending"]),
                f"{row['valid']:,}", f"{row['failed']:,}", f"{row['pending']:,}", f"{money['calls']:,}", price,
            )  # fmt: skip
            for kind, counted in (("failure", "codes"), ("warning", "warnings"), ("fix", "fixes")):
                for code, count in sorted(row[counted].items(), key=lambda pair: (-pair[1], pair[0])):
                    codes.add_row(_cell(row["step"]), _cell(code), kind, f"{count:,}")
        self._steps = [row["step"] for row in run.status["steps"]]
        for table, row in zip((steps, codes), kept, strict=True):
            if row < table.row_count:
                table.move_cursor(row=row)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        table = event.data_table
        if table.id == "steps":
            self.app.push_screen(Units(self._path, self._steps[event.cursor_row]))
        else:
            step, code, *_ = table.get_row_at(event.cursor_row)
            self.app.push_screen(Units(self._path, str(step), str(code)))

    def action_retry(self) -> None:
        self._after("Take the failed units that may be asked about again?", "retry")

    def action_kill(self) -> None:
        self._after("End the process of this run? It can go on later.", "kill")

    def action_pause(self) -> None:
        self._carry_out("pause")

    def action_resume(self) -> None:
        self._go_on()

    def action_revalidate(self) -> None:
        def given(pipeline: str | None) -> None:
            if pipeline:
                self._carry_out("revalidate", "--pipeline", pipeline)

        self.app.push_screen(Ask("Judge the stored replies again by the pipeline in which folder?"), given)

    def _after(self, question: str, command: str) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._carry_out(command)

        self.app.push_screen(Confirm(question), answered)

    @work(thread=True)
    def _carry_out(self, command: str, *options: str) -> None:
        self.app.call_from_thread(self._tell, carry_out(command, self._path, *options))

    @work(thread=True)
    def _go_on(self) -> None:
        self.app.call_from_thread(self._tell, resume(self._path))

    def _tell(self, done: Done) -> None:
        level: Any = "information" if done.code == 0 else "warning" if done.code == 1 else "error"
        self.notify(safe_line(done.said[-400:]), severity=level, markup=False, timeout=8)
        self.look()


def _units(number: int) -> str:
    return f"{number:,} unit{'s' * (number != 1)}"


def _about(run: Run) -> Text:
    out = Text()
    out.append(f"{safe_line(run.name)}  ", "bold")
    out.append(run.state, _STATES.get(run.state, ""))
    if run.fault:
        return out.append(f"\n{safe_line(run.fault)}", "red")
    found = run.status
    if found["reason"]:
        out.append(f": {safe_line(found['reason'])}", "yellow")
    out.append(f"\n{_units(found['units'])}, {found['valid']:,} valid, {found['failed']:,} failed, ")
    out.append(f"{found['pending']:,} waiting · {found['mode']} · {run.cost}")
    if run.live:
        out.append(
            f"\n{run.live.get('per_second', 0):,.1f} units a second · {run.live.get('under_way', 0)} calls under way · "
            f"for {run.live.get('seconds', 0):,.0f} s"
        )
    return out


class Units(Screen[None]):
    """The units of one step, and one of them in full."""

    BINDINGS: ClassVar = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("f", "kind", "All / failed / valid"),
        Binding("slash", "find", "Find an id"),
        Binding("q", "app.quit", "Quit"),
    ]
    KINDS = ("", "failed", "valid")

    def __init__(self, path: Path, step: str, code: str = "") -> None:
        super().__init__()
        self._path = path
        self._step = step
        self._code = code
        self._kind = ""
        self._rows: list[UnitRow] = []

    def compose(self) -> ComposeResult:
        yield Header()
        yield Label("", id="which")
        yield Input(placeholder="part of an id", id="find")
        with Horizontal():
            yield DataTable(id="units", cursor_type="row")
            with VerticalScroll(id="one"):
                yield Static(id="unit")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("unit", "", "codes")
        self.query_one("#find", Input).display = False
        self.look()
        self.query_one(DataTable).focus()

    def look(self) -> None:
        """Read the units again."""
        table = self.query_one(DataTable)
        wanted = self.query_one("#find", Input).value
        self._rows = units_at(self._path, self._step, self._kind, self._code, wanted)
        table.clear()
        for row in self._rows:
            mark = Text("✓", "green") if row.ok else Text("✗", "red")
            table.add_row(_cell(row.id), mark, _cell(" ".join(row.codes)))
        shown = _units(len(self._rows)) if len(self._rows) < MOST_UNITS else f"the first {MOST_UNITS:,} units"
        parts = [safe_line(self._step), self._kind or "all", self._code, shown]
        self.query_one("#which", Label).update(Text(" · ".join(part for part in parts if part)))
        self._show(0)

    def _show(self, at: int) -> None:
        if 0 <= at < len(self._rows):
            shown = unit_text(unit_at(self._path, self._step, self._rows[at]))
        else:
            shown = Text("no unit", "dim")
        self.query_one("#unit", Static).update(shown)
        self.query_one("#one", VerticalScroll).scroll_home(animate=False)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        self._show(event.cursor_row)

    def action_kind(self) -> None:
        self._kind = self.KINDS[(self.KINDS.index(self._kind) + 1) % len(self.KINDS)]
        self.look()

    def action_find(self) -> None:
        line = self.query_one("#find", Input)
        line.display = True
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.input.display = bool(event.value)
        self.look()
        self.query_one(DataTable).focus()
