"""Anthropic Messages: a body of content blocks, and the events of its stream.

`input` is an object; in streams it is pieces of JSON text, kept verbatim because `max_tokens` may cut them. A thinking block
is reasoning. Blocks of tools that Anthropic runs itself are not calls; their results count as outputs.
"""

from typing import Any

from trueup.read import usage
from trueup.read.content import fill
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, place, record, word
from trueup.read.reading import Reading, silent

EVENTS = frozenset(
    "message_start content_block_start content_block_delta content_block_stop message_delta message_stop".split()
)
_PIECES = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "compaction_delta": "content",
}


def read(body: Row, raw: Any) -> Reading:
    """Read a message."""
    draft = ReplyDraft()
    fill(draft, body.get("content"))
    ending = body.get("stop_reason")
    if ending == "refusal":
        draft.refuse(record(body.get("stop_details")).get("explanation"))
    return Reading(draft.reply(ending, usage.anthropic(body.get("usage")), body.get("model"), "anthropic", raw))


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One message from a stream's events, and whether it is complete."""
    body: Row = {"type": "message"}
    blocks: dict[Any, Row] = {}
    pieces: dict[Any, list[str]] = {}
    ended = done
    for event in events:
        get = event.get
        kind = get("type")
        if kind == "message_start":
            body.update(record(get("message")))
        elif kind == "content_block_start":
            blocks[place(get("index"))] = dict(record(get("content_block")))
        elif kind == "content_block_delta":
            _take(record(get("delta")), place(get("index")), blocks, pieces)
        elif kind == "message_delta":
            body |= {name: value for name, value in record(get("delta")).items() if value is not None}
            counted = {n: v for n, v in record(get("usage")).items() if v is not None}
            body["usage"] = {**record(body.get("usage")), **counted}
            ended = ended or bool(body.get("stop_reason"))
        elif kind == "message_stop":
            ended = True
    started = [] if blocks else body.get("content")
    body["content"] = started or [_filled(block, pieces.get(index)) for index, block in blocks.items()]
    return body, ended


def _take(delta: Row, index: Any, blocks: dict[Any, Row], pieces: dict[Any, list[str]]) -> None:
    """Add one piece to its block."""
    kind = word(delta.get("type"))
    if kind == "signature_delta":
        block = blocks.setdefault(index, {"type": "thinking"})
        block["signature"] = word(block.get("signature")) + word(delta.get("signature"))
    piece = delta.get(_PIECES.get(kind, ""))
    if not isinstance(piece, str):
        return
    if index not in blocks:
        blocks[index] = {"type": {"input_json_delta": "tool_use", "thinking_delta": "thinking"}.get(kind, "text")}
    pieces.setdefault(index, []).append(piece)


def _filled(block: Row, pieces: list[str] | None) -> Row:
    text = "".join(pieces or ())
    if not text:
        return block
    if word(block.get("type")).endswith("tool_use"):
        block["input"] = text
    else:
        name = "thinking" if block.get("type") == "thinking" else "text"
        begun = block.get(name)
        block[name] = begun + text if isinstance(begun, str) else text
    return block


def read_completion(body: Row, raw: Any) -> Reading:
    """Read the old text completion, `{"completion": "…", "stop_reason": "…"}`."""
    draft = ReplyDraft()
    draft.say(body.get("completion"))
    if "completion" not in body:
        return silent(raw, provider="anthropic")
    return Reading(draft.reply(body.get("stop_reason"), {}, body.get("model"), "anthropic", raw))
