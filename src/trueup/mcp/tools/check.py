"""The tool `check`: takes a reply and a contract, and returns the verdict."""

import json
from typing import Annotated, Any, Literal

from msgspec import Meta

from trueup.mcp.answer import AnswerSection, ToolAnswer
from trueup.mcp.fence import Fenced, name
from trueup.mcp.findings import counts_of, fault_rows, verdict_facts, verdict_sections
from trueup.mcp.tool import Continued, McpTool
from trueup.mcp.wording import reworded
from trueup.mcp.workspace import Workspace
from trueup.studio.api.judging import JudgeRequest, judge_reply
from trueup.studio.refusal import RequestRefused
from trueup.studio.verdicts.detail import again


class Checking(Continued, frozen=True, kw_only=True):
    """A reply, and the contract to judge it by."""

    reply: Annotated[str | None, Meta(description="The model's reply, as plain text.")] = None
    contract: Annotated[str, Meta(description="The name of a contract file, such as contracts/order.yaml. Empty: any JSON value passes.")] = ""  # fmt: skip
    text: Annotated[str, Meta(description="The text of a contract (YAML), or a JSON Schema. With `contract`: a draft that takes the place of that file.")] = ""  # fmt: skip
    verdict: Annotated[str, Meta(description="The id of a stored verdict: its reply is judged by the contract file as it is now.")] = ""  # fmt: skip
    state: Annotated[str, Meta(description="The state of the conversation, for a contract with states.")] = ""
    context: Annotated[dict[str, Any], Meta(description="Facts of the conversation, such as earlier calls or fields of the input.")] = {}  # fmt: skip
    source: Annotated[str, Meta(description="The text in which a grounded contract looks values up.")] = ""
    response: Annotated[bool | Literal["auto"], Meta(description="true if `reply` is a provider's response as JSON, or the body of a stream.")] = False  # fmt: skip


def check(workspace: Workspace, asked: Checking) -> ToolAnswer:
    """Judge a language model's reply by a contract.

    Says whether the reply is accepted, which value it has, each fix that was needed to read it (lossless, guess or lossy) and each finding that
    is wrong with it. `correction` is what the model would be told to make it reply again. Give `reply`, or the id of a stored `verdict`.
    Call `explain` with a code to learn what it means.
    """
    if asked.verdict:
        return _stored(workspace, asked.verdict)
    if asked.reply is None:
        raise RequestRefused(
            400, "reply is missing.", hint="Give the text of a reply, or `verdict` with the id of a stored one."
        )
    text = asked.text
    if asked.contract:
        opened = workspace.contract(asked.contract)
        text = text or opened.text
    judged = judge_reply(
        workspace,
        JudgeRequest(
            reply=asked.reply, contract=text, file=asked.contract, state=asked.state, source=asked.source, response=asked.response,
            context=json.dumps(asked.context) if asked.context else "",
        ),
        workspace.who,
    )  # fmt: skip
    faults = judged["faults"]
    if judged["verdict"] is None:
        return ToolAnswer(
            {"error": "The contract or the context cannot be used. The faults say why.", **counts_of(faults)},
            (AnswerSection("faults", fault_rows(faults)),),
            is_error=True,
        )
    contract = judged["contract"] or {}
    about = {"contract": name(contract.get("name") or asked.contract), "fingerprint": contract.get("fingerprint", "")}
    more = (AnswerSection("contract_faults", fault_rows(faults)),) if faults else ()
    return ToolAnswer(
        {**verdict_facts(judged["verdict"]), **about, "read_as": judged["read"]},
        (*verdict_sections(judged["verdict"]), *more),
    )


def _stored(workspace: Workspace, verdict: str) -> ToolAnswer:
    found = again(workspace, verdict, workspace.who)
    if found["verdict"] is None:
        facts = {"error": "This reply cannot be judged again.", "why": Fenced(reworded(found["why"]))}
        return ToolAnswer(facts, is_error=True)
    contract = {"contract": name(found["contract"]["file"])}
    reply = AnswerSection("reply", Fenced(found["reply"]))
    return ToolAnswer({**verdict_facts(found["verdict"]), **contract}, (*verdict_sections(found["verdict"]), reply))


CHECK = McpTool("check", "Check a reply", Checking, check)
