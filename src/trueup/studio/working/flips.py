"""Flips for the page: takes a stored reply and its result in the backtest, and returns an excerpt with the marks of
both sides.
"""

from typing import Any

from trueup.backtesting.tally import excerpt
from trueup.material.case import Case
from trueup.material.stored import case_of_stored
from trueup.store.records import Stored
from trueup.studio.judging.drawing import drawn
from trueup.studio.judging.units import OffsetUnits
from trueup.verdict.verdict import Verdict

MOST_TEXT = 600  # characters of a reply in a list
_MOST_MARKS = 40
Flip = dict[str, Any]


def plain_flip(row: dict[str, Any]) -> Flip:
    """A flip as recorded by the backtest: with the one place that decided."""
    text, span = row["text"], row["span"]
    units = OffsetUnits(text)
    marks = [[units.of(span[0]), units.of(span[1])]] if span else []
    accepted = row["kind"] == "newly_accepted"
    codes = row["codes"]
    return {
        **_known(row), "text": text, "cut": "…" in (text[:1], text[-1:]),
        "marks_old": marks if accepted else [], "marks_new": [] if accepted else marks,
        "codes_old": codes if accepted else [], "codes_new": [] if accepted else codes,
    }  # fmt: skip


def drawn_flip(stored: Stored, row: dict[str, Any], new: Any, old: Any) -> Flip | None:
    """A flip with all marks of each contract; None if it can no longer be judged."""
    case = case_of_stored(stored)
    now = judged(new, case)
    was = None if old is None else judged(old, case)
    if now is None or (old is not None and was is None):
        return None
    page = drawn(now)
    before = None if was is None else drawn(was)
    plain = plain_flip(row)
    text, shift, cut = _stretch(page["text"], row, before, page)
    return {
        **plain, "text": text, "cut": cut, "marks_new": _marks(page, text, shift),
        "marks_old": plain["marks_old"] if before is None else _marks(before, text, shift),
        "codes_new": _codes(page), "codes_old": list(stored.codes) if before is None else _codes(before),
    }  # fmt: skip


def judged(contract: Any, case: Case) -> Verdict | None:
    """The verdict of a contract on a case; None if there is none: the reply is gone, or a check raised an error."""
    if case.reply is None:
        return None
    try:
        verdict: Verdict = contract.check(case.reply, dict(case.context) if case.context else None)
    except Exception:  # noqa: BLE001 - whatever a check of the user's raises
        return None
    return verdict


def _known(row: dict[str, Any]) -> Flip:
    return {
        "id": row["id"], "kind": row["kind"], "recorded": row["recorded"] == "accepted" if row["recorded"] else None, "was": row["was"] == "accepted", "now": row["now"] == "accepted",
        "old": row["was"], "new": row["now"], "state": row["state"], "model": row["model"], "tenant": row["tenant"],
        "rule": row["rules"][0] if row["rules"] else "", "rules": row["rules"], "codes": row["codes"], "path": row["path"],
        "message": row["message"], "label": row["label"], "labels": row["labels"], "before": row.get("before"), "after": row.get("after"),
    }  # fmt: skip


def _stretch(text: str, row: dict[str, Any], old: Flip | None, new: Flip) -> tuple[str, int, bool]:
    """The shown part of a text, the number of UTF-16 units before it, and whether anything was cut off."""
    if len(text) <= MOST_TEXT:
        return text, 0, False
    deciding = old if row["kind"] == "newly_accepted" and old is not None else new
    span = next((fact["span"] for fact in deciding["facts"] if fact["span"] and fact["kind"] == "finding"), None)
    shown, _ = excerpt(text, tuple(span) if span else None, MOST_TEXT)
    inner = shown.removeprefix("…") if not text.startswith(shown[:20]) else shown
    start = text.find(inner.removesuffix("…") if not text.endswith(inner[-20:]) else inner)
    lead = len(shown) - len(inner)
    return shown, OffsetUnits(text).of(max(0, start)) - lead, True


def _marks(page: Flip, text: str, shift: int) -> list[list[Any]]:
    """The places of findings (errors first), then of fixes: start, end (UTF-16 units of the shown text), code and kind."""
    size = OffsetUnits(text).of(len(text))
    found: list[list[Any]] = []
    for start, end, number in page["marks"]:
        fact = page["facts"][number]
        if fact["level"] != "error" and fact["kind"] == "finding":
            continue
        if fact["kind"] == "fix":
            continue
        at, to = max(0, start - shift), min(size, end - shift)
        if at < to:
            found.append([at, to, fact["code"]])
    return found[:_MOST_MARKS]


def _codes(page: Flip) -> list[str]:
    """The codes of the errors, each once."""
    return list(dict.fromkeys(fact["code"] for fact in page["facts"] if fact["level"] == "error"))
