"""The tool `edit`: takes a change to a contract file and the hash of the old text; returns lint and a backtest of the
change.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trueup.mcp.answer import AnswerSection, ToolAnswer
from trueup.mcp.fence import Fenced, name
from trueup.mcp.findings import counts_of, fault_rows
from trueup.mcp.tool import Long, McpTool
from trueup.mcp.tools.backtest import BacktestInput, backtest_answer, started
from trueup.mcp.tools.reply_filters import Since, selection_of
from trueup.mcp.workspace import Workspace
from trueup.studio.api.contracts import Saving, save_file
from trueup.studio.contracts.drafts import contract_of, lint_draft
from trueup.studio.contracts.saving import Changed
from trueup.studio.contracts.versions import diff_between
from trueup.studio.refusal import RequestRefused

_REPLIES = 2_000  # replies in a backtest without a given limit


class Editing(msgspec.Struct, frozen=True, kw_only=True):
    """A change to a contract file."""

    contract: Annotated[str, Meta(description="The name of the contract file.")]
    hash: Annotated[str, Meta(description="The `hash` of the file, from `lint`. The edit is refused if the file has changed since.")]  # fmt: skip
    old: Annotated[str, Meta(description="A passage that the file contains exactly once. Give it with `new`.")] = ""
    new: Annotated[str, Meta(description="The passage that replaces `old`.")] = ""
    text: Annotated[str, Meta(description="The whole new text, instead of `old` and `new`.")] = ""
    since: Since = ""
    limit: Annotated[int, Meta(description="How many stored replies the backtest reads at most; 0: no backtest.", ge=0)] = _REPLIES  # fmt: skip
    judged_by: Annotated[str | None, Meta(description="The backtest takes replies that the contract of this name judged. Left out: the contract's own name. Empty: replies of every contract.")] = None  # fmt: skip


def edit(workspace: Workspace, asked: Editing) -> ToolAnswer | Long:
    """Change a contract file, and show what lint and a backtest say about the change.

    Needs the file's `hash` from `lint`, so that nobody's change is lost. A text with errors is refused and nothing is written. The file is replaced in
    one step. Give `old` and `new` for a change in one place, or `text` for the whole file. Try a draft first with `backtest` and `text`.
    """
    if not workspace.allow_edit:
        raise RequestRefused(403, "This server is read-only.", code="read_only", hint="Start it with --allow-edit.")
    opened = workspace.contract(asked.contract)
    if opened.hash != asked.hash:
        raise _changed(asked.contract)
    text = _edited(asked, opened.text)
    wanted = BacktestInput(contract=asked.contract, since=asked.since, limit=asked.limit, judged_by=asked.judged_by)
    selection_of(wanted)  # refuses bad arguments before anything is written
    draft = contract_of(workspace.settings, text, asked.contract)
    before = lint_draft(workspace.settings, opened.text, asked.contract).contract
    try:
        saved = save_file(workspace, Saving(file=asked.contract, text=text, hash=asked.hash), workspace.who)
    except Changed:
        raise _changed(asked.contract) from None
    faults = saved["faults"]
    facts: dict[str, Any] = {
        "saved": True, "contract": name(saved["file"]), "hash": saved["hash"], "fingerprint": saved["fingerprint"],
        **counts_of(faults),
    }  # fmt: skip
    parts = (
        AnswerSection("diff", Fenced(diff_between(opened.text, text) or "")),
        AnswerSection("faults", fault_rows(faults)),
        AnswerSection("broken", [{"contract": name(each)} for each in saved["broken"]]),
    )

    def both(backtested: ToolAnswer) -> ToolAnswer:
        sections = (*parts[1:], *backtested.sections, parts[0])
        return ToolAnswer({**facts, "backtest": backtested.facts}, tuple(each for each in sections if each.content))

    if before is not None and before.fingerprint == draft.fingerprint:
        return both(ToolAnswer({"conclusion": "Nothing can flip: both texts decide alike."}))
    why = _no_backtest(workspace, asked)
    if why:
        return both(ToolAnswer({"not_done": why}))
    try:
        work = started(workspace, wanted, new=text, old=None if before is None else opened.text)
    except RequestRefused as refusal:  # the file is saved, which matters more
        return both(ToolAnswer({"not_done": Fenced(f"{refusal.message} Call `backtest` later.")}))
    if isinstance(work, ToolAnswer):
        return both(work)
    return Long(
        work.work,
        lambda result: both(backtest_answer(result)),
        lambda said: both(ToolAnswer({"not_done": Fenced(said)})),
    )


def _edited(asked: Editing, text: str) -> str:
    """The new text of the file."""
    if asked.text and (asked.old or asked.new):
        raise RequestRefused(400, "Both `text` and `old` are given.", hint="Give `text`, or `old` with `new`.")
    if asked.text:
        return asked.text
    if not asked.old:
        raise RequestRefused(
            400, "Neither `text` nor `old` is given.", hint="Give `old` with `new`, or the whole `text`."
        )
    first = text.find(asked.old)
    if first < 0 or text.find(asked.old, first + 1) >= 0:  # which also finds a place that overlaps the first one
        many = "is not in the file" if first < 0 else "is in the file more than once"
        raise RequestRefused(
            409, f"`old` {many}. Nothing was written.", code="no_match",
            hint="Give a passage that is there once, with its exact spaces. `lint` shows the text.",
        )  # fmt: skip
    return text.replace(asked.old, asked.new)


def _no_backtest(workspace: Workspace, asked: Editing) -> str:
    if not asked.limit:
        return "limit is 0."
    return "" if workspace.has_store else "No store is open; the server was started without --store."


def _changed(file: str) -> RequestRefused:
    """A refusal without the current hash: it would invite a second try that overwrites a text which nobody has read."""
    return RequestRefused(
        409, f"{file} does not have this hash: it was changed after you read it, or the hash is of another file. Nothing was written.", code="changed",
        hint="Read the file again with `lint`, which gives its `hash`, then make your change to that text.",
    )  # fmt: skip


EDIT = McpTool("edit", "Edit a contract", Editing, edit, is_edit=True)
