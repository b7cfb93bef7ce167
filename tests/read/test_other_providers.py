"""Ollama, llama.cpp, Cohere, Mistral's conversations, GlueLLM, and shapes that are easily confused."""

import copy
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from trueup.read.reader import read


@pytest.mark.spec("T2")
def test_ollama_chat_is_read() -> None:
    source = {
        "model": "tiny",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [{"function": {"index": 0, "name": "forecast", "arguments": {"city": "Oslo"}}}],
        },
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 9,
        "eval_count": 3,
    }
    reply = read(source).reply
    assert (reply.finish, reply.reasoning, reply.provider, reply.model) == ("tool", "Hm.", "ollama", "tiny")
    assert [(c.name, c.id, c.args) for c in reply.calls] == [("forecast", "", {"city": "Oslo"})]
    assert reply.usage == {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}


def test_ollama_generate_is_read() -> None:
    reply = read({"model": "tiny", "response": "Four", "thinking": "2+2", "done": True, "done_reason": "length"}).reply
    assert (reply.text, reply.reasoning, reply.finish) == ("Four", "2+2", "length")


def test_an_unfinished_ollama_reply_is_cut_off() -> None:
    assert [f.code for f in read({"message": {"content": "Fo"}, "done": False}).findings] == ["R003"]


@pytest.mark.parametrize(
    ("more", "finish"),
    [
        ({"stop_type": "eos"}, "stop"),
        ({"stop_type": "limit", "truncated": False}, "length"),
        ({"stop_type": "word", "stopping_word": "\n"}, "stop"),
        ({"stopped_limit": True, "tokens_predicted": 4}, "length"),
    ],
)
def test_the_native_format_of_llama_cpp_is_read(more: dict[str, Any], finish: str) -> None:
    reply = read({"content": " a cat", "stop": True, "tokens_evaluated": 5, "tokens_predicted": 2, **more}).reply
    assert (reply.text, reply.finish, reply.provider) == (" a cat", finish, "llama.cpp")


def test_cohere_is_read() -> None:
    source = {
        "id": "c1",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "tool_plan": "I will ask for the forecast.",
            "tool_calls": [
                {
                    "id": "forecast_1",
                    "type": "function",
                    "function": {"name": "forecast", "arguments": '{"city":"Oslo"}'},
                }
            ],
        },
        "usage": {
            "billed_units": {"input_tokens": 1, "output_tokens": 1},
            "tokens": {"input_tokens": 30, "output_tokens": 9.0},
        },
    }
    reply = read(source).reply
    assert (reply.finish, reply.reasoning, reply.text) == ("tool", "I will ask for the forecast.", "")
    assert [(c.name, c.id, c.raw_args) for c in reply.calls] == [("forecast", "forecast_1", '{"city":"Oslo"}')]
    assert reply.usage == {"input_tokens": 30, "output_tokens": 9, "total_tokens": 39}


@pytest.mark.parametrize(
    ("reason", "finish"), [("COMPLETE", "stop"), ("STOP_SEQUENCE", "stop"), ("MAX_TOKENS", "length")]
)
def test_endings_of_cohere_are_read(reason: str, finish: str) -> None:
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Cold."}]
    reply = read({"id": "c", "finish_reason": reason, "message": {"role": "assistant", "content": content}}).reply
    assert (reply.text, reply.reasoning, reply.finish) == ("Cold.", "Hm.", finish)


def test_cohere_errors_and_the_first_version_are_read() -> None:
    reading = read({"id": "c", "finish_reason": "ERROR", "message": {"role": "assistant", "content": []}})
    assert [f.code for f in reading.findings] == ["R002"]
    old = {"text": "Cold.", "generation_id": "g", "finish_reason": "COMPLETE", "chat_history": []}
    assert read(old).reply.text == "Cold."
    old = {"text": "", "generation_id": "g", "tool_calls": [{"name": "forecast", "parameters": {"city": "Oslo"}}]}
    assert read(old).reply.calls[0].args == {"city": "Oslo"}


def test_mistral_conversations_are_read() -> None:
    source = {
        "object": "conversation.response",
        "outputs": [
            {"type": "tool.execution", "name": "web_search"},
            {"type": "message.output", "model": "tiny", "content": [{"type": "text", "text": "Cold."}]},
            {"type": "function.call", "tool_call_id": "aB3dE6gH9", "name": "forecast", "arguments": '{"city": "Oslo"}'},
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }
    reply = read(source).reply
    assert (reply.text, reply.finish, reply.provider, reply.model) == ("Cold.", "tool", "mistral", "tiny")
    assert [(c.id, c.args) for c in reply.calls] == [("aB3dE6gH9", {"city": "Oslo"})]
    assert reply.messages[0].outputs == 1


def test_gluellm_results_are_read() -> None:
    source = {
        "final_response": "The adapter is up.",
        "tool_calls_made": 1,
        "tool_execution_history": [
            {"tool_name": "check_adapter_status", "arguments": {"adapter": "en0"}, "result": "up", "error": False}
        ],
        "tokens_used": {"prompt": 5, "completion": 4, "total": 9},
        "model": "tiny",
    }
    for shape in (source, SimpleNamespace(**source)):
        reply = read(shape).reply
        assert (reply.text, reply.finish, reply.provider) == ("The adapter is up.", "stop", "gluellm")
        assert [(c.name, c.args, c.answered) for c in reply.calls] == [
            ("check_adapter_status", {"adapter": "en0"}, True)
        ]
        assert [(t.role, t.text, t.calls, t.outputs) for t in reply.messages] == [
            ("assistant", "", 1, 0),
            ("tool", "", 0, 1),
            ("assistant", "The adapter is up.", 0, 0),
        ]
        assert reply.usage == {"input_tokens": 5, "output_tokens": 4, "total_tokens": 9}


def test_a_mock_with_content_and_tool_calls_is_read() -> None:
    response = MagicMock()
    response.final_response = "I looked."
    response.tool_calls = [{"name": "ping_dns", "arguments": "{}"}]
    reply = read(response).reply
    assert (reply.text, [c.name for c in reply.calls]) == ("I looked.", ["ping_dns"])


FORECAST = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": '{"city": "Oslo"}'}}


@pytest.mark.spec("Q10", "T2")
@pytest.mark.parametrize(
    ("source", "finish"),
    [
        ({"output": {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": "One moment.", "tool_calls": [FORECAST]}}]}, "usage": {"input_tokens": 3, "output_tokens": 2}, "request_id": "r"}, "tool"),
        ({"completion_message": {"role": "assistant", "stop_reason": "tool_calls", "content": {"type": "text", "text": "One moment."}, "tool_calls": [FORECAST]}, "metrics": []}, "tool"),
        ({"role": "assistant", "parts": [{"type": "text", "content": "One moment."}, {"type": "tool_call", "id": "c1", "name": "forecast", "arguments": {"city": "Oslo"}}], "finish_reason": "tool_call"}, "tool"),
        ({"role": "assistant", "content": [{"text": "One moment."}, {"tool_call": {"tool_name": "forecast", "arguments": {"city": "Oslo"}, "id": "c1"}}], "meta": {}}, "tool"),
        ({"role": "assistant", "content": [{"type": "text", "text": "One moment."}, {"type": "tool_use", "id": "c1", "name": "forecast", "input": {"city": "Oslo"}}], "model": "m", "stopReason": "toolUse"}, "tool"),
        ({"type": "response.done", "response": {"object": "realtime.response", "status": "completed", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_audio", "transcript": "One moment."}]}, {"type": "function_call", "call_id": "c1", "name": "forecast", "arguments": '{"city": "Oslo"}'}]}}, "tool"),
    ],
    ids=["dashscope", "llama", "opentelemetry", "haystack", "mcp", "realtime"],
)  # fmt: skip
def test_similar_shapes_are_distinguished(source: dict[str, Any], finish: str) -> None:
    before = copy.deepcopy(source)
    reading = read(source)
    reply = reading.reply
    assert (reply.text, reply.finish, reading.findings) == ("One moment.", finish, ())
    assert [(c.name, c.id, c.args) for c in reply.calls] == [("forecast", "c1", {"city": "Oslo"})]
    assert source == before


@pytest.mark.spec("Q10")
def test_similar_shapes_have_their_text_and_ending() -> None:
    text = {"output": {"text": "Rain.", "finish_reason": "length"}, "usage": {}, "request_id": "r"}
    assert (read(text).reply.text, read(text).reply.finish) == ("Rain.", "length")
    sampled = {"role": "assistant", "content": {"type": "text", "text": "Ra"}, "model": "m", "stopReason": "maxTokens"}
    assert (read(sampled).reply.text, read(sampled).reply.finish) == ("Ra", "length")
    noted = {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Rain."}],
    }
    assert (read(noted).reply.text, read(noted).reply.reasoning) == ("Rain.", "Hm.")
    for strange in (
        {"output": {"text": "x"}, "request_id": "r"},
        {"output": {"choices": []}},
        {"completion_message": {}},
    ):
        assert read(strange).findings[0].code == "R001"
