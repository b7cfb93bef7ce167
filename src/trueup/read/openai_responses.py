"""OpenAI Responses: a body of typed output items, and the events of its stream.

The text comes from the final-answer messages; commentary counts only if there is nothing else. A call is answered by
its `call_id`. Items of tools that the provider runs itself are not calls; their results count as outputs.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.content import fill, reasoning
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, place, record, rows, word
from trueup.read.outcomes import is_failure
from trueup.read.reading import Reading, cut, failed, failure_of

ITEMS = frozenset(
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output file_search_call"
    " web_search_call computer_call computer_call_output image_generation_call code_interpreter_call local_shell_call"
    " local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output mcp_call"
    " mcp_list_tools mcp_approval_request mcp_approval_response program program_output tool_search_call"
    " tool_search_output additional_tools compaction item_reference".split()
)
_RUN_BY_PROVIDER = frozenset(
    "file_search_call web_search_call image_generation_call code_interpreter_call mcp_call program_output"
    " tool_search_output".split()
)
# The provider's own tools that its client carries out: the reply waits for their results.
_RUN_BY_CLIENT = frozenset("computer_call local_shell_call shell_call apply_patch_call mcp_approval_request".split())
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed", "response.done"))


def read(body: Row, raw: Any) -> Reading:
    """Read a response."""
    draft = ReplyDraft()
    fill_items(draft, rows(body.get("output")))
    status = word(body.get("status"))
    ending = status
    if status == "incomplete":
        ending = word(record(body.get("incomplete_details")).get("reason"))
    reply = draft.reply(ending, usage.openai(body.get("usage")), body.get("model"), "openai-responses", raw)
    error = body.get("error")
    if error or status == "failed":
        return failed(failure_of(error or {"message": "the response failed"}), reply)
    reading = Reading(reply)
    return cut(reading) if status in {"in_progress", "queued", "cancelled"} else reading


def read_items(items: list[Row], raw: Any) -> Reading:
    """Read a list of items alone: those since the user's last message."""
    spoken = [i for i, item in enumerate(items) if word(item.get("role")) in {"user", "system", "developer"}]
    return read({"output": items[spoken[-1] + 1 if spoken else 0 :]}, raw)


def fill_items(draft: ReplyDraft, items: Any) -> None:
    """Read output items into a draft."""
    output = [record(item) for item in items]
    spoken = [item for item in output if item.get("type") == "message" and word(item.get("role")) in {"", "assistant"}]
    final = [item for item in spoken if item.get("phase") != "commentary"]
    shown = {id(item) for item in (final or spoken)}
    outputs = [item for item in output if word(item.get("type")).endswith("_call_output")]
    answered = {word(item.get("call_id")) for item in outputs}
    faulty = {word(item.get("call_id")) for item in outputs if is_failure(item)}
    for item in output:
        get = item.get
        kind = word(get("type"))
        if kind == "message":
            if id(item) in shown:
                draft.between()
                fill(draft, get("content"))
        elif kind == "function_call":
            call_id = word(get("call_id") or get("id"))
            args = get("arguments", MISSING)
            draft.call(word(get("name")), args, call_id, answered=call_id in answered, failed=call_id in faulty)
        elif kind == "custom_tool_call":
            draft.custom(word(get("name")), get("input", MISSING), word(get("call_id") or get("id")))
        elif kind == "reasoning":
            reasoning(draft, item)
        elif kind in _RUN_BY_CLIENT and word(get("call_id") or get("id")) not in answered:
            draft.wait()
        elif kind in _RUN_BY_PROVIDER or kind.endswith("_output"):
            draft.output()
        elif kind == "output_text":
            draft.say(get("text"))


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:  # noqa: ARG001 - all families join alike
    """One body from a stream's events: the last whole response if there is one, else its items and pieces."""
    body: Row = {"object": "response", "status": "in_progress"}
    items: dict[Any, Row] = {}
    pieces: dict[Any, list[str]] = {}
    refusals: dict[Any, list[str]] = {}
    ended = False
    for event in events:
        kind = word(event.get("type"))
        if kind in _ENDS:
            ended = True
        if kind.startswith("response.") and event.get("response"):
            body = dict(record(event["response"]))
        slot = place(event.get("output_index", event.get("item_id")))
        if kind in {"response.output_item.added", "response.output_item.done"}:
            items[slot] = record(event.get("item"))
            if kind.endswith("done"):
                pieces.pop(slot, None)
                refusals.pop(slot, None)
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            if slot not in items:
                items[slot] = _begun(kind)
            spoken = refusals if "refusal" in kind else pieces
            spoken.setdefault(slot, []).append(event["delta"])
    if not rows(body.get("output")):
        body["output"] = [_patched(items[slot], pieces.get(slot), refusals.get(slot)) for slot in items]
    return body, ended


def _begun(kind: str) -> Row:
    """An item that was never announced, by the kind of its first piece."""
    if "function_call" in kind:
        return {"type": "function_call"}
    if "custom_tool_call" in kind:
        return {"type": "custom_tool_call"}
    return {"type": "reasoning"} if "reasoning" in kind else {"type": "message"}


def _patched(item: Row, pieces: list[str] | None, refused: list[str] | None) -> Row:
    """An unfinished item with the pieces that had arrived."""
    if refused:
        said = [{"type": "output_text", "text": "".join(pieces)}] if pieces else []
        return {**item, "content": [*said, {"type": "refusal", "refusal": "".join(refused)}]}
    if not pieces:
        return item
    text = "".join(pieces)
    kind = item.get("type")
    if kind == "function_call":
        return {**item, "arguments": text}
    if kind == "custom_tool_call":
        return {**item, "input": text}
    block = "reasoning_text" if kind == "reasoning" else "output_text"
    return {**item, "content": [{"type": block, "text": text}]}
