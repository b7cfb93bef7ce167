"""Vercel AI SDK: UI messages with `parts` (5 and later) or `toolInvocations` (4 and before), results, the UI stream.

A tool part has its own output: a call with an output is answered. A part of a tool that the provider ran itself is not a
call, only an output.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.content import fill
from trueup.read.draft import ReplyDraft
from trueup.read.events import Events, value
from trueup.read.objects import Row, place, record, rows, word
from trueup.read.openai_chat import fill_call
from trueup.read.outcomes import says_failure
from trueup.read.reading import Reading

# The codes of the data stream of versions 3 and 4, by the events that later versions send for them.
_DATA_CODES = {
    "0": "text-delta", "2": "data", "3": "error", "8": "annotations", "9": "tool-input-available",
    "a": "tool-output-available", "b": "tool-input-start", "c": "tool-input-delta", "d": "finish", "e": "finish-step",
    "f": "start-step", "g": "reasoning-delta", "h": "source", "i": "redacted", "j": "signature", "k": "file",
}  # fmt: skip
_FAILED = frozenset(("output-error", "output-denied"))
_DATA_NAMES = {"args": "input", "result": "output", "argsTextDelta": "inputTextDelta"}
EVENTS = frozenset(
    "start start-step finish-step finish abort text-start text-delta text-end reasoning-start reasoning-delta"
    " reasoning-end tool-input-start tool-input-delta tool-input-available tool-input-error tool-output-available"
    " tool-output-error tool-output-denied source-url source-document".split()
)


def read(body: Row, raw: Any) -> Reading:
    """Read one UI message."""
    draft = ReplyDraft()
    fill_message(draft, body)
    get = record(body.get("metadata")).get
    ending = body.get("finishReason") or get("finishReason") or ("stop" if draft.text else None)
    reply = draft.reply(ending, usage.vercel(get("usage") or get("totalUsage")), get("model"), "vercel", raw)
    return Reading(reply)


def fill_message(draft: ReplyDraft, message: Row) -> None:
    """Read a UI message, old or new, into a draft."""
    known: set[str] = set()
    for item in rows(message.get("parts")):
        part = record(item)
        kind = word(part.get("type"))
        if kind == "text":
            draft.say(part.get("text") or part.get("content"))
        elif kind == "reasoning":
            draft.think(part.get("text") or part.get("reasoning") or part.get("content"))
        elif kind == "tool-invocation":
            _old_call(draft, record(part.get("toolInvocation")), known)
        elif kind == "dynamic-tool" or kind.startswith("tool-"):
            _call(draft, part, word(part.get("toolName")) or kind.removeprefix("tool-"), known)
        elif kind == "step-start":
            draft.between()
        else:
            fill(draft, part)  # parts in OpenTelemetry's form, with ordinary calls
    before = draft.text
    for item in rows(message.get("toolInvocations")):
        _old_call(draft, record(item), known)
    if not before and isinstance(message.get("content"), str):
        draft.say(message["content"])


def _call(draft: ReplyDraft, part: Row, name: str, known: set[str]) -> None:
    call_id = word(part.get("toolCallId"))
    state = word(part.get("state"))
    answered = state.startswith("output-")
    failed = state in _FAILED or (answered and says_failure(part.get("output")))
    if not part.get("providerExecuted"):
        given = part.get("rawInput") if part.get("input") is None else part["input"]
        draft.call(name, MISSING if given is None else given, call_id, answered=answered, failed=failed)
    known.add(call_id)
    if answered:
        draft.output()


def _old_call(draft: ReplyDraft, call: Row, known: set[str]) -> None:
    call_id = word(call.get("toolCallId"))
    if call_id and call_id in known:
        return
    known.add(call_id)
    answered = call.get("state") == "result" or ("state" not in call and "result" in call)
    given = call.get("args")
    failed = answered and says_failure(call.get("result"))
    draft.call(
        word(call.get("toolName")), MISSING if given is None else given, call_id, answered=answered, failed=failed
    )
    if answered:
        draft.output()


def read_result(body: Row, raw: Any) -> Reading:
    """Read the result of `generateText`."""
    draft = ReplyDraft()
    thought = body.get("reasoningText") or body.get("reasoning")
    draft.think(thought if isinstance(thought, str) else "".join(word(record(p).get("text")) for p in rows(thought)))
    draft.say(body.get("text"))
    for item in rows(body.get("toolCalls")):
        fill_call(draft, record(item))
    model = record(body.get("response")).get("modelId")
    return Reading(draft.reply(body.get("finishReason"), usage.vercel(body.get("usage")), model, "vercel", raw))


def from_data_lines(text: str) -> Events | None:
    """The events of the data stream of versions 3 and 4, `0:"text"` and so on, as those of the later one.

    None if a line is not part of it, because such lines may occur in a model's own text; the last one may be incomplete.

    >>> from_data_lines('0:"Hi"\\nd:{"finishReason":"stop"}').items[0]
    {'type': 'text-delta', 'id': '0', 'delta': 'Hi'}
    """
    events: list[Row] = []
    texts = 0
    lines = [line for line in text.split("\n") if line.strip()]
    for index, line in enumerate(lines):
        code, _, written = line.partition(":")
        found = value(written)
        if found is None and events and index == len(lines) - 1:
            return Events(events, 1)
        if code not in _DATA_CODES or found is None:
            return None
        body: Row = found if isinstance(found, dict) else {}
        if code in {"0", "g"} and isinstance(found, str):
            kind = "text-delta" if code == "0" else "reasoning-delta"
            events.append({"type": kind, "id": str(texts), "delta": found})
        elif code == "3":
            events.append({"type": "error", "error": {"message": found if isinstance(found, str) else written}})
        elif code in _DATA_CODES:
            texts += 1
            renamed = {_DATA_NAMES.get(name, name): inner for name, inner in body.items()}
            events.append({**renamed, "type": _DATA_CODES[code]})
    return Events(events) if events else None


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One UI message from a UI message stream, and whether it is complete."""
    parts: dict[Any, Row] = {}
    metadata: Row = {}
    ended = done
    for event in events:
        get = event.get
        kind = word(get("type"))
        metadata |= record(get("messageMetadata"))
        if kind in {"text-delta", "reasoning-delta"}:
            name = kind.partition("-")[0]
            part = parts.setdefault((name, place(get("id"))), {"type": name, "pieces": []})
            part["pieces"].append(word(get("delta") or get("textDelta")))
        elif kind == "start-step":
            parts["step", len(parts)] = {"type": "step-start"}
        elif kind == "finish":
            ended = True
            metadata = {"finishReason": get("finishReason"), "usage": get("usage")} | metadata
        elif kind.startswith("tool-"):
            _tool_event(parts.setdefault(("tool", place(get("toolCallId"))), {"type": "dynamic-tool"}), kind, event)
    for part in parts.values():
        pieces = part.pop("pieces", None)
        if pieces is not None:
            part["rawInput" if part["type"] == "dynamic-tool" else "text"] = "".join(pieces)
    return {"role": "assistant", "parts": list(parts.values()), "metadata": metadata}, ended


def _tool_event(part: Row, kind: str, event: Row) -> None:
    """Update a tool part with one event."""
    if kind == "tool-input-delta":
        part.setdefault("pieces", []).append(word(event.get("inputTextDelta")))
        return
    names = ("toolName", "toolCallId", "input", "output", "errorText", "providerExecuted")
    part |= {name: event[name] for name in names if event.get(name) is not None}
    state = kind.removeprefix("tool-")
    part["state"] = {"input-start": "input-streaming", "input-error": "input-available"}.get(state, state)
