"""The screen of the units of one step, a page at a time, and one of them in full. Threads do the reading."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import DataTable, Header, Input, Label, Static
from textual.worker import get_current_worker

from trueup.batch.pipeline.viewing.inspecting import unit_at
from trueup.batch.pipeline.viewing.unitlist import KINDS, PAGE, Query, UnitPage, UnitRow, page_at, row_now
from trueup.tui.hints import Pane
from trueup.tui.keys import KeyBar
from trueup.tui.listing import ListColumn, Listing, ListRow
from trueup.tui.marked import unit_text
from trueup.tui.pictures import mark
from trueup.tui.reader_threads import hand_over
from trueup.verdict.display import safe_line

COLUMNS = (ListColumn("unit"), ListColumn("state"), ListColumn("codes", 1), ListColumn("chunk", 2))
_STYLES = {"failed": "red", "valid": "green", "asked": "yellow", "replied": "cyan", "waiting": "dim"}
_MARKS = {"failed": "✗ failed", "valid": "✓ valid", "asked": "… asked", "replied": "… replied", "waiting": "· waiting"}


class Find(Input):
    """The input line for a part of an id."""

    BINDINGS: ClassVar = [Binding("enter", "submit", "Find")]


class UnitsScreen(Screen[None]):
    """The units of one step."""

    BINDINGS: ClassVar = [
        Binding("escape", "leave", "Back"),
        Binding("f", "kind", "All/failed/open/valid"),
        Binding("slash", "find", "Find id"),
        Binding("right_square_bracket", "turn('on')", f"Next {PAGE}", key_display="]"),
        Binding("left_square_bracket", "turn('back')", f"Previous {PAGE}", key_display="["),
        Binding("r", "refresh", "Refresh"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, path: Path, step: str, code: str = "", kind: str = "") -> None:
        super().__init__()
        self._path = path
        self._query = Query(step, kind, code)
        self._page = UnitPage()
        self._first = 0  # units on the pages before this one
        self._start: tuple[UnitRow, bool] | None = None  # where this page starts: after a row, or before it
        self._unit: tuple[str, str] = ("", "")
        self._mark = mark(path)

    def compose(self) -> ComposeResult:
        yield Header(icon=" ")
        yield Label("", id="which")
        yield Find(placeholder="part of an id", compact=True, id="find")
        with Container(id="both"):
            yield Listing(COLUMNS, opens="Read unit", sorts=False, id="units")
            with Pane(id="one"):
                yield Static(id="unit")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one("#find", Input).display = False
        self.query_one(Listing).focus()
        self.query_one("#which", Label).update(Text(f"{safe_line(self._query.step)} · reading …"))
        self.look()
        self.set_interval(2.0, self._look_again)

    # Reading in threads -------------------------------------------------------------------------------------

    def _look_again(self) -> None:
        """Read while the run is running and once after it has changed; a slow read is not started twice."""
        if any(worker.group == "page" and worker.node is self and not worker.is_finished for worker in self.workers):
            return
        before, self._mark = self._mark, mark(self._path)
        if self._mark != before or self._mark[:1] == (True,):
            self.look()

    def look(self) -> None:
        """Read the page again."""
        start, back = self._start or (None, False)
        self._read(self._query, start, self._first, back=back)

    @work(thread=True, exclusive=True, group="page")
    def _read(self, query: Query, start: UnitRow | None, first: int, *, back: bool) -> None:
        worker = get_current_worker()
        page = page_at(self._path, query, start, back=back, left=lambda: worker.is_cancelled)
        hand_over(self, self._show, query, page, first)

    @work(thread=True, exclusive=True, group="unit")
    def _read_unit(self, row: UnitRow) -> None:
        now = row_now(self._path, self._query.step, row)
        text = unit_text(unit_at(self._path, self._query.step, now))
        hand_over(self, self._show_unit, row, text)

    def _show(self, query: Query, page: UnitPage, first: int) -> None:
        if not self.is_attached or query != self._query:
            return
        if not page.rows and first and not page.fault:  # the last page has become empty: start again
            self._start, self._first = None, 0
            self.look()
            return
        read = self._chosen()
        if self.has_class("-reading") and self._unit[0] and read and read.id not in {row.id for row in page.rows}:
            self._read_unit(read)  # it is now on another page, but stays open for reading
            return
        self._page, self._first = page, first
        self.query_one(Listing).show([_line(row) for row in page.rows])
        self.query_one("#which", Label).update(self._which())
        self.refresh_bindings()
        self._highlight()

    def _which(self) -> Text:
        query, page = self._query, self._page
        number = len(page.rows)
        if page.before or page.after:
            counted = f"units {self._first + 1:,}–{self._first + number:,}{', more with ]' * page.after}"
        else:
            counted = f"{number:,} unit{'s' * (number != 1)}"
        chosen = self._chosen() if self.has_class("-reading") else None
        if chosen is not None:
            return Text.assemble(f"{safe_line(query.step)} · ", (safe_line(chosen.id), "bold"))
        parts = [safe_line(query.step), query.kind or "all", query.code, counted]
        if query.text:
            parts.append(f"id contains {safe_line(query.text)!r}")
        out = Text(" · ".join(part for part in parts if part))
        return out.append(f"\n{safe_line(page.fault)}", "red") if page.fault else out

    def _highlight(self) -> None:
        row = self._chosen()
        if row is None:
            self._unit = ("", "")
            self.query_one("#unit", Static).update(Text(self._none(), "dim"))
        else:
            self._read_unit(row)

    def _none(self) -> str:
        """Why there is nothing to show: the counts of a run include outcomes before its files do."""
        if self._mark[:1] == (True,) and (self._query.code or self._query.kind in {"failed", "valid"}):
            return "no units yet: units are listed as failed or valid once their chunk has finished the step"
        return "no unit"

    def _chosen(self) -> UnitRow | None:
        chosen = self.query_one(Listing).chosen
        return next((row for row in self._page.rows if _key(row) == chosen), None)

    def _show_unit(self, row: UnitRow, text: Text) -> None:
        chosen = self._chosen()
        if chosen is None or _key(row) != _key(chosen):
            return
        other = self._unit[0] != _key(row)
        if self._unit == (_key(row), text.plain):
            return
        self._unit = (_key(row), text.plain)
        self.query_one("#unit", Static).update(text)
        if other:
            self.query_one(Pane).scroll_home(animate=False)
        self.call_after_refresh(self.query_one(Pane).say_hint)

    # Keys ---------------------------------------------------------------------------------------------------------

    def on_data_table_row_highlighted(self, _: DataTable.RowHighlighted) -> None:
        self._highlight()

    def on_data_table_row_selected(self, _: DataTable.RowSelected) -> None:
        self.add_class("-reading")
        self.query_one("#which", Label).update(self._which())
        self.query_one(Pane).focus()

    def on_listing_sorted(self, _: Listing.Sorted) -> None:
        order = self.query_one(Listing).order
        self._ask(self._query._replace(order=order.column if order else "", down=bool(order and order.down)))

    def _ask(self, query: Query) -> None:
        """Show the first page of another query."""
        self._query, self._start, self._first, self._unit = query, None, 0, ("", "")
        self.look()

    def action_leave(self) -> None:
        """Back to the list if a unit is open, else to the run."""
        if self.has_class("-reading"):
            self.remove_class("-reading")
            self.query_one("#which", Label).update(self._which())
            self.query_one(Listing).focus()
            self.look()
        elif self.query_one("#find", Input).has_focus:
            self._found("")
        else:
            self.app.pop_screen()

    def action_kind(self) -> None:
        self._ask(self._query._replace(kind=KINDS[(KINDS.index(self._query.kind) + 1) % len(KINDS)]))

    def action_refresh(self) -> None:
        self.look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Pages can be turned only if there is another one, and not while a unit is open or an id is being typed."""
        if action in {"turn", "kind", "find"} and (self.has_class("-reading") or self._is_typing()):
            return False
        if action == "turn":
            return self._page.before if parameters[0] == "back" else self._page.after
        return True

    def _is_typing(self) -> bool:
        return isinstance(self.focused, Find)

    def action_turn(self, way: str) -> None:
        back, rows = way == "back", self._page.rows
        if not rows:
            return
        self._start, self._unit = (rows[0] if back else rows[-1], back), ("", "")
        self._first = max(0, self._first + (-PAGE if back else len(rows)))
        self.look()

    def action_find(self) -> None:
        line = self.query_one("#find", Input)
        line.display = True
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._found(event.value)

    def _found(self, text: str) -> None:
        line = self.query_one("#find", Input)
        line.value, line.display = text, bool(text)
        self._ask(self._query._replace(text=text))
        self.query_one(Listing).focus()


def _key(row: UnitRow) -> str:
    return f"{row.chunk}\n{row.id}"


def _line(row: UnitRow) -> ListRow:
    more = len(row.codes) - 1
    codes = safe_line(row.codes[0]) + (f" +{more}" if more else "") if row.codes else ""  # the unit shows all of them
    cells = (Text(safe_line(row.id)), Text(_MARKS[row.state], _STYLES[row.state]), Text(codes), Text(row.chunk))
    return ListRow(_key(row), cells, (row.id, row.state, codes, row.chunk))
