"""Show the calls of a reply: each with its verdict, its arguments, its fixes and its findings.

Takes a verdict and returns styled lines. Places are counted in the arguments as the model wrote them, or in the reply's
text for a call that was found there.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from rich.cells import cell_len

from trueup.cli.display.findings import finding_lines
from trueup.cli.display.fixes import fix_rows
from trueup.cli.terminal import json_text
from trueup.cli.terminal.excerpt import NumberedText
from trueup.cli.terminal.layout import GRADE_STYLE, Layout, Line, count, indented, short
from trueup.verdict.display import safe_line
from trueup.verdict.facts import Finding, Findings, Fix
from trueup.verdict.locate import locate
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

Fact = TypeVar("Fact", Fix, Finding)

_AT = re.compile(r"\$\.calls\[(\d+)\](?:\.args)?")
_AT_CALL = re.compile(r"\$\.calls\[\d+\]\.")  # the call's own heading already says this
_LEFT_OUT = re.compile(r"[^\n]")
_MOST_CALLS = 20
_MOST_LINES = 8  # of the arguments of one call
_MOST_SEARCHED = 200_000  # characters
_NAME_MATCHED = "K002"  # shown next to the name


class CallLine(NamedTuple):
    """One call, whether it may be run, and what is known about it."""

    number: int
    call: ToolCall
    passed: bool
    fixes: tuple[Fix, ...]
    findings: tuple[Finding, ...]


def has_calls(verdict: Verdict) -> bool:
    """Whether there is a call to show."""
    return bool(verdict.calls or verdict.refused)


def without_calls(verdict: Verdict) -> Verdict:
    """The verdict without the parts that concern single calls."""
    if not has_calls(verdict):
        return verdict
    findings = Findings(found for found in verdict.findings if _index(found) is None)
    return Verdict(verdict.reply, verdict.data, findings, tuple(fix for fix in verdict.fixes if _index(fix) is None))


def call_lines(verdict: Verdict, view: Layout) -> Iterator[Line]:
    """The section about the calls."""
    parts = _parts(verdict)
    yield []
    states = ((verdict.calls, "may run", "green"), (verdict.refused, "refused", "red"))
    heading: Line = [("Calls", "bold"), ("  ", "")]
    for some, word, style in states:
        if some:
            heading += [(", " if len(heading) > 2 else "", "dim"), (f"{len(some)} {word}", style)]
    yield heading
    text = NumberedText(verdict.reply.text)
    shown = parts if view.everything else parts[:_MOST_CALLS]
    for part in shown:
        yield []
        yield from _call(part, text, view)
    if len(shown) < len(parts):
        yield []
        yield [(f"… and {count(len(parts) - len(shown), 'more call')} (--all shows them)", "dim")]


def unjudged_lines(verdict: Verdict, view: Layout) -> Iterator[Line]:
    """The calls of a reply that were not judged because no tools were given or the reply was incomplete."""
    calls = verdict.reply.calls
    yield []
    heading: Line = [("Calls", "bold"), ("  ", ""), (f"{len(calls)} not judged", "yellow")]
    yield heading if view.tools or view.contract else [*heading, (" (--tools names the allowed tools)", "dim")]
    shown = calls if view.everything else calls[:_MOST_CALLS]
    for number, call in enumerate(shown, 1):
        yield [(f"? {number} ", "bold yellow"), (short(safe_line(call.name), view.width - 6), "bold")]
        yield from _arguments(call, view)
    if len(shown) < len(calls):
        yield [(f"… and {count(len(calls) - len(shown), 'more call')} (--all shows them)", "dim")]


def _parts(verdict: Verdict) -> list[CallLine]:
    fixes = _by_call(verdict.fixes)
    findings = _by_call(verdict.findings)
    out = []
    for index, (call, passed) in enumerate(_in_order(verdict)):
        out.append(CallLine(index + 1, call, passed, tuple(fixes.get(index, ())), tuple(findings.get(index, ()))))
    return out


def _in_order(verdict: Verdict) -> list[tuple[ToolCall, bool]]:
    """All calls: the valid ones as they may be run, the others as the model made them."""
    given = verdict.reply.calls
    refused = {id(refusal.call) for refusal in verdict.refused}
    if given and len(given) == len(verdict.calls) + len(refused) and refused <= set(map(id, given)):
        passed = iter(verdict.calls)
        return [(call, False) if id(call) in refused else (next(passed), True) for call in given]
    both = [(call, True) for call in verdict.calls] + [(refusal.call, False) for refusal in verdict.refused]
    return sorted(both, key=lambda pair: pair[0].index)


def _index(fact: Fix | Finding) -> int | None:
    at = _AT.match(fact.path)
    return None if at is None else int(at[1])


def _by_call(facts: Sequence[Fact]) -> dict[int, list[Fact]]:
    out: dict[int, list[Fact]] = {}
    for fact in facts:
        index = _index(fact)
        if index is not None:
            out.setdefault(index, []).append(fact)
    return out


def _call(part: CallLine, text: NumberedText, view: Layout) -> Iterator[Line]:
    call = part.call
    mark, style = ("✓", "bold green") if part.passed else ("✗", "bold red")
    head: Line = [(f"{mark} {part.number} ", style), (short(safe_line(call.name), view.width - 6), "bold")]
    about = " · ".join(filter(None, ("" if part.passed else "refused", call.id, _origin(call))))
    room = view.width - cell_len(safe_line(call.name)) - 6
    if room > 12:
        head.append((f"  {short(safe_line(about), room)}", "dim"))
    yield head
    for fix in part.fixes:
        if fix.code == _NAME_MATCHED:
            tail = f"{fix.code} {fix.grade}"
            said = short(safe_line(fix.before), view.width - len(tail) - 13)
            yield [("    named ", "dim"), (said, ""), (" · ", "dim"), (tail, GRADE_STYLE[fix.grade])]
    yield from _arguments(call, view)
    source, fixes, findings = _placed(part, text)
    inner = view._replace(width=view.width - 2, text=view.place if source is text else "args")
    if fixes:
        yield from indented(fix_rows(fixes, source, inner), 2)
    for finding in findings:
        yield from indented(finding_lines(finding, source, inner), 2)


def _origin(call: ToolCall) -> str:
    if call.kind == "custom":
        return "plain input"
    return "" if call.origin == "native" else f"found in the text ({call.origin.removeprefix('text:')})"


def _arguments(call: ToolCall, view: Layout) -> Iterator[Line]:
    """The arguments on one line if they fit, otherwise one per line."""
    if call.args is None:
        yield [("    ", ""), (short(safe_line(call.raw_args), view.width - 4) or "(no arguments)", "dim")]
        return
    lines = []
    for line in json_text.lines(call.args):
        lines.append(line)
        if len(lines) > _MOST_LINES * 4 and not view.everything:
            break
    flat: Line = [piece for line in lines for piece in _flat(line)]
    if sum(cell_len(text) for text, _ in flat) <= view.width - 4:
        yield [("    ", ""), *flat]
        return
    most = len(lines) if view.everything else _MOST_LINES
    for line in lines[:most]:
        yield [("    ", ""), *line] if view.everything else [("    ", ""), *json_text.cut(line, view.width - 4)]
    if len(lines) > most:
        yield [("    … cut here (--all shows the rest)", "dim")]


def _flat(line: Line) -> Line:
    """A line of indented JSON as a piece of JSON on one line."""
    pieces = [(text, style) for text, style in line if text.strip()]
    return [*pieces[:-1], (", ", pieces[-1][1])] if pieces and pieces[-1][0] == "," else pieces


def _placed(part: CallLine, text: NumberedText) -> tuple[NumberedText, list[Fix], list[Finding]]:
    """The facts about a call, with places in the text that the call was read from."""
    fixes = [fix for fix in part.fixes if fix.code != _NAME_MATCHED]
    leak = next((fix.span for fix in fixes if fix.code == "K001" and fix.span), None)
    source = NumberedText(part.call.raw_args) if leak is None else text
    searched = source.text
    if leak is not None:  # only this call's part of the text counts
        searched = _LEFT_OUT.sub(" ", searched[: leak[0]]) + searched[slice(*leak)] if leak[0] < _MOST_SEARCHED else ""
    findings = Findings(_inside(found, source.text) for found in part.findings)
    moved = Verdict(searched, part.call.args, findings, tuple(_inside(fix, source.text) for fix in fixes))
    placed_fixes, placed_findings = locate(moved)
    return (
        source,
        [_back(fix, _AT_CALL.sub("", was.path)) for fix, was in zip(placed_fixes, fixes, strict=True)],
        [_back(found, was.path) for found, was in zip(placed_findings, part.findings, strict=True)],
    )


def _inside(fact: Fact, text: str) -> Fact:
    """A fact about a call as a fact about its arguments; a span outside this text is left out."""
    span = fact.span
    before = getattr(fact, "before", "").removesuffix("…")[:40]
    if span is not None and (span[1] > len(text) or not text.startswith(before, span[0])):
        span = None
    return msgspec.structs.replace(fact, path="$" + _AT.sub("", fact.path, count=1), span=span)


def _back(fact: Fact, path: str) -> Fact:
    return msgspec.structs.replace(fact, path=path)
