"""Requests in another protocol: what is translated, what is left out and named, and what is refused."""

import base64
from typing import Any

import pytest

from trueup.ask.clients.request import Request
from trueup.ask.shapes.parts import MessageError
from trueup.gateway.protocols.chat import Chat
from trueup.gateway.protocols.messages import Messages
from trueup.gateway.protocols.responses import Responses
from trueup.gateway.replies.translating import Translated, instructed, translated

CHAT, MESSAGES, RESPONSES = Chat(), Messages(), Responses()
SCHEMA = {
    "type": "object",
    "properties": {"day": {"type": "integer"}},
    "required": ["day"],
    "additionalProperties": False,
}
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()
USER = {"role": "user", "content": "When?"}
TOOL = {"name": "look", "description": "Look.", "parameters": SCHEMA}


def translate_request(target: Any, source: Any, body: dict[str, Any], **request: Any) -> Translated:
    body = {"model": "m", **body}
    if source is not RESPONSES:
        body.setdefault("messages", [USER])
    else:
        body.setdefault("input", "When?")
    asked = source.read(body)
    return translated(body, instructed(Request(asked.messages, **request), body), asked, source, target)


CHATTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_tokens": 9}, {"max_tokens": 9}), ({"max_completion_tokens": 9}, {"max_tokens": 9}), ({}, {"max_tokens": 4096}),
    ({"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}), ({"stop": "x"}, {"stop_sequences": ["x"]}),
    ({"stop": ["x", "y"]}, {"stop_sequences": ["x", "y"]}), ({"user": "u"}, {"metadata": {"user_id": "u"}}),
    (
        {"tools": [{"type": "function", "function": TOOL}]},
        {"tools": [{"name": "look", "description": "Look.", "input_schema": SCHEMA}]},
    ),
    ({"tools": [{"type": "function", "function": TOOL}], "tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
    ({"tools": [{"type": "function", "function": TOOL}], "tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
    (
        {"tools": [{"type": "function", "function": TOOL}], "tool_choice": {"type": "function", "function": {"name": "look"}}},
        {"tool_choice": {"type": "tool", "name": "look"}},
    ),
    (
        {"tools": [{"type": "function", "function": TOOL}], "parallel_tool_calls": False},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "d", "schema": SCHEMA}}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    ),
    ({"messages": [{"role": "system", "content": "Be kind."}, USER]}, {"system": [{"type": "text", "text": "Be kind."}], "messages": [USER]}),
    ({"messages": [{"role": "developer", "content": "Be kind."}, USER]}, {"system": [{"type": "text", "text": "Be kind."}]}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), CHATTED)
def test_a_chat_completion_is_translated_to_messages(given: dict[str, Any], expected: dict[str, Any]) -> None:
    new, left_out = translate_request(MESSAGES, CHAT, given)
    assert new["model"] == "m"
    assert {name: new[name] for name in expected} == expected
    assert left_out == ()


MESSAGED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_tokens": 9, "temperature": 0.5, "top_p": 0.9}, {"max_tokens": 9, "temperature": 0.5, "top_p": 0.9}),
    ({"stop_sequences": ["x"]}, {"stop": ["x"]}), ({"metadata": {"user_id": "u"}}, {"user": "u"}),
    ({"system": "Be kind."}, {"messages": [{"role": "system", "content": "Be kind."}, USER]}),
    ({"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
    ({"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": {"type": "none"}}, {"tool_choice": "none"}),
    (
        {"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": {"type": "tool", "name": "look"}},
        {"tool_choice": {"type": "function", "function": {"name": "look"}}},
    ),
    (
        {"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"parallel_tool_calls": False},
    ),
    (
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), MESSAGED)
def test_messages_are_translated_to_a_chat_completion(given: dict[str, Any], expected: dict[str, Any]) -> None:
    new, left_out = translate_request(CHAT, MESSAGES, {"max_tokens": 50, **given})
    assert {name: new[name] for name in expected} == expected
    assert left_out == ()


def test_a_response_is_translated_to_messages_and_to_a_chat_completion() -> None:
    given = {
        "instructions": "Be kind.", "max_output_tokens": 9, "temperature": 0.5, "tools": [{"type": "function", **TOOL}],
        "tool_choice": "required", "text": {"format": {"type": "json_schema", "name": "d", "schema": SCHEMA}},
    }  # fmt: skip
    new, left_out = translate_request(MESSAGES, RESPONSES, given)
    assert new["system"] == [{"type": "text", "text": "Be kind."}]
    assert new["messages"] == [USER]
    assert (new["max_tokens"], new["temperature"], new["tool_choice"]) == (9, 0.5, {"type": "any"})
    assert new["output_config"]["format"]["schema"] == SCHEMA
    assert left_out == ()
    new, left_out = translate_request(CHAT, RESPONSES, given)
    assert new["messages"] == [{"role": "system", "content": "Be kind."}, USER]
    assert new["tools"][0]["function"]["name"] == "look"
    assert new["response_format"]["json_schema"]["name"] == "d"
    assert left_out == ()


def test_calls_results_and_images_are_translated() -> None:
    called: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "When?"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"day": 3}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "free"},
    ]  # fmt: skip
    new, left_out = translate_request(MESSAGES, CHAT, {"messages": called})
    assert left_out == ()
    said, call, result = new["messages"]
    assert said["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": PIXEL}
    assert call["content"] == [{"type": "tool_use", "id": "c1", "name": "look", "input": {"day": 3}}]
    assert result["content"][0]["tool_use_id"] == "c1"
    back, left_out = translate_request(CHAT, MESSAGES, {"max_tokens": 9, "messages": new["messages"]})
    assert left_out == ()
    assert [message["role"] for message in back["messages"]] == ["user", "assistant", "tool"]
    assert back["messages"][0]["content"][1]["image_url"]["url"].endswith(PIXEL)
    assert back["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"day":3}'


def failing(*, failed: bool) -> list[Any]:
    """A call, and its result that is an error or not."""
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "no such day", "is_error": failed}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


PIXEL_URL = f"data:image/png;base64,{PIXEL}"


@pytest.mark.parametrize(
    ("source", "target", "given", "named"),
    [
        (CHAT, MESSAGES, {"seed": 1, "logit_bias": {"1": 2}, "presence_penalty": 0.1, "new_field": 1}, ("seed", "logit_bias", "presence_penalty", "new_field")),
        (CHAT, MESSAGES, {"seed": None, "n": 1, "stream": True, "stream_options": {}}, ()), (CHAT, MESSAGES, {"temperature": 1.7}, ("temperature",)),
        (CHAT, MESSAGES, {"response_format": {"type": "json_object"}}, ("response_format",)),
        (CHAT, MESSAGES, {"messages": [{**USER, "name": "Ada"}]}, ("messages[].name",)),
        (MESSAGES, CHAT, {"top_k": 5, "thinking": {"type": "enabled", "budget_tokens": 1024}}, ("top_k", "thinking")),
        (MESSAGES, CHAT, {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]}, ("cache_control",)),
        (MESSAGES, CHAT, {"messages": [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "s"}, {"type": "text", "text": "y"}]}, USER]}, ("reasoning",)),
        (MESSAGES, CHAT, {"stop_sequences": list("abcde")}, ("stop_sequences[4:]",)), (MESSAGES, CHAT, {"output_config": {"effort": "low"}}, ("output_config",)),
        (RESPONSES, MESSAGES, {"reasoning": {"effort": "low"}, "store": False, "truncation": "auto", "text": {"verbosity": "low"}}, ("reasoning", "store", "truncation", "text")),
        (RESPONSES, MESSAGES, {"input": [{"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "x"}]}, ()),
        (CHAT, MESSAGES, {"tools": [{"type": "function", "function": {**TOOL, "strict": True}}]}, ("tools[].strict",)),
        (RESPONSES, MESSAGES, {"tools": [{"type": "function", **TOOL, "strict": True}]}, ("tools[].strict",)),
        (CHAT, MESSAGES, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PIXEL_URL, "detail": "low"}}]}]}, ("detail",)),
        (RESPONSES, CHAT, {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": PIXEL_URL, "detail": "low"}]}]}, ("detail",)),
        (RESPONSES, MESSAGES, {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": PIXEL_URL, "detail": "auto"}]}]}, ()),
        (MESSAGES, CHAT, {"messages": [USER, *failing(failed=True)]}, ("is_error",)), (MESSAGES, CHAT, {"messages": [USER, *failing(failed=False)]}, ()),
    ],
)  # fmt: skip
def test_fields_without_a_counterpart_are_named(
    source: Any, target: Any, given: dict[str, Any], named: tuple[str, ...]
) -> None:
    more = {"max_tokens": 50} if source is MESSAGES else {}
    assert translate_request(target, source, {**more, **given}).left_out == named


@pytest.mark.parametrize(
    ("source", "target", "given"),
    [
        (CHAT, MESSAGES, {"functions": [TOOL]}), (CHAT, MESSAGES, {"modalities": ["audio"]}), (CHAT, MESSAGES, {"logprobs": True}),
        (CHAT, MESSAGES, {"tools": [{"type": "custom", "custom": {"name": "x"}}]}), (RESPONSES, MESSAGES, {"previous_response_id": "r"}),
        (RESPONSES, MESSAGES, {"tools": [{"type": "web_search"}]}), (RESPONSES, CHAT, {"tools": [{"type": "file_search"}]}),
        (MESSAGES, CHAT, {"mcp_servers": [{"url": "x"}]}), (MESSAGES, CHAT, {"tools": [{"type": "bash_20250124", "name": "bash"}]}),
        (CHAT, MESSAGES, {"tools": ["look"]}), (CHAT, MESSAGES, {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]}]}),
        (MESSAGES, CHAT, {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]}),
    ],
)  # fmt: skip
def test_options_that_would_change_the_request_are_refused(source: Any, target: Any, given: dict[str, Any]) -> None:
    with pytest.raises(MessageError):
        translate_request(target, source, {"max_tokens": 50, **given} if source is MESSAGES else given)


def test_settings_of_the_loop_take_precedence_over_the_clients() -> None:
    new, _ = translate_request(
        MESSAGES, CHAT, {"temperature": 0.9, "max_tokens": 9}, temperature=0.0, max_tokens=18, model="other"
    )
    assert (new["temperature"], new["max_tokens"], new["model"]) == (0.0, 18, "other")
    new, _ = translate_request(CHAT, MESSAGES, {"max_tokens": 9}, mode="json_schema", schema=SCHEMA, name="person")
    assert new["response_format"]["json_schema"]["name"] == "person"
