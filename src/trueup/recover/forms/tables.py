"""Reads tables whose header names the schema's fields: Markdown tables, and values between commas, semicolons or tabs.

Takes lines and the schema's names; returns a `TextTable`, with a key for each column and the span of each cell, and candidates.
A column that only counts the rows has no key. An unknown column keeps its header as its key, like a JSON member. A table of
two columns without such a header has one field in each row.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trueup.recover.candidate import Candidate
from trueup.recover.forms.outline import FENCE, ROW, TEXT, KeyFinder, OutlineLine, is_divider
from trueup.recover.json.parser import Node, Record
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from trueup.recover.forms.blocks import BlockReader, Wants

# A cell up to its separator; text between double quotes is part of it.
_CELLS = {sign: lazy_regex(rf'[ ]*(?:"(?:[^"]|"")*+"[^{sign}]*|[^{sign}]*)') for sign in ("\t", ";", ",", "|")}
# The same in a Markdown table; a bar after a backslash is part of it.
_BARS = lazy_regex(r"(?:\\.|[^|\\])*")
_COUNTERS = frozenset({"", "#", "no", "no.", "nr", "nr.", "n°", "№", "index", "row", "编号", "序号"})
_AROUND = "*_` \"'\ufeff"
_MAX_COLUMNS, _LONGEST_HEAD = 200, 2000

Cell = tuple[int, int]


class TextTable(NamedTuple):
    """A table: the key of each column, the cells of each row, its first line and the line after it."""

    keys: list[str | None]
    rows: list[list[Cell]]
    start: int
    stop: int


def candidates(block: "BlockReader", top: KeyFinder, wants: "Wants", *, listed: bool) -> list[Candidate]:
    """The tables among lines as lists of objects; if the schema wants one object, only tables of one row."""
    out: list[Candidate] = []
    for table in _tables(block.text, block.lines, top):
        if not listed and len(table.rows) != 1:
            continue
        last = block.lines[table.stop - 1]
        spans = [(block.lines[table.start].start, last.stop)]
        records: list[Record] = [("F011", *spans[0], "", None)]
        below = block.lines[table.stop] if table.stop < len(block.lines) else last
        if below is not last and not below.gap and below.kind == TEXT:
            spans.append((below.start, below.stop))
            records.append(("F009", *spans[1], "", None))
        block.begin(records)
        nodes: list[Node] = [(None, index) if listed else None for index in range(len(table.rows))]
        block.places += [(node, row[0][0], row[-1][1]) for row, node in zip(table.rows, nodes, strict=True)]
        values = [block.row(table, cells, node, 1, wants) for cells, node in zip(table.rows, nodes, strict=True)]
        out.append(block.candidate(values if listed else values[0], spans))
    return out


def _tables(text: str, lines: list[OutlineLine], keys: KeyFinder) -> list[TextTable]:
    """The Markdown tables among lines whose header names fields; if there are none, tables with other separators."""
    bars = [table for at, _ in _runs(text, lines) if (table := table_at(text, lines, at, len(lines), keys))]
    out: list[TextTable] = []
    for at in range(len(lines)) if not bars else ():
        if not out or at >= out[-1].stop:
            table = _separated_at(text, lines, at, keys)
            out += [table] if table is not None else []
    return bars or out


def _runs(text: str, lines: list[OutlineLine]) -> Iterator[tuple[int, int]]:
    """The runs of consecutive rows between bars."""
    at = 0 if "|" in text else len(lines)
    while at < len(lines):
        end = _run_end(lines, at, len(lines)) if lines[at].kind == ROW and not lines[at].opaque else at
        if end > at:
            yield at, end
        at = max(end, at + 1)


def _run_end(lines: list[OutlineLine], at: int, stop: int) -> int:
    end = at + 1
    while end < stop and lines[end].kind == ROW and not lines[end].gap:
        end += 1
    return end


def table_at(text: str, lines: list[OutlineLine], at: int, stop: int, keys: KeyFinder) -> TextTable | None:
    """The Markdown table that starts at a line: two cells of its header, or its only one, name fields."""
    head, end = cells_of(text, lines[at]), _run_end(lines, at, stop)
    body = at + 1 + (at + 1 < end and is_divider(text, lines[at + 1]))
    labels = [text[a:b].strip(_AROUND) for a, b in head] if len(head) <= _MAX_COLUMNS else []
    named = [keys.get(label) for label in labels]
    known = [key for key in named if key is not None]
    if len(known) < min(2, len(head), len(keys) or 2) or 2 * len(known) < len(head) or len(set(known)) < len(known):
        return None
    rows = [cells_of(text, line) + [(line.end, line.end)] * len(head) for line in lines[body:end]]
    if not rows or any(len(row) > 2 * len(head) for row in rows):
        return None
    rows = [row[: len(head)] for row in rows]
    columns: list[str | None] = [key or label for key, label in zip(named, labels, strict=True)]
    counts = [text[slice(*row[0])].strip(".#) ") for row in rows]
    counting = counts in ([str(i + first) for i in range(len(rows))] for first in (0, 1)) or not any(counts)
    return TextTable([None, *columns[1:]] if labels[0].lower() in _COUNTERS and counting else columns, rows, at, end)


def fields_in_rows(text: str, lines: list[OutlineLine], keys: KeyFinder) -> set[int]:
    """Turn rows of two cells into fields, in place; returns the lines of tables whose header names the fields."""
    headed: set[int] = set()
    for at, end in _runs(text, lines):
        if table_at(text, lines, at, len(lines), keys) is not None:
            headed.update(range(at, end))
            continue
        for line in lines[at:end]:
            if len(cells := cells_of(text, line)) == 2:
                line.label = text[slice(*cells[0])].strip("*_`: ")
                line.value_at, line.value = cells[1][0], text[slice(*cells[1])]
                line.sep, line.marked = "|", True
    return headed


def cells_of(text: str, line: OutlineLine) -> list[Cell]:
    """The spans of the cells of a row between bars."""
    start = line.body_at + text.startswith("|", line.body_at)
    closed = text[line.end - 1] == "|" and line.end > start and text[line.end - 2] != "\\"
    return _split(text, start, line.end - closed, _BARS)


def _separated_at(text: str, lines: list[OutlineLine], at: int, keys: KeyFinder) -> TextTable | None:
    """The table of separated values that starts at a line: every cell of its header names a field."""
    line = lines[at]
    if line.opaque or line.kind not in (TEXT, ROW) or line.end - line.start > _LONGEST_HEAD:
        return None
    raw = text[line.body_at : line.end]
    for sign, cell in _CELLS.items():
        first, found, _ = raw.partition(sign)
        if not found or keys.get(first.strip(_AROUND)) is None:
            continue
        named = [keys.get(part.strip(_AROUND)) for part in raw.split(sign, _MAX_COLUMNS)]
        if None not in named and len(set(named)) == len(named) <= _MAX_COLUMNS:
            return _rows_below(text, lines, at, cell, named)
    return None


def _rows_below(
    text: str, lines: list[OutlineLine], at: int, cell: re.Pattern[str], keys: list[str | None]
) -> TextTable | None:
    rows: list[list[Cell]] = []
    end = at + 1
    while end < len(lines) and lines[end].kind != FENCE and not lines[end].gap:
        if not is_divider(text, lines[end]):
            cells = _split(text, lines[end].start, lines[end].end, cell)
            if len(cells) == 1:
                break
            if len(cells) != len(keys):
                return None
            rows.append(cells)
        end += 1
    return TextTable(keys, rows, at, end) if rows else None


def _split(text: str, start: int, stop: int, cell: re.Pattern[str]) -> list[Cell]:
    """The spans of the cells of a row, without the whitespace around them."""
    out: list[Cell] = []
    at = start - 1
    while at < stop:
        found = cell.match(text, at + 1, stop)
        assert found is not None  # a cell may be empty
        begin, at = found.span()
        raw = found[0]
        begin += len(raw) - len(raw.lstrip())
        out.append((begin, max(begin, begin + len(raw.strip()))))
    return out
