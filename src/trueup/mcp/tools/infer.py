"""The tool `infer`: takes stored replies, and returns the draft of a contract with its evidence."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trueup.mcp.answer import AnswerSection, ToolAnswer
from trueup.mcp.fence import Fenced
from trueup.mcp.tool import Long, McpTool
from trueup.mcp.tools.reply_filters import ReplySelection, address_for, limit_of, selection_of
from trueup.mcp.workspace import Workspace
from trueup.studio.working.folders import told_of


class Inferring(ReplySelection, frozen=True, kw_only=True):
    """The replies to draft from."""

    judged_by: Annotated[str, Meta(description="Only replies that the contract of this name judged.")] = ""
    name: Annotated[str, Meta(description="The name of the new contract.")] = ""
    strictness: Annotated[Literal["loose", "standard", "tight"], Meta(description="How little evidence a constraint needs.")] = "standard"  # fmt: skip
    expect: Annotated[Literal["auto", "value", "text"], Meta(description="Whether replies are JSON values or text.")] = "auto"  # fmt: skip
    reply_column: Annotated[str, Meta(description="The field of JSON lines that contains the reply.")] = ""
    operation: Annotated[str, Meta(description="The operation of an OpenAPI file whose answer is drafted.")] = ""


def infer(workspace: Workspace, asked: Inferring) -> Long:
    """Draft a contract from replies or from an OpenAPI file.

    Every line of the draft carries its evidence as a comment. A share of the replies is held out, and the report says how many of those pass.
    Nothing is written. Can take minutes for many replies; `limit` makes it shorter.
    """
    spec: dict[str, Any] = {
        **told_of(workspace.settings), "sources": workspace.sources(asked.sources), "store": address_for(workspace, asked.sources),
        "selection": msgspec.to_builtins(msgspec.structs.replace(selection_of(asked, asked.judged_by), limit=limit_of(asked.limit))),
        "name": asked.name, "strictness": asked.strictness, "expect": asked.expect, "reply_column": asked.reply_column,
        "operation": asked.operation,
    }  # fmt: skip
    return Long(workspace.works.start("infer", spec), _answer)


def _answer(result: dict[str, Any]) -> ToolAnswer:
    report = result["report"]
    facts = {
        "ok": report["ok"], "replies": report["cases"], "used": report["used"], "held_out": report["held"]["total"],
        "held_out_whole": report["held"]["whole"], "held_out_accepted": report["held"]["accepted"],
    }  # fmt: skip
    report_text = Fenced("\n".join(result["sentences"]))
    return ToolAnswer(facts, (AnswerSection("report", report_text), AnswerSection("contract", Fenced(result["yaml"]))))


INFER = McpTool("infer", "Draft a contract", Inferring, infer)
