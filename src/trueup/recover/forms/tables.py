"""Tables whose head names the schema's fields: Markdown tables, and values between commas, semicolons or tabs.

Lines and the schema's names enter; a `Table` leaves: a key for each column, and where each cell stands. A column that
only counts the rows has no key; one that the schema does not know keeps its head as its key, as a member of JSON would.
"""

import re
from typing import NamedTuple

from trueup.recover.forms.outline import FENCE, ROW, TEXT, Keys, Line, is_divider

_PIPE = re.compile(r"\\.|\|")
_COUNTERS = frozenset({"", "#", "no", "no.", "nr", "nr.", "n°", "№", "index", "row", "编号", "序号"})
_SEPARATORS = ("\t", ";", ",", "|")
_SIGN = re.compile(r"[\t;,|]")
_AROUND = "*_` \"'\ufeff"
_MAX_COLUMNS = 200

Cell = tuple[int, int]


class Table(NamedTuple):
    """A table: the key of each column, the cells of each row, the line it starts and the one after it."""

    keys: list[str | None]
    rows: list[list[Cell]]
    start: int
    stop: int


def table_at(text: str, lines: list[Line], at: int, stop: int, keys: Keys) -> Table | None:
    """The Markdown table that starts at a line, when its head names fields."""
    head = cells_of(text, lines[at])
    end = at + 1
    while end < stop and lines[end].kind == ROW and not lines[end].gap:
        end += 1
    divided = at + 1 < end and is_divider(text, lines[at + 1])
    named = _named(text, head, keys)
    if named is None or end - at < 2 + divided:
        return None
    rows: list[list[Cell]] = []
    for line in lines[at + 1 + divided : end]:
        cells = cells_of(text, line)
        if len(cells) > len(head):
            return None
        rows.append(cells + [(line.end, line.end)] * (len(head) - len(cells)))
    return Table(_without_counter(text, named, head, rows), rows, at, end)


def cells_of(text: str, line: Line) -> list[Cell]:
    """Where the cells of a row stand, the white space around them left out."""
    start, stop = line.body_at, line.end
    if text[start] == "|":
        start += 1
    if text[stop - 1] == "|" and stop > start and text[stop - 2] != "\\":
        stop -= 1
    edges = [start]
    edges += [found.end() for found in _PIPE.finditer(text, start, stop) if found[0] == "|"]
    ends = [edge - 1 for edge in edges[1:]] + [stop]
    return [_trimmed(text, a, b) for a, b in zip(edges, ends, strict=True)]


def _trimmed(text: str, start: int, stop: int) -> Cell:
    raw = text[start:stop]
    start += len(raw) - len(raw.lstrip())
    return start, max(start, start + len(raw.strip()))


def _named(text: str, head: list[Cell], keys: Keys) -> list[str] | None:
    """The keys of a head; None unless two of its cells, or the only one, name fields."""
    if len(head) > _MAX_COLUMNS:
        return None
    labels = [text[a:b].strip("*_` \"'") for a, b in head]
    known = [keys.get(label) for label in labels]
    found = [key for key in known if key is not None]
    if len(found) < min(2, len(head), len(keys) or 2) or 2 * len(found) < len(head) or len(set(found)) < len(found):
        return None
    return [key or label for key, label in zip(known, labels, strict=True)]


def _without_counter(text: str, named: list[str], head: list[Cell], rows: list[list[Cell]]) -> list[str | None]:
    """The keys, with None for a first column that only counts the rows."""
    first = text[slice(*head[0])].strip("*_` ").lower()
    counts = [text[slice(*row[0])].strip(".#) ") for row in rows]
    counting = counts in ([str(i) for i in range(1, len(rows) + 1)], [str(i) for i in range(len(rows))])
    if first in _COUNTERS and (counting or not any(counts)):
        return [None, *named[1:]]
    return list(named)


def separated(text: str, lines: list[Line], keys: Keys) -> list[Table]:
    """Tables of values between separators: every cell of the head names a field."""
    out: list[Table] = []
    at = 0
    while at < len(lines):
        table = _separated_at(text, lines, at, keys)
        if table is not None:
            out.append(table)
        at = table.stop if table is not None else at + 1
    return out


def _separated_at(text: str, lines: list[Line], at: int, keys: Keys) -> Table | None:
    line = lines[at]
    if (
        line.opaque
        or line.kind not in (TEXT, ROW)
        or line.end - line.start > 2000
        or not _SIGN.search(text, line.start, line.end)
    ):
        return None
    raw = text[line.body_at : line.end]
    for sign in _SEPARATORS:
        first, found, _ = raw.partition(sign)
        if not found or keys.get(first.strip(_AROUND)) is None:
            continue
        labels = [part.strip(_AROUND) for part in raw.split(sign)]
        named = _all_named(labels, keys) if 2 <= len(labels) <= _MAX_COLUMNS else []
        if named and len(set(named)) == len(named):
            return _rows_below(text, lines, at, sign, named)
    return None


def _all_named(labels: list[str], keys: Keys) -> list[str | None]:
    """The fields that labels name; none as soon as one of them names nothing."""
    named: list[str | None] = []
    for label in labels:
        key = keys.get(label)
        if key is None:
            return []
        named.append(key)
    return named


def _rows_below(text: str, lines: list[Line], at: int, sign: str, keys: list[str | None]) -> Table | None:
    rows: list[list[Cell]] = []
    end = at + 1
    while end < len(lines) and lines[end].kind != FENCE and not lines[end].gap:
        if not is_divider(text, lines[end]):
            cells = _split(text, lines[end].start, lines[end].end, sign)
            if len(cells) == 1:
                break
            if len(cells) != len(keys):
                return None
            rows.append(cells)
        end += 1
    return Table(keys, rows, at, end) if rows else None


def _split(text: str, start: int, stop: int, sign: str) -> list[Cell]:
    """The cells of one line; a separator between double quotes is part of its cell."""
    out: list[Cell] = []
    at = begin = start
    while at < stop:
        while at < stop and text[at] == " ":
            at += 1
        if text.startswith('"', at, stop):
            closed = text.find('"', at + 1, stop)
            while 0 <= closed < stop - 1 and text[closed + 1] == '"':
                closed = text.find('"', closed + 2, stop)
            at = closed + 1 if closed >= 0 else stop
        found = text.find(sign, at, stop)
        end = found if found >= 0 else stop
        out.append(_trimmed(text, begin, end))
        if found < 0:
            return out
        at = begin = found + len(sign)
    out.append((stop, stop))
    return out
