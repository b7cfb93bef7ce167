"""A verdict as a person wants to see it: headline, fixes as a diff, findings with their place, the value.

A verdict enters, styled lines leave; nothing is judged here and nothing of the reply is printed raw.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size

from trueup.cli import pretty
from trueup.cli.excerpt import CUT, GONE, MARK, NEW, ROWS, SAME, Change, Source, broken, diff, merge, underline
from trueup.cli.locate import locate
from trueup.cli.terminal import safe_line
from trueup.verdict.catalogue import FINDINGS, GRADES
from trueup.verdict.facts import Finding, Fix
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

Line = list[tuple[str, str]]  # text, style

GRADE_STYLE = {"lossless": "green", "guess": "yellow", "lossy": "red"}
_OLD = {SAME: "", GONE: "red strike", CUT: "dim", MARK: "bold"}
_NEW = {SAME: "", NEW: "bold green", CUT: "dim"}
_MOST_ROWS = 12  # of fixes, each one code in one place
_MOST_FINDINGS = 10
_MOST_LINES = {True: 60, False: 16}  # of the value, by ok: a refusal's reasons should stay on the screen
_PER_BLOCK = 16


class View(NamedTuple):
    """How to show: the width in cells, whether to break long sentences, whether to leave nothing out, names."""

    width: int = 80
    wrap: bool = True
    everything: bool = False
    name: str = "reply"
    schema: str = ""


def show(verdict: Verdict, console: "Console", view: View) -> None:
    """Print a verdict."""
    from rich.text import Text

    for line in render(verdict, view):
        text = Text(end="")
        for piece, style in line:
            text.append(piece, style or None)
        console.print(text, soft_wrap=True)


def render(verdict: Verdict, view: View) -> Iterator[Line]:
    """The verdict as lines, already safe to print; on a screen none is wider than it."""
    for line in _render(verdict, view):
        if view.wrap and _cells(line) > view.width:
            yield from broken(line, view.width)
        else:
            yield line


def _render(verdict: Verdict, view: View) -> Iterator[Line]:
    source = Source(verdict.reply.text)
    fixes, findings = locate(verdict)
    yield from _headline(verdict, view)
    if fixes:
        yield []
        yield from _fixes(fixes, source, view)
    shown = findings if view.everything else findings[:_MOST_FINDINGS]
    for finding in shown:
        yield []
        yield from _finding(finding, source, view)
    if len(shown) < len(findings):
        yield []
        yield [(f"… and {_count(len(findings) - len(shown), 'more finding')} (--all shows them)", "dim")]
    yield from _value(verdict, view)


def _headline(verdict: Verdict, view: View) -> Iterator[Line]:
    ok = verdict.ok
    parts = []
    for facts, word in ((verdict.errors, "error"), (verdict.warnings, "warning"), (verdict.fixes, "fix")):
        if facts:
            parts.append(_count(len(facts), word))
    words = ", ".join(parts) or "clean: nothing was changed"
    mark, state, style = ("✓", "ok", "bold green") if ok else ("✗", "refused", "bold red")
    yield [(f"{mark} {state}", style), (f"  {words}", "")]
    about = [view.name, _count(len(verdict.reply.text), "character")]
    if view.schema:
        about.append(f"schema {view.schema}")
    yield [("  ", ""), (short(safe_line(" · ".join(about)), view.width - 2), "dim")]


def _fixes(fixes: Sequence[Fix], source: Source, view: View) -> Iterator[Line]:
    grades = sorted({fix.grade for fix in fixes}, key=GRADES.__getitem__)
    head: Line = [("Fixes", "bold"), ("  ", "")]
    for index, grade in enumerate(grades):
        count = sum(fix.grade == grade for fix in fixes)
        head += [(", " if index else "", "dim"), (f"{count} {grade}", GRADE_STYLE[grade])]
    yield head
    blocks = _blocks(fixes, source, view.width)
    left = len(fixes) if view.everything else _MOST_ROWS
    hidden = 0
    gutter = max((len(str(source.place(fix.span[0]).line)) for fix in fixes if fix.span), default=1)
    for block in blocks:
        if left <= 0:
            hidden += len(block)
            continue
        left -= len(_by_code(block))
        yield from _block(block, source, view, gutter)
    if hidden:
        yield [(f"  … and {_count(hidden, 'more fix')} (--all shows them)", "dim")]


def _blocks(fixes: Sequence[Fix], source: Source, width: int) -> list[list[Fix]]:
    """Fixes put together when they touch the same lines, few enough to be drawn in one width."""
    blocks: list[list[Fix]] = []
    last_line, room = 0, 0
    for fix in sorted(fixes, key=lambda f: (f.span is None, f.span or (0, 0))):
        if fix.span is None:
            if blocks and last_line < 0:
                blocks[-1].append(fix)
            else:
                blocks.append([fix])
            last_line = -1
            continue
        start, end, _ = _trimmed(fix, source.text)
        need = min(max(end - start, len(fix.after)), 24) + 6
        inside = bool(blocks) and blocks[-1][-1].span == fix.span
        same_lines = source.place(start).line <= last_line
        if inside or (same_lines and len(blocks[-1]) < _PER_BLOCK and need <= room):
            blocks[-1].append(fix)
            room -= need
        else:
            blocks.append([fix])
            room = width * ROWS - need
        last_line = max(last_line, source.place(max(start, end - 1)).line)
    return blocks


def _block(block: list[Fix], source: Source, view: View, gutter: int) -> Iterator[Line]:
    spans = [_trimmed(fix, source.text) for fix in block if fix.span]
    if spans:
        for row in diff(source, merge(spans), view.width - gutter - 5, most=99 if view.everything else 4):
            old = row.sign == "-"
            number = f"  {row.number or '':>{gutter}} "
            styles = _OLD if old else _NEW
            sign = (f"{row.sign} ", "red" if old else "green")
            yield [(number, "dim"), sign, *((text, styles.get(role, "")) for text, role in row.pieces)]
    for first, paths, count in _by_code(block):
        where = str(source.place(_trimmed(first, source.text).start)) if first.span else ""
        times = f" ×{count}" if count > 1 else ""
        tail = ", ".join(paths) if first.span else f"{paths[0]}  {_shown(first.before)} → {_shown(first.after)}"
        style = GRADE_STYLE[first.grade]
        head: Line = [(f"    {where:<6} ", "dim"), (first.code, style), (f" {first.name}{times}", "")]
        room = view.width - _cells(head) - len(first.grade) - 6
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
        first, paths, count = groups.get(key, (fix, [], 0))
        if fix.path not in paths:
            paths.append(fix.path)
        groups[key] = (first, paths, count + 1)
    return list(groups.values())


def _trimmed(fix: Fix, text: str) -> Change:
    """The stretch to draw: of something dropped, not the line breaks at its edges."""
    start, end = fix.span or (0, 0)
    if not fix.after:
        while start < end and text[start] in "\r\n":
            start += 1
        while end > start and text[end - 1] in "\r\n":
            end -= 1
    return Change(start, end, fix.after)


def _finding(finding: Finding, source: Source, view: View) -> Iterator[Line]:
    error = finding.level == "error"
    style = "bold red" if error else "bold yellow"
    label = f"{finding.level}[{finding.code}]"
    name = FINDINGS[finding.code].name if finding.code in FINDINGS else ""
    first, *more = _wrap(safe_line(finding.message), view.width if view.wrap else 0, len(label) + 1)
    yield [(label, style), (f" {first}", "bold")]
    for line in more:
        yield [(line, "bold")]
    path = safe_line(finding.path)
    if finding.span is None:
        yield [("  at ", "dim"), (short(path, view.width - 5), "")]
    else:
        place = source.place(finding.span[0])
        where = f"{safe_line(view.name)}:{place}"
        yield [("  at ", "dim"), (where, ""), ("  ", ""), (short(path, max(8, view.width - len(where) - 7)), "")]
        yield from _pointed(finding, source, view, style)
    if finding.hint and finding.hint != finding.message:
        for index, line in enumerate(_wrap(safe_line(finding.hint), view.width - 8 if view.wrap else 0)):
            yield [("  hint: " if index == 0 else "        ", "cyan"), (line, "")]
    yield [(f"  trueup explain {finding.code}", "dim"), (f"  ({name})" if name else "", "dim")]


def _pointed(finding: Finding, source: Source, view: View, style: str) -> Iterator[Line]:
    start, end = finding.span or (0, 0)
    number = str(source.place(start).line)
    window, left, right = underline(source, start, end, view.width - len(number) - 6)
    yield [(f"  {number} | ", "dim"), *((text, _OLD.get(role, "")) for text, role in window)]
    last = source.place(max(start, end - 1))
    on = f" to {last}" if last.line > source.place(start).line else ""
    yield [(f"  {' ' * len(number)} | ", "dim"), (" " * left, ""), ("^" * (right - left), style), (on, "dim")]


def _value(verdict: Verdict, view: View) -> Iterator[Line]:
    if not verdict.ok and verdict.data is None:
        return
    yield []
    yield ([("Value", "bold")] if verdict.ok else [("Best reading", "bold"), ("  (refused)", "dim")])
    most = _MOST_LINES[verdict.ok]
    for shown, line in enumerate(pretty.lines(verdict.data)):
        if shown >= most and not view.everything:
            yield [("… cut here (--all shows the rest, --value or --json is for programs)", "dim")]
            return
        yield list(_cut_line(line, view))


def _cut_line(line: pretty.Line, view: View) -> Iterator[tuple[str, str]]:
    room = view.width
    for text, style in line:
        if cell_len(text) > room and not view.everything:
            yield short(text, room), style
            return
        room -= cell_len(text)
        yield text, style


def _cells(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def short(text: str, room: int) -> str:
    """Text cut to so many cells, with a mark where it was cut."""
    return text if cell_len(text) <= room else set_cell_size(text, max(1, room - 1)) + "…"


def _shown(text: str) -> str:
    return safe_line(text if len(text) <= 30 else text[:29] + "…") or "(nothing)"


def _wrap(text: str, width: int, first: int = 0) -> list[str]:
    """Text broken into lines of a width, between words where it can be; the first has that much less room."""
    import textwrap

    if width <= 0:
        return [text]
    head, *rest = textwrap.wrap(text, max(width, 20), initial_indent=" " * first) or [""]
    return [head[first:], *rest]


def _count(number: int, word: str) -> str:
    if number == 1:
        return f"1 {word}"
    return f"{number:,} {word}{'es' if word.endswith('x') else 's'}"
