"""Bedrock Converse: keyed blocks, endings, and the older bodies of InvokeModel."""

from typing import Any

import pytest

from trueup.read.reader import read


def converse(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": {"inputTokens": 4, "outputTokens": 2, "totalTokens": 6, "cacheReadInputTokens": 1},
        "metrics": {"latencyMs": 9},
    }


@pytest.mark.spec("T2")
def test_text_reasoning_and_calls_are_read() -> None:
    reply = read(
        converse(
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
            {"text": "One moment."},
            {"toolUse": {"toolUseId": "t1", "name": "forecast", "input": {"city": "Oslo"}}},
            stop="tool_use",
        )
    ).reply
    assert (reply.text, reply.reasoning, reply.finish, reply.provider) == ("One moment.", "Hm.", "tool", "bedrock")
    assert [(c.name, c.id, c.args) for c in reply.calls] == [("forecast", "t1", {"city": "Oslo"})]
    assert reply.usage == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cached_tokens": 1}


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("max_tokens", "length"),
        ("stop_sequence", "stop"),
        ("guardrail_intervened", "filter"),
        ("content_filtered", "filter"),
        ("malformed_tool_use", "malformed_tool"),
        ("malformed_model_output", "malformed_tool"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_endings_are_read(stop: str, finish: str) -> None:
    assert read(converse({"text": "x"}, stop=stop)).reply.finish == finish


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        ({"results": [{"outputText": "Titan says", "completionReason": "FINISH"}]}, "Titan says", "stop"),
        ({"generation": "Llama says", "stop_reason": "length", "prompt_token_count": 3}, "Llama says", "length"),
        ({"outputs": [{"text": "Mistral says", "stop_reason": "stop"}]}, "Mistral says", "stop"),
        ({"generated_text": "It says", "details": {"finish_reason": "eos_token"}}, "It says", "stop"),
        ({"results": [{"generated_text": "It says", "stop_reason": "max_tokens"}]}, "It says", "length"),
    ],
)
def test_older_bodies_are_read(body: dict[str, Any], text: str, finish: str) -> None:
    reply = read(body).reply
    assert (reply.text, reply.finish, reply.provider) == (text, finish, "bedrock")
