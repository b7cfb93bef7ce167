"""Streams under a contract: held back by sentence or field, never past it; settled once, whatever happens."""

import json
import socket
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.gateway.conftest import GOOD, PERSON, Open
from tests.gateway.test_asking import LATER, SALON
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.serving.deadline import Connection
from trueup.store.open import open_store
from trueup.testing.script import Call, Cut, Fail, Say, Slow

GOOD_WORDS = "¿Qué servicio te gustaría reservar hoy? Tenemos corte. Y también color y peinado."
BAD_LATER = "¿Qué servicio te gustaría reservar hoy? Tenemos corte y color. Ana está libre. Y también peinado."
BAD_FIRST = "Ana está libre para lo que quieras. ¿Qué servicio te gustaría reservar?"


def deltas(response: httpx.Response) -> list[Any]:
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def text_of(response: httpx.Response) -> str:
    chunks = [chunk for chunk in deltas(response) if chunk.get("choices")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


def used(store: Any) -> tuple[int, int]:
    rows = [s for s in store.quota.standings("") if (s.scope, s.unit) == ("tenant", "replies")]
    return (rows[0].used, rows[0].held) if rows else (0, 0)


@pytest.mark.spec("C15")
def test_sentences_are_sent_as_soon_as_they_pass(desk: Open) -> None:
    with desk([GOOD_WORDS], SALON) as d:
        response = d.chat(stream=True, headers=LATER)
        assert text_of(response) == GOOD_WORDS
        assert response.text.rstrip().endswith("data: [DONE]")
        pieces = [c["choices"][0]["delta"].get("content") for c in deltas(response) if c.get("choices")]
        assert len([piece for piece in pieces if piece]) >= 2
        assert response.headers["x-trueup-outcome"] == "streamed"
        assert not [chunk for chunk in deltas(response) if chunk.get("usage")], "the client did not ask for usage"


@pytest.mark.spec("C15", "X40")
def test_forbidden_text_is_never_sent_and_the_stream_ends_with_an_error(desk: Open, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store, desk([BAD_LATER, BAD_LATER], SALON, store=store, quota=True) as d:
        response = d.chat(stream=True, headers=LATER)
        assert text_of(response) == "¿Qué servicio te gustaría reservar hoy? Tenemos corte y color."
        assert "Ana" not in response.text.partition('"error"')[0]
        assert "[DONE]" not in response.text
        error = deltas(response)[-1]["error"]
        assert (error["code"], error["findings"][0]["code"]) == ("contract_violation", "D001")
        store.flush()
        assert used(store) == (0, 0), "a reply that breaks its contract is not charged"
        assert store.quota.audit() == []
        assert [s.outcome for s in store.verdicts()] == ["failed"]
        client = openai.OpenAI(base_url=f"{d.url}/v1", api_key="x", max_retries=0, default_headers=LATER)
        with pytest.raises(openai.APIError, match="no reply passed the contract"):
            list(client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True))


@pytest.mark.spec("C9", "C11")
def test_a_stream_that_is_invalid_from_the_start_is_requested_again_while_the_client_waits(desk: Open) -> None:
    with desk([BAD_FIRST, GOOD_WORDS, BAD_FIRST, BAD_FIRST], SALON) as d:
        response = d.chat(stream=True, headers=LATER)
        assert text_of(response) == GOOD_WORDS
        assert len({chunk["id"] for chunk in deltas(response)}) == 1
        roles = [c for c in deltas(response) if c.get("choices") and c["choices"][0]["delta"].get("role")]
        assert len(roles) == 1
        wait_for(lambda: d.upstream.exchanges[0].ended in ("client left", "complete"))
        response = d.chat(stream=True, headers=LATER)
        assert text_of(response) == SALON.fallback({"state": "SERVICE_SELECTION"})


def test_fields_are_rewritten_and_sent_as_they_close(desk: Open) -> None:
    with desk(['```json\n{"name": "Ada", "age": "36",}\n```'], PERSON) as d:
        response = d.chat(stream=True, stream_options={"include_usage": True})
        assert text_of(response) == '{"name":"Ada","age":36}'
        assert deltas(response)[-1]["usage"]["total_tokens"] > 0


def test_a_stream_whose_object_lacks_a_field_ends_with_an_error(desk: Open) -> None:
    with desk(['{"name": "Ada", "note": 1}'], PERSON) as d:
        response = d.chat(stream=True)
        assert text_of(response).startswith('{"name":"Ada"')
        assert deltas(response)[-1]["error"]["code"] == "contract_violation"


def test_a_field_that_cannot_be_valid_is_repaired_before_anything_is_shown(desk: Open) -> None:
    with desk(['{"age": {"years": 1}, "name": "Ada"}', GOOD], PERSON) as d:
        response = d.chat(stream=True)
        assert json.loads(text_of(response)) == {"name": "Ada", "age": 36}


@pytest.mark.spec("A15")
@pytest.mark.parametrize("hold", ["whole", "auto"])
@pytest.mark.parametrize(
    "reply",
    [
        '{"title": "' + "words without an end " * 20_000,
        '{"other": 1, "title": "a", "tags": ["' + "words without an end " * 20_000,
        '{"title": "a",' + "\n" * 400_000,
    ],
)
def test_reading_a_stream_stops_when_its_fault_is_certain(desk: Open, reply: str, hold: str) -> None:
    limited = Contract(
        {
            "type": "object",
            "properties": {"title": {"type": "string", "maxLength": 20}, "tags": {"type": "array"}},
            "required": ["title"],
            "additionalProperties": False,
        }
    )
    has_left = hold == "auto" and reply.startswith('{"title": "a"')  # a field that cannot be taken back
    with desk([reply, '{"title": "Toast"}'], limited, hold=hold) as d:
        response = d.chat(stream=True)
        wait_for(lambda: d.upstream.exchanges[0].ended == "client left")
        if has_left:
            assert deltas(response)[-1]["error"]["findings"][0]["code"] == "P013"
        else:
            assert json.loads(text_of(response)) == {"title": "Toast"}


@pytest.mark.parametrize("hold", ["whole", "auto"])
def test_nothing_is_sent_before_the_verdict_if_the_route_says_so(desk: Open, hold: str) -> None:
    with desk(['{"name": "Ada"}', GOOD] if hold == "whole" else [GOOD], PERSON, hold=hold) as d:
        response = d.chat(stream=True)
        assert json.loads(text_of(response)) == {"name": "Ada", "age": 36}
        assert "[DONE]" in response.text


def test_before_the_first_byte_a_failure_is_a_plain_error(desk: Open) -> None:
    with desk([Fail(404, "no such model")], PERSON) as d:
        response = d.chat(stream=True)
        assert response.status_code == 404
        assert "no such model" in response.json()["error"]["message"]
        assert (response.headers["x-trueup-outcome"], response.headers["x-trueup-attempts"]) == ("failed", "1")
        assert response.headers["x-trueup-verdict"]


@pytest.mark.spec("X36")
def test_an_interrupted_stream_is_never_a_complete_reply(desk: Open) -> None:
    with desk([Cut(GOOD_WORDS, events=3), GOOD_WORDS], SALON) as d:
        assert text_of(d.chat(stream=True, headers=LATER)) == GOOD_WORDS
    with desk([Cut(GOOD, events=3, silent=True), GOOD], PERSON, hold="whole") as d:
        assert json.loads(text_of(d.chat(stream=True))) == {"name": "Ada", "age": 36}
        assert len(d.upstream.requests) == 2


@pytest.mark.spec("X40")
def test_a_client_that_leaves_is_charged_only_if_it_saw_something(desk: Open, tmp_path: Path) -> None:
    script = [Slow(GOOD_WORDS * 4, every=0.05), Slow(GOOD_WORDS * 4, every=1)]  # the second sentence is far off
    with open_store(tmp_path / "s.db") as store, desk(script, SALON, store=store, quota=True) as d:
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
        seen = ""
        with d.http.stream("POST", "/v1/chat/completions", json=body, headers=LATER) as response:
            for line in response.iter_lines():
                seen += line
                if "servicio" in seen:
                    break
        wait_for(lambda: used(store) == (1, 0) and d.gateway.gateway.metrics.active == 0)
        with d.http.stream("POST", "/v1/chat/completions", json=body, headers=LATER) as response:
            next(response.iter_lines())
        wait_for(lambda: d.gateway.gateway.metrics.active == 0)
        wait_for(lambda: used(store) == (1, 0))
        assert store.quota.audit() == []
        wait_for(lambda: d.upstream.exchanges[-1].ended == "client left")


def test_calls_wait_for_the_verdict(desk: Open) -> None:
    call = Say("Un momento, por favor, que lo busco ahora mismo para ti.", (Call("search_services", {"q": "corte"}),))
    bad = Say("Un momento, que reservo.", (Call("book", {}),))
    with desk([call, bad], SALON, then=GOOD_WORDS, policy=Policy(otherwise="failed", regenerations=1)) as d:
        tools = [{"type": "function", "function": {"name": "search_services", "parameters": {"type": "object"}}}]
        client = openai.OpenAI(base_url=f"{d.url}/v1", api_key="x", max_retries=0, default_headers=LATER)
        made: list[str] = []
        for chunk in client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True, tools=tools
        ):  # type: ignore[arg-type,call-overload]
            made += [
                c.function.name for choice in chunk.choices for c in choice.delta.tool_calls or [] if c.function.name
            ]
        assert made == ["search_services"]
        assert '"book"' not in d.chat(stream=True, headers=LATER, tools=tools).text


@pytest.mark.parametrize("words", [GOOD_WORDS, BAD_LATER])
def test_messages_of_anthropic_are_held_back_too(desk: Open, words: str) -> None:
    with desk([words], SALON, protocol="anthropic") as d:
        response = d.message(stream=True, headers=LATER)
        events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]
        shown = "".join(e["delta"].get("text", "") for e in events if e["type"] == "content_block_delta")
        if words == GOOD_WORDS:
            assert shown == words
            assert events[-1]["type"] == "message_stop"
        else:
            assert "Ana" not in shown
            assert events[-1]["type"] == "error"


def test_events_of_a_stream_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Transport:
        def __init__(self, held: socket.socket) -> None:
            self.held = held

        def get_extra_info(self, _: str) -> socket.socket:
            return self.held

    monkeypatch.setattr(HttpToolsProtocol, "connection_made", lambda *_: None)
    monkeypatch.setattr(Connection, "_arm", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            Connection.__new__(Connection).connection_made(Transport(accepted))
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
