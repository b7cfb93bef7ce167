"""The tool `lint`: takes a contract file or a text, and returns its faults, text and hash; without one, the list of
contracts.
"""

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from trueup.mcp.answer import AnswerSection, Row, ToolAnswer
from trueup.mcp.fence import Fenced, inert, name
from trueup.mcp.findings import counts_of, fault_rows
from trueup.mcp.tool import Continued, McpTool
from trueup.mcp.workspace import Workspace
from trueup.store.errors import StoreError
from trueup.studio.api.contracts import OneFile, contract_file, contracts
from trueup.studio.api.judging import Written, run_examples
from trueup.studio.contracts.drafts import lint_draft
from trueup.studio.endpoint import Nothing
from trueup.studio.refusal import RequestRefused
from trueup.studio.studio import Studio


class Linting(Continued, frozen=True, kw_only=True):
    """A contract."""

    contract: Annotated[str, Meta(description="The name of a contract file. Empty, without `text`: list the contract files.")] = ""  # fmt: skip
    text: Annotated[str, Meta(description="The text of a draft (YAML). With `contract`: a draft that takes the place of that file.")] = ""  # fmt: skip


def lint(workspace: Workspace, asked: Linting) -> ToolAnswer:
    """Find faults in a contract file or a draft, run the examples inside it, and read its text.

    Gives each fault with its line and column, and the file's text and `hash`, which `edit` needs. Without arguments, list the contract files in
    the served folders with their errors and warnings.
    """
    if not asked.contract and not asked.text:
        return _list(workspace)
    facts: dict[str, Any] = {}
    extending: list[Row] = []
    text = asked.text
    if asked.contract:
        workspace.contract(asked.contract)
        file = contract_file(workspace, OneFile(asked.contract), workspace.who)
        text = text or file["text"]
        facts = {
            "contract": name(file["file"]), "hash": file["hash"], "fingerprint": file["fingerprint"], "name": name(file["name"]),
            "editable": workspace.allow_edit and not file["read_only"],
        }  # fmt: skip
        extending = [{"contract": name(each)} for each in file["extended_by"]]
    tried = run_examples(workspace, Written(contract=text, file=asked.contract), workspace.who)
    faults, examples = tried["faults"], tried["examples"]
    failing = [each for each in examples if not each["passes"]]
    facts |= {**counts_of(faults), "examples": len(examples), "failing_examples": len(failing)}
    if asked.text:
        facts["draft"] = True
    if asked.text and asked.contract:
        draft = lint_draft(workspace.settings, asked.text, asked.contract).contract
        facts |= {"fingerprint": draft.fingerprint if draft else "", "name": name((draft and draft.name) or "")}
    shown = Fenced(text)
    if inert(text) != text:
        facts["escaped"] = "Some characters of the text are shown as escapes such as \\x1b; do not copy those lines."
    sections = (
        AnswerSection("faults", fault_rows(faults)),
        AnswerSection("failing_examples", [_failing(each) for each in failing]),
        AnswerSection("extended_by", extending),
        AnswerSection("text", shown),
    )
    return ToolAnswer(facts, tuple(section for section in sections if section.content))


def _list(workspace: Workspace) -> ToolAnswer:
    found, why = _found(workspace)
    rows: list[Row] = [
        {
            "contract": name(each["file"]), "name": name(each["name"]), "errors": each["errors"], "warnings": each["warnings"],
            **({} if why else {"verdicts": each["verdicts"], "refused": each["refused"]}),
        }
        for each in found["files"]
    ]  # fmt: skip
    facts: dict[str, Any] = {"contracts": len(rows)}
    if why:
        facts["verdicts_not_counted"] = Fenced(why)
    if not found["complete"]:
        facts["incomplete"] = "There are more files than one list looks at. Call lint again, or serve fewer folders."
    stored: list[Row] = [
        {"name": name(each["name"]), "verdicts": each["verdicts"], "refused": each["refused"]}
        for each in found["stored"]
    ]
    sections = (AnswerSection("files", rows), AnswerSection("only_in_store", stored))
    return ToolAnswer(facts, tuple(section for section in sections if section.content))


def _found(workspace: Workspace) -> tuple[dict[str, Any], str]:
    """The contracts, and why the store could not count their verdicts. The files can be listed without it."""
    try:
        return contracts(workspace, Nothing(), workspace.who), ""
    except StoreError as error:
        why = workspace.unavailable(error).message
    except RequestRefused as refusal:
        if refusal.code != "store_unavailable":
            raise
        why = refusal.message
    return contracts(Studio(replace(workspace.settings, store="")), Nothing(), workspace.who), why


def _failing(example: dict[str, Any]) -> Row:
    messages = [fault["message"] for fault in example["faults"]]
    return {"example": name(example["name"]), "why": Fenced("\n".join(messages))}


LINT = McpTool("lint", "Lint a contract", Linting, lint)
