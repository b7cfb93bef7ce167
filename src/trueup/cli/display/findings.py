"""Show a finding: what is wrong, the place underlined if it is known, and what to do."""

from collections.abc import Iterator

from rich.cells import cell_len

from trueup.cli.display.fixes import ending
from trueup.cli.terminal.excerpt import CUT, MARK, NumberedText, underline
from trueup.cli.terminal.layout import Layout, Line, short, wrapped
from trueup.verdict.display import safe_line
from trueup.verdict.facts import Finding

_STYLES = {CUT: "dim", MARK: "bold"}
_FAILURE = "R002"
_OF_THE_WHOLE = frozenset({"R001", "R002", "R003", "R004", "T013"})  # they do not have a place in a reply


def finding_lines(finding: Finding, source: NumberedText, view: Layout) -> Iterator[Line]:
    """One finding: what is wrong, where, what to do, and the command that explains it."""
    style = "bold red" if finding.level == "error" else "bold yellow"
    label = f"{finding.level}[{finding.code}]"
    first, *more = wrapped(safe_line(finding.message), view.width if view.wrap else 0, len(label) + 1)
    yield [(label, style), (f" {first}", "bold")]
    for line in more:
        yield [(line, "bold")]
    if finding.span or finding.code not in _OF_THE_WHOLE:
        yield from _pointed(finding, source, view, style)
    if finding.code == _FAILURE:
        yield from _failure(finding, view)
    elif finding.hint and finding.hint != finding.message:
        for index, line in enumerate(wrapped(safe_line(finding.hint), view.width - 8 if view.wrap else 0)):
            yield [("  hint: " if index == 0 else "        ", "cyan"), (line, "")]
    yield [(f"  trueup explain {finding.code}", "dim"), (f"  ({finding.name})", "dim")]


def _pointed(finding: Finding, source: NumberedText, view: Layout, style: str) -> Iterator[Line]:
    """The place of a finding: its field and, if the place in the text is known, the line with carets below."""
    path = safe_line(finding.path)
    if finding.span is None:
        yield [("  at ", "dim"), (short(path, view.width - 5), "")]
        return
    start, end = finding.span
    if start == end:
        start = end = ending(source.text, start)
    place, last = source.place(start), source.place(max(start, end - 1))
    where = f"{safe_line(view.place)}:{place}"
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


def _failure(finding: Finding, view: Layout) -> Iterator[Line]:
    """The facts about a provider's failure: whether to try again, and what the model had written."""
    again = "yes, the same request may succeed later" if finding.data.get("retryable") else "no, not without changes"
    yield [("  retry: ", "cyan"), (again, "")]
    written = finding.data.get("failed_generation")
    if isinstance(written, str):
        yield [("  written: ", "cyan"), (short(safe_line(written), view.width - 11), "")]
