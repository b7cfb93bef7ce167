"""A sortable list that fits its width: takes rows, repeatedly, and shows a table that keeps its place.

Columns that do not fit are left out, the least important first; the screen shows the rest of the chosen row elsewhere.
The chosen row, the place and the order survive every refresh. The line below counts the rows that are out of sight.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.binding import Binding
from textual.coordinate import Coordinate
from textual.message import Message
from textual.widgets import DataTable

from trueup.tui.hints import hint

_PADDING = 2  # cells beside each column
_LEAST = 10  # cells of the column that shrinks
_NAME = 28  # cells of it that matter more than another column: a run named after its pipeline and the time


class ListColumn(NamedTuple):
    """A column: its head, how important it is (0 is always shown), and whether its cells are aligned right."""

    name: str
    rank: int = 0
    right: bool = False


class ListRow(NamedTuple):
    """A row: its key, its cells, and the sort value of each (None comes last)."""

    key: str
    cells: tuple[Text, ...]
    values: tuple[Any, ...]


class SortOrder(NamedTuple):
    """The column that a list is sorted by."""

    column: str
    down: bool = False


class Listing(DataTable[Text]):
    """A sortable list."""

    BINDINGS: ClassVar = [
        Binding("enter", "select_cursor", "Open"),
        Binding("home", "scroll_top", "First", show=False),
        Binding("end", "scroll_bottom", "Last", show=False),
        Binding("o", "sort_next", "Sort"),
        Binding("O", "sort_turn", "Reverse", key_display="O"),
    ]
    DEFAULT_CSS = """
    Listing { border-bottom: solid $primary 50%; border-subtitle-color: $text; overflow-x: hidden; }
    Listing:focus { border-bottom: solid $primary; }
    """

    class Sorted(Message):
        """Another order was chosen."""

    def __init__(self, columns: Sequence[ListColumn], *, opens: str = "Open", sorts: bool = True, **more: Any) -> None:
        super().__init__(cursor_type="row", zebra_stripes=True, **more)
        self._all = tuple(columns)
        self._lines: list[ListRow] = []
        self._shown: tuple[int, ...] = ()
        self._widths: tuple[int, ...] = ()
        self._sorts = sorts  # otherwise the screen sorts the rows itself when it gets `Sorted`
        self.order: SortOrder | None = None
        self._bindings.key_to_bindings["enter"] = [Binding("enter", "select_cursor", opens)]

    def on_mount(self) -> None:
        for name in ("scroll_y", "scroll_x", "virtual_size"):
            self.watch(self, name, self.say_hint)

    def on_resize(self) -> None:
        self.show(self._lines)

    # Showing rows -----------------------------------------------------------------------------------------------

    def show(self, lines: Sequence[ListRow]) -> None:
        """Show rows; the chosen one stays chosen while it exists."""
        self._lines = list(_told_apart(lines))
        if self._sorts and self.order is not None:
            self._lines = in_order(self._lines, self._place(self.order.column), down=self.order.down)
        room = self.size.width - 2 if self.size.width else 10_000  # two for the scroll bar
        shown, widths = fitting(self._all, [self._width(at) for at in range(len(self._all))], room)
        chosen, place = self.chosen, (self.scroll_x, self.scroll_y)
        row = self.cursor_row
        heads = [self._head(at) for at in shown]
        if (shown, widths, heads) != (
            self._shown,
            self._widths,
            [column.label.plain for column in self.ordered_columns],
        ):
            self.clear(columns=True)
            for at, width, head in zip(shown, widths, heads, strict=True):
                self.add_column(
                    Text(head, justify="right" if self._all[at].right else "left"), width=width, key=str(at)
                )
            self._shown, self._widths = shown, widths
        elif [line.key for line in self._lines] == [key.value for key in self.rows]:
            self._update()
            self.say_hint()
            return
        else:
            self.clear()
        for line in self._lines:
            self.add_row(*self._cells(line), key=line.key)
        self._return_to(chosen, row, place)

    def _return_to(self, chosen: str | None, row: int, place: tuple[float, float]) -> None:
        keys = [line.key for line in self._lines]
        if keys:
            self.move_cursor(row=keys.index(chosen) if chosen in keys else min(row, len(keys) - 1), scroll=False)
        self.call_after_refresh(self._scroll_back, *place)

    def _scroll_back(self, x: float, y: float) -> None:
        self.scroll_to(x, y, animate=False, immediate=True)
        self._scroll_cursor_into_view()
        self.say_hint()

    def _update(self) -> None:
        for row, line in enumerate(self._lines):
            for column, cell in enumerate(self._cells(line)):
                at = Coordinate(row, column)
                if self.get_cell_at(at) != cell:
                    self.update_cell_at(at, cell)

    def _cells(self, line: ListRow) -> list[Text]:
        return [
            elided(line.cells[at], width, right=self._all[at].right)
            for at, width in zip(self._shown, self._widths, strict=True)
        ]

    def _width(self, at: int) -> int:
        return max(cell_len(self._all[at].name) + 2, max((line.cells[at].cell_len for line in self._lines), default=0))

    def _head(self, at: int) -> str:
        name = self._all[at].name
        return f"{name} {'▼' if self.order.down else '▲'}" if self.order and self.order.column == name else name

    def _place(self, name: str) -> int:
        return next(at for at, column in enumerate(self._all) if column.name == name)

    @property
    def chosen(self) -> str | None:
        """The key of the chosen row."""
        keys = [key.value for key in self.rows]
        return keys[self.cursor_row] if 0 <= self.cursor_row < len(keys) else None

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns that do not fit."""
        return tuple(column.name for at, column in enumerate(self._all) if at not in self._shown)

    def say_hint(self, *_: Any) -> None:
        """Say what is out of sight now."""
        room = self.scrollable_content_region.height - self.header_height
        above = round(self.scroll_y)
        below = max(0, self.row_count - above - max(room, 0))
        x = round(self.scroll_x)
        self.border_subtitle = Text(hint(above, below, left=x > 0, right=self.max_scroll_x > x))

    # Order --------------------------------------------------------------------------------------------------------

    def action_sort_next(self) -> None:
        """Sort by the next column; after the last one, as at the start."""
        names: list[str] = [self._all[at].name for at in self._shown]
        at = names.index(self.order.column) + 1 if self.order and self.order.column in names else 0
        self._sort(SortOrder(names[at]) if at < len(names) else None)

    def action_sort_turn(self) -> None:
        """Reverse the order."""
        if self.order is not None:
            self._sort(self.order._replace(down=not self.order.down))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a sorted list can be reversed."""
        return self.order is not None if action == "sort_turn" else super().check_action(action, parameters)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        event.stop()
        name = self._all[int(event.column_key.value or 0)].name
        again = self.order is not None and self.order.column == name
        self._sort(SortOrder(name, down=again and not (self.order is not None and self.order.down)))

    def _sort(self, order: SortOrder | None) -> None:
        self.order = order
        self.refresh_bindings()
        self.show(self._lines)
        self.post_message(self.Sorted())


def _told_apart(lines: Iterable[ListRow]) -> Iterator[ListRow]:
    """Lines with unique keys: a damaged run may contain a unit twice."""
    seen: set[str] = set()
    for line in lines:
        key = line.key
        while key in seen:
            key += "\n+"
        seen.add(key)
        yield line if key == line.key else line._replace(key=key)


def in_order(lines: Sequence[ListRow], at: int, *, down: bool) -> list[ListRow]:
    """Lines sorted by a column; those without a value come last, both ways."""
    known = [line for line in lines if line.values[at] is not None]
    unknown = [line for line in lines if line.values[at] is None]
    return sorted(known, key=lambda line: line.values[at], reverse=down) + unknown


def fitting(columns: Sequence[ListColumn], widths: Sequence[int], room: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The columns that fit into `room` cells, and their widths.

    A very long first column shrinks, then the least important columns are left out, then the first shrinks again.

    >>> columns = [ListColumn("run"), ListColumn("state"), ListColumn("cost", 1), ListColumn("updated", 2)]
    >>> fitting(columns, [20, 7, 8, 11], 44), fitting(columns, [30, 7, 8, 11], 32), fitting(columns, [50, 7, 8, 11], 50)
    (((0, 1, 2), (20, 7, 8)), ((0, 1), (21, 7)), ((0, 1, 2), (29, 7, 8)))
    """
    shown = list(range(len(columns)))

    def taken() -> int:
        return sum((widths[at] if at else min(widths[at], _NAME)) + _PADDING for at in shown)

    while taken() > room:
        least = max(shown, key=lambda at: (columns[at].rank, at))
        if columns[least].rank == 0:
            break
        shown.remove(least)
    found = [widths[at] for at in shown]
    over = sum(width + _PADDING for width in found) - room
    if over > 0 and found:
        found[0] = max(min(_LEAST, found[0]), found[0] - over)
    return tuple(shown), tuple(found)


def elided(cell: Text, width: int, *, right: bool = False) -> Text:
    """A cell with a limited width: a text that is too long loses its middle, so that both ends stay visible.

    >>> elided(Text("reviews-20260101-120000"), 12).plain, elided(Text("7"), 3, right=True).plain
    ('review…20000', '  7')
    """
    if cell.cell_len > width:
        head = width // 2
        text = set_cell_size(cell.plain, head).rstrip() + "…"
        rest = cell.plain
        while cell_len(rest) > width - cell_len(text):
            rest = rest[1:]
        return Text(text + rest, cell.style)
    return Text(" " * (width - cell.cell_len)) + cell if right else cell
