"""Lists of messages: the last turn of the model, its calls and their outputs, in every provider's words."""

import copy
from typing import Any

import pytest

from trueup.read.reader import read
from trueup.verdict.reply import Reply


def turns(reply: Reply) -> list[tuple[str, str, int, int]]:
    return [(t.role, t.text, t.calls, t.outputs) for t in reply.messages]


OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"id": "c1", "function": {"name": "forecast", "arguments": '{"city": "Oslo"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "3"},
    {"role": "assistant", "content": "Three degrees."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "c1", "name": "forecast", "input": {"city": "Oslo"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Three degrees."}]},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Weather?"}]},
    {
        "role": "model",
        "parts": [{"text": "Let me see."}, {"functionCall": {"name": "forecast", "args": {"city": "Oslo"}}}],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "forecast", "response": {"t": 3}}}]},
    {"role": "model", "parts": [{"text": "Three degrees."}]},
]
BEDROCK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": "Weather?"}]},
    {
        "role": "assistant",
        "content": [
            {"text": "Let me see."},
            {"toolUse": {"toolUseId": "c1", "name": "forecast", "input": {"city": "Oslo"}}},
        ],
    },
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": {"t": 3}}]}}]},
    {"role": "assistant", "content": [{"text": "Three degrees."}]},
]
OLLAMA: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"function": {"name": "forecast", "arguments": {"city": "Oslo"}}}],
    },
    {"role": "tool", "tool_name": "forecast", "content": "3"},
    {"role": "assistant", "content": "Three degrees."},
]
LANGCHAIN: list[dict[str, Any]] = [
    {"type": "human", "content": "Weather?"},
    {
        "type": "ai",
        "content": "Let me see.",
        "tool_calls": [{"name": "forecast", "args": {"city": "Oslo"}, "id": "c1"}],
    },
    {"type": "tool", "tool_call_id": "c1", "content": "3"},
    {"type": "ai", "content": "Three degrees."},
]
ALL = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "ollama": OLLAMA,
    "langchain": LANGCHAIN,
}


@pytest.mark.spec("T2", "Q10")
@pytest.mark.parametrize("conversation", ALL.values(), ids=ALL)
def test_only_the_last_turn_is_the_reply(conversation: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(conversation)
    for source in (conversation, tuple(conversation), {"messages": conversation}):
        reading = read(source)
        reply = reading.reply
        assert reading.findings == ()
        assert (reply.text, reply.finish) in {("Three degrees.", "stop"), ("Three degrees.", "unknown")}
        assert [(c.name, c.args, c.answered, c.index) for c in reply.calls] == [("forecast", {"city": "Oslo"}, True, 0)]
        assert turns(reply) == [
            ("assistant", "Let me see.", 1, 0),
            ("tool", "", 0, 1),
            ("assistant", "Three degrees.", 0, 0),
        ]
    assert conversation == before


@pytest.mark.parametrize("conversation", ALL.values(), ids=ALL)
def test_a_call_without_output_is_pending(conversation: list[dict[str, Any]]) -> None:
    reply = read(conversation[:-2]).reply
    assert (reply.text, reply.finish, reply.turns) == ("Let me see.", "tool", None)
    assert [c.answered for c in reply.calls] == [False]


@pytest.mark.parametrize("conversation", ALL.values(), ids=ALL)
def test_an_output_without_text_after_it_is_read(conversation: list[dict[str, Any]]) -> None:
    reply = read(conversation[:-1]).reply
    assert reply.text == "Let me see."
    assert [t.role for t in reply.messages] == ["assistant", "tool"]


@pytest.mark.parametrize(
    "source", [[{"role": "user", "content": "Hello?"}], OPENAI[:2], [*OPENAI, {"role": "user", "content": "Thanks"}]]
)
def test_messages_that_end_with_the_user_have_no_answer(source: list[dict[str, Any]]) -> None:
    reading = read(source)
    assert [f.code for f in reading.findings] == ["R004"]
    assert reading.reply.messages == ()


def test_several_messages_in_a_row_are_one_reply() -> None:
    reply = read(
        [{"role": "assistant", "content": "Let me help"}, {"role": "assistant", "content": "with that."}]
    ).reply
    assert reply.text == "Let me help\n\nwith that."
    assert turns(reply) == [("assistant", "Let me help", 0, 0), ("assistant", "with that.", 0, 0)]


def test_outputs_find_their_calls_by_id_by_name_and_by_order() -> None:
    def call(name: str, call_id: str) -> dict[str, Any]:
        return {"id": call_id, "function": {"name": name, "arguments": "{}"}}

    def asked(*calls: dict[str, Any]) -> dict[str, Any]:
        return {"role": "assistant", "content": None, "tool_calls": list(calls)}

    def answered(source: list[dict[str, Any]]) -> list[bool]:
        return [c.answered for c in read(source).reply.calls]

    assert answered([asked(call("a", "1"), call("b", "2")), {"role": "tool", "tool_call_id": "2"}]) == [False, True]
    assert answered([asked(call("a", "1"), call("b", "2")), {"role": "tool", "tool_call_id": "9"}]) == [False, False]
    assert answered([asked(call("a", ""), call("b", "")), {"role": "tool", "name": "b"}]) == [False, True]
    assert answered([asked(call("a", ""), call("a", "")), {"role": "tool", "content": "x"}]) == [True, False]
    assert answered([asked(call("a", ""), call("b", "")), {"role": "tool", "tool_call_id": "call_0"}]) == [True, False]


def test_a_single_message_is_a_reply() -> None:
    reply = read({"role": "assistant", "content": "Hi."}).reply
    assert (reply.text, reply.messages[0].text) == ("Hi.", "Hi.")
    reply = read({"content": "", "tool_calls": [{"name": "ping", "arguments": {"host": "a"}}]}).reply
    assert [(c.name, c.args) for c in reply.calls] == [("ping", {"host": "a"})]
    reply = read([{"id": "c", "type": "function", "function": {"name": "ping", "arguments": "{}"}}]).reply
    assert [c.name for c in reply.calls] == ["ping"]


def test_a_refusal_in_a_list_is_read() -> None:
    reply = read([{"role": "assistant", "content": None, "refusal": "No."}]).reply
    assert (reply.refusal, reply.finish) == ("No.", "refusal")


def test_a_user_message_is_not_a_reply() -> None:
    assert read({"role": "user", "content": "Hi."}).findings[0].code == "R001"


def test_a_call_repeated_later_with_its_output_is_one_call() -> None:
    def invoked(state: str, **more: Any) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": state,
            "toolInvocations": [{"toolName": "book", "state": state, **more}],
        }

    for more in ({}, {"toolCallId": "c1"}):
        reply = read([invoked("call", **more), invoked("result", **more)]).reply
        assert [(call.name, call.answered) for call in reply.calls] == [("book", True)]
        assert [(turn.calls, turn.outputs) for turn in reply.messages] == [(1, 0), (0, 1)]
    two = read([invoked("call", toolCallId="c1"), invoked("result", toolCallId="c2")]).reply
    assert [(call.id, call.answered) for call in two.calls] == [("c1", False), ("c2", True)]
    alone = {
        "role": "assistant",
        "toolInvocations": [{"toolName": "book", "state": "call"}, {"toolName": "book", "state": "result"}],
    }
    assert [call.answered for call in read([alone]).reply.calls] == [False, True], "in one message they are two"
