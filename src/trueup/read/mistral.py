"""Mistral's conversations: a list of outputs. (Its chat completions are OpenAI's shape and are read as such.)"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.content import fill
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, place, record, rows, word
from trueup.read.reading import Reading

_PREFIXES = ("conversation.response", "message.output", "function.call", "tool.execution", "agent.handoff")


def is_event(kind: str) -> bool:
    """Whether an event's type is one of a conversation's stream."""
    return kind.startswith(_PREFIXES)


def read(body: Row, raw: Any) -> Reading:
    """Read a conversation's response."""
    draft = ReplyDraft()
    model: Any = ""
    for item in rows(body.get("outputs")):
        output = record(item)
        get = output.get
        kind = get("type")
        if kind == "message.output":
            model = get("model") or model
            draft.between()
            fill(draft, get("content"))
        elif kind == "function.call":
            draft.call(word(get("name")), get("arguments", MISSING), word(get("tool_call_id") or get("id")))
        elif kind == "tool.execution":
            draft.output()
    ending = body.get("finish_reason") or "stop"
    return Reading(draft.reply(ending, usage.openai(body.get("usage")), model, "mistral", raw))


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One response from a conversation's events, and whether it is complete."""
    body: Row = {"outputs": []}
    outputs: dict[Any, Row] = {}
    ended = done
    for event in events:
        kind = word(event.get("type"))
        slot = kind, place(event.get("output_index", event.get("id")))
        if kind == "message.output.delta":
            output = outputs.setdefault(slot, {"type": "message.output", "model": event.get("model"), "content": []})
            found = event.get("content")
            output["content"] += [found] if isinstance(found, str) else rows(found)
        elif kind == "function.call.delta":
            output = outputs.setdefault(slot, {**event, "type": "function.call", "pieces": []})
            output["pieces"].append(word(event.get("arguments")))
        elif kind.startswith("tool.execution.done"):
            outputs[slot] = {"type": "tool.execution"}
        elif kind == "conversation.response.done":
            ended = True
            body["usage"] = event.get("usage")
    for output in outputs.values():
        if "pieces" in output:
            output["arguments"] = "".join(output.pop("pieces"))
    body["outputs"] = list(outputs.values())
    return body, ended
