"""The tool `backtest`: takes a contract file or a draft, and returns the stored replies that it would judge
differently.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trueup.mcp.answer import AnswerSection, Row, ToolAnswer
from trueup.mcp.fence import Fenced, name
from trueup.mcp.findings import some_codes
from trueup.mcp.tool import Long, McpTool
from trueup.mcp.tools.reply_filters import ReplySelection, address_for, limit_of, selection_of
from trueup.mcp.workspace import Workspace
from trueup.studio.contracts.drafts import contract_of
from trueup.studio.contracts.files import called
from trueup.studio.contracts.stored import has_judged
from trueup.studio.refusal import RequestRefused
from trueup.studio.working.folders import told_of

RECORDED, SAVED = "recorded", "saved"
_FIGURES = (
    "conclusion", "total", "judged", "newly_refused", "newly_accepted", "value_changed", "unchanged", "complete",
    "same_fingerprint",
)  # fmt: skip


class BacktestInput(ReplySelection, frozen=True, kw_only=True):
    """A contract, the decisions to compare with, and the replies to judge."""

    contract: Annotated[str, Meta(description="The name of the contract file.")] = ""
    text: Annotated[str, Meta(description="A draft that takes the place of the file. Empty: the file itself.")] = ""
    against: Annotated[str, Meta(description="What to compare with: `saved` (the file), `recorded` (the outcomes in the store), or the fingerprint of a stored version. Empty: `saved` for a draft, else `recorded`.")] = ""  # fmt: skip
    judged_by: Annotated[str | None, Meta(description="Only replies that the contract of this name judged. Left out: the contract's own name. Empty: replies of every contract.")] = None  # fmt: skip


def backtest(workspace: Workspace, asked: BacktestInput) -> ToolAnswer | Long:
    """Judge stored replies again by a contract or a draft, and show which decisions would change.

    Counts replies that would be newly refused, newly accepted or get another value, with confidence intervals, and lists such replies. Nothing is
    changed and no model is asked. Try a draft here before `edit`. Can take minutes for many replies; `limit` makes it shorter.
    """
    if not asked.contract:
        raise RequestRefused(400, "contract is missing.", hint="`lint` without arguments lists the contract files.")
    saved = workspace.contract(asked.contract).text
    against = asked.against or (SAVED if asked.text else RECORDED)
    return started(
        workspace, asked, new=asked.text or saved, old=_old(workspace, against, saved), is_stored=_is_stored(against)
    )


def started(
    workspace: Workspace, asked: BacktestInput, *, new: str, old: str | None, is_stored: bool = False
) -> ToolAnswer | Long:
    """A backtest of two texts of a contract file. If they decide alike, it has its result immediately."""
    draft = contract_of(workspace.settings, new, asked.contract)
    if (
        old is not None
        and not is_stored
        and contract_of(workspace.settings, old, asked.contract).fingerprint == draft.fingerprint
    ):
        return ToolAnswer({"conclusion": "Nothing can flip: both texts decide alike.", "same_fingerprint": True})
    spec: dict[str, Any] = {
        **told_of(workspace.settings), "sources": workspace.sources(asked.sources), "store": address_for(workspace, asked.sources),
        "file": asked.contract, "text": new, "old": old, "old_stored": is_stored, "sample": limit_of(asked.limit),
        "selection": msgspec.to_builtins(selection_of(asked, _judged_by(workspace, asked, draft.name))),
    }  # fmt: skip
    return Long(workspace.works.start("backtest", spec), backtest_answer)


def backtest_answer(result: dict[str, Any]) -> ToolAnswer:
    """The figures of a backtest, its flips and its groups."""
    facts = {key: result[key] for key in _FIGURES if key in result}
    facts["rates"] = {
        kind: {"share": round(rate["share"], 4), "low": round(rate["low"], 4), "high": round(rate["high"], 4)}
        for kind, rate in result.get("rates", {}).items()
        if kind in ("newly_refused", "newly_accepted", "refused", "refused_before")
    }
    if result.get("unjudgeable"):
        facts["not_judged"] = {
            why: {"replies": count, "reason": result["reasons"].get(why, "")}
            for why, count in result["unjudgeable"].items()
        }
    changed = sum(result.get(kind, 0) for kind in ("newly_refused", "newly_accepted", "value_changed"))
    if changed > len(result["flips"]):
        facts["not_listed"] = (
            f"{changed - len(result['flips']):,} of {changed:,} flips. Choose fewer replies with `since`, `until`, `model` or `state`."
        )
    if any(row["cut"] for row in result["flips"]):
        facts["excerpts"] = (
            "Long replies are shortened; for an `id` of the store, `examples` with it as `verdict` shows all of it."
        )
    groups = result.get("groups", {})
    sections = (
        AnswerSection("flips", [_flip(row) for row in result["flips"]]),
        AnswerSection("groups", [_group(kind, row) for kind, rows in groups.items() for row in rows]),
    )
    return ToolAnswer(facts, tuple(section for section in sections if section.content))


def _flip(row: dict[str, Any]) -> Row:
    out: dict[str, Any] = {
        "id": name(row["id"]),
        "kind": row["kind"],
        "was": name(row["old"]),
        "now": name(row["new"]),
        **some_codes(row["codes"]),
    }
    for key in ("rule", "path", "state", "model", "label"):
        if row.get(key):
            out[key] = name(str(row[key]))
    change = f"\n{row['before']} → {row['after']}" if row.get("before") or row.get("after") else ""
    return {**out, "reply": Fenced(f"{row['message'] or ''}{change}\n{row['text']}".lstrip("\n"))}


def _group(kind: str, row: dict[str, Any]) -> Row:
    return {
        "by": kind,
        **{key: name(value) if isinstance(value, str) else value for key, value in row.items() if value is not None},
    }


def _old(workspace: Workspace, against: str, saved: str) -> str | None:
    if against in (SAVED, RECORDED):
        return saved if against == SAVED else None
    text = workspace.store.contract_text(against)
    if text is None:
        raise RequestRefused(
            404, f"against is {against[:40]!r}, which is not the fingerprint of a stored version.", code="no_version",
            hint=f"Give {SAVED}, {RECORDED}, or a fingerprint that `stats` with `by: rules` lists.",
        )  # fmt: skip
    return text


def _is_stored(against: str) -> bool:
    return against not in (SAVED, RECORDED)


def _judged_by(workspace: Workspace, asked: BacktestInput, draft: str) -> str:
    """The contract to select replies by; all replies of files are selected."""
    if asked.judged_by is not None:
        return asked.judged_by
    if asked.sources:
        return ""
    if draft:
        return draft
    own = called(workspace.path(asked.contract))
    return own if has_judged(workspace.store, own) else ""


BACKTEST = McpTool("backtest", "Backtest a contract", BacktestInput, backtest)
