"""A table for the terminal: turns rows of text into lines, aligned by cells and cut to the width.

Any cell may contain untrusted text: characters that could harm a terminal are made visible. If there is too little
room, the widest columns are cut.
"""

from collections.abc import Collection, Iterable, Sequence

from rich.cells import cell_len

from trueup.cli.terminal.layout import Line, short
from trueup.verdict.display import safe_line

LEAST = 8  # cells that a cut column keeps at any width


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], align: str, width: int = 0, whole: Collection[int] = ()
) -> list[Line]:
    """The lines of a table; `align` has `<` or `>` for each column. Columns in `whole` are never cut, and at width 0 no
    column is.

    >>> ["".join(text for text, _ in line) for line in table(["who", "n"], [["ada", "1"], ["bo", "20"]], "<>")]
    ['who   n', 'ada   1', 'bo   20']
    """
    cells = [[safe_line(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[at]) for row in [list(head), *cells]) for at in range(len(head))]
    room = width - 2 * (len(widths) - 1)
    while width and sum(widths) > room and (at := _widest(widths, whole)) is not None:
        widths[at] -= 1
    return [_line(head, widths, align, "bold"), *(_line(row, widths, align, "") for row in cells)]


def _widest(widths: list[int], whole: Collection[int]) -> int | None:
    """The column to shorten: the widest that may be cut; the last one if several are equally wide."""
    cut = [at for at, cells in enumerate(widths) if cells > LEAST and at not in whole]
    return max(cut, key=lambda at: (widths[at], at), default=None)


def _line(row: Sequence[str], widths: Sequence[int], align: str, style: str) -> Line:
    parts = []
    for cell, room, side in zip(row, widths, align, strict=True):
        text = short(cell, room) if cell_len(cell) > room else cell
        gap = " " * (room - cell_len(text))
        parts.append(gap + text if side == ">" else text + gap)
    return [("  ".join(parts).rstrip(), style)]
