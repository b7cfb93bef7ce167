"""A reply while it arrives: the text that each chunk adds, and all of it at the end, in any cut and in any form."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.test_streams import ANTHROPIC, CHAT, STREAMS, Event, chunk, sse
from trueup.read.incremental import Arriving
from trueup.read.reader import read
from trueup.read.sources import is_source


def arrived(chunks: list[Any]) -> tuple[str, Any]:
    arriving = Arriving()
    text = "".join(map(arriving.feed, chunks))
    return text, arriving.whole()


@pytest.mark.spec("A15")
@given(st.lists(st.integers(0, 2_000), max_size=9), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_server_sent_events_may_be_split_anywhere(places: list[int], end: str, encoded: bool) -> None:
    events = [chunk({"content": piece}) for piece in ('{"name": "Zoë', " 😀", '"}')]
    body = sse([*events, chunk({}, "stop")], end, named=True, done=True)
    raw: Any = body.encode() if encoded else body
    edges = [0, *sorted(min(place, len(raw)) for place in places), len(raw)]
    text, whole = arrived([raw[a:b] for a, b in itertools.pairwise(edges)])
    assert text == '{"name": "Zoë 😀"}'
    assert read(whole).reply.text == text
    assert read(whole).findings == ()


SENT = {name: stream for name, stream in STREAMS.items() if name != "cohere-1"}  # whose last event has the text again


@pytest.mark.parametrize(("events", "whole"), SENT.values(), ids=SENT)
def test_lines_may_arrive_one_by_one_without_line_endings(events: list[Event], whole: Event) -> None:
    lines = sse(events, done=True).split("\n")
    expected = read(whole).reply
    for given_lines in (lines, [line for line in lines if line], [line.encode() for line in lines]):
        text, body = arrived(given_lines)
        assert text == expected.text
        assert (read(body).reply.calls, read(body).findings) == (expected.calls, ())
        assert read(given_lines).reply.text == expected.text, "the list of the lines is the same reply"


@pytest.mark.parametrize("name", ["chat", "anthropic", "responses", "gemini", "bedrock", "cohere", "ollama"])
def test_lines_of_json_may_arrive_one_by_one(name: str) -> None:
    events, whole = STREAMS[name]
    if name == "ollama":
        events = [{"model": "tiny", "created_at": "2026-01-01T00:00:00Z", **event} for event in events]
    text, body = arrived([json.dumps(event) for event in events])
    assert text == read(whole).reply.text
    assert read(body).reply.calls == read(whole).reply.calls


def test_a_reply_that_has_the_shape_of_an_event_is_a_reply() -> None:
    for text in ('{"content": "x", "stop": true}', '{"message": {"content": "x"}, "done": true}'):
        assert arrived([text]) == (text, text)


def test_an_event_may_span_several_lines() -> None:
    pretty = json.dumps(chunk({"content": "Four"}, "stop"), indent=1)
    body = "".join(f"data: {line}\r\n" for line in pretty.splitlines()) + "\r\n"
    for size in (1, 7, len(body)):
        assert arrived([body[at : at + size] for at in range(0, len(body), size)])[0] == "Four"


@given(st.lists(st.text(alphabet='data:{}"\n :x1', max_size=6), max_size=12))
def test_plain_text_is_kept_as_it_is(pieces: list[str]) -> None:
    assert arrived(pieces)[1].replace("\n", "") == "".join(pieces).replace("\n", "")


def test_text_that_only_begins_like_a_body_is_text() -> None:
    for text in ("database", "ideas", ":) fine", "e", "dat"):
        shown, whole = arrived([*text])
        assert whole == text
        assert shown in (text, ""), "what may still become a field waits"
    assert arrived([*"database"])[0] == "database"


def test_a_stream_is_either_text_or_events() -> None:
    for chunks in (["a", CHAT[3]], [CHAT[3], "a"]):
        with pytest.raises(TypeError, match="either text or events"):
            arrived(chunks)
    for wrong in (5, ["a"]):
        with pytest.raises(TypeError, match="a chunk must be text, bytes, or"):
            arrived([wrong])


def test_events_of_a_helper_are_not_read_twice() -> None:
    repeated: list[Any] = []
    for event in ANTHROPIC:
        repeated.append(event)
        if event.get("delta", {}).get("type") == "text_delta":
            repeated.append({"type": "text", "text": event["delta"]["text"], "snapshot": "…"})
    text, whole = arrived(repeated)
    assert text == read(ANTHROPIC).reply.text
    assert whole == ANTHROPIC


class Twice:
    """A response of a framework that can also be iterated."""

    def __init__(self) -> None:
        self.role, self.content = "assistant", "Hi"

    def __iter__(self) -> Any:
        return iter(("role", "content"))


class Events:
    """A stream that has `__iter__` alone, as botocore's has."""

    def __init__(self) -> None:
        self._held = ["a"]

    def __iter__(self) -> Any:
        return iter(self._held)


async def _pieces() -> Any:
    yield "a"


def test_streams_are_recognized() -> None:
    from openai.types.chat import ChatCompletionChunk

    for stream in (iter("a"), (c for c in "a"), Events(), _pieces()):
        assert is_source(stream), stream
    part = ChatCompletionChunk.model_validate({**chunk({"content": "Hi"}), "created": 1})
    for whole in ("a", b"a", ["a"], {"a": 1}, Twice(), part, ValueError("a"), None, 5):
        assert not is_source(whole), whole


@pytest.mark.spec("A15")
@pytest.mark.parametrize(
    "text",
    [
        'id: 5 {"x": "a"}',
        ': {"x": "a"}',
        "event: Tea party: bring cake\nplace: garden\n",
        "retry: no\ndata: {a: 1}\nid: : x",
        'data: {"x": "a"}',
    ],
)
@pytest.mark.parametrize("encoded", [False, True])
def test_text_that_begins_like_a_body_is_the_same_however_it_is_split(text: str, encoded: bool) -> None:
    whole: Any = text.encode() if encoded else text
    for cut in range(1, len(text) + 1):
        pieces = [whole[at : at + cut] for at in range(0, len(text), cut)]
        empty = whole[:0]  # what a delta without text leaves, where somebody passes on the text alone
        for given_pieces in (pieces, [part for piece in pieces for part in (piece, empty)]):
            assert arrived(given_pieces)[1] == whole


def test_only_the_first_of_several_choices_is_followed() -> None:
    def said(index: int, text: str) -> Event:
        return {"index": index, "delta": {"content": text}}

    turns = [{"choices": [said(1, "a")]}, {"choices": [said(0, "x"), said(1, "b")]}, {"choices": [said(0, "y")]}]
    text, whole = arrived(turns)
    assert text == "ab"
    assert read([*whole, {"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]}]).reply.text == text
    assert arrived([sse(turns)])[0] == "ab"


def test_none_adds_nothing() -> None:
    assert arrived(["Hel", None, "lo", None]) == ("Hello", "Hello")


@pytest.mark.parametrize(
    "lines",
    [
        ["event: error", 'data: {"error": {"message": "Busy"}}', ""],
        ["event: error", "data: Busy", ""],
    ],
)
def test_lines_that_only_report_a_failure_are_a_failure(lines: list[str]) -> None:
    (found,) = read(arrived(lines)[1]).findings
    assert (found.code, found.message) == ("R002", "The provider failed: Busy")
