"""Show a reply to label: the question, the reply, trueup's decision with its reasons, and the keys.

Takes an entry of the queue and returns lines that fit the screen, or all lines on request. All text is made safe.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len

from trueup.cli.terminal.layout import GRADE_STYLE, Line, count, short, wrapped
from trueup.labelling.session import KEYS
from trueup.labelling.subjects import WHOLE, is_error, subject_of
from trueup.verdict.display import safe, safe_line

if TYPE_CHECKING:
    from trueup.labelling.session import LabellingSession
    from trueup.material.case import Case

_LEAST = 3  # lines of the reply on the smallest screen
_SAID_STYLE = {"right": "green", "wrong": "red", "skipped": "yellow"}


class _Most(NamedTuple):
    """How much of each part to show."""

    question: int = 3
    findings: int = 6
    fixes: int = 4


_ROOMY, _NARROW = _Most(), _Most(2, 2, 1)
_LOW = 30  # lines of a small screen


def screen(session: "LabellingSession", width: int, height: int = 0) -> list[Line]:
    """The lines for the current entry. A `height` of 0 means that there is no screen: the height is unlimited, and no
    keys are shown.
    """
    case = session.entry.case
    most = _NARROW if 0 < height < _LOW and not session.whole_text else _ROOMY
    above = [*_head(session, width, 1 if most is _NARROW else 2), *_question(case, width, most.question)]
    below = [*_decision(session, width, most), [], *keys_lines(session, width, with_keys=height > 0)]
    text = list(_reply(case, width))
    room = max(_LEAST, height - len(above) - len(below) - 4) if height and not session.whole_text else len(text)
    if len(text) > room:
        hidden = len(text) - room + 1
        text = [*text[: room - 1], [(f"… {count(hidden, 'more line')} (m shows them)", "dim")]]
    return [*above, [], *text, [], *below]


def keys_lines(session: "LabellingSession", width: int, *, with_keys: bool = True) -> list[Line]:
    """The question to the person, and the keys on as many lines as they need."""
    case, focus = session.entry.case, session.focus
    if focus != WHOLE:
        asked = f"Is {safe_line(focus.partition(':')[2])} right here?"
    else:
        accepted = case.recorded is not None and case.recorded.ok
        asked = "Right to accept it?" if accepted else "Right to refuse it?"
    lines: list[Line] = [[(asked, "bold")]]
    said = session.outcome(focus)
    if said:
        lines[0] += [("  you said: ", "dim"), (said, _SAID_STYLE.get(said, ""))]
    if session.note:
        lines[0] += [("  with a note", "dim")]
    if not with_keys:
        return lines
    line: Line = []
    room = width
    for key, (word, _) in KEYS.items():
        size = cell_len(word) + 2
        if line and room < size + 2:
            lines.append(line)
            line, room = [], width
        line += (
            [("  ", ""), (key, "bold cyan"), (f" {word}", "dim")] if line else [(key, "bold cyan"), (f" {word}", "dim")]
        )
        room -= size + 2
    return [*lines, line]


def help_lines(width: int) -> Iterator[Line]:
    """The list of keys and what they do."""
    for key, (_, sentence) in KEYS.items():
        first, *more = wrapped(sentence, width - 4)
        yield [(f" {key}  ", "bold cyan"), (first, "")]
        for line in more:
            yield [("    ", ""), (line, "")]


def _head(session: "LabellingSession", width: int, most: int) -> Iterator[Line]:
    entry, case = session.entry, session.entry.case
    place = f"{session.at + 1} of {len(session.entries)}"
    why = safe_line("; ".join(entry.why))
    style = "cyan" if entry.drawn == "random" else ""
    first, *more = wrapped(why, width, len(place) + 2)
    yield [(place, "bold"), (f"  {first}", style)]
    for line in more[:most]:
        yield [(line, style)]
    facts = [
        case.model,
        case.contract,
        f"state {case.state}" if case.state else "",
        case.tenant,
        _when(case.at),
        case.id,
    ]
    yield [(short(safe_line(" · ".join(filter(None, facts))), width), "dim")]
    yield [("─" * width, "dim")]


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") if 0 < at < 1e11 else ""


def _question(case: "Case", width: int, most: int) -> Iterator[Line]:
    who, said = _asked(case.context or {})
    if not said:
        return
    lines = list(_paragraph(said, width - 2))
    for line in lines[:most]:
        yield [("> " if line is lines[0] else "  ", "dim"), (line, "italic")]
    if len(lines) > most:
        yield [(f"  … {count(len(lines) - most, 'more line')} of the {who}", "dim")]


def _asked(context: Mapping[str, Any]) -> tuple[str, str]:
    """The question, or otherwise the last message before the reply."""
    given = context.get("input")
    for place in (context, given if isinstance(given, Mapping) else {}):
        for name in ("question", "prompt"):
            question = place.get(name)
            if isinstance(question, str) and question.strip():
                return name, question.strip()
    history = context.get("history")
    for message in reversed(history) if isinstance(history, list | tuple) else ():
        if (
            isinstance(message, Mapping)
            and message.get("role") != "system"
            and (said := _content(message.get("content")))
        ):
            return "message", said
    return "", ""


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "\n".join(part for part in parts if isinstance(part, str)).strip()
    return ""


def _reply(case: "Case", width: int) -> Iterator[Line]:
    text = case.text
    if text.strip():
        for line in _paragraph(text.strip("\n"), width):
            yield [(line, "")]
    calls = _calls(case.reply)
    for name, arguments in calls:
        for at, line in enumerate(_paragraph(f"{name}({arguments})", width - 2)):
            yield [("→ " if at == 0 else "  ", "cyan"), (line, "")]
    if not text.strip() and not calls:
        yield from ([(line, "")] for line in _plain(case.reply, width))


def _plain(reply: Any, width: int) -> Iterable[str]:
    """A reply in another format, as JSON."""
    if reply is None or isinstance(reply, str) or hasattr(reply, "text") or hasattr(reply, "reply"):
        return ["(an empty reply)"]
    return _paragraph(json.dumps(reply, ensure_ascii=False, indent=1, default=str), width)


def _calls(reply: Any) -> list[tuple[str, str]]:
    calls = getattr(getattr(reply, "reply", reply), "calls", ()) or ()
    return [
        (call.name, json.dumps(call.args, ensure_ascii=False) if call.args is not None else call.raw_args)
        for call in calls
    ]


def _decision(session: "LabellingSession", width: int, most: _Most) -> Iterator[Line]:
    recorded = session.entry.case.recorded
    if recorded is None:
        return
    errors = [found for found in recorded.findings if is_error(found)]
    warnings = len(recorded.findings) - len(errors)
    facts = ((len(errors), "error"), (warnings, "warning"), (len(recorded.fixes), "fix"))
    words = ", ".join(count(n, word) for n, word in facts if n) or (
        "nothing was changed" if recorded.ok else " ".join(recorded.codes)
    )
    mark, style = ("✓ accepted", "bold green") if recorded.ok else ("✗ refused", "bold red")
    yield [(mark, style), (f"  {safe_line(words)}", "")]
    for found in recorded.findings[: most.findings]:
        yield from _finding(found, session, width)
    if len(recorded.findings) > most.findings:
        yield [(f"  … and {count(len(recorded.findings) - most.findings, 'more finding')}", "dim")]
    bold = [fix for fix in recorded.fixes if fix.get("grade") != "lossless"]
    for fix in bold[: most.fixes]:
        grade = str(fix.get("grade") or "")
        label = f"{fix.get('code')} {grade}"
        change = f" {fix.get('path')}: {fix.get('before')!r} → {fix.get('after')!r}"
        yield [
            ("  ", ""),
            (safe_line(label), GRADE_STYLE.get(grade, "")),
            (short(safe_line(change), width - 2 - cell_len(label)), "dim"),
        ]
    if len(bold) > most.fixes:
        yield [(f"  … and {count(len(bold) - most.fixes, 'more fix')}", "dim")]
    codes = dict.fromkeys(str(fix.get("code")) for fix in recorded.fixes if fix.get("grade") == "lossless")
    if codes:
        yield [("  ", ""), (short(safe_line(f"lossless {' '.join(codes)}"), width - 2), "dim")]


def _finding(found: Mapping[str, Any], session: "LabellingSession", width: int) -> Iterator[Line]:
    row = dict(found)
    subject = subject_of(row)
    pointer = "▸ " if session.focus == subject else "  "
    label = safe_line(str(row.get("code")))
    said = session.outcome(subject)
    style = "bold red" if is_error(row) else "bold yellow"
    path = safe_line(str(row.get("path") or "$"))
    rule = subject.removeprefix("rule:") if subject.startswith("rule:") else ""
    first, *more = wrapped(safe_line(str(row.get("message") or "")), width - 4, cell_len(label) + 1) or [""]
    yield [
        (pointer, "bold cyan"),
        (label, style),
        (f" {first}", ""),
        *([(f"  {said}", _SAID_STYLE.get(said, ""))] if said else []),
    ]
    for line in more[:3]:
        yield [("    ", ""), (line, "")]
    place = f"at {path}" + (f" · rule {safe_line(rule)}" if rule else "")
    yield [("    ", ""), (short(place, width - 4), "dim")]


def _paragraph(text: str, width: int) -> Iterator[str]:
    """Text wrapped to a width; line breaks are kept."""
    for line in safe(text).expandtabs(4).split("\n"):
        if cell_len(line) <= width:
            yield line
        else:
            yield from _broken(line, width)


def _broken(line: str, width: int) -> Iterator[str]:
    """A long line broken between words, and inside words that are longer than the screen."""
    from rich.cells import chop_cells

    row = ""
    for word in line.split(" "):
        joined = f"{row} {word}" if row else word
        if cell_len(joined) <= width:
            row = joined
            continue
        if row:
            yield row
        *whole, row = chop_cells(word, width) or [""]
        yield from whole
    yield row
