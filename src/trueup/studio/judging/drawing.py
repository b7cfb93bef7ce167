"""Drawing: takes a verdict and returns everything that the page shows of it, as data for JSON.

Facts are the findings and fixes in one list: errors, warnings, then fixes in the order of the text. A mark is the place
of a fact in `text`, in UTF-16 units. Marks are sorted by start, the longer first; they may be nested or cross, so a
page cuts the text at every start and end and draws each piece with all marks that cover it. A mark whose end is its
start is a place where something was added.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from trueup.studio.judging.spelling import spell
from trueup.studio.judging.units import OffsetUnits
from trueup.verdict.catalogue import FINDINGS, OWN
from trueup.verdict.facts import Finding, Fix, Span
from trueup.verdict.locate import is_reading, locate
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

MOST_FACTS = 5_000  # facts in one answer: more than anybody scrolls through, and a few megabytes
_MOST_LOOKED = 2_000_000  # characters of a text that is searched for places of values
MOST_ARGUMENTS = 100_000  # characters of the arguments of a call
_NO_REPLY = frozenset({"R001", "R002", "R004"})
_CUT_OFF = frozenset({"R003", "A002"})

Drawn = dict[str, Any]
Fact = Fix | Finding


def drawn(verdict: Verdict, told: str | None = None, *, is_value: bool = False) -> Drawn:
    """A verdict as data for the page; `told` is the feedback for the model.

    With `is_value`, the contract has a schema: data of None then mean the value null, if the reply is ok and has no
    calls.

    >>> from trueup import Contract
    >>> page = drawn(Contract(True).check('{"a": "😀",}'))
    >>> page["state"], page["marks"], page["facts"][0]["code"], page["counts"]["lossless"]
    ('ok', [[10, 11, 0]], 'S001', 1)
    """
    text = verdict.reply.text
    placed = _placed(verdict)
    shown = placed[:MOST_FACTS]
    is_null = is_value and verdict.data is None and verdict.ok and not verdict.calls
    value = spell(verdict.data) if verdict.data is not None or is_null else None
    return {
        "ok": verdict.ok,
        "state": _state(verdict),
        "reason": verdict.reason,
        "counts": _counts(verdict),
        "text": text,
        "marks": _marks(text, [span for _, span in shown]),
        "facts": [_fact(fact, span) for fact, span in shown],
        "unmarked": sum(span is None for _, span in shown),
        "omitted": len(placed) - len(shown),
        "value": None if value is None else value.text,
        "value_cut": value is not None and value.cut,
        "calls": _calls(verdict, [fact for fact, _ in shown]),
        "told": told,
    }


def _placed(verdict: Verdict) -> list[tuple[Fact, Span | None]]:
    """Every fact with its place in the text, in the order of the list."""
    native = any(call.origin == "native" for call in verdict.reply.calls)
    size = len(verdict.reply.text)
    fixes, findings = locate(verdict, _MOST_LOOKED)

    def place(fact: Fact) -> Span | None:
        if fact.span is None or (native and fact.path.startswith("$.calls[")):
            return None
        start, end = fact.span
        is_all = isinstance(fact, Finding) and (start, end) == (
            0,
            size,
        )  # it is about the whole text, so it marks nothing
        return (start, end) if 0 <= start <= end <= size and not is_all else None

    listed: list[tuple[Fact, Span | None]] = [
        (one, place(one)) for one in sorted(findings, key=lambda one: one.level != "error")
    ]
    changed = [(one, place(one)) for one in fixes]
    return [*listed, *sorted(changed, key=lambda pair: (pair[1] is None, pair[1] or ()))]


def _marks(text: str, spans: Iterable[Span | None]) -> list[list[int]]:
    units = OffsetUnits(text)
    marks = [[units.of(span[0]), units.of(span[1]), fact] for fact, span in enumerate(spans) if span is not None]
    return sorted(marks, key=lambda mark: (mark[0], -mark[1], mark[2]))


def _fact(fact: Fact, span: Span | None) -> Drawn:
    place = None if span is None else [*span]
    if isinstance(fact, Fix):
        return {
            "kind": "fix", "code": fact.code, "name": fact.name, "title": fact.title, "level": None, "grade": fact.grade,
            "path": fact.path, "message": fact.title, "hint": "", "before": fact.before, "after": fact.after, "span": place, "rule": "",
            "reading": is_reading(fact),
        }  # fmt: skip
    kind = FINDINGS.get(fact.code) or OWN.get(fact.code)
    rule = fact.data.get("rule")
    return {
        "kind": "finding", "code": fact.code, "name": fact.name, "title": kind.title if kind else "", "level": fact.level, "grade": None,
        "path": fact.path, "message": fact.message, "hint": fact.hint, "before": None, "after": None, "span": place,
        "rule": rule if isinstance(rule, str) else "",
    }  # fmt: skip


def _counts(verdict: Verdict) -> dict[str, int]:
    counts = {"errors": 0, "warnings": 0, "lossless": 0, "guess": 0, "lossy": 0}
    for found in verdict.findings:
        counts["errors" if found.level == "error" else "warnings"] += 1
    for fix in verdict.fixes:
        counts[fix.grade] += 1
    return counts


def _state(verdict: Verdict) -> str:
    codes = {found.code for found in verdict.findings}
    if not codes.isdisjoint(_CUT_OFF):
        return "cut off"
    if not codes.isdisjoint(_NO_REPLY):
        return "no reply"
    return "ok" if verdict.ok else "refused"


def _calls(verdict: Verdict, facts: list[Fact]) -> list[Drawn]:
    """The calls of a reply in order, each with the facts about it."""
    about: dict[str, list[int]] = defaultdict(list)
    for number, fact in enumerate(facts):
        if fact.path.startswith("$.calls["):
            about[fact.path[8 : fact.path.find("]")]].append(number)
    judged = [(call, True) for call in verdict.calls] + [(refusal.call, False) for refusal in verdict.refused]
    judged.sort(key=lambda pair: pair[0].index)
    return [
        {
            "name": call.name,
            "arguments": _arguments(call),
            "ok": ok,
            "origin": call.origin,
            "facts": about.get(str(call.index), []),
        }
        for call, ok in judged
    ]


def _arguments(call: ToolCall) -> str:
    if call.args is None:
        return call.raw_args[:MOST_ARGUMENTS]
    text, cut = spell(call.args, MOST_ARGUMENTS)
    return f"{text}\n…" if cut else text
