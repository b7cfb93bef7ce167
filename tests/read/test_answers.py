"""T11: results of calls in the shape that each provider takes back."""

from typing import Any

import pytest

from trueup import Contract, ToolCall
from trueup.read.answers import PROVIDERS, CallResult, tool_results

pytestmark = pytest.mark.spec("T11")

GOOD = CallResult(ToolCall("ping", {}, "c1"), "pong", is_error=False)
BAD = CallResult(ToolCall("pong", {}, "c2"), "no", is_error=True)

SHAPES: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"role": "tool", "tool_call_id": "c1", "content": "pong"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
    ],
    "openai_responses": [
        {"type": "function_call_output", "call_id": "c1", "output": "pong"},
        {"type": "function_call_output", "call_id": "c2", "output": "Error: no"},
    ],
    "anthropic": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "pong"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True},
    ]}],
    "gemini": [{"role": "user", "parts": [
        {"functionResponse": {"id": "c1", "name": "ping", "response": {"output": "pong"}}},
        {"functionResponse": {"id": "c2", "name": "pong", "response": {"error": "no"}}},
    ]}],
    "bedrock": [{"role": "user", "content": [
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "pong"}], "status": "success"}},
        {"toolResult": {"toolUseId": "c2", "content": [{"text": "no"}], "status": "error"}},
    ]}],
    "ollama": [
        {"role": "tool", "tool_name": "ping", "content": "pong"},
        {"role": "tool", "tool_name": "pong", "content": "Error: no"},
    ],
    "mistral": [
        {"role": "tool", "tool_call_id": "c1", "content": "pong", "name": "ping"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no", "name": "pong"},
    ],
    "cohere": [
        {"role": "tool", "tool_call_id": "c1", "content": "pong"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
    ],
    "vercel": [{"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "ping", "output": {"type": "text", "value": "pong"}},
        {"type": "tool-result", "toolCallId": "c2", "toolName": "pong", "output": {"type": "error-text", "value": "no"}},
    ]}],
    "langchain": [
        {"type": "tool", "tool_call_id": "c1", "name": "ping", "content": "pong", "status": "success"},
        {"type": "tool", "tool_call_id": "c2", "name": "pong", "content": "no", "status": "error"},
    ],
    "mcp": [
        {"content": [{"type": "text", "text": "pong"}], "isError": False},
        {"content": [{"type": "text", "text": "no"}], "isError": True},
    ],
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
def test_answers_have_the_shape_of_every_provider(provider: str) -> None:
    assert tool_results([GOOD, BAD], provider) == SHAPES[provider]
    assert tool_results([], provider) == []


def test_an_answered_call_gets_no_second_answer() -> None:
    done = CallResult(ToolCall("ping", {}, "c1", answered=True), "pong", is_error=False)
    assert tool_results([done], "openai") == []
    assert tool_results([done], "anthropic") == []


def test_a_custom_call_of_the_responses_api_has_its_own_kind_of_output() -> None:
    custom = CallResult(ToolCall("sql", None, "c1", "select", kind="custom"), "1", is_error=False)
    assert tool_results([custom], "openai_responses") == [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"}
    ]


def test_gemini_without_an_id_answers_by_name() -> None:
    (message,) = tool_results([CallResult(ToolCall("ping"), "pong", is_error=False)], "gemini")
    assert message["parts"][0]["functionResponse"] == {"name": "ping", "response": {"output": "pong"}}


def test_a_provider_may_have_another_name_or_none() -> None:
    assert tool_results([GOOD], "openai-responses") == SHAPES["openai_responses"][:1]
    assert tool_results([GOOD], "vllm") == SHAPES["openai"][:1]
    with pytest.raises(ValueError, match="provider must be one of openai"):
        tool_results([GOOD], "acme")


NATIVE: dict[str, Any] = {
    "openai": {"object": "chat.completion", "choices": [{"message": {"tool_calls": [{"id": "c1", "function": {"name": "pin", "arguments": "{}"}}]}}]},
    "openai_responses": {"object": "response", "output": [{"type": "function_call", "call_id": "c1", "name": "pin", "arguments": "{}"}]},
    "anthropic": {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "c1", "name": "pin", "input": {}}]},
    "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c1", "name": "pin", "args": {}}}]}}]},
    "bedrock": {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "pin", "input": {}}}]}}, "stopReason": "tool_use"},
    "ollama": {"model": "m", "done": True, "message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "pin", "arguments": {}}}]}},
    "langchain": {"type": "ai", "content": "", "tool_calls": [{"name": "pin", "args": {}, "id": "c1", "type": "tool_call"}]},
    "vercel": {"id": "m", "role": "assistant", "parts": [{"type": "tool-pin", "toolCallId": "c1", "state": "input-available", "input": {}}]},
}  # fmt: skip


@pytest.mark.parametrize("provider", NATIVE)
def test_a_refusal_goes_back_in_the_reply_s_own_shape(provider: str) -> None:
    verdict = Contract(tools=[{"name": "ping"}]).check(NATIVE[provider])
    (refusal,) = verdict.refused
    assert (
        refusal.message
        == "The call of 'pin' was not made. Tool 'pin' is not defined; the closest is 'ping'. Call 'ping' instead."
    )
    said = verdict.rejections()
    assert said == tool_results([CallResult(refusal.call, refusal.message, is_error=True)], provider)
    assert len(said) == 1
    assert verdict.rejections("anthropic")[0]["content"][0]["is_error"] is True


def test_a_text_has_no_provider_and_is_answered_as_openai_does() -> None:
    verdict = Contract(tools=[{"name": "ping", "parameters": {"type": "object", "required": ["a"]}}]).check("ping()")
    assert [m["role"] for m in verdict.rejections()] == ["tool"]
    assert Contract(tools=[{"name": "ping"}]).check("hello").rejections() == []
