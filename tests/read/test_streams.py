"""Streams of every family: put together, they are the reply that came unstreamed; cut off, they never pass."""

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.read.events import from_sse
from trueup.read.reader import read, read_document, read_stream
from trueup.read.reading import Reading

Event = dict[str, Any]


def chunk(delta: Event | None = None, finish: str | None = None, **more: Any) -> Event:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "tiny", "choices": [choice], **more}


def fragment(index: int | None, name: str | None = None, arguments: Any = None, call_id: str | None = None) -> Event:
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not None}
    item = {"index": index, "id": call_id, "function": function}
    return {"tool_calls": [{k: v for k, v in item.items() if v is not None}]}


CALL = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": '{"city": "Oslo"}'}}
CHAT = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "Hm"}),
    chunk({"reasoning_content": "."}),
    chunk({"content": "One "}),
    chunk({"content": "moment."}),
    chunk(fragment(0, "forecast", "", "c1")),
    chunk(fragment(0, arguments='{"city"')),
    chunk(fragment(0, arguments=': "Oslo"}')),
    chunk({}, "tool_calls"),
    {"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]
CHAT_WHOLE = {
    "object": "chat.completion",
    "model": "tiny",
    "choices": [
        {
            "message": {"content": "One moment.", "reasoning_content": "Hm.", "tool_calls": [CALL]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}

ANTHROPIC_WHOLE: Event = {
    "type": "message",
    "role": "assistant",
    "model": "tiny",
    "content": [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "c1", "name": "forecast", "input": '{"city": "Oslo"}'},
        {"type": "tool_use", "id": "c2", "name": "clock", "input": {}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
ANTHROPIC: list[Event] = [
    {
        "type": "message_start",
        "message": {
            "type": "message",
            "role": "assistant",
            "model": "tiny",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "One "}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "moment."}},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "c1", "name": "forecast", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"city": "'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": 'Oslo"}'}},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "c2", "name": "clock", "input": {}},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]

RESPONSE: Event = {
    "object": "response",
    "status": "completed",
    "model": "tiny",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]},
        {"type": "function_call", "call_id": "c1", "name": "forecast", "arguments": '{"city": "Oslo"}'},
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
RESPONSES: list[Event] = [
    {"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": []}},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "One moment."},
    {"type": "response.completed", "response": RESPONSE},
]

GEMINI: list[Event] = [
    {"candidates": [{"content": {"parts": [{"text": "H", "thought": True}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "m.", "thought": True}, {"text": "One "}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "moment."}]}}], "usageMetadata": {"promptTokenCount": 3}},
    {
        "candidates": [
            {
                "content": {"parts": [{"functionCall": {"name": "forecast", "args": {"city": "Oslo"}}}]},
                "finishReason": "STOP",
            }
        ],
        "modelVersion": "tiny",
    },
]
GEMINI_WHOLE: Event = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "One moment."},
                    {"functionCall": {"name": "forecast", "args": {"city": "Oslo"}}},
                ]
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 3},
    "modelVersion": "tiny",
}

BEDROCK: list[Event] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm."}}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "One "}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "moment."}}},
    {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "c1", "name": "forecast"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"city": '}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '"Oslo"}'}}}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}}},
]
BEDROCK_WHOLE: Event = {
    "output": {
        "message": {
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
                {"text": "One moment."},
                {"toolUse": {"toolUseId": "c1", "name": "forecast", "input": '{"city": "Oslo"}'}},
            ]
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
}

OLLAMA_CALL = {"function": {"name": "forecast", "arguments": {"city": "Oslo"}}}
OLLAMA: list[Event] = [
    {"model": "tiny", "message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False},
    {"model": "tiny", "message": {"role": "assistant", "content": "One "}, "done": False},
    {
        "model": "tiny",
        "message": {"role": "assistant", "content": "moment.", "tool_calls": [OLLAMA_CALL]},
        "done": False,
    },
    {"model": "tiny", "message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 2},
]
OLLAMA_WHOLE: Event = {
    "model": "tiny",
    "message": {"content": "One moment.", "thinking": "Hm.", "tool_calls": [OLLAMA_CALL]},
    "done": True,
    "done_reason": "stop",
    "eval_count": 2,
}
GENERATE: list[Event] = [
    {"model": "tiny", "response": "One ", "done": False},
    {"model": "tiny", "response": "moment.", "done": False},
    {"model": "tiny", "response": "", "done": True, "done_reason": "length"},
]
GENERATE_WHOLE: Event = {"model": "tiny", "response": "One moment.", "done": True, "done_reason": "length"}
LLAMA: list[Event] = [
    {"content": "One ", "stop": False},
    {"content": "moment.", "stop": False},
    {"content": "", "stop": True, "stop_type": "eos", "tokens_predicted": 2},
]
LLAMA_WHOLE: Event = {"content": "One moment.", "stop": True, "stop_type": "eos", "tokens_predicted": 2}


def said(kind: str, index: int = 0, **message: Any) -> Event:
    return {"type": kind, "index": index, "delta": {"message": message}}


COHERE: list[Event] = [
    {"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}},
    said("tool-plan-delta", tool_plan="Ask "),
    said("tool-plan-delta", tool_plan="first."),
    said("content-start", content={"type": "text", "text": ""}),
    said("content-delta", content={"text": "One "}),
    said("content-delta", content={"text": "moment."}),
    {"type": "content-end", "index": 0},
    said("tool-call-start", tool_calls={"id": "c1", "function": {"name": "forecast", "arguments": ""}}),
    said("tool-call-delta", tool_calls={"function": {"arguments": '{"city": '}}),
    said("tool-call-delta", tool_calls={"function": {"arguments": '"Oslo"}'}}),
    {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 3}}}},
]
COHERE_WHOLE: Event = {
    "finish_reason": "TOOL_CALL",
    "message": {
        "role": "assistant",
        "tool_plan": "Ask first.",
        "content": [{"type": "text", "text": "One moment."}],
        "tool_calls": [CALL],
    },
    "usage": {"tokens": {"input_tokens": 3}},
}
OLD_COHERE: list[Event] = [
    {"event_type": "stream-start", "generation_id": "g"},
    {"event_type": "text-generation", "text": "One "},
    {
        "event_type": "stream-end",
        "finish_reason": "COMPLETE",
        "response": {"text": "One moment.", "generation_id": "g"},
    },
]
OLD_COHERE_WHOLE: Event = {"text": "One moment.", "generation_id": "g", "finish_reason": "COMPLETE"}
VERCEL: list[Event] = [
    {"type": "start", "messageId": "m"},
    {"type": "start-step"},
    {"type": "reasoning-delta", "id": "r", "delta": "Hm."},
    {"type": "tool-input-start", "toolCallId": "c1", "toolName": "forecast"},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"city"'},
    {"type": "tool-input-available", "toolCallId": "c1", "toolName": "forecast", "input": {"city": "Oslo"}},
    {"type": "tool-output-available", "toolCallId": "c1", "output": {"t": 3}},
    {"type": "text-start", "id": "t"},
    {"type": "text-delta", "id": "t", "delta": "One "},
    {"type": "text-delta", "id": "t", "delta": "moment."},
    {"type": "finish"},
]
VERCEL_WHOLE: Event = {
    "role": "assistant",
    "parts": [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm."},
        {"type": "tool-forecast", "toolCallId": "c1", "state": "output-available", "input": {"city": "Oslo"}},
        {"type": "text", "text": "One moment."},
    ],
}
CONVERSATION: list[Event] = [
    {"type": "conversation.response.started", "conversation_id": "x"},
    {"type": "message.output.delta", "output_index": 0, "id": "a", "content": "One "},
    {"type": "message.output.delta", "output_index": 0, "id": "a", "content": "moment."},
    {
        "type": "function.call.delta",
        "output_index": 1,
        "tool_call_id": "c1",
        "name": "forecast",
        "arguments": '{"city"',
    },
    {
        "type": "function.call.delta",
        "output_index": 1,
        "tool_call_id": "c1",
        "name": "forecast",
        "arguments": ': "Oslo"}',
    },
    {"type": "conversation.response.done", "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]
CONVERSATION_WHOLE: Event = {
    "object": "conversation.response",
    "outputs": [
        {"type": "message.output", "content": "One moment."},
        {"type": "function.call", "tool_call_id": "c1", "name": "forecast", "arguments": '{"city": "Oslo"}'},
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}
LANGCHAIN: list[Event] = [
    {"type": "AIMessageChunk", "content": "One "},
    {
        "type": "AIMessageChunk",
        "content": "moment.",
        "tool_call_chunks": [{"name": "forecast", "args": '{"city": ', "id": "c1", "index": 0}],
    },
    {
        "type": "AIMessageChunk",
        "content": "",
        "tool_call_chunks": [{"name": None, "args": '"Oslo"}', "id": None, "index": 0}],
    },
    {"type": "AIMessageChunk", "content": "", "response_metadata": {"finish_reason": "tool_calls"}},
]
LANGCHAIN_WHOLE: Event = {
    "type": "ai",
    "content": "One moment.",
    "tool_calls": [{"name": "forecast", "args": '{"city": "Oslo"}', "id": "c1"}],
    "response_metadata": {"finish_reason": "tool_calls"},
}
COMPLETION: list[Event] = [
    {"object": "text_completion", "choices": [{"text": "One ", "finish_reason": None}]},
    {"object": "text_completion", "choices": [{"text": "moment.", "finish_reason": "stop"}]},
]
COMPLETION_WHOLE: Event = {"object": "text_completion", "choices": [{"text": "One moment.", "finish_reason": "stop"}]}

STREAMS: dict[str, tuple[list[Event], Event]] = {
    "chat": (CHAT, CHAT_WHOLE),
    "completion": (COMPLETION, COMPLETION_WHOLE),
    "anthropic": (ANTHROPIC, ANTHROPIC_WHOLE),
    "responses": (RESPONSES, RESPONSE),
    "gemini": (GEMINI, GEMINI_WHOLE),
    "bedrock": (BEDROCK, BEDROCK_WHOLE),
    "ollama": (OLLAMA, OLLAMA_WHOLE),
    "generate": (GENERATE, GENERATE_WHOLE),
    "llama.cpp": (LLAMA, LLAMA_WHOLE),
    "cohere": (COHERE, COHERE_WHOLE),
    "cohere-1": (OLD_COHERE, OLD_COHERE_WHOLE),
    "vercel": (VERCEL, VERCEL_WHOLE),
    "mistral": (CONVERSATION, CONVERSATION_WHOLE),
    "langchain": (LANGCHAIN, LANGCHAIN_WHOLE),
}
FAMILIES = pytest.mark.parametrize(("events", "whole"), STREAMS.values(), ids=STREAMS)


def sse(events: list[Event], end: str = "\n", *, named: bool = False, done: bool = False) -> str:
    lines = []
    for event in events:
        if named:
            lines.append(f"event: {event.get('type', 'message')}{end}")
        lines.append(f"data: {json.dumps(event, ensure_ascii=False)}{end}{end}")
    return "".join(lines) + (f"data: [DONE]{end}{end}" if done else "")


def facts(reading: Reading) -> dict[str, Any]:
    reply = reading.reply
    found = {name: getattr(reply, name) for name in reply.__struct_fields__ if name != "raw"}
    return {**found, "findings": [f.code for f in reading.findings]}


@pytest.mark.spec("T2")
@FAMILIES
def test_a_stream_equals_the_unstreamed_reply(events: list[Event], whole: Event) -> None:
    expected = facts(read(whole))
    assert expected["findings"] == []
    assert expected["text"] == "One moment."
    before = json.dumps(events)
    for source in (
        events,
        tuple(events),
        sse(events),
        sse(events, "\r\n", named=True),
        sse(events, "\r", done=True),
        sse(events, done=True).encode(),
        "\ufeff: keep-alive\n\n" + sse(events),
        sse(events).replace("data: ", "data:"),
        sse(events).replace("\n\n", "\n"),
        bytearray(sse(events).encode()),
    ):
        assert facts(read(source)) == expected
    assert facts(read_stream("\n".join(map(json.dumps, events)))) == expected
    assert facts(read_document(sse(events))) == expected
    assert json.dumps(events) == before


@pytest.mark.spec("X36")
@FAMILIES
def test_a_stream_without_its_end_is_cut_off_wherever_it_breaks(events: list[Event], whole: Event) -> None:
    ending = {"chat": 2, "bedrock": 2, "anthropic": 2}
    name = next(n for n, (e, _) in STREAMS.items() if e is events)
    for size in range(1, len(events) - ending.get(name, 1) + 1):
        reading = read_stream(events[:size])
        assert [f.code for f in reading.findings] == ["R003"], events[:size]
        assert whole is not None
        assert "One moment.".startswith(reading.reply.text) or name == "gemini"


def test_json_line_events_are_distinguished_from_a_reply_of_json_lines() -> None:
    for name in ("chat", "anthropic", "responses", "gemini", "bedrock", "cohere", "cohere-1"):
        events, whole = STREAMS[name]
        assert facts(read("\n".join(map(json.dumps, events)) + "\n")) == facts(read(whole)), name
    lines = [{"model": "tiny", "created_at": "2026-01-01T00:00:00Z", **event} for event in OLLAMA]
    assert facts(read("\n".join(map(json.dumps, lines)))) == facts(read(OLLAMA_WHOLE))


@pytest.mark.spec("X36")
def test_a_body_that_ends_inside_an_event_is_cut_off() -> None:
    body = sse(CHAT, done=True)
    complete = body.index('"finish_reason": "tool_calls"')
    for size in range(150, complete, 17):
        reading = read_stream(body[:size])
        assert [f.code for f in reading.findings] == ["R003"]
        assert "One moment.".startswith(reading.reply.text)


def test_done_without_a_finish_reason_is_an_end() -> None:
    reading = read(sse([chunk({"content": "Four"})], done=True))
    assert (reading.findings, reading.reply.text, reading.reply.finish) == ((), "Four", "unknown")


def test_an_unreadable_event_in_the_middle_is_reported() -> None:
    reading = read(sse(CHAT[:4]) + 'data: {"choices": [{"del\n\n' + sse(CHAT[4:], done=True))
    assert reading.findings[0].code == "R003"
    assert reading.findings[0].data == {"broken_events": 1}


def test_data_of_several_lines_is_one_event() -> None:
    pretty = json.dumps(chunk({"content": "Four"}, "stop"), indent=1)
    body = "".join(f"data: {line}\n" for line in pretty.splitlines()) + "\n"
    assert (read(body).reply.text, read(body).findings) == ("Four", ())


def test_line_separators_inside_text_end_no_line() -> None:
    text = "a\u2028b\u2029c\x85d\x0be"
    assert read(sse([chunk({"content": text}, "stop")])).reply.text == text


def test_comments_and_other_fields_are_skipped() -> None:
    body = ": hello\n\nid: 7\nretry: 100\nevent: x\n" + sse([chunk({"content": "Four"}, "stop")])
    assert read(body).reply.text == "Four"


def test_characters_split_between_two_events_are_joined() -> None:
    events = [
        'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"\\ud83d"}}]}\n\n',
        'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"\\ude00!"},"finish_reason":"stop"}]}\n\n',
    ]
    assert read("".join(events)).reply.text == "😀!"


def test_numbers_that_json_lacks_are_accepted_in_an_envelope() -> None:
    event = (
        'data: {"object":"chat.completion.chunk","choices":'
        '[{"delta":{"content":"Four"},"finish_reason":"stop","logprobs":-Infinity}]}\n\n'
    )
    assert read(event).reply.text == "Four"


@pytest.mark.parametrize(
    "fragments",
    [
        [fragment(0, "f", '{"a"', "1"), fragment(0, None, ":1}"), fragment(1, "g", "{}", "2")],
        [fragment(0, "f", '{"a":1}', "1"), fragment(0, "g", "{}", "2")],
        [fragment(None, "f", '{"a":1}', "1"), fragment(None, "g", "{}", "2")],
        [fragment(None, "f", '{"a"', "1"), fragment(None, None, ":1}"), fragment(None, "g", "{}", "2")],
        [fragment(0, "f", '{"a"', "1"), fragment(0, "f", ":1}", "1"), fragment(1, "g", "{}", "2")],
        [fragment(0, "f", "", "1"), fragment(1, "g", "", "2"), fragment(0, None, '{"a":1}'), fragment(1, None, "{}")],
        [fragment(0, "f", {"a": 1}, "1"), fragment(1, "g", {}, "2")],
        [fragment(0, "f", '{"a":1}'), fragment(0, "g", "{}")],
    ],
    ids=["usual", "one-index", "no-index", "no-index-fragments", "repeated-name", "interleaved", "objects", "no-ids"],
)
def test_fragments_of_calls_are_joined(fragments: list[Event]) -> None:
    calls = read([*map(chunk, fragments), chunk({}, "tool_calls")]).reply.calls
    assert [(c.name, c.args) for c in calls] == [("f", {"a": 1}), ("g", {})]


def test_two_calls_of_the_same_tool_without_ids_stay_two() -> None:
    calls = read(
        [chunk(fragment(0, "f", '{"a":1}')), chunk(fragment(0, "f", '{"a":2}')), chunk({}, "stop")]
    ).reply.calls
    assert [c.args for c in calls] == [{"a": 1}, {"a": 2}]


def test_custom_tools_and_legacy_calls_in_chunks_are_read() -> None:
    events = [
        chunk({"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "sel"}}]}),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": "ect 1"}}]}, "tool_calls"),
    ]
    (call,) = read(events).reply.calls
    assert (call.kind, call.name, call.raw_args) == ("custom", "sql", "select 1")
    events = [
        chunk({"function_call": {"name": "f", "arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ":1}"}}, "function_call"),
    ]
    assert read(events).reply.calls[0].args == {"a": 1}


def test_only_the_first_choice_is_read() -> None:
    def choices(first: str, second: str, finish: str | None) -> Event:
        return {
            "object": "chat.completion.chunk",
            "choices": [
                {"index": 1, "delta": {"content": second}, "finish_reason": finish},
                {"index": 0, "delta": {"content": first}, "finish_reason": finish},
            ],
        }

    assert read([choices("a", "x", None), choices("b", "y", "stop")]).reply.text in {"ab", "xy"}


def test_truncated_arguments_stay_verbatim() -> None:
    events = [*ANTHROPIC[:12], {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}]
    reply = read(events).reply
    assert (reply.finish, reply.calls[0].raw_args, reply.calls[0].args) == ("length", '{"city": "', None)


def test_an_interrupted_response_is_assembled_from_its_pieces() -> None:
    events: list[Event] = [
        RESPONSES[0],
        {"type": "response.output_item.done", "output_index": 0, "item": RESPONSE["output"][0]},
        RESPONSES[1] | {"output_index": 1},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "One "},
        {
            "type": "response.output_item.added",
            "output_index": 2,
            "item": {"type": "function_call", "call_id": "c1", "name": "forecast", "arguments": ""},
        },
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"city": "Os'},
    ]
    reading = read(events)
    reply = reading.reply
    assert [f.code for f in reading.findings] == ["R003"]
    assert (reply.reasoning, reply.text, reply.calls[0].raw_args) == ("Hm.", "One ", '{"city": "Os')


@pytest.mark.parametrize(
    ("events", "code", "retryable"),
    [
        ([*CHAT[:5], {"error": {"message": "Gone", "code": 502}}], "", True),
        (
            [*ANTHROPIC[:9], {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}],
            "overloaded_error",
            True,
        ),
        ([*OLLAMA[:2], {"error": "an error was encountered while running the model"}], "", False),
        ([RESPONSES[0], {"type": "error", "code": "server_error", "message": "Oops"}], "server_error", True),
        ([{"error": {"message": "Denied", "code": "invalid_api_key"}}], "invalid_api_key", False),
    ],
)
def test_an_error_in_a_stream_is_a_failure(events: list[Event], code: str, retryable: bool) -> None:
    for source in (read_stream(events), read(sse(events))):
        (found,) = source.findings
        assert (found.code, found.data["code"], found.data["retryable"]) == ("R002", code, retryable)
        assert source.reply.finish == "error"


def test_a_blocked_prompt_in_a_stream_is_reported() -> None:
    reading = read(sse([{"promptFeedback": {"blockReason": "SAFETY"}}]))
    assert (reading.reply.finish, reading.findings) == ("filter", ())


def frame(name: str, payload: bytes, kind: str = "event") -> bytes:
    """One frame of Amazon's event stream; the checksums are not looked at."""
    headers = b""
    for key, value in ((f":{kind}-type", name), (":content-type", "application/json"), (":message-type", kind)):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    total = 12 + len(headers) + len(payload) + 4
    return struct.pack(">III", total, len(headers), 0xDEADBEEF) + headers + payload + b"\xfe\xed\xfa\xce"


def frames(events: list[Event]) -> bytes:
    return b"".join(frame(*next(iter((n, json.dumps(b).encode()) for n, b in event.items()))) for event in events)


def test_the_binary_frames_of_bedrock_are_read() -> None:
    expected = facts(read(BEDROCK_WHOLE))
    body = frames(BEDROCK)
    assert facts(read(body)) == expected
    assert facts(read_document(body)) == expected
    assert facts(read_stream(body)) == expected
    assert facts(read(body.decode("utf-8", "replace"))) == expected


def test_interrupted_binary_frames_are_cut_off() -> None:
    body = frames(BEDROCK[:5])
    for size in (len(body), len(body) - 9):
        assert [f.code for f in read(body[:size]).findings] == ["R003"]


def test_binary_frames_of_the_models_own_format_are_read() -> None:
    body = b"".join(
        frame("chunk", json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode())
        for event in ANTHROPIC
    )
    assert facts(read(body)) == facts(read(ANTHROPIC_WHOLE))
    events = [{"chunk": {"bytes": json.dumps(event).encode()}} for event in ANTHROPIC]
    assert facts(read(events)) == facts(read(ANTHROPIC_WHOLE))


def test_an_exception_in_binary_frames_is_a_failure() -> None:
    body = frames(BEDROCK[:4]) + frame("throttlingException", b'{"message": "Slow down"}', "exception")
    (found,) = read(body).findings
    assert (found.code, found.data["message"], found.data["retryable"]) == ("R002", "Slow down", True)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_text_is_preserved_by_any_stream(pieces: list[str], end: str) -> None:
    events = [chunk({"content": piece}) for piece in pieces] + [chunk({}, "stop")]
    assert read(sse(events, end)).reply.text == "".join(pieces)


@given(st.text(alphabet='data:event \n\r{}[]"\\DONE:x', max_size=200))
def test_reading_events_never_fails(text: str) -> None:
    from_sse(text)
    read(text)
    read_stream(text)
    read_document(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"message": "boom", "code": 500}', "boom"),
        ('{"error": {"message": "boom"}}', "boom"),
        ("upstream died", "upstream died"),
    ],
)
def test_an_event_named_error_is_a_failure_whatever_it_contains(data: str, message: str) -> None:
    start = 'data: {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n'
    reading = read(f"{start}event: error\ndata: {data}\n\n")
    assert [f.code for f in reading.findings] == ["R002"]
    assert message in reading.findings[0].message
    assert reading.reply.text == "Hel"


def test_a_name_in_pieces_is_one_name() -> None:
    pieces = [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "get_", "arguments": ""}},
        {"index": 0, "function": {"name": "weather", "arguments": ""}},
        {"index": 0, "function": {"arguments": "{}"}},
    ]
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [p]}}]} for p in pieces
    ]
    chunks.append(
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    )
    assert [(c.name, c.args) for c in read(chunks).reply.calls] == [("get_weather", {})]


def test_a_thought_sent_in_blocks_is_one_thought_and_the_chunks_are_not_changed() -> None:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"object": "chat.completion.chunk", "choices": [choice]}

    thoughts = [chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": t}]}]}) for t in "hm"]
    chunks = [*thoughts, chunk({"content": "x"}), chunk({"content": "y"}, "stop")]
    before = json.dumps(chunks)
    reply = read(chunks).reply
    assert (reply.text, reply.reasoning) == ("xy", "hm")
    assert json.dumps(chunks) == before


def part(text: str) -> Event:
    return {"contentBlockDelta": {"delta": {"text": text}, "contentBlockIndex": 0}}


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    ("events", "status", "code", "message", "retryable"),
    [
        (
            [chunk({"content": "He"}), {**chunk({"content": ""}, "error"), "error": {"code": 502, "message": "Gone"}}],
            502, "", "Gone", True,
        ),
        ([part("He"), {"throttlingException": {"message": "Slow"}}], None, "throttlingException", "Slow", True),
        ([part("He"), {"modelStreamErrorException": {"message": "Off"}}], None, "modelStreamErrorException", "Off", True),
        ([part("He"), {"validationException": {"message": "Bad"}}], None, "validationException", "Bad", False),
        (
            [{"type": "text-delta", "id": "t", "delta": "He"}, {"type": "error", "errorText": "Away"}],
            None, "", "Away", False,
        ),
    ],
)  # fmt: skip
def test_a_failure_in_the_middle_is_reported_in_the_providers_words(
    events: list[Event], status: int | None, code: str, message: str, retryable: bool
) -> None:
    reading = read(events)
    (found,) = reading.findings
    assert (found.code, reading.reply.text, reading.reply.finish) == ("R002", "He", "error")
    said = tuple(found.data[name] for name in ("status", "code", "message", "retryable"))
    assert said == (status, code, message, retryable)


@pytest.mark.spec("T2")
def test_pieces_of_a_refusal_are_not_text() -> None:
    place = {"output_index": 0, "item_id": "m", "content_index": 0}
    pieces = [{"type": "response.refusal.delta", "delta": piece, **place} for piece in ("I can", "not.")]
    said = {"type": "response.output_text.delta", "delta": "Well. ", **place}
    end = {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": []}}
    for events in ([*pieces, end], [said, *pieces, end]):
        reply = read(events).reply
        assert (reply.text, reply.refusal) == ("Well. " if said in events else "", "I cannot.")
    cut = read(pieces)
    assert (cut.reply.refusal, [f.code for f in cut.findings]) == ("I cannot.", ["R003"])
