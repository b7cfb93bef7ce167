"""Vercel AI SDK: UI messages new and old, model messages, results; what Q counts of them."""

from collections.abc import Callable
from typing import Any

import pytest

from trueup.read.reader import read, read_stream
from trueup.read.reading import Reading


def message(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "m1", "role": "assistant", "parts": list(parts), **more}


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "state": "done"}


WEATHER = {
    "type": "tool-getWeather",
    "toolCallId": "c1",
    "state": "output-available",
    "input": {"city": "Oslo"},
    "output": {"t": 3},
}


@pytest.mark.spec("T2", "Q10")
def test_parts_are_read() -> None:
    reply = read(
        message({"type": "step-start"}, {"type": "reasoning", "text": "Hm."}, WEATHER, text_part("It is 3 degrees."))
    ).reply
    assert (reply.text, reply.reasoning, reply.provider) == ("It is 3 degrees.", "Hm.", "vercel")
    assert [(c.name, c.id, c.args, c.answered) for c in reply.calls] == [("getWeather", "c1", {"city": "Oslo"}, True)]
    (turn,) = reply.messages
    assert (turn.text, turn.calls, turn.outputs, turn.after) == ("It is 3 degrees.", 1, 1, "It is 3 degrees.")


@pytest.mark.spec("Q10")
def test_text_before_an_output_is_not_after_it() -> None:
    (turn,) = read(message(text_part("Let me see."), WEATHER)).reply.messages
    assert (turn.text, turn.outputs, turn.after) == ("Let me see.", 1, "")


def test_a_tool_that_failed_keeps_its_raw_input() -> None:
    part = {
        "type": "dynamic-tool",
        "toolName": "mcp_x",
        "toolCallId": "c2",
        "state": "output-error",
        "rawInput": "{bad",
        "errorText": "not JSON",
    }
    (call,) = read(message(part)).reply.calls
    assert (call.name, call.raw_args, call.args, call.answered) == ("mcp_x", "{bad", None, True)


@pytest.mark.parametrize(
    ("state", "answered"),
    [
        ("input-streaming", False),
        ("input-available", False),
        ("approval-requested", False),
        ("output-available", True),
        ("output-error", True),
        ("output-denied", True),
    ],
)
def test_states_of_tools_are_read(state: str, answered: bool) -> None:
    reply = read(message({**WEATHER, "state": state})).reply
    assert (reply.calls[0].answered, reply.messages[0].outputs) == (answered, int(answered))


def test_tools_of_the_provider_are_only_outputs() -> None:
    reply = read(message({**WEATHER, "providerExecuted": True}, text_part("Done and dusted."))).reply
    assert (reply.calls, reply.messages[0].outputs) == ((), 1)


@pytest.mark.spec("Q10")
@pytest.mark.parametrize("with_parts", [True, False])
def test_tool_invocations_of_older_versions_are_read(with_parts: bool) -> None:
    done = {"state": "result", "toolCallId": "c1", "toolName": "getWeather", "args": {"city": "Oslo"}, "result": {}}
    source: dict[str, Any] = {"role": "assistant", "content": "It is 3.", "toolInvocations": [done]}
    if with_parts:
        source["parts"] = [{"type": "tool-invocation", "toolInvocation": done}, {"type": "text", "text": "It is 3."}]
    reply = read(source).reply
    assert reply.text == "It is 3."
    assert [(c.name, c.args, c.answered) for c in reply.calls] == [("getWeather", {"city": "Oslo"}, True)]
    assert reply.messages[0].outputs == 1


@pytest.mark.spec("Q10")
def test_a_pending_call_of_an_older_version_is_read() -> None:
    waiting = {"state": "call", "toolCallId": "c1", "toolName": "getWeather", "args": {}}
    reply = read({"role": "assistant", "content": "", "toolInvocations": [waiting]}).reply
    assert (reply.finish, reply.calls[0].answered, reply.messages[0].outputs) == ("tool", False, 0)


@pytest.mark.spec("T2", "Q10")
def test_model_messages_are_read() -> None:
    conversation = [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "getWeather", "input": {"city": "Oslo"}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "getWeather",
                    "output": {"type": "json", "value": {"t": 3}},
                }
            ],
        },
        {"role": "assistant", "content": "Three degrees."},
    ]
    reply = read(conversation).reply
    assert reply.text == "Three degrees."
    assert [(c.name, c.args, c.answered) for c in reply.calls] == [("getWeather", {"city": "Oslo"}, True)]
    assert [(t.role, t.text, t.outputs) for t in reply.messages] == [
        ("assistant", "Let me see.", 0),
        ("tool", "", 1),
        ("assistant", "Three degrees.", 0),
    ]


def test_the_result_of_generate_text_is_read() -> None:
    source = {
        "text": "One moment.",
        "reasoning": [{"type": "reasoning", "text": "Hm."}],
        "toolCalls": [{"toolCallId": "c1", "toolName": "getWeather", "input": {"city": "Oslo"}}],
        "finishReason": "tool-calls",
        "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5, "reasoningTokens": 1},
    }
    reply = read(source).reply
    assert (reply.text, reply.reasoning, reply.finish) == ("One moment.", "Hm.", "tool")
    assert [(c.name, c.id, c.args) for c in reply.calls] == [("getWeather", "c1", {"city": "Oslo"})]
    assert reply.usage["reasoning_tokens"] == 1


DATA = [
    'f:{"messageId":"m1"}',
    'g:"I look."',
    '0:"One "',
    '0:"moment."',
    'b:{"toolCallId":"c1","toolName":"forecast"}',
    'c:{"toolCallId":"c1","argsTextDelta":"{\\"city\\":"}',
    '9:{"toolCallId":"c1","toolName":"forecast","args":{"city":"Oslo"}}',
]


@pytest.mark.spec("T2")
@pytest.mark.parametrize("read_it", [read, read_stream])
def test_the_data_stream_of_version_4_is_read(read_it: Callable[[Any], Reading]) -> None:
    end = 'd:{"finishReason":"tool-calls","usage":{"promptTokens":3,"completionTokens":2}}'
    for source in ("\n".join([*DATA, end]), "\n".join([*DATA, end, ""]).encode()):
        reading = read_it(source)
        reply = reading.reply
        assert reading.findings == ()
        assert (reply.text, reply.reasoning, reply.finish, reply.provider) == (
            "One moment.",
            "I look.",
            "tool",
            "vercel",
        )
        assert [(c.name, c.id, c.args, c.answered) for c in reply.calls] == [
            ("forecast", "c1", {"city": "Oslo"}, False)
        ]
        assert reply.usage["total_tokens"] == 5


@pytest.mark.spec("T2")
def test_the_data_stream_continues_after_a_result_and_may_fail_or_break_off() -> None:
    more = [*DATA, 'a:{"toolCallId":"c1","result":{"t":3}}', 'e:{"finishReason":"tool-calls"}', '0:"It is 3."']
    reply = read("\n".join([*more, 'd:{"finishReason":"stop"}'])).reply
    assert reply.text == "One moment.\n\nIt is 3."
    assert [c.answered for c in reply.calls] == [True]
    assert [f.code for f in read("\n".join(more)).findings] == ["R003"]
    assert [f.code for f in read("\n".join(more)[:-3]).findings] == ["R003"]
    assert [f.code for f in read("\n".join([*more, '3:"An error occurred."'])).findings] == ["R002"]


@pytest.mark.parametrize(
    "text", ["0: zero\n1: one", "9:30 is the time", '0:"Hi"', 'a:{"x": 1}\nb', "f:{x}", '0:"a"\nNo.']
)
def test_text_that_looks_like_data_lines_is_text(text: str) -> None:
    reading = read(text)
    assert (reading.reply.text, reading.findings) == (text, ())
