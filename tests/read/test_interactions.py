"""Gemini's interactions, as the SDK's own objects and as the events of their stream."""

from typing import Any

import pytest

from trueup import Contract
from trueup.read.reader import read, read_stream

STEPS: list[dict[str, Any]] = [
    {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
    {"type": "thought", "summary": [{"type": "text", "text": "I need the weather."}], "signature": "c2ln"},
    {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["oslo"]}},
    {"type": "google_search_result", "call_id": "s1", "result": []},
    {"type": "model_output", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "moment."}]},
    {"type": "function_call", "id": "c1", "name": "forecast", "arguments": {"city": "Oslo"}},
]
BODY: dict[str, Any] = {
    "id": "i1",
    "status": "requires_action",
    "model": "gemini-x",
    "steps": STEPS,
    "usage": {"total_input_tokens": 9, "total_output_tokens": 3, "total_tokens": 12},
}


def events() -> list[dict[str, Any]]:
    """The same interaction in pieces."""
    return [
        {"event_type": "interaction.created", "interaction": {"id": "i1", "status": "in_progress", "model": "gemini-x"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        {"event_type": "step.delta", "index": 0,
         "delta": {"type": "thought_summary", "content": {"type": "text", "text": "I need the weather."}}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_signature", "signature": "c2ln"}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "One "}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "moment."}},
        {"event_type": "step.stop", "index": 1},
        {"event_type": "step.start", "index": 2,
         "step": {"type": "function_call", "id": "c1", "name": "forecast", "arguments": {}}},
        {"event_type": "step.delta", "index": 2, "delta": {"type": "arguments_delta", "arguments": '{"city": '}},
        {"event_type": "step.delta", "index": 2, "delta": {"type": "arguments_delta", "arguments": '"Oslo"}'}},
        {"event_type": "step.stop", "index": 2},
        {"event_type": "interaction.completed",
         "interaction": {"id": "i1", "status": "requires_action", "usage": BODY["usage"]}},
    ]  # fmt: skip


def as_object() -> Any:
    from google.genai._gaos.types.interactions.interaction import Interaction

    return Interaction.model_validate(BODY)


@pytest.mark.spec("T2")
@pytest.mark.parametrize("source", [BODY, as_object, events], ids=["dict", "object", "events"])
def test_an_interaction_is_read(source: Any) -> None:
    reading = read(source() if callable(source) else source)
    reply = reading.reply
    assert reading.findings == ()
    assert (reply.text, reply.reasoning, reply.finish) == ("One moment.", "I need the weather.", "tool")
    assert [(call.name, call.id, call.args) for call in reply.calls] == [("forecast", "c1", {"city": "Oslo"})]
    assert (reply.usage["total_tokens"], reply.provider) == (12, "gemini")
    assert Contract(tools=[{"name": "forecast"}]).check(reply).ok


def test_an_answered_call_and_the_text_after_it_are_read() -> None:
    steps = [
        *STEPS,
        {"type": "function_result", "call_id": "c1", "name": "forecast", "result": "3 C"},
        {"type": "model_output", "content": [{"type": "text", "text": "It is 3 C."}]},
    ]
    reply = read({**BODY, "status": "completed", "steps": steps}).reply
    assert [call.answered for call in reply.calls] == [True]
    assert reply.text == "One moment.\n\nIt is 3 C."


@pytest.mark.parametrize(
    ("change", "finish", "code"),
    [
        ({"status": "failed", "errors": [{"code": "internal", "message": "Oops"}]}, "error", "R002"),
        ({"status": "in_progress"}, "tool", "R003"),
        ({"status": "incomplete"}, "length", ""),
        ({"status": "completed", "steps": STEPS[:5]}, "stop", ""),
    ],
)
def test_the_ending_of_an_interaction_is_read(change: dict[str, Any], finish: str, code: str) -> None:
    reading = read({**BODY, **change})
    assert reading.reply.finish == finish
    assert [f.code for f in reading.findings] == ([code] if code else [])


def test_the_first_version_with_outputs_is_read() -> None:
    outputs = [
        {"type": "thought", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Hello."},
        {"type": "function_call", "id": "c1", "name": "forecast", "arguments": {"city": "Oslo"}},
    ]
    reply = read({"object": "interaction", "status": "requires_action", "outputs": outputs}).reply
    assert (reply.text, reply.reasoning, reply.finish, len(reply.calls)) == ("Hello.", "Hm.", "tool", 1)


def test_a_stream_may_break_off_or_fail() -> None:
    assert [f.code for f in read_stream(events()[:8]).findings] == ["R003"]
    failing = [*events()[:8], {"event_type": "error", "error": {"code": "internal", "message": "Oops"}}]
    reading = read_stream(failing)
    assert [f.code for f in reading.findings] == ["R002"]
    assert reading.reply.text == "One moment."
