"""The fixes of a verdict on the screen: the lines of the reply as they were and as they were read, then each code.

What was dropped or replaced is drawn as a diff. What was only read in another way (a form, an envelope) is shown as it
stands and marked. What has no place in the text is listed with what it was before and after.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from trueup.cli.terminal.excerpt import CUT, GONE, MARK, NEW, ROWS, SAME, Change, Row, Source, diff, merge, underline
from trueup.cli.terminal.layout import GRADE_STYLE, Line, View, cells, count, short
from trueup.verdict.catalogue import GRADES
from trueup.verdict.display import safe_line
from trueup.verdict.facts import Fix
from trueup.verdict.locate import is_reading

STYLES = {
    "-": ("red", {SAME: "", GONE: "red strike", CUT: "dim"}),
    "+": ("green", {SAME: "", NEW: "bold green", CUT: "dim"}),
    "~": ("yellow", {SAME: "", MARK: "yellow", CUT: "dim"}),
    " ": ("", {SAME: "", GONE: "red strike", NEW: "bold green", MARK: "yellow", CUT: "dim"}),
}
_MOST_ROWS = 12  # each one code in one place
_PER_BLOCK = 16


def fix_lines(fixes: Sequence[Fix], source: Source, view: View) -> Iterator[Line]:
    """The section about the fixes."""
    yield _heading(fixes)
    yield from fix_rows(fixes, source, view)


def fix_rows(fixes: Sequence[Fix], source: Source, view: View) -> Iterator[Line]:
    """The fixes drawn and named, without a heading."""
    left = len(fixes) if view.everything else _MOST_ROWS
    hidden = 0
    gutter = max((len(str(source.place(fix.span[0]).line)) for fix in fixes if fix.span), default=1)
    for block in _blocks(fixes, source, view.width):
        if left <= 0:
            hidden += len(block)
            continue
        left -= len(_by_code(block))
        yield from _drawing(block, source, view, gutter)
        yield from _names(block, source, view)
    if hidden:
        yield [(f"  … and {count(hidden, 'more fix')} (--all shows them)", "dim")]


def _heading(fixes: Sequence[Fix]) -> Line:
    line: Line = [("Fixes", "bold"), ("  ", "")]
    for index, grade in enumerate(sorted({fix.grade for fix in fixes}, key=GRADES.__getitem__)):
        number = sum(fix.grade == grade for fix in fixes)
        line += [(", " if index else "", "dim"), (f"{number} {grade}", GRADE_STYLE[grade])]
    return line


def _blocks(fixes: Sequence[Fix], source: Source, width: int) -> list[list[Fix]]:
    """Fixes put together when they touch the same lines, few enough to be drawn together."""
    blocks: list[list[Fix]] = []
    last_line, room = 0, 0
    # A coercion comes after what was done to the text of the same value.
    for fix in sorted(fixes, key=lambda f: (f.span is None, f.span or (0, 0), f.code[0] == "C")):
        before = blocks[-1][-1] if blocks else None
        start, end, after = _change(fix, source.text)
        first, last = source.place(start).line, source.place(max(start, end - 1)).line
        need = min(max(end - start, len(after)), 24) + 6
        if before is None or (fix.span is None) != (before.span is None):
            joins = False
        elif fix.span is None or fix.span == before.span:
            joins = True
        elif is_reading(fix) and is_reading(before):
            joins = fix.code == before.code and first <= last_line + 1
        elif is_reading(before) and before.span and before.span[1] > end:
            joins = False
        else:
            joins = first <= last_line and need <= room and len(blocks[-1]) < _PER_BLOCK
        if joins:
            blocks[-1].append(fix)
            room -= need
        else:
            blocks.append([fix])
            room = width * ROWS - need
        last_line = last if is_reading(fix) or not joins else max(last, last_line)
    return blocks


def _drawing(block: list[Fix], source: Source, view: View, gutter: int) -> Iterator[Line]:
    width = view.width - gutter - 5
    changes = [_change(fix, source.text) for fix in block if fix.span and not is_reading(fix)]
    if changes:
        rows = diff(source, merge(changes), width, most=99 if view.everything else 4)
    else:
        rows = _readings(block, source, width)
    for row in rows:
        color, styles = STYLES[row.sign]
        number = f"  {row.number or '':>{gutter}} "
        yield [(number, "dim"), (f"{row.sign} ", color), *((text, styles.get(role, "")) for text, role in row.pieces)]


def _readings(block: list[Fix], source: Source, width: int) -> list[Row]:
    """The lines that were read in another way, each once."""
    rows: dict[int, Row] = {}
    for fix in block:
        if fix.span:
            start, end, _ = _change(fix, source.text)
            line = source.place(start).line
            rows.setdefault(line, Row(line, "~", underline(source, start, end, width)[0]))
    return list(rows.values())


def _names(block: list[Fix], source: Source, view: View) -> Iterator[Line]:
    """One line for each code in the block: where it starts, its grade, the fields."""
    for first, paths, number in _by_code(block):
        where = str(source.place(_change(first, source.text).start)) if first.span else ""
        times = f" ×{number}" if number > 1 else ""
        tail = ", ".join(paths) if first.span else f"{paths[0]}  {_shown(first.before)} → {_shown(first.after)}"
        style = GRADE_STYLE[first.grade]
        head: Line = [(f"    {where:<6} ", "dim"), (first.code, style), (f" {first.name}{times}", "")]
        room = view.width - cells(head) - len(first.grade) - 6
        if room >= min(len(tail), 12):
            yield [*head, (" · ", "dim"), (first.grade, style), (" · ", "dim"), (short(safe_line(tail), room), "")]
        else:  # a narrow screen
            yield head
            room = view.width - 11 - len(first.grade) - 3
            yield [(" " * 11, ""), (first.grade, style), (" · ", "dim"), (short(safe_line(tail), max(room, 8)), "")]


def _by_code(block: list[Fix]) -> list[tuple[Fix, list[str], int]]:
    groups: dict[tuple[str, Any], tuple[Fix, list[str], int]] = {}
    for index, fix in enumerate(block):
        key = (fix.code, None if fix.span else index)
        first, paths, number = groups.get(key, (fix, [], 0))
        if fix.path not in paths:
            paths.append(fix.path)
        groups[key] = (first, paths, number + 1)
    return list(groups.values())


def _change(fix: Fix, text: str) -> Change:
    """The stretch to draw: unless it was replaced, not the line breaks at its edges; at the very end, where text ends."""
    start, end = (min(at, len(text)) for at in fix.span or (0, 0))
    if not fix.after or is_reading(fix):
        while start < end and text[start] in "\r\n":
            start += 1
        while end > start and text[end - 1] in "\r\n":
            end -= 1
    if start == end:
        start = end = ending(text, start)
    return Change(start, end, fix.after)


def ending(text: str, at: int) -> int:
    """An offset in the blank end of a text, moved to where the text ends; any other as it is."""
    if not at or text[at : at + 200].strip() or text[at:].strip():
        return at
    return len(text.rstrip())


def _shown(text: str) -> str:
    return safe_line(text if len(text) <= 30 else text[:29] + "…") or "(nothing)"
