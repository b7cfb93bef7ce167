"""Gemini's interactions: a list of steps (or, in their first version, of outputs), and the events of their stream.

A step of a tool that Google runs itself is not a call; its result counts as an output. Only steps since the user's last
message are read.
"""

from typing import Any

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.content import fill, words_of
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, place, record, rows, word
from trueup.read.reading import Reading, cut, failed, failure_of

_STEPS = frozenset(("model_output", "thought", "function_call", "function_result", "user_input"))
_ENDINGS = {"requires_action": "tool", "incomplete": "length", "budget_exceeded": "length", "completed": "stop"}
_RUNNING = frozenset(("in_progress", "queued", "requires_continuation", "cancelled"))
_EVENTS = ("interaction.", "step.", "content.")
_PIECES = {"text": "text", "arguments_delta": "arguments", "thought_summary": "content", "thought": "text"}


def is_body(body: Row) -> bool:
    """Whether a dict is an interaction."""
    if body.get("object") == "interaction":
        return True
    steps = body.get("steps")
    return "status" in body and isinstance(steps, list) and bool(steps) and _is_step(record(steps[0]))


def _is_step(step: Row) -> bool:
    kind = word(step.get("type"))
    return kind in _STEPS or kind.endswith(("_call", "_result"))


def is_event(event: Row) -> bool:
    """Whether an event belongs to the stream of an interaction."""
    return word(event.get("event_type")).startswith(_EVENTS)


def read(body: Row, raw: Any) -> Reading:
    """Read an interaction."""
    steps = [record(step) for step in rows(body.get("steps") or body.get("outputs"))]
    spoken = [i for i, step in enumerate(steps) if step.get("type") == "user_input"]
    steps = steps[spoken[-1] + 1 :] if spoken else steps
    answered = {word(step.get("call_id")) for step in steps if step.get("type") == "function_result"}
    draft = ReplyDraft()
    for step in steps:
        _fill(draft, step, answered)
    status = word(body.get("status"))
    told = record(body.get("usage"))
    counted = usage.counts(
        told.get("total_input_tokens"), told.get("total_output_tokens"), total=told.get("total_tokens"),
        reasoning=told.get("total_thought_tokens"), cached=told.get("total_cached_tokens"),
    )  # fmt: skip
    reply = draft.reply(_ENDINGS.get(status, status), counted, body.get("model"), "gemini", raw)
    errors = rows(body.get("errors")) or [step["error"] for step in steps if step.get("error")]
    if errors or status == "failed":
        return failed(failure_of(errors[0] if errors else {"message": "the interaction failed"}), reply)
    return cut(Reading(reply)) if status in _RUNNING else Reading(reply)


def _fill(draft: ReplyDraft, step: Row, answered: set[str]) -> None:
    get = step.get
    kind = word(get("type"))
    if kind == "model_output":
        draft.between()
        fill(draft, get("content"))
    elif kind == "text":
        draft.say(get("text"))
    elif kind == "thought":
        draft.think("\n\n".join(filter(None, map(words_of, rows(get("summary"))))))
    elif kind == "function_call":
        call_id = word(get("id") or get("call_id"))
        draft.call(word(get("name")), get("arguments", MISSING), call_id, answered=call_id in answered)
    elif kind.endswith("_result"):
        draft.output()
    elif kind.endswith("_call"):
        draft.between()


def join(events: list[Row], *, done: bool) -> tuple[Row, bool]:
    """One interaction from a stream's events, and whether it is complete."""
    body: Row = {"object": "interaction"}
    steps: dict[Any, Row] = {}
    pieces: dict[Any, list[str]] = {}
    ended = done
    for event in events:
        kind = word(event.get("event_type"))
        index = place(event.get("index"))
        if kind.startswith("interaction."):
            body |= {name: value for name, value in record(event.get("interaction")).items() if value is not None}
            ended = ended or kind.startswith("interaction.complete")
        elif kind in {"step.start", "content.start"}:
            steps[index] = dict(record(event.get("step") or event.get("content")))
        elif kind in {"step.delta", "content.delta"}:
            delta = record(event.get("delta"))
            name = word(delta.get("type"))
            found = words_of(delta.get(_PIECES.get(name, "")) or delta.get("text"))
            if name == "function_call":  # the first version sent calls whole
                steps[index] = delta
            elif found and name in _PIECES:
                steps.setdefault(index, {"type": "thought" if name.startswith("thought") else "model_output"})
                pieces.setdefault(index, []).append(found)
    if not rows(body.get("steps") or body.get("outputs")):
        body["steps"] = [_whole(step, "".join(pieces.get(index, ()))) for index, step in steps.items()]
    return body, ended


def _whole(step: Row, text: str) -> Row:
    """A step with the pieces that arrived after it had begun."""
    kind = step.get("type")
    if not text:
        return step
    if kind == "function_call":
        return {**step, "arguments": text}
    if kind == "thought":
        return {**step, "summary": [*rows(step.get("summary")), {"type": "text", "text": text}]}
    if kind == "text":
        return {**step, "text": word(step.get("text")) + text}
    return {**step, "content": [*rows(step.get("content")), {"type": "text", "text": text}]}
