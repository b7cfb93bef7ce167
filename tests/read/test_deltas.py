"""Pieces of streams: what each adds, and nothing that a server may send makes it fall over."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from tests.read.test_streams import FAMILIES, Event
from trueup import Contract
from trueup.ask.gate import Gate
from trueup.read.deltas import Delta, bare, delta_of
from trueup.read.reader import read

KEYS = st.sampled_from(
    "choices delta content message text type candidates parts tool_calls function name content_block thought".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["content_block_delta", "tool_use", "x", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("chunk", "delta"),
    [
        ("Hi", Delta("Hi")),
        ({"choices": [{"delta": {"content": "Hi", "reasoning_content": "hm"}}]}, Delta("Hi")),
        ({"choices": [{"delta": {"tool_calls": [{"function": {"name": "ping"}}]}}]}, Delta("", ("ping",))),
        ({"choices": []}, Delta()),
        ({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}}, Delta("Hi")),
        ({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}}, Delta()),
        ({"type": "content_block_start", "content_block": {"type": "tool_use", "name": "ping"}}, Delta("", ("ping",))),
        ({"type": "response.output_text.delta", "delta": "Hi"}, Delta("Hi")),
        ({"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Hi"}]}}]}, Delta("Hi")),
        ({"message": {"role": "assistant", "content": "Hi"}, "done": False}, Delta("Hi")),
        (AIMessageChunk(content="Hi"), Delta("Hi")),
        (AIMessageChunk(content=[{"type": "text", "text": "Hi", "index": 0}]), Delta("Hi")),
        (None, Delta()),
    ],
)
def test_the_text_that_a_piece_adds_is_read(chunk: Any, delta: Delta) -> None:
    assert delta_of(chunk) == delta


@given(JSON)
def test_no_piece_raises_an_exception(chunk: Any) -> None:
    delta = delta_of(chunk)
    assert isinstance(delta.text, str)
    Gate(Contract(), {}, 1).feed(chunk)


@FAMILIES
def test_the_pieces_of_every_family_make_up_its_text(events: list[Event], whole: Event) -> None:
    reply = read(whole).reply
    deltas = [delta_of(event) for event in events]
    assert reply.text.startswith("".join(delta.text for delta in deltas))
    assert any(delta.text for delta in deltas)


def test_events_that_a_helper_adds_are_not_pieces() -> None:
    chunk = {"choices": [{"delta": {"content": "Hi"}}]}
    assert bare({"type": "chunk", "chunk": chunk, "snapshot": {}}) is chunk
    assert bare({"data": chunk}) is chunk
    assert bare({"event": "x", "data": {"type": "message.output.delta", "content": "Hi"}})["content"] == "Hi"
    for repeated in ({"type": "content.delta", "delta": "Hi"}, {"type": "text", "text": "Hi", "snapshot": "Hi"}):
        assert bare(repeated) is None
    assert bare(chunk) is chunk
