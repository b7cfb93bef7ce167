"""Show a verdict to a person: headline, calls, fixes as a diff, findings with their places, the value.

Takes a verdict and returns styled lines. It judges nothing and never prints raw text of the reply.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rich.cells import cell_len

from trueup.cli.display.calls import call_lines, has_calls, unjudged_lines, without_calls
from trueup.cli.display.evidence import evidence_lines
from trueup.cli.display.findings import finding_lines
from trueup.cli.display.fixes import fix_lines
from trueup.cli.terminal import json_text
from trueup.cli.terminal.excerpt import NumberedText, broken
from trueup.cli.terminal.layout import Layout, Line, cells, count, short
from trueup.verdict.display import safe_line
from trueup.verdict.locate import locate
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

_MOST_FINDINGS = 10
_MOST_LINES = {True: 60, False: 16}  # lines of the value, by `ok`: the reasons of a refusal should stay on the screen
_FEW_MORE = 3  # so few lines are shown uncut
_MOST_TEXT = 8
_STATES = {"R001": "no reply", "R002": "no reply", "R003": "cut off", "R004": "no reply"}


def show(verdict: Verdict, console: "Console", view: Layout) -> None:
    """Print a verdict."""
    from rich.text import Text

    for line in render(verdict, view):
        text = Text(end="")
        for piece, style in line:
            text.append(piece, style or None)
        console.print(text, soft_wrap=True)


def render(verdict: Verdict, view: Layout) -> Iterator[Line]:
    """The verdict as lines that are safe to print. On a screen, no line is wider than the screen."""
    for line in _sections(verdict, view):
        if view.wrap and cells(line) > view.width:
            yield from broken(line, view.width)
        else:
            yield line


def _sections(verdict: Verdict, view: Layout) -> Iterator[Line]:
    source = NumberedText(verdict.reply.text)
    fixes, findings = locate(without_calls(verdict))
    yield from _headline(verdict, view)
    if has_calls(verdict):
        yield from call_lines(verdict, view)
    elif verdict.reply.calls:
        yield from unjudged_lines(verdict, view)
    if fixes:
        yield []
        yield from fix_lines(fixes, source, view)
    shown = findings if view.everything else findings[:_MOST_FINDINGS]
    for finding in shown:
        yield []
        yield from finding_lines(finding, source, view)
    if len(shown) < len(findings):
        yield []
        yield [(f"… and {count(len(findings) - len(shown), 'more finding')} (--all shows them)", "dim")]
    if verdict.evidence:
        yield []
        yield from evidence_lines(verdict, view)
    if view.value and not has_calls(verdict) and (verdict.ok or verdict.data is not None):
        yield []
        yield from _value(verdict, view)
    elif verdict.reply.text.strip() and _is_wanted(verdict, view):
        yield []
        yield from _text(verdict.reply.text, view)


def _headline(verdict: Verdict, view: Layout) -> Iterator[Line]:
    facts = ((verdict.errors, "error"), (verdict.warnings, "warning"), (verdict.fixes, "fix"))
    words = ", ".join(count(len(some), word) for some, word in facts if some) or "clean: nothing was changed"
    state = next((_STATES[f.code] for f in verdict.errors if f.code in _STATES), "refused")
    mark, state, style = ("✓", "ok", "bold green") if verdict.ok else ("✗", state, "bold red")
    yield [(f"{mark} {state}", style), (f"  {words}", "")]
    reply = verdict.reply
    facts_of_it = [view.name, reply.provider, reply.model]
    if reply.text or not (has_calls(verdict) or reply.finish == "error"):
        facts_of_it.append(count(len(reply.text), "character"))
    about = safe_line(" · ".join(filter(None, facts_of_it)))
    for word, given in (("contract", view.contract), ("schema", view.schema), ("tools", view.tools)):
        more = safe_line(f"{word} {given}") if given else ""
        if more and cell_len(about) + cell_len(more) + 5 <= view.width:
            about = f"{about} · {more}"
        elif more:
            yield [("  ", ""), (short(about, view.width - 2), "dim")]
            about = more
    yield [("  ", ""), (short(about, view.width - 2), "dim")]


def _is_wanted(verdict: Verdict, view: Layout) -> bool:
    """Whether to show the text: no value was expected, or only part of the text arrived. Calls in it are shown
    above.
    """
    if has_calls(verdict):
        return all(call.origin == "native" for call in (*verdict.calls, *(r.call for r in verdict.refused)))
    return not view.value or any(found.code in _STATES for found in verdict.errors)


def _text(text: str, view: Layout) -> Iterator[Line]:
    """The model's text next to its calls, or the part that arrived."""
    yield [("Text", "bold")]
    lines = text.strip().splitlines()
    most = len(lines) if view.everything else _MOST_TEXT
    for line in lines[:most]:
        said = safe_line(line)
        yield [(said if view.everything else short(said, view.width), "")]
    if len(lines) > most:
        yield [(f"… {count(len(lines) - most, 'more line')} (--all shows them)", "dim")]


def _value(verdict: Verdict, view: Layout) -> Iterator[Line]:
    yield [("Value", "bold")] if verdict.ok else [("Best reading", "bold"), ("  (refused)", "dim")]
    lines = json_text.lines(verdict.data)
    if view.everything:
        yield from lines
        return
    most = _MOST_LINES[verdict.ok]
    shown = list(islice(lines, most + _FEW_MORE + 1))
    cut = len(shown) > most + _FEW_MORE
    for line in shown[:most] if cut else shown:
        yield json_text.cut(line, view.width)
    if cut:
        yield [("… cut here (--all shows the rest, --value or --json is for programs)", "dim")]
