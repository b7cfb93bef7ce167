"""Cohere chat, version 2 and version 1, and the events of their streams.

The plan that a model writes before its calls counts as reasoning.
"""

from typing import Any

from trueup.read import usage
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, place, record, rows, word
from trueup.read.openai_chat import fill_call, fill_message
from trueup.read.reading import ProviderFailure, Reading, failed

EVENTS = frozenset(
    "message-start content-start content-delta content-end tool-plan-delta tool-call-start tool-call-delta"
    " tool-call-end citation-start citation-end message-end".split()
)
OLD_EVENTS = frozenset("stream-start text-generation tool-calls-generation tool-calls-chunk stream-end".split())


def read(body: Row, raw: Any) -> Reading:
    """Read a version 2 response."""
    message = record(body.get("message"))
    draft = ReplyDraft()
    draft.think(message.get("tool_plan"))
    fill_message(draft, message)
    ending = body.get("finish_reason")
    reply = draft.reply(ending, usage.cohere(body.get("usage")), body.get("model"), "cohere", raw)
    return failed(_failure(ending, body.get("error")), reply) if reply.finish == "error" else Reading(reply)


def read_old(body: Row, raw: Any) -> Reading:
    """Read a version 1 response."""
    draft = ReplyDraft()
    draft.say(body.get("text"))
    for item in rows(body.get("tool_calls")):
        fill_call(draft, record(item))
    counted = usage.cohere(record(body.get("meta")))
    reply = draft.reply(body.get("finish_reason"), counted, "", "cohere", raw)
    if reply.finish == "error":
        return failed(_failure(body.get("finish_reason")), reply)
    return Reading(reply)


def _failure(ending: Any, said: Any = None) -> ProviderFailure:
    """A reply that Cohere gave up: its own error is passed on, any other ending is named."""
    code = word(ending).lower()
    return ProviderFailure(
        word(said) or f"the reply ended with {word(ending)}", "server_error" if code == "error" else code
    )


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One version 2 body from a stream's events, and whether it is complete."""
    body: Row = {}
    plan: list[str] = []
    blocks: dict[Any, Row] = {}
    calls: dict[Any, Row] = {}
    ended = done
    for event in events:
        kind = word(event.get("type"))
        delta = record(event.get("delta"))
        said = record(delta.get("message"))
        index = place(event.get("index"))
        if kind in {"content-start", "content-delta"}:
            _add(blocks.setdefault(index, {}), record(said.get("content")))
        elif kind == "tool-plan-delta":
            plan.append(word(said.get("tool_plan")))
        elif kind in {"tool-call-start", "tool-call-delta"}:
            fragment = record(said.get("tool_calls"))
            call = calls.setdefault(index, {})
            call["id"] = call.get("id") or fragment.get("id")
            _add(call, record(fragment.get("function")))
        elif kind == "message-end":
            ended = True
            body |= delta
    body["message"] = {
        "role": "assistant",
        "tool_plan": "".join(plan),
        "content": [_block(block) for block in blocks.values()],
        "tool_calls": [_call(call) for call in calls.values()],
    }
    return body, ended


def _add(begun: Row, more: Row) -> None:
    for name in ("text", "thinking", "name", "arguments"):
        if isinstance(more.get(name), str):
            begun.setdefault(name, []).append(more[name])


def _block(block: Row) -> Row:
    name = "thinking" if "thinking" in block else "text"
    return {"type": name, name: "".join(block.get(name, ()))}


def _call(call: Row) -> Row:
    whole = {name: "".join(call.get(name, ())) for name in ("name", "arguments")}
    return {"id": call["id"], "function": whole}


def join_old(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One version 1 body from a stream's events: the last one has the whole response."""
    pieces: list[str] = []
    calls: list[Any] = []
    for event in events:
        kind = event.get("event_type")
        if kind == "stream-end" and event.get("response"):
            return {**record(event["response"]), "finish_reason": event.get("finish_reason")}, True
        if kind == "text-generation":
            pieces.append(word(event.get("text")))
        elif kind == "tool-calls-generation":
            calls += rows(event.get("tool_calls"))
    return {"text": "".join(pieces), "tool_calls": calls}, done
