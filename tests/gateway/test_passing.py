"""Without a contract nothing is changed: bytes up, bytes down. And the paths that do not return replies."""

import json
from pathlib import Path

import httpx
import pytest

from tests.gateway.conftest import GOOD, KEY, PERSON, Open
from trueup.gateway.config import Caller, Config, Limits, Upstream
from trueup.testing.script import Cut, Fail, Raw, Redirect, Zipped


def test_a_request_and_its_reply_pass_unchanged(desk: Open) -> None:
    odd = b'{"x":  1e3, "unknown": [null], "choices": []}'
    body = b'{"model":"m",  "messages":[], "brand_new": {"a": 1.50}, "n": 3}'
    with desk([Raw(odd)]) as d:
        response = d.http.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
        assert response.content == odd
        assert response.headers["x-trueup-outcome"] == "passed"
        assert "x-trueup-verdict" not in response.headers
        assert d.upstream.requests[0].body == body


def test_a_stream_passes_unchanged(desk: Open) -> None:
    stream = b': a comment\n\nevent: odd\nid: 7\ndata: {"choices":[],"new":true}\n\ndata: [DONE]\n\n'
    with desk([Raw(stream, content_type="text/event-stream")]) as d:
        response = d.chat(stream=True)
        assert response.content == stream
        assert response.headers["content-type"].startswith("text/event-stream")


@pytest.mark.spec("X31", "X27")
def test_the_upstream_sees_only_our_headers_and_only_the_configured_address(desk: Open) -> None:
    sent = {
        "authorization": "Bearer client-secret", "cookie": "session=1", "x-forwarded-for": "1.2.3.4", "x-api-key": "client-key",
        "anthropic-beta": "some-beta", "x-trueup-user": "ada", "connection": "keep-alive, x-odd", "x-odd": "1",
    }  # fmt: skip
    with desk(["hello"]) as d:
        d.chat(
            headers=sent, base_url="http://evil.example", api_base="http://evil.example", upstream="http://evil.example"
        )
        seen = d.upstream.requests[0].headers
        assert seen["authorization"] == f"Bearer {KEY}"
        assert seen.keys() == {
            "host", "content-type", "content-length", "accept", "accept-encoding", "user-agent", "authorization", "anthropic-beta",
        }  # fmt: skip
        assert not [value for value in seen.values() if "client" in value or "session" in value]


@pytest.mark.spec("X28")
@pytest.mark.parametrize("contract", [None, PERSON])
def test_redirects_are_not_followed(desk: Open, contract: object) -> None:
    with desk(["never reached"]) as sink, desk([Redirect(sink.upstream.url + "/v1/chat/completions")], contract) as d:
        response = d.chat()
        assert response.status_code == 502
        assert sink.upstream.requests == []
        sink.chat()


def test_errors_of_the_upstream_are_passed_with_their_status_but_without_our_key(desk: Open) -> None:
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    with desk([Raw(said, status=401), Fail(429, retry_after=7)]) as d:
        response = d.chat()
        assert response.status_code == 401
        assert KEY not in response.text
        response = d.chat()
        assert response.status_code == 429
        assert response.headers["retry-after"] == "7"


def test_a_compressed_reply_is_sent_decompressed(desk: Open) -> None:
    with desk([Zipped("hello"), Zipped(GOOD)]) as d:
        assert d.chat().json()["choices"][0]["message"]["content"] == "hello"


@pytest.mark.spec("X36")
def test_an_interrupted_reply_is_also_incomplete_for_the_client(desk: Open) -> None:
    with desk([Cut("a longer reply in several pieces", events=2), Cut("half of a reply", events=-1)]) as d:
        streamed = d.chat(stream=True)
        assert b"[DONE]" not in streamed.content
        assert b'"error"' in streamed.content
        assert d.chat().status_code == 502


def test_health_readiness_metrics_and_models_are_served_and_unknown_paths_are_not(desk: Open) -> None:
    with desk(["hello"]) as d:
        assert d.http.get("/healthz").json() == {"status": "ok"}
        assert d.http.get("/readyz").json() == {"status": "ok", "problems": []}
        d.chat()
        page = d.http.get("/metrics")
        assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert 'trueup_requests_total{route="",model="m",outcome="passed",status="200"} 1' in page.text
        assert d.http.get("/v1/models").json()["object"] == "list"
        for path in ("/nope", "/v1/chat", "/a/b/v1/chat/completions"):
            missing = d.http.get(path)
            assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


def test_a_wrong_method_is_refused_with_the_allowed_one(desk: Open) -> None:
    posted = [
        ("GET", "/v1/check"),
        ("GET", "/all/v1/check"),
        ("DELETE", "/v1/feedback"),
        ("GET", "/v1/chat/completions"),
    ]
    got = [("POST", "/healthz"), ("DELETE", "/v1/models/m")]
    with desk([], PERSON) as d:
        for method, path in [*posted, ("PUT", "/all/v1/messages"), *got]:
            answer = d.http.request(method, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed"), path
            allowed = {"GET", "HEAD"} if (method, path) in got else {"POST"}
            assert set(answer.headers["allow"].split(", ")) == allowed


@pytest.mark.spec("X33")
def test_a_body_over_the_limit_is_refused_with_and_without_a_length(desk: Open) -> None:
    def config(url: str) -> Config:
        return Config({"main": Upstream("main", url, private=True)}, limits=Limits(request=10_000))

    def pieces() -> object:
        for _ in range(100):
            yield b" " * 1000

    with desk([], config=config) as d:
        assert d.chat("x" * 20_000).status_code == 413
        assert httpx.post(f"{d.url}/v1/chat/completions", content=pieces(), timeout=60).status_code == 413  # type: ignore[arg-type]
        assert d.upstream.requests == []


def test_only_known_keys_are_accepted_if_keys_are_configured(desk: Open) -> None:
    def config(url: str) -> Config:
        return Config({"main": Upstream("main", url, private=True)}, clients=(Caller("key-of-acme", "acme"),))

    with desk(["one", "two"], config=config) as d:
        assert d.chat().status_code == 401
        assert d.chat(headers={"authorization": "Bearer wrong"}).status_code == 401
        assert d.http.get("/v1/models").status_code == 401
        assert d.chat(headers={"authorization": "Bearer key-of-acme"}).status_code == 200
        assert d.chat(headers={"x-api-key": "key-of-acme"}).status_code == 200


@pytest.mark.spec("X29")
def test_a_name_that_resolves_to_this_machine_is_refused_unless_allowed(
    desk: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import socket

    real = socket.getaddrinfo

    def lookup(host: str, *rest: object, **more: object) -> object:
        return real("127.0.0.1" if host == "model.example" else host, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    for private, status in ((False, 502), (True, 200)):

        def config(url: str, *, private: bool = private) -> Config:
            return Config({"main": Upstream("main", url.replace("127.0.0.1", "model.example"), private=private)})

        with desk(["hello"] if private else [], config=config) as d:
            response = d.chat()
            assert response.status_code == status
            if not private:
                assert "private: true" in response.json()["error"]["message"]
