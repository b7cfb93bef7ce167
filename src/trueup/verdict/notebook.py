"""A verdict as HTML for a notebook: one element with the marked reply, the findings, the fixes and the value.

All text of the reply is escaped. There is no script and nothing is fetched. Colours are translucent, so that they fit the
notebook's own theme, light or dark. Long parts are cut, and the cut is marked.
"""

import json
from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from trueup.verdict.display import safe, safe_line
from trueup.verdict.evidence import Evidence
from trueup.verdict.facts import Finding, Fix
from trueup.verdict.marking import Fact, MarkedPiece, kind_of, pieces

if TYPE_CHECKING:
    from trueup.verdict.reply import ToolCall
    from trueup.verdict.verdict import Verdict

_AROUND = 300  # characters of unmarked text before and after its cut
_TEXT = 12_000  # characters of the marked reply
_VALUE = 4_000
_CELL = 200
_ROWS = 20
_EVIDENT = {"exact": "ok", "normalized": "ok", "computed": "ok", "fuzzy": "warning", "none": "error"}
_STYLE = """<style>
.trueup-verdict { font-size: 13px; line-height: 1.5; max-width: 64rem; }
.trueup-verdict h4 { font-size: 12px; font-weight: 600; margin: .8em 0 .25em; opacity: .7; }
.trueup-verdict .head { margin: .3em 0; } .trueup-verdict .head b { padding: .1em .5em; border-radius: .3em; margin-right: .5em; }
.trueup-verdict pre { font: 12px/1.55 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace; margin: 0; padding: .6em .8em;
  color: inherit; background: rgba(128, 128, 128, .09); border: 1px solid rgba(128, 128, 128, .25); border-radius: .4em;
  white-space: pre-wrap; overflow-wrap: anywhere; max-height: 26em; overflow: auto; }
.trueup-verdict table { border-collapse: collapse; margin: 0; font-size: inherit; color: inherit; }
.trueup-verdict tbody tr:nth-child(n), .trueup-verdict tbody tr:nth-child(n):hover { background: none; }
.trueup-verdict td { text-align: left; vertical-align: top; padding: .15em .9em .15em 0; border: none; white-space: normal; overflow-wrap: anywhere; }
.trueup-verdict td:first-child { white-space: nowrap; } .trueup-verdict td:nth-child(2):not(:last-child) { min-width: 5em; }
.trueup-verdict code { font: 12px ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace; color: inherit; background: none; padding: 0; }
.trueup-verdict .soft { opacity: .65; } .trueup-verdict .name { white-space: nowrap; }
.trueup-verdict .badge, .trueup-verdict mark { color: inherit; border-radius: .2em; padding: 0 .2em; }
.trueup-verdict .badge { white-space: nowrap; } .trueup-verdict sup { font-size: 9px; font-weight: 700; margin-left: .15em; line-height: 0; }
.trueup-verdict .lossless, .trueup-verdict .ok { background: rgba(46, 160, 90, .28); }
.trueup-verdict .guess, .trueup-verdict .warning { background: rgba(225, 160, 20, .34); }
.trueup-verdict .lossy, .trueup-verdict .refused, .trueup-verdict .error { background: rgba(225, 60, 50, .3); }
.trueup-verdict mark.error { background: none; border-bottom: 2px solid rgba(225, 60, 50, .95); border-radius: 0; }
.trueup-verdict mark.warning { background: none; border-bottom: 2px solid rgba(225, 160, 20, .95); border-radius: 0; }
</style>"""


def verdict_html(verdict: "Verdict", title: str = "", about: str = "") -> str:
    """The verdict as one HTML element; `title` and `about` come before its own headline.

    >>> from trueup import Contract
    >>> "<mark" in verdict_html(Contract(True).check("{'a': 1}"))
    True
    """
    parts = [
        _head(verdict, title, about),
        *_table("Findings", verdict.findings, _finding_cells),
        *_reply(verdict),
        *_table("Fixes", verdict.fixes, _fix_cells),
        *_calls(verdict),
        *_table("Evidence", verdict.evidence.items(), _evidence_cells),
        *_value(verdict),
    ]
    return f'<div class="trueup-verdict">{_STYLE}{"".join(parts)}</div>'


def _head(verdict: "Verdict", title: str, about: str) -> str:
    state = "ok" if verdict.ok else "refused"
    facts = ((verdict.errors, "error"), (verdict.warnings, "warning"), (verdict.fixes, "fix"))
    counts = [
        f"{len(some)} {word}{'' if len(some) == 1 else 'es' if word == 'fix' else 's'}" for some, word in facts if some
    ]
    summary = ", ".join(counts) or "clean: nothing was changed"
    before = f'{escape(title)} <span class="soft">{escape(safe_line(about))}</span><br>' if title else ""
    return f'<div class="head">{before}<b class="{state}">{"✓" if verdict.ok else "✗"} {state}</b>{summary}</div>'


def _table(title: str, facts: Iterable[Any], cells: Any) -> Iterator[str]:
    rows = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells(fact))}</tr>" for fact in islice(facts, _ROWS + 1)]
    if not rows:
        return
    more = ""
    if len(rows) > _ROWS:
        rows.pop()
        more = f'<div class="soft">… and more: the first {_ROWS} are shown</div>'
    yield f"<h4>{title}</h4><table>{''.join(rows)}</table>{more}"


def _finding_cells(finding: Finding) -> Iterator[str]:
    yield _label(finding)
    yield _code(finding.path)
    hint = (
        f'<br><span class="soft">{_cell(finding.hint)}</span>'
        if finding.hint and finding.hint != finding.message
        else ""
    )
    yield f"{_cell(finding.message)}{hint}"


def _fix_cells(fix: Fix) -> Iterator[str]:
    yield _label(fix)
    yield _code(fix.path)
    yield f"{_code(fix.before)} → {_code(fix.after)}" if fix.before or fix.after else _cell(fix.title)


def _label(fact: Fact) -> str:
    kind = escape(kind_of(fact))
    name = f'<b>{escape(fact.code)}</b> <span class="name">{escape(safe_line(fact.name))}</span>'
    return f'{name} <span class="badge {kind}">{kind}</span>'


def _evidence_cells(item: tuple[str, Evidence]) -> Iterator[str]:
    path, one = item
    place = one.places[0] if one.places else one.nearest
    yield _code(path)
    yield f'<span class="badge {_EVIDENT.get(one.grade, "")}">{escape(one.grade)}</span>'
    if place is not None:
        yield f'{"" if one.places else "nearest: "}{_code(place.text)} <span class="soft">{_cell(place.document)}</span>'


def _reply(verdict: "Verdict") -> Iterator[str]:
    text = verdict.reply.text
    if not text:
        return
    body = "".join(_drawn(pieces(verdict)))
    yield f'<h4>Reply <span class="soft">({len(text):,} characters)</span></h4><pre>{body}</pre>'


def _drawn(parts: list[MarkedPiece]) -> Iterator[str]:
    """Pieces as HTML; a long unmarked piece loses its middle, a long text its end."""
    room = _TEXT
    left = sum(len(part.text) for part in parts)
    for part in parts:
        if room <= 0:
            yield _cut_here(left)
            return
        gone = len(part.text) - 2 * _AROUND
        if gone > _AROUND:
            body = _safe(part.text[:_AROUND]) + _cut_here(gone) + _safe(part.text[-_AROUND:])
        else:
            body = _safe(part.text)
        room -= len(body)
        left -= len(part.text)
        codes = "".join(f"<sup>{escape(fact.code)}</sup>" for fact in part.ends)
        if part.facts:
            summary = escape("; ".join(safe_line(_summary(fact)) for fact in part.facts))
            words = body.rstrip() or body  # the code follows the last word, not on a line below
            yield f'<mark class="{escape(part.kind)}" title="{summary}">{words}{codes}</mark>{body[len(words) :]}'
        else:
            yield body


def _summary(fact: Fact) -> str:
    if isinstance(fact, Fix):
        return f"{fact.code} {fact.name} ({fact.grade}): {fact.before[:_CELL]} → {fact.after[:_CELL]}"
    return f"{fact.code} {fact.name}: {fact.message[:_CELL]}"


def _calls(verdict: "Verdict") -> Iterator[str]:
    passed: list[tuple[ToolCall, bool]] = [(call, True) for call in verdict.calls]
    judged = sorted([*passed, *((refusal.call, False) for refusal in verdict.refused)], key=lambda each: each[0].index)
    yield from _table("Calls", judged, _call_cells)


def _call_cells(judged: "tuple[ToolCall, bool]") -> Iterator[str]:
    call, passed = judged
    state = "ok" if passed else "refused"
    yield f'<span class="badge {state}">{state}</span>'
    yield f"<b>{_cell(call.name)}</b>"
    yield _code(call.raw_args if call.args is None else _json(call.args, indent=None))


def _value(verdict: "Verdict") -> Iterator[str]:
    if verdict.data is None and (not verdict.ok or verdict.calls or verdict.value is None):
        return
    value = verdict.value if verdict.ok else verdict.data
    title = "Value" if verdict.ok else "Best reading"
    kind = "" if value is verdict.data else f' <span class="soft">{escape(safe_line(type(value).__name__))}</span>'
    shown = _json(value) if value is verdict.data else _repr(value)
    more = _cut_here(len(shown) - _VALUE) if len(shown) > _VALUE else ""
    yield f"<h4>{title}{kind}</h4><pre>{_safe(shown[:_VALUE])}{more}</pre>"


def _repr(value: Any) -> str:
    """The value's repr, with one item a line if it is longer than a line; a class may raise anything here."""
    from pprint import pformat

    try:
        return pformat(value, width=100, sort_dicts=False)
    except Exception as error:  # noqa: BLE001 - a broken __repr__ must not hide the verdict
        return f"<{type(value).__name__}: its repr failed with {type(error).__name__}>"


def _json(value: Any, indent: int | None = 2) -> str:
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return _repr(value)


def _safe(text: str) -> str:
    return escape(safe(text))


def _cell(text: str) -> str:
    cut = text if len(text) <= _CELL else f"{text[:_CELL]}…"
    return escape(safe_line(cut))


def _code(text: str) -> str:
    return f"<code>{_cell(text)}</code>" if text else '<span class="soft">nothing</span>'


def _cut_here(count: int) -> str:
    return f'<span class="soft"> … {count:,} characters … </span>'
