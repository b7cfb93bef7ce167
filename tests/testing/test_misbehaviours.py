"""The steps that misbehave, as a client sees them, and the table of misbehaviours in every protocol."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.testing.test_faults import BODY, LONG, PATH, STREAM, ask
from tests.testing.test_protocols import ASKED
from trueup.testing.faults import build
from trueup.testing.misbehaviours import KEY, MISBEHAVIOURS
from trueup.testing.script import (
    Call,
    Edited,
    Framed,
    Garbled,
    Hang,
    KeepAlive,
    Redirect,
    Rejecting,
    Say,
    Slow,
    Whole,
)
from trueup.testing.server import ScriptedServer

GOOD = Say('{"name": "Zoë", "age": 36}', piece=4)
CALL = Say(None, (Call("book", {"day": 3}),), piece=4)
# Markers that a protocol does not have, and rows that need a certain kind of request.
UNCHANGED = {"no-done", "crlf-events"} | {row.name for row in MISBEHAVIOURS.values() if row.about.startswith("400")}
NAMELESS = {("cohere", "other-model"), ("bedrock", "other-model")}  # their replies do not name a model


@pytest.mark.parametrize("name", MISBEHAVIOURS)
@pytest.mark.parametrize("protocol", ASKED)
def test_every_misbehaviour_speaks_every_protocol(protocol: str, name: str) -> None:
    speaks, whole, streamed = ASKED[protocol]
    row = MISBEHAVIOURS[name]
    reply = CALL if "argument" in name or "call" in name else GOOD
    requests = {"whole": [whole], "stream": [streamed]}.get(row.only, [whole, streamed])
    bent = [build(row.of(reply), request, speaks, 1) for request in requests]
    good = [build(reply, request, speaks, 1) for request in requests]
    assert bent != good or name in UNCHANGED or (protocol, name) in NAMELESS, "nothing is wrong with it"


def test_every_misbehaviour_is_described() -> None:
    for name, row in MISBEHAVIOURS.items():
        assert row.name == name
        assert row.about
    assert KEY in json.dumps(MISBEHAVIOURS["key-echoed"].of("hi").message)  # type: ignore[union-attr]


def test_every_misbehaviour_is_in_the_documentation() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "howto" / "testing.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w.-]+)` \| (.*?)(?: \((?:streams|whole replies) only\))? \|$", page, re.MULTILINE))
    assert {name: rows.get(name) for name in MISBEHAVIOURS} == {name: row.about for name, row in MISBEHAVIOURS.items()}


def test_signs_of_life_before_a_reply() -> None:
    with ScriptedServer([KeepAlive("late", 0.001, 3), KeepAlive("late", 0.001, 3, events=1)]) as server:
        whole = ask(server)
        assert whole.text.startswith("\n\n\n{")
        assert whole.json()["choices"][0]["message"]["content"] == "late"
        stream = ask(server, STREAM).text
        assert stream.count(": keep-alive\n\n") == 3
        assert stream.startswith("data:")


@pytest.mark.parametrize("body", [BODY, STREAM], ids=["whole", "stream"])
def test_endless_signs_of_life_end_with_the_client(body: Any) -> None:
    with ScriptedServer([KeepAlive("never", 0.001)]) as server:
        with httpx.Client(base_url=server.url) as client, client.stream("POST", PATH, json=body) as response:
            pieces = response.iter_raw()
            _ = [next(pieces) for _ in range(5)]
            assert server.connections == 1
        assert server.wait_until(lambda exchanges: exchanges[0].ended == "client left")
        assert server.wait_until(lambda _: server.connections == 0)
        assert server.exchanges[0].sent >= 5


@pytest.mark.parametrize("body", [BODY, STREAM], ids=["whole", "stream"])
def test_silence_in_the_middle_of_a_reply(body: Any) -> None:
    with ScriptedServer([Hang(LONG, 100)]) as server:
        with httpx.Client(base_url=server.url) as client, client.stream("POST", PATH, json=body) as response:
            assert response.status_code == 200
            assert next(response.iter_raw())
        assert server.wait_until(lambda exchanges: exchanges[0].ended == "client left")
        assert server.exchanges[0].sent == 100


def test_a_head_that_drips() -> None:
    with ScriptedServer([Slow("there", every=0.0001, head=True)]) as server:
        assert ask(server).json()["choices"][0]["message"]["content"] == "there"


def test_unusual_http() -> None:
    with ScriptedServer(
        [Framed("old", version="1.0"), Framed("odd", status=202, headers={"content-type": "text/plain"})]
    ) as server:
        old, odd = ask(server), ask(server)
    assert (old.http_version, old.json()["choices"][0]["message"]["content"]) == ("HTTP/1.0", "old")
    assert (odd.status_code, odd.headers.get_list("content-type")) == (202, ["text/plain"])


@pytest.mark.parametrize("body", [BODY, STREAM], ids=["whole", "stream"])
def test_broken_chunks(body: Any) -> None:
    with ScriptedServer([Framed(LONG, chunks="broken")]) as server, pytest.raises(httpx.RemoteProtocolError):
        ask(server, body)


def test_changed_json_and_bytes() -> None:
    renamed = Edited("hi", lambda value: {**value, "model": "other"})
    with ScriptedServer([renamed, renamed, Garbled("hi", lambda pieces: pieces[:1])]) as server:
        assert ask(server).json()["model"] == "other"
        events = ask(server, STREAM).text.split("\n\n")
        assert json.loads(events[0].removeprefix("data: "))["model"] == "other"
        assert events[-2] == "data: [DONE]"
        assert ask(server, STREAM).text.count("data:") == 1


def test_a_whole_reply_although_a_stream_is_requested() -> None:
    with ScriptedServer([Whole("hi")]) as server:
        assert ask(server, STREAM).json()["choices"][0]["message"]["content"] == "hi"


def test_a_redirect_to_the_requested_address() -> None:
    with ScriptedServer([Redirect(), "there"]) as server:
        response = ask(server, follow_redirects=True)
        assert response.json()["choices"][0]["message"]["content"] == "there"
        assert [request.target for request in server.requests] == [PATH, PATH]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PATH, {**BODY, "temperature": 0}),
        (PATH, {**BODY, "response_format": {"type": "json_schema"}}),
        ("/v1beta/models/m:generateContent", {"contents": [], "generationConfig": {"temperature": 0}}),
        ("/api/chat", {**BODY, "options": {"temperature": 0}}),
    ],
)
def test_requests_that_are_rejected_for_what_they_use(path: str, body: Any) -> None:
    with ScriptedServer(then=Rejecting("fine", ("json_schema", "temperature"))) as server:
        with httpx.Client(base_url=server.url) as client:
            assert client.post(path, json=body).status_code == 400
        assert ask(server).json()["choices"][0]["message"]["content"] == "fine"
