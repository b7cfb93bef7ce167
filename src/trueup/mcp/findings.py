"""Findings, fixes and faults as rows of an answer. Messages quote replies and files, so they are fenced."""

from collections.abc import Iterable
from typing import Any

from trueup.mcp.answer import AnswerSection, Row
from trueup.mcp.fence import Fenced, name
from trueup.mcp.wording import reworded
from trueup.studio.contracts.drafts import FaultyDraft
from trueup.studio.judging.drawing import MOST_ARGUMENTS

_MOST_CODES = 8  # of a reply in a list


def verdict_facts(verdict: dict[str, Any]) -> dict[str, Any]:
    """The decision of a drawn verdict, its numbers of findings and fixes, and what it does not show."""
    facts = {"ok": verdict["ok"], "outcome": verdict["state"], **verdict["counts"]}
    missing = []
    if verdict["omitted"]:
        missing.append(f"{verdict['omitted']:,} further findings and fixes, which the numbers include")
    if verdict["value_cut"]:
        missing.append(f"the value after {len(verdict['value']):,} characters; the reply contains all of it")
    if any(len(call["arguments"]) >= MOST_ARGUMENTS or call["arguments"].endswith("\n…") for call in verdict["calls"]):
        missing.append(f"arguments of calls after {MOST_ARGUMENTS:,} characters; the reply contains all of them")
    return {**facts, "not_shown": missing} if missing else facts


def verdict_sections(verdict: dict[str, Any]) -> tuple[AnswerSection, ...]:
    """The parts of a drawn verdict: findings, fixes, calls, the value, the correction to the model."""
    facts = verdict["facts"]
    sections = [
        AnswerSection("findings", [_finding(fact) for fact in facts if fact["kind"] == "finding"]),
        AnswerSection("fixes", [_fix(fact) for fact in facts if fact["kind"] == "fix"]),
        AnswerSection("calls", [_call(call) for call in verdict["calls"]]),
        AnswerSection("correction", Fenced(verdict["told"] or "")),
        AnswerSection("value", Fenced(verdict["value"] or "")),
    ]
    return tuple(section for section in sections if section.content)


def fault_rows(faults: Iterable[dict[str, Any]]) -> list[Row]:
    """Faults of a contract file, errors first."""
    return [_fault(fault) for fault in sorted(faults, key=lambda fault: fault["level"] != "error")]


def counts_of(faults: Iterable[dict[str, Any]]) -> dict[str, int]:
    """The numbers of errors and warnings.

    >>> counts_of([{"level": "error"}, {"level": "warning"}, {"level": "error"}])
    {'errors': 2, 'warnings': 1}
    """
    levels = [fault["level"] for fault in faults]
    return {"errors": levels.count("error"), "warnings": len(levels) - levels.count("error")}


def some_codes(codes: list[str]) -> dict[str, Any]:
    """The first codes of a reply, and how many more it has.

    >>> some_codes(["V001", "B005"]), some_codes(["V001"] * 10)["more_codes"]
    ({'codes': ['V001', 'B005']}, 2)
    """
    shown: dict[str, Any] = {"codes": [name(code) for code in codes[:_MOST_CODES]]}
    return {**shown, "more_codes": len(codes) - _MOST_CODES} if len(codes) > _MOST_CODES else shown


def faulty_section(error: FaultyDraft) -> AnswerSection:
    """The reasons why a text is not a contract."""
    return AnswerSection("faults", fault_rows(error.faults))


def _finding(fact: dict[str, Any]) -> Row:
    row: dict[str, Any] = {
        "code": fact["code"],
        "name": fact["name"],
        "level": fact["level"],
        "path": name(fact["path"]),
    }
    if fact["rule"]:
        row["rule"] = name(fact["rule"])
    return {**row, **_span(fact), "message": Fenced(_joined(fact["message"], fact["hint"]))}


def _fix(fact: dict[str, Any]) -> Row:
    row: dict[str, Any] = {"code": fact["code"], "name": fact["name"], "grade": fact["grade"], **_span(fact)}
    if fact["path"] not in ("", "$"):
        row["path"] = name(fact["path"])
    if fact["before"] or fact["after"]:
        row["change"] = Fenced(f"{fact['before'] or ''} → {fact['after'] or ''}")
    return row


def _call(call: dict[str, Any]) -> Row:
    return {
        "tool": name(call["name"]),
        "ok": call["ok"],
        "origin": call["origin"],
        "arguments": Fenced(call["arguments"]),
    }


def _fault(fault: dict[str, Any]) -> Row:
    row: dict[str, Any] = {
        "code": fault["code"] or "context",
        "level": fault["level"],
        "line": fault["line"],
        "column": fault["column"],
    }
    if "file" in fault:
        row["file"] = name(fault["file"])
    return {**row, "message": Fenced(reworded(_joined(fault["message"], fault["hint"])))}


def _span(fact: dict[str, Any]) -> dict[str, Any]:
    return {"span": fact["span"]} if fact["span"] else {}


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
