"""The door: text and documents, foreign objects, and what holds for whatever comes in."""

import copy
import json
from collections import namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_all_linear, each
from tests.shapes.shape import Shape
from tests.shapes.streams import CONVERSATIONS, EVENTS
from trueup.read.reader import read, read_document, read_line, read_stream
from trueup.verdict.reply import Reply

CHAT: dict[str, Any] = {
    "object": "chat.completion",
    "model": "tiny",
    "choices": [
        {
            "message": {
                "content": None,
                "tool_calls": [
                    {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": '{"city": "Oslo"}'}}
                    for i in range(3)
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello.",
        '{"name": "Ada"}',
        json.dumps(CHAT),
        "data: 5\nname: x\n",
        "data: [1, 2]\n\n",
        'data: {"name": "Ada"}\n\n',
        "event: party\nwhere: here",
        ": a smiley",
        '{"done": false}\n{"done": true}',
        '{"task": "x", "done": false}\n{"task": "y", "done": true}',
        '{"message": {"to": "x"}, "done": false}\n{"message": {"to": "y"}, "done": true}',
        '{"candidates": ["Ada"]}\n{"candidates": ["Bob"]}',
        '{"type": "start"}\n{"type": "finish"}',
        '{"choices": ["a"]}\n{"choices": ["b"]}',
        "\0\0\0",
    ],
)
def test_text_is_text(text: str) -> None:
    reading = read(text)
    assert (reading.reply.text, reading.findings, reading.reply.provider) == (text, (), "")
    reading = read(text.encode())
    assert (reading.reply.text, reading.findings) == (text, ())


def test_bytes_that_are_not_utf8_are_reported() -> None:
    reading = read(b"Ad\xff")
    assert (reading.reply.text, [f.code for f in reading.findings]) == ("Ad\ufffd", ["P007"])


def test_a_reply_is_returned_unchanged() -> None:
    reply = Reply(text="hi")
    assert read(reply).reply is reply


def test_pieces_of_text_are_joined() -> None:
    assert read(["Hel", "lo"]).reply.text == "Hello"


def test_documents_are_read() -> None:
    whole = read(CHAT).reply
    for source in (json.dumps(CHAT), json.dumps(CHAT, indent=2).encode(), "\ufeff" + json.dumps(CHAT)):
        found = read_document(source).reply
        assert (found.calls, found.finish, found.usage) == (whole.calls, whole.finish, whole.usage)
    for text in ('{"name": "Ada"}', "[1, 2, 3]", "Hello.", "", "{broken", '"quoted"', "null", '{"n": 1e400}'):
        reading = read_document(text)
        assert (reading.reply.text, reading.findings) == (text, ())
    assert [f.code for f in read_document(b'{"a": "\xff"}').findings] == ["P007"]
    conversation = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    assert read_document(json.dumps(conversation)).reply.text == "!"


@dataclass
class Function:
    name: str
    arguments: str


@dataclass
class Call:
    function: Function
    id: str = "c1"


@dataclass
class Message:
    content: str | None
    tool_calls: list[Call] = field(default_factory=list)


class Choice(msgspec.Struct):
    message: Message
    finish_reason: str = "tool_calls"


Body = namedtuple("Body", "choices model")  # noqa: PYI024 - the kind of object that is meant


class Slotted:
    __slots__ = ("choices", "model")

    def __init__(self, choices: list[Any]) -> None:
        self.choices = choices
        self.model = "tiny"


class Legacy:
    """An object like those of pydantic 1 and many SDKs."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def dict(self) -> dict[str, Any]:
        return self._fields


def test_objects_of_every_library_are_read() -> None:
    choice = Choice(Message(None, [Call(Function("f", '{"a": 1}'))]))
    for source in (
        SimpleNamespace(choices=[choice], model="tiny"),
        Body([choice], "tiny"),
        Slotted([choice]),
        Legacy(choices=[choice], model="tiny"),
        {"choices": [choice], "model": "tiny"},
    ):
        reading = read(source)
        assert reading.findings == ()
        assert reading.reply.raw is source
        assert [(c.name, c.id, c.args) for c in reading.reply.calls] == [("f", "c1", {"a": 1})]
        assert reading.reply.model == "tiny"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
WORDS = st.sampled_from(
    "choices message delta content tool_calls function name arguments role assistant type text output candidates parts"
    " finish_reason stop_reason object chat.completion response error done usage custom_id result data messages tool"
    " stopReason toolInvocations generations final_response args id index event_type functionCall ai constructor kwargs"
    " chunk bytes outputs system user model input additional_kwargs status code".split()
)
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=30,
)


@given(JSON | SHAPES)
def test_no_input_is_changed_or_raises_an_exception(source: Any) -> None:
    before = copy.deepcopy(source)
    first, second = read(source), read(source)
    assert first == second
    assert source == before
    assert isinstance(first.reply.text, str)
    read_document(json.dumps(source))
    read_line(json.dumps(source))
    if isinstance(source, list):
        read_stream(source)


@pytest.mark.parametrize(("size", "place"), [(n, p) for n in ("choices", "content", "parts") for p in (0, 1, 2)])
def test_a_body_with_any_part_missing_raises_nothing(size: str, place: int) -> None:
    for hole in (None, 7, "x", [], {}, [None], [7], {"x": None}):
        bodies: list[dict[str, Any]] = [
            {"choices": [{"message": {"content": "x", "tool_calls": hole}}]},
            {"choices": [{"message": hole}]},
            {"type": "message", "content": hole, "stop_reason": hole, "role": "assistant"},
            {"type": "message", "content": [hole], "stop_reason": "end_turn"},
            {"candidates": [{"content": {"parts": [hole]}}]},
            {"candidates": hole},
            {"object": "response", "output": hole},
            {"object": "response", "output": [hole], "usage": hole, "error": hole},
            {"role": "assistant", "parts": [hole]},
            {"type": "ai", "content": hole, "tool_calls": hole, "additional_kwargs": hole},
            {"custom_id": hole, "response": hole},
            {"final_response": hole, "tool_execution_history": hole},
            {"message": hole, "done": True},
            {"messages": [{"role": "assistant", "content": hole}, hole]},
        ]
        for body in bodies:
            read(body)
            read_stream([body, body])


def test_deep_nesting_raises_nothing() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert read(
        {"choices": [{"message": {"content": "a", "tool_calls": [{"name": "f", "arguments": deep}]}}]}
    ).reply.calls
    bomb = "[" * 200_000
    (call,) = read({"tool_calls": [{"name": "f", "arguments": '{"a":' + bomb}]}).reply.calls
    assert call.args is None
    read_document(bomb)
    read_line('{"custom_id": "x", "response": ' + bomb)
    read_stream("data: " + bomb + "\n\n")
    while isinstance(deep, list):  # taken apart by hand: freeing it at once would recurse
        deep = deep.pop()


def test_a_stream_in_a_document_is_read_with_its_status_too() -> None:
    body = 'data: {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    for status in (None, 200):
        reply = read_document(body, status).reply
        assert (reply.text, reply.finish) == ("hi", "stop")
    assert [f.code for f in read_document(body, 500).findings] == ["R002"]


@each(EVENTS + CONVERSATIONS)
def test_streams_and_conversations_are_read_in_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)
