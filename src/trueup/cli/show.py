"""A verdict as a person wants to see it: headline, fixes as a diff, findings with their place, the value.

A verdict enters, styled lines leave; nothing is judged here and nothing of the reply is printed raw.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rich.cells import cell_len

from trueup.cli import pretty
from trueup.cli.excerpt import CUT, MARK, Source, broken, underline
from trueup.cli.fixes import ending, fix_lines
from trueup.cli.layout import Line, View, cells, count, short, wrapped
from trueup.cli.locate import locate
from trueup.cli.terminal import safe_line
from trueup.verdict.facts import Finding
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

_MOST_FINDINGS = 10
_MOST_LINES = {True: 60, False: 16}  # of the value, by ok: a refusal's reasons should stay on the screen
_FEW_MORE = 3  # lines that are not worth a cut
_STYLES = {CUT: "dim", MARK: "bold"}


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
    for line in _sections(verdict, view):
        if view.wrap and cells(line) > view.width:
            yield from broken(line, view.width)
        else:
            yield line


def _sections(verdict: Verdict, view: View) -> Iterator[Line]:
    source = Source(verdict.reply.text)
    fixes, findings = locate(verdict)
    yield from _headline(verdict, view)
    if fixes:
        yield []
        yield from fix_lines(fixes, source, view)
    shown = findings if view.everything else findings[:_MOST_FINDINGS]
    for finding in shown:
        yield []
        yield from _finding(finding, source, view)
    if len(shown) < len(findings):
        yield []
        yield [(f"… and {count(len(findings) - len(shown), 'more finding')} (--all shows them)", "dim")]
    if verdict.ok or verdict.data is not None:
        yield []
        yield from _value(verdict, view)


def _headline(verdict: Verdict, view: View) -> Iterator[Line]:
    facts = ((verdict.errors, "error"), (verdict.warnings, "warning"), (verdict.fixes, "fix"))
    words = ", ".join(count(len(some), word) for some, word in facts if some) or "clean: nothing was changed"
    mark, state, style = ("✓", "ok", "bold green") if verdict.ok else ("✗", "refused", "bold red")
    yield [(f"{mark} {state}", style), (f"  {words}", "")]
    about = safe_line(f"{view.name} · {count(len(verdict.reply.text), 'character')}")
    schema = safe_line(f"schema {view.schema}") if view.schema else ""
    if schema and cell_len(about) + cell_len(schema) + 5 <= view.width:
        about, schema = f"{about} · {schema}", ""
    for text in filter(None, (about, schema)):
        yield [("  ", ""), (short(text, view.width - 2), "dim")]


def _finding(finding: Finding, source: Source, view: View) -> Iterator[Line]:
    style = "bold red" if finding.level == "error" else "bold yellow"
    label = f"{finding.level}[{finding.code}]"
    first, *more = wrapped(safe_line(finding.message), view.width if view.wrap else 0, len(label) + 1)
    yield [(label, style), (f" {first}", "bold")]
    for line in more:
        yield [(line, "bold")]
    yield from _pointed(finding, source, view, style)
    if finding.hint and finding.hint != finding.message:
        for index, line in enumerate(wrapped(safe_line(finding.hint), view.width - 8 if view.wrap else 0)):
            yield [("  hint: " if index == 0 else "        ", "cyan"), (line, "")]
    yield [(f"  trueup explain {finding.code}", "dim"), (f"  ({finding.name})", "dim")]


def _pointed(finding: Finding, source: Source, view: View, style: str) -> Iterator[Line]:
    """Where a finding is: its field and, when its place in the text is known, the line with carets below."""
    path = safe_line(finding.path)
    if finding.span is None:
        yield [("  at ", "dim"), (short(path, view.width - 5), "")]
        return
    start, end = finding.span
    if start == end:
        start = end = ending(source.text, start)
    place, last = source.place(start), source.place(max(start, end - 1))
    where = f"{safe_line(view.name)}:{place}"
    if cell_len(where) + cell_len(path) + 7 <= view.width or not view.wrap:
        yield [("  at ", "dim"), (f"{where}  {path}", "")]
    else:
        yield [("  at ", "dim"), (where, "")]
        yield [("     ", ""), (short(path, view.width - 5), "")]
    number = str(place.line)
    window, left, right = underline(source, start, end, view.width - len(number) - 6)
    yield [(f"  {number} | ", "dim"), *((text, _STYLES.get(role, "")) for text, role in window)]
    on = f" to {last}" if last.line > place.line else ""
    yield [(f"  {' ' * len(number)} | ", "dim"), (" " * left, ""), ("^" * (right - left), style), (on, "dim")]


def _value(verdict: Verdict, view: View) -> Iterator[Line]:
    yield [("Value", "bold")] if verdict.ok else [("Best reading", "bold"), ("  (refused)", "dim")]
    lines = pretty.lines(verdict.data)
    if view.everything:
        yield from lines
        return
    most = _MOST_LINES[verdict.ok]
    shown = list(islice(lines, most + _FEW_MORE + 1))
    cut = len(shown) > most + _FEW_MORE
    for line in shown[:most] if cut else shown:
        yield list(_cut_line(line, view.width))
    if cut:
        yield [("… cut here (--all shows the rest, --value or --json is for programs)", "dim")]


def _cut_line(line: Line, room: int) -> Iterator[tuple[str, str]]:
    for text, style in line:
        if cell_len(text) > room:
            yield short(text, room), style
            return
        room -= cell_len(text)
        yield text, style
