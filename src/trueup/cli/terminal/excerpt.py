"""Show places in a text: turn offsets into line and column, a shortened line, carets or a small diff.

Everything is measured in terminal cells and cut to a width. All text is made safe here.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from trueup.verdict.display import safe_line

Piece = tuple[str, str]  # text, role
SAME, GONE, NEW, MARK, CUT = "same", "gone", "new", "mark", "cut"
ROWS = 3  # screen rows that one line of a diff may take


class LineColumn(NamedTuple):
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class NumberedText:
    """A text with the offsets of its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def place(self, at: int) -> LineColumn:
        r"""Line and column, both from 1.

        >>> str(NumberedText("one\ntwo").place(5))
        '2:2'
        """
        line = bisect_right(self._starts, max(0, min(at, len(self.text))))
        return LineColumn(line, at - self._starts[line - 1] + 1)

    def bounds(self, line: int) -> tuple[int, int]:
        """The start and end of a line, without its line break."""
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        if end > start and self.text[end - 1] == "\r":
            end -= 1
        return start, end


class TextChange(NamedTuple):
    """One span of the text and its replacement."""

    start: int
    end: int
    after: str


class DiffRow(NamedTuple):
    """One line of a diff: its number in the text (0 if it has none), its sign, its pieces."""

    number: int
    sign: str
    pieces: list[Piece]


def underline(source: NumberedText, start: int, end: int, width: int) -> tuple[list[Piece], int, int]:
    """The line that a span starts on, cut to the width, and the first and last cell to underline."""
    first, last = source.bounds(source.place(start).line)
    start = min(start, last)
    end = max(start, min(end, last))
    text = source.text
    window = fit([(text[first:start], SAME), (text[start:end], MARK), (text[end:last], SAME)], width)
    roles = [role for _, role in window]
    left = _width(window[: roles.index(MARK)])
    right = _width(window[: len(roles) - roles[::-1].index(MARK)])
    return window, left, max(left + 1, right)


def fit(pieces: Sequence[Piece], width: int) -> list[Piece]:
    """Pieces of one line, made safe and cut to a width. Unchanged text is cut first.

    >>> fit([("a long beginning ", SAME), ("x", GONE), (" and a long end", SAME)], 14)
    [('…', 'cut'), ('ning ', 'same'), ('x', 'gone'), (' and ', 'same'), ('…', 'cut')]
    """
    shown = [
        (_flat(text, width, leading=index == 0), role)
        for index, (text, role) in enumerate(pieces)
        if text or role == MARK
    ]
    if _width(shown) <= width:
        return shown
    low, high = 2, max(width, 4)  # the largest context that fits is in between, if any context fits
    while low < high:
        middle = (low + high + 1) // 2
        if _width(_shorten(shown, middle)) <= width:
            low = middle
        else:
            high = middle - 1
    return _crop(_shorten(shown, low), width)


def merge(changes: Iterable[TextChange]) -> list[TextChange]:
    """Changes in text order, without nesting. If two have the same span, the later one counts."""
    out: list[TextChange] = []
    for change in sorted(changes, key=lambda c: (c.start, c.end)):
        if out and change.start < out[-1].end:
            before = out[-1]
            if (change.start, change.end) == (before.start, before.end) or change.end > before.end:
                out[-1] = TextChange(before.start, max(before.end, change.end), change.after)
            continue
        out.append(change)
    return out


def diff(source: NumberedText, changes: Sequence[TextChange], width: int, most: int = 4) -> list[DiffRow]:
    """The lines that the changes touch, before and after. Long runs of lines are left out."""
    first, last = source.place(changes[0].start).line, source.place(max(changes[-1].end - 1, changes[-1].start)).line
    begin, end = source.bounds(first)[0], source.bounds(last)[1]
    old: list[Piece] = []
    new: list[Piece] = []
    at = begin
    for change in changes:
        same = (source.text[at : change.start], SAME)
        old += [same, (source.text[change.start : change.end], GONE)]
        new += [same, (change.after, NEW)]
        at = change.end
    rest = (source.text[at : max(at, end)], SAME)
    old_lines, new_lines = _split([*old, rest]), _split([*new, rest])
    was = [DiffRow(first + i, "-", pieces) for i, pieces in enumerate(old_lines) if any(text for text, _ in pieces)]
    now = [DiffRow(0, "+", pieces) for pieces in new_lines if any(text.strip() for text, _ in pieces)]
    return [*_window(was, width, most), *_window(now, width, most)]


def _window(rows: list[DiffRow], width: int, most: int) -> list[DiffRow]:
    """At most `most` lines, each cut and wrapped to a few rows of the screen."""
    if len(rows) > most:
        middle = DiffRow(0, rows[0].sign, [(f"… {len(rows) - most + 1} more lines", CUT)])
        rows = [*rows[: most - 2], middle, rows[-1]]
    out: list[DiffRow] = []
    for number, sign, pieces in rows:
        head, *more = broken(fit(pieces, width * ROWS), width)
        out += [DiffRow(number, sign, head), *(DiffRow(0, " ", part) for part in more)]
    return out


def broken(pieces: list[Piece], width: int) -> list[list[Piece]]:
    """One line broken into rows of a width."""
    rows: list[list[Piece]] = [[]]
    room = width
    for text, role in pieces:
        while cell_len(text) > room:
            head = _head(text, room)
            if not head and room == width:  # the character is wider than the screen
                head = text[0]
            rows[-1].append((head, role))
            text = text[len(head) :]
            rows.append([])
            room = width
        rows[-1].append((text, role))
        room -= cell_len(text)
    return rows


def _split(pieces: Iterable[Piece]) -> list[list[Piece]]:
    lines: list[list[Piece]] = [[]]
    for text, role in pieces:
        head, *tail = text.replace("\r\n", "\n").split("\n")
        lines[-1].append((head, role))
        lines += [[(part, role)] for part in tail]
    return lines


def _flat(text: str, width: int, *, leading: bool) -> str:
    """One piece made safe. Only both ends of a very long piece are read."""
    if len(text) > 4 * width + 8:
        text = f"{text[: 2 * width]}…{text[-2 * width :]}"
    if leading:
        body = text.lstrip("\t ")
        return text[: len(text) - len(body)].replace("\t", "  ") + safe_line(body)
    return safe_line(text)


def _width(pieces: Iterable[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _shorten(pieces: list[Piece], context: int) -> list[Piece]:
    out: list[Piece] = []
    last = len(pieces) - 1
    for index, (text, role) in enumerate(pieces):
        if role == SAME and index == 0 and last > 0:
            if cell_len(text) > context + 1:
                out += [("…", CUT), (_tail(text, context), role)]
                continue
        elif role == SAME and index == last:
            if cell_len(text) > context + 1:
                out += [(_head(text, context), role), ("…", CUT)]
                continue
        elif cell_len(text) > 2 * context + 1:
            out += [(_head(text, context), role), ("…", CUT), (_tail(text, context), role)]
            continue
        out.append((text, role))
    return out


def _head(text: str, cells: int) -> str:
    at = 0
    while at < len(text) and cell_len(text[at]) <= cells:
        cells -= cell_len(text[at])
        at += 1
    return text[:at]


def _tail(text: str, cells: int) -> str:
    at = len(text)
    used = 0
    while at and used + cell_len(text[at - 1]) <= cells:
        at -= 1
        used += cell_len(text[at])
    return text[at:]


def _crop(pieces: list[Piece], width: int) -> list[Piece]:
    if _width(pieces) <= width:
        return pieces
    out: list[Piece] = []
    left = max(width - 1, 1)
    for text, role in pieces:
        if cell_len(text) > left:
            return [*out, (_head(text, left), role), ("…", CUT)]
        out.append((text, role))
        left -= cell_len(text)
    return out
