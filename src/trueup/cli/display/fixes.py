"""Show the fixes of a verdict: the lines of the reply as written and as read, then each code.

Dropped or replaced text is drawn as a diff. Text that was only read in another way (a form, an envelope) is shown
unchanged and marked. Fixes without a place in the text are listed with the values before and after.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from trueup.cli.terminal.excerpt import (
    CUT,
    GONE,
    MARK,
    NEW,
    ROWS,
    SAME,
    DiffRow,
    NumberedText,
    TextChange,
    diff,
    merge,
    underline,
)
from trueup.cli.terminal.layout import GRADE_STYLE, Layout, Line, cells, count, short
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
_MOST_ROWS = 12  # the fixes of one code in one place
_PER_BLOCK = 16


def fix_lines(fixes: Sequence[Fix], source: NumberedText, view: Layout) -> Iterator[Line]:
    """The section about the fixes."""
    yield _heading(fixes)
    yield from fix_rows(fixes, source, view)


def fix_rows(fixes: Sequence[Fix], source: NumberedText, view: Layout) -> Iterator[Line]:
    """The fixes, drawn and listed, without a heading."""
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


def _blocks(fixes: Sequence[Fix], source: NumberedText, width: int) -> list[list[Fix]]:
    """Groups of fixes on the same lines, small enough to be drawn together."""
    blocks: list[list[Fix]] = []
    last_line, room = 0, 0
    # A coercion comes after the fixes in the text of the same value.
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


def _drawing(block: list[Fix], source: NumberedText, view: Layout, gutter: int) -> Iterator[Line]:
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


def _readings(block: list[Fix], source: NumberedText, width: int) -> list[DiffRow]:
    """The lines that were read in another way, without duplicates."""
    rows: dict[int, DiffRow] = {}
    for fix in block:
        if fix.span:
            start, end, _ = _change(fix, source.text)
            line = source.place(start).line
            rows.setdefault(line, DiffRow(line, "~", underline(source, start, end, width)[0]))
    return list(rows.values())


def _names(block: list[Fix], source: NumberedText, view: Layout) -> Iterator[Line]:
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
        else:  # on a narrow screen
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


def _change(fix: Fix, text: str) -> TextChange:
    """The span to draw, without line breaks at its edges unless they were replaced. A span at the end moves to the last
    text.
    """
    start, end = (min(at, len(text)) for at in fix.span or (0, 0))
    if not fix.after or is_reading(fix):
        while start < end and text[start] in "\r\n":
            start += 1
        while end > start and text[end - 1] in "\r\n":
            end -= 1
    if start == end:
        start = end = ending(text, start)
    return TextChange(start, end, fix.after)


def ending(text: str, at: int) -> int:
    """An offset in the trailing blanks of a text, moved to the end of the text. Other offsets are unchanged."""
    if not at or text[at : at + 200].strip() or text[at:].strip():
        return at
    return len(text.rstrip())


def _shown(text: str) -> str:
    return safe_line(text if len(text) <= 30 else text[:29] + "…") or "(nothing)"
