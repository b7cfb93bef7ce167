"""A reply with its fixes and faults marked: takes text and facts and returns styled text; nothing in the reply is
interpreted as markup.
"""

import json
from typing import Any

from rich.text import Text

from trueup.batch.pipeline.viewing.inspecting import JudgedReply, UnitDetails, fields_of
from trueup.verdict.display import safe, safe_line
from trueup.verdict.marking import MarkedPiece, pieces
from trueup.verdict.verdict import Verdict

STYLES = {
    "lossless": "black on green3",
    "guess": "black on gold1",
    "lossy": "white on red3",
    "error": "underline red",
    "warning": "underline yellow",
}
_MOST = 20_000


def marked(raw: str, verdict: Verdict | None) -> Text:
    """The original reply, each fix marked in the colour of its grade and followed by its code.

    >>> from trueup import Contract
    >>> marked('{"a": 1,}', Contract(True).check('{"a": 1,}')).plain
    '{"a": 1,⟨S001⟩}'
    """
    shown = raw[:_MOST]
    out = Text()
    for piece in [MarkedPiece(shown)] if verdict is None else pieces(verdict, shown):
        out.append(safe(piece.text), STYLES.get(piece.kind))
        for fact in piece.ends:
            out.append(f"⟨{fact.code}⟩", "bold")
    _say_rest(out, raw)
    return out


def _say_rest(out: Text, text: str) -> None:
    """Say how much of a long text is not shown."""
    if len(text) > _MOST:
        out.append(f"\n… {len(text) - _MOST:,} more characters", "dim")


def _plain(out: Text, text: str) -> None:
    """An unmarked text, cut if it is very long."""
    out.append(safe(text[:_MOST]))
    _say_rest(out, text)
    out.append("\n")


def _heading(out: Text, title: str) -> None:
    out.append(f"\n{title}\n", "bold")


def _value(out: Text, value: Any) -> None:
    _plain(out, json.dumps(value, indent=2, ensure_ascii=False))


def unit_text(unit: UnitDetails) -> Text:
    """Everything about a unit, from top to bottom."""
    out = Text()
    if unit.failure is not None:
        out.append("failed", "bold red")
        out.append(f" at {safe_line(str(unit.failure.get('failure_stage', '')))}")
        out.append(f"{_again(unit.failure.get('retry_count'))}\n", "dim")
        for error in unit.failure.get("errors") or ():
            said = f"{error.get('code', '')} {error.get('path', '')}: {error.get('message', '')}"
            out.append(f"  {safe_line(said)}\n", "red")
    elif unit.result is not None:
        out.append("valid\n", "bold green")
    elif not unit.fault:
        out.append("not judged yet", "bold yellow")
        out.append(f": {safe_line(unit.note)}\n" if unit.note else "\n")
    if unit.fault:
        out.append("not all of this unit can be read\n", "bold red")
        out.append("".join(f"  {safe_line(line)}\n" for line in unit.fault.splitlines()), "red")
    for number, reply in enumerate(reversed(unit.replies)):
        _heading(out, "Last reply" if number == 0 else f"Reply {len(unit.replies) - number}")
        _reply(out, reply)
    sent = (unit.failure or {}).get("raw_response")
    if sent and not unit.replies:
        _heading(out, "Reply in the failure record" if unit.fault else "Sent in place of a reply")
        out.append_text(marked(str(sent), None))
        out.append("\n")
    if unit.result is not None:
        _heading(out, "Unit after this step")
        _value(out, fields_of(unit.result))
    if unit.prompt:
        _heading(out, "Prompt")
        _plain(out, unit.prompt)
    _heading(out, "Input")
    _value(out, unit.input)
    return out


def _again(times: Any) -> str:
    """How often the model was asked again about a unit before it failed."""
    return f", asked again {times} time{'s' * (times != 1)}" if isinstance(times, int) and times > 0 else ""


def _reply(out: Text, reply: JudgedReply) -> None:
    out.append_text(marked(reply.raw, reply.verdict))
    out.append("\n")
    if reply.verdict is None:
        return
    if reply.verdict.data is not None:
        out.append("parsed  ", "dim")
        _value(out, reply.verdict.data)
    for fix in reply.verdict.fixes:
        out.append(f"  {safe_line(str(fix))}\n", "dim")
    for found in reply.verdict.findings:
        out.append(f"  {safe_line(str(found))}\n", "red" if found.level == "error" else "yellow")
