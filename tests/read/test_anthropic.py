"""Anthropic Messages: blocks, endings, tools that run on the provider's side."""

from typing import Any

import pytest

from trueup.read.reader import read


def message(*content: dict[str, Any], stop: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "tiny-3",
        "content": list(content),
        "stop_reason": stop,
        **more,
    }


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "citations": None}


@pytest.mark.spec("T2")
def test_text_thinking_and_calls_are_read() -> None:
    reply = read(
        message(
            {"type": "thinking", "thinking": "Two things.", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            text_block("One moment."),
            {"type": "tool_use", "id": "toolu_1", "name": "forecast", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "toolu_2", "name": "clock", "input": {}},
            stop="tool_use",
            usage={
                "input_tokens": 5,
                "output_tokens": 7,
                "cache_creation_input_tokens": 2,
                "cache_read_input_tokens": 3,
            },
        )
    ).reply
    assert (reply.text, reply.reasoning, reply.finish) == ("One moment.", "Two things.", "tool")
    assert [(c.name, c.id, c.args, c.raw_args) for c in reply.calls] == [
        ("forecast", "toolu_1", {"city": "Oslo"}, '{"city":"Oslo"}'),
        ("clock", "toolu_2", {}, "{}"),
    ]
    assert reply.usage == {
        "input_tokens": 10,
        "output_tokens": 7,
        "total_tokens": 17,
        "cached_tokens": 3,
        "cache_write_tokens": 2,
    }


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        (None, "unknown"),
    ],
)
def test_endings_are_read(stop: str | None, finish: str) -> None:
    assert read(message(text_block("x"), stop=stop)).reply.finish == finish


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "x", "explanation": "Not this."}
    assert read(message(stop="refusal", stop_details=details)).reply.refusal == "Not this."


def test_cited_text_in_pieces_is_one_text() -> None:
    assert read(message(text_block("It is "), text_block("cold"), text_block("."))).reply.text == "It is cold."


def test_text_before_and_after_a_server_tool_is_two_paragraphs() -> None:
    reply = read(
        message(
            text_block("Searching."),
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            text_block("Found."),
        )
    ).reply
    assert reply.text == "Searching.\n\nFound."
    assert reply.calls == ()
    (turn,) = reply.messages
    assert (turn.outputs, turn.after) == (1, "Found.")


def test_a_list_of_content_blocks_is_read() -> None:
    reply = read([text_block("Hm."), {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]).reply
    assert (reply.text, reply.calls[0].name, reply.finish) == ("Hm.", "f", "tool")


def test_the_legacy_completion_is_read() -> None:
    reply = read({"completion": " Four.", "stop_reason": "stop_sequence", "model": "tiny-0"}).reply
    assert (reply.text, reply.finish) == (" Four.", "stop")


def test_input_that_is_not_an_object_is_kept_verbatim() -> None:
    (call,) = read(message({"type": "tool_use", "id": "t", "name": "f", "input": [1]}, stop="tool_use")).reply.calls
    assert (call.args, call.parse_error) == (None, "arguments are a list, not an object")
