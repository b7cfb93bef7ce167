"""OpenAI Responses: items, phases, statuses, tools that run on the provider's side."""

from typing import Any

import pytest

from trueup.read.reader import read


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "resp_7", "object": "response", "status": status, "model": "tiny-2", "output": list(output), **more}


def message_item(text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        **more,
    }


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "forecast",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}


def test_text_reasoning_and_counts_are_read() -> None:
    source = response(
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Short thought"}], "content": None},
        message_item("Nine."),
        usage={
            "input_tokens": 8,
            "output_tokens": 4,
            "total_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 3},
        },
    )
    reply = read(source).reply
    assert (reply.text, reply.reasoning, reply.finish) == ("Nine.", "Short thought", "stop")
    assert reply.usage == {"input_tokens": 8, "output_tokens": 4, "total_tokens": 12, "reasoning_tokens": 3}
    assert reply.provider == "openai-responses"


@pytest.mark.spec("T2")
def test_calls_are_answered_by_their_call_id() -> None:
    custom = {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_2", "name": "sql", "input": "select 1"}
    reply = read(response(CALL, custom)).reply
    assert [(c.name, c.id, c.kind) for c in reply.calls] == [
        ("forecast", "call_1", "function"),
        ("sql", "call_2", "custom"),
    ]
    assert reply.calls[0].args == {"city": "Oslo"}
    assert reply.calls[1].raw_args == "select 1"
    assert reply.finish == "tool"


def test_the_final_answer_is_the_text() -> None:
    reply = read(
        response(message_item("Looking it up.", phase="commentary"), message_item("Rain.", phase="final_answer"))
    ).reply
    assert reply.text == "Rain."


def test_commentary_is_the_text_if_there_is_no_other() -> None:
    reply = read(response(message_item("Looking it up.", phase="commentary"), CALL)).reply
    assert reply.text == "Looking it up."


def test_a_refusal_is_read() -> None:
    source = response({"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})
    reply = read(source).reply
    assert (reply.finish, reply.refusal) == ("refusal", "No.")


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "filter"), ("max_messages", "error")]
)
def test_incomplete_responses_are_cut_off(reason: str, finish: str) -> None:
    reading = read(response(message_item("Half"), status="incomplete", incomplete_details={"reason": reason}))
    assert (reading.reply.finish, reading.reply.text, reading.findings) == (finish, "Half", ())


def test_a_failed_response_is_a_transport_failure() -> None:
    reading = read(response(status="failed", error={"code": "server_error", "message": "Sorry"}))
    assert reading.findings[0].code == "R002"
    assert reading.findings[0].data["retryable"] is True


@pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled"])
def test_an_unfinished_response_is_cut_off(status: str) -> None:
    assert [f.code for f in read(response(message_item("Ha"), status=status)).findings] == ["R003"]


def test_tools_of_the_provider_are_outputs_and_not_calls() -> None:
    reply = read(
        response(
            {"type": "web_search_call", "id": "ws", "status": "completed"},
            {"type": "mcp_list_tools", "tools": []},
            {"type": "mcp_call", "name": "lookup", "arguments": "{}", "output": "3"},
            message_item("Found it."),
        )
    ).reply
    assert reply.calls == ()
    assert [(t.outputs, t.after) for t in reply.messages] == [(2, "Found it.")]


def test_a_list_of_items_after_the_users_message_is_read() -> None:
    items = [
        message_item("old"),
        {"role": "user", "content": "and now?"},
        CALL,
        {"type": "function_call_output", "call_id": "call_1", "output": "4 °C"},
        message_item("Cold."),
    ]
    reply = read(items).reply
    assert reply.text == "Cold."
    assert [(c.name, c.answered) for c in reply.calls] == [("forecast", True)]


def test_other_bodies_of_the_same_api_are_not_replies() -> None:
    assert read({"object": "response.input_tokens", "input_tokens": 8}).findings[0].code == "R001"
    compaction = {"object": "response.compaction", "output": [{"type": "message", "role": "user", "content": []}]}
    assert read(compaction).findings[0].code == "R001"
