"""A bar with its numbers, as lines that fit the terminal.

On a narrow terminal, lines are broken between numbers. A number is cut only if it is longer than a line.
"""

from collections.abc import Sequence
from typing import Any

_GAP = "  "


def drawn(parts: Sequence[str], done: int, total: int, width: int) -> Any:
    """A bar and its numbers, in lines of at most `width` cells. The bar is full if there is nothing to do."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    length = 20 if width >= 80 else 10
    first, *rest = lines_of(parts, width, length + 1)
    grid = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=total or 1, completed=min(done, total) if total else 1, width=length)
    grid.add_row(bar, Text(first, no_wrap=True))
    return Group(grid, *(Text(line, no_wrap=True, overflow="ellipsis") for line in rest))


def lines_of(parts: Sequence[str], width: int, taken: int = 0) -> list[str]:
    """Uncut parts in lines of at most `width` cells; the first line has `taken` cells less.

    >>> lines_of(["one", "two", "three"], 10, 4)
    ['one', 'two  three']
    """
    from rich.cells import cell_len

    lines = [""]
    room = width - taken
    for part in parts:
        longer = f"{lines[-1]}{_GAP}{part}" if lines[-1] else part
        if lines[-1] and cell_len(longer) > room:
            lines.append(part)
            room = width
        else:
            lines[-1] = longer
    return lines


def one_line(parts: Sequence[str]) -> str:
    """The same numbers on one line, for a log."""
    return _GAP.join(parts)
