"""The tool `explain`: takes a code and returns its page; without a code, the list of codes."""

from typing import Annotated

from msgspec import Meta

from trueup.contract.codes import ALL, describe, family_of, find_kinds, own_kinds, page_of
from trueup.mcp.answer import AnswerSection, Row, ToolAnswer
from trueup.mcp.fence import Fenced
from trueup.mcp.tool import Continued, McpTool
from trueup.mcp.workspace import Workspace
from trueup.studio.api.judging import Code
from trueup.studio.api.judging import explain as explained
from trueup.studio.refusal import RequestRefused
from trueup.verdict.catalogue import FixKind


class Explaining(Continued, frozen=True, kw_only=True):
    """A code."""

    code: Annotated[str, Meta(description="A code such as V001, or a name such as trailing-comma. Empty: list every code.")] = ""  # fmt: skip


def explain(workspace: Workspace, asked: Explaining) -> ToolAnswer:
    """Say what a code of a finding, fix or fault means, with replies that trigger it and replies that do not.

    Without `code`, list every code with one sentence.
    """
    if not asked.code:
        rows: list[Row] = [_row(kind) for kind in (*ALL, *own_kinds())]
        return ToolAnswer({"codes_in_all": len(rows)}, (AnswerSection("codes", rows),))
    _refuse_unknown(workspace, asked.code)
    kinds = find_kinds(asked.code)
    page = "\n\n".join(page_of(kind) for kind in kinds)
    if any(family_of(kind) == "own" for kind in kinds):  # written by another package
        page = Fenced(page)
    return ToolAnswer(
        {"codes_in_all": len(kinds)},
        (AnswerSection("codes", [_row(kind) for kind in kinds]), AnswerSection("page", page)),
    )


def _refuse_unknown(workspace: Workspace, code: str) -> None:
    """Refuse a code that does not exist, with the nearest ones."""
    try:
        explained(workspace, Code(code), workspace.who)
    except RequestRefused as refusal:
        raise RequestRefused(
            refusal.status, refusal.message, code=refusal.code,
            hint=refusal.hint or "`explain` without arguments lists every code.",
        ) from None  # fmt: skip


def _row(kind: object) -> Row:
    told = describe(kind)  # type: ignore[arg-type]
    word = {"grade": told["grade"]} if isinstance(kind, FixKind) else {"level": told["level"]}
    return {"code": told["code"], "name": told["name"], **word, "title": told["title"]}


EXPLAIN = McpTool("explain", "Explain a code", Explaining, explain)
