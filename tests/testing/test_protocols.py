"""Each protocol transports any reply completely: the reply that is read equals the scripted one, in any pieces."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.read.reader import read
from trueup.testing.faults import bend, build, keep
from trueup.testing.protocols.azure import Azure
from trueup.testing.protocols.bedrock import Bedrock
from trueup.testing.protocols.chat import Chat
from trueup.testing.protocols.cohere import Cohere
from trueup.testing.protocols.gemini import Gemini
from trueup.testing.protocols.messages import Messages
from trueup.testing.protocols.mistral import Mistral
from trueup.testing.protocols.ollama import Ollama
from trueup.testing.protocols.responses import Responses
from trueup.testing.protocols.shapes import Speaks
from trueup.testing.script import Call, Cut, Fail, Say, Slow
from trueup.testing.wire import Request

TEXT = st.text(st.characters(codec="utf-8"), max_size=60).filter(str.strip)
ARGUMENTS = st.dictionaries(st.text("abcñ", min_size=1, max_size=5), st.integers() | st.booleans() | TEXT, max_size=3)
TOOLS = [{"name": "book", "parameters": {"type": "object"}}]
ASKED: dict[str, tuple[Speaks, Request, Request]] = {
    "chat": (
        Chat(),
        Request("POST", "/v1/chat/completions", body=b'{"model": "m"}'),
        Request("POST", "/v1/chat/completions", body=b'{"model": "m", "stream": true}'),
    ),
    "responses": (
        Responses(),
        Request("POST", "/v1/responses", body=b'{"model": "m"}'),
        Request("POST", "/v1/responses", body=b'{"model": "m", "stream": true}'),
    ),
    "messages": (
        Messages(),
        Request("POST", "/v1/messages", body=b'{"model": "m"}'),
        Request("POST", "/v1/messages", body=b'{"model": "m", "stream": true}'),
    ),
    "gemini": (
        Gemini(),
        Request("POST", "/v1beta/models/m:generateContent", body=b"{}"),
        Request("POST", "/v1beta/models/m:streamGenerateContent", {"alt": "sse"}, body=b"{}"),
    ),
    "azure": (
        Azure(),
        Request("POST", "/openai/deployments/m/chat/completions", body=b'{"model": "m"}'),
        Request("POST", "/openai/deployments/m/chat/completions", body=b'{"model": "m", "stream": true}'),
    ),
    "mistral": (
        Mistral(),
        Request("POST", "/v1/chat/completions", body=b'{"model": "m"}'),
        Request("POST", "/v1/chat/completions", body=b'{"model": "m", "stream": true}'),
    ),
    "cohere": (
        Cohere(),
        Request("POST", "/v2/chat", body=b'{"model": "m"}'),
        Request("POST", "/v2/chat", body=b'{"model": "m", "stream": true}'),
    ),
    "ollama": (
        Ollama(),
        Request("POST", "/api/chat", body=b'{"model": "m", "stream": false}'),
        Request("POST", "/api/chat", body=b'{"model": "m", "stream": true}'),
    ),
    "bedrock": (
        Bedrock(),
        Request("POST", "/model/m/converse", body=b"{}"),
        Request("POST", "/model/m/converse-stream", body=b"{}"),
    ),
}


def bodies(protocol: str, say: Say) -> list[Any]:
    """A client's view of a reply: the decoded body, and the body of the stream."""
    speaks, plain, streamed = ASKED[protocol]
    whole = json.loads(speaks.reply(say, plain, 1).body)
    body = speaks.reply(say, streamed, 1).body
    return [whole, read(body).reply if protocol == "bedrock" else body.decode()]  # its frames are binary


@pytest.mark.parametrize("protocol", ASKED)
@given(text=TEXT, piece=st.integers(1, 70))
def test_text_arrives_complete(protocol: str, text: str, piece: int) -> None:
    for body in bodies(protocol, Say(text, piece=piece)):
        reply = Contract(tools=[]).check(body).reply
        assert (reply.text, reply.finish) == (text, "stop")


@pytest.mark.parametrize("protocol", ASKED)
@given(arguments=ARGUMENTS, piece=st.integers(1, 30), text=st.just("") | TEXT)
def test_calls_arrive_complete(protocol: str, arguments: dict[str, Any], piece: int, text: str) -> None:
    for body in bodies(protocol, Say(text, (Call("book", arguments), Call("book", {})), piece=piece)):
        reply = Contract(tools=TOOLS).check(body).reply
        assert [(call.name, call.args) for call in reply.calls] == [("book", arguments), ("book", {})]
        assert reply.text == text


@pytest.mark.parametrize("protocol", ASKED)
def test_usage_and_finish_reasons_arrive(protocol: str) -> None:
    for ending in ("stop", "length"):
        for body in bodies(protocol, Say("hello there", finish=ending, usage=(30, 4))):
            reply = Contract(tools=[]).check(body).reply
            assert reply.finish == ending
            if protocol not in {"chat", "azure"} or isinstance(
                body, dict
            ):  # a stream of chat completions reports it only on request
                assert (reply.usage["input_tokens"], reply.usage["output_tokens"]) == (30, 4)


@pytest.mark.parametrize("protocol", ASKED)
def test_failures_are_read_as_failures(protocol: str) -> None:
    speaks, _, streamed = ASKED[protocol]
    failed = speaks.failure(Fail(429, "slow down", retry_after=3), 1)
    if protocol == "gemini":  # it says this only in the body
        assert json.loads(failed.body)["error"]["details"][0]["retryDelay"] == "3s"
    else:
        assert dict(failed.headers)["Retry-After"] == "3"
    verdict = Contract(schema=True).check(json.loads(failed.body))
    assert "R002" in {finding.code for finding in verdict.findings}
    broken = speaks.reply(Say("hello there", piece=2), streamed, 1).pieces[:3]
    body = b"".join(broken) + speaks.error_event(Fail(529, "Overloaded"))
    assert [finding.code for finding in read(body).findings] == ["R002"]


@given(pieces=st.lists(st.binary(min_size=1, max_size=9), max_size=8).map(tuple), at=st.integers(0, 80))
def test_a_cut_is_a_prefix(pieces: tuple[bytes, ...], at: int) -> None:
    body = b"".join(pieces)
    assert b"".join(keep(pieces, at, None)) == body[:at]
    assert keep(pieces, None, at) == pieces[:at]
    assert len(b"".join(keep(pieces, at / 100, None))) == int(len(body) * (at / 100))


@given(text=TEXT, size=st.integers(1, 50))
def test_dripping_does_not_change_a_byte(text: str, size: int) -> None:
    speaks, plain, _ = ASKED["chat"]
    reply = build(Say(text), plain, speaks, 1)
    dripped = bend(Slow(text, size=size), reply, speaks)
    assert dripped.body == reply.body
    assert all(len(piece) <= size for piece in dripped.pieces)


def test_a_cut_keeps_the_length_that_was_promised() -> None:
    speaks, plain, _ = ASKED["chat"]
    whole = build(Say("hello"), plain, speaks, 1)
    cut = build(Cut("hello", 10), plain, speaks, 1)
    assert (len(cut.body), cut.length, cut.end) == (10, len(whole.body), "close")
