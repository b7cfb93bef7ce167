"""Bedrock Converse: a message of keyed blocks (no `type`), the events of its stream, and older bodies of plain text.

The only key of a block shows its kind. The body of InvokeModel is the model's own: Anthropic's is read as Anthropic's; the
text formats of Titan, Llama, Mistral and text-generation-inference are read here.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, place, record, rows, word
from trueup.read.reading import Reading

EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")


def read(body: Row, raw: Any) -> Reading:
    """Read a Converse response."""
    draft = ReplyDraft()
    fill_blocks(draft, record(record(body.get("output")).get("message")).get("content"))
    return Reading(draft.reply(body.get("stopReason"), usage.bedrock(body.get("usage")), "", "bedrock", raw))


def fill_blocks(draft: ReplyDraft, content: Any) -> None:
    """Read keyed blocks into a draft."""
    for item in rows(content):
        block = record(item)
        if "text" in block:
            draft.say(block["text"])
        elif "toolUse" in block:
            call = record(block["toolUse"])
            if call.get("type") == "server_tool_use":
                draft.between()
            else:
                draft.call(word(call.get("name")), call.get("input", MISSING), word(call.get("toolUseId")))
        elif "reasoningContent" in block:
            spoken = record(block["reasoningContent"])
            draft.think(record(spoken.get("reasoningText")).get("text") or spoken.get("text"))
        elif "toolResult" in block:
            draft.output()
        elif "tool_call" in block:  # Haystack's messages have keyed blocks as well
            call = record(block["tool_call"])
            draft.call(word(call.get("tool_name")), call.get("arguments", MISSING), word(call.get("id")))
        elif "citationsContent" in block:
            for piece in rows(record(block["citationsContent"]).get("content")):
                draft.say(record(piece).get("text"))


def read_older(body: Row, raw: Any) -> Reading:
    """Read the answers of text-only models: Titan, Llama and Mistral through InvokeModel, and servers of generated text."""
    draft = ReplyDraft()
    ending: Any = body.get("stop_reason")
    counted = usage.counts(body.get("prompt_token_count"), body.get("generation_token_count"))
    if "generation" in body or "generated_text" in body:
        draft.say(body.get("generation") or body.get("generated_text"))
        ending = ending or record(body.get("details")).get("finish_reason")
    else:
        first = record((rows(body.get("results")) or rows(body.get("outputs")) or ({},))[0])
        draft.say(first.get("outputText") or first.get("text") or first.get("generated_text"))
        ending = first.get("completionReason") or first.get("stop_reason")
    return Reading(draft.reply(ending, counted, "", "bedrock", raw))


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One Converse body from a stream's events, and whether it is complete."""
    body: Row = {}
    blocks: dict[Any, Row] = {}
    pieces: dict[Any, list[str]] = {}
    for event in events:
        if "contentBlockStart" in event:
            begun = record(event["contentBlockStart"])
            start = record(begun.get("start"))
            if "toolUse" in start:
                blocks[place(begun.get("contentBlockIndex"))] = {"toolUse": dict(record(start["toolUse"]))}
            elif "toolResult" in start:
                blocks[place(begun.get("contentBlockIndex"))] = {"toolResult": start["toolResult"]}
        elif "contentBlockDelta" in event:
            found = record(event["contentBlockDelta"])
            _take(record(found.get("delta")), place(found.get("contentBlockIndex")), blocks, pieces)
        elif "messageStop" in event:
            body["stopReason"] = record(event["messageStop"]).get("stopReason")
        elif "metadata" in event:
            body["usage"] = record(event["metadata"]).get("usage")
    content = [_filled(block, "".join(pieces.get(index, ()))) for index, block in blocks.items()]
    body["output"] = {"message": {"role": "assistant", "content": content}}
    return body, done or "stopReason" in body


def _take(delta: Row, index: Any, blocks: dict[Any, Row], pieces: dict[Any, list[str]]) -> None:
    """Add one piece to its block."""
    thought = delta.get("reasoningContent")
    if thought is not None:
        piece, kind = record(thought).get("text"), "reasoningContent"
        signed = {name: held for name, held in record(thought).items() if name != "text" and held}
        if signed:
            blocks.setdefault(index, {kind: {}})[kind] |= signed
    elif "toolUse" in delta:
        piece, kind = record(delta["toolUse"]).get("input"), "toolUse"
    else:
        piece, kind = delta.get("text"), "text"
    if isinstance(piece, str):
        blocks.setdefault(index, {kind: {}})
        pieces.setdefault(index, []).append(piece)


def _filled(block: Row, text: str) -> Row:
    if "toolUse" in block:
        block["toolUse"]["input"] = text
        return block
    if "reasoningContent" in block:
        held = block["reasoningContent"]
        return {"reasoningContent": held if "redactedContent" in held else {"reasoningText": {"text": text, **held}}}
    return block if "toolResult" in block else {"text": text}
