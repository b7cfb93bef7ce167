"""`POST /v1/check`: what may be sent, what comes back, who may ask, what is stored, and what it costs nobody."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import PERSON, Open
from tests.waiting import wait_for
from trueup import Contract, Reply
from trueup.gateway.config import Caller, Config, Limits, Route, Upstream
from trueup.gateway.running import running
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.store.store import Store

CHAT = Contract(reply=True, name="chat")
SHAPED = Contract(PERSON, name="person")
FINE = "Hi! How can I help you today?"
KEY = "sk-upstream-canary-0123456789"


def config(*, clients: tuple[Caller, ...] = (), limits: Limits | None = None, **more: Any) -> Config:
    upstream = Upstream("main", "http://127.0.0.1:9", key=KEY, private=True)  # nobody listens: no check asks it
    routes = more.pop("routes", (Route("chat", ("chat-*",), CHAT), Route("open", ("*",))))
    contracts = more.pop("contracts", {"chat": CHAT, "person": SHAPED})
    return Config({"main": upstream}, routes, contracts, clients=clients, limits=limits or Limits(), **more)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db", redaction=Redaction(words=("hunter2",))) as opened:
        yield opened


@pytest.fixture
def http(store: Store) -> Iterator[httpx.Client]:
    with running(config(), store) as gateway, httpx.Client(base_url=gateway.url, timeout=60) as client:
        yield client


def post(http: httpx.Client, path: str = "/v1/check", headers: Any = None, **body: Any) -> httpx.Response:
    return http.post(path, json=body, headers=headers)


def test_a_verdict_is_returned(http: httpx.Client) -> None:
    answer = post(http, contract="chat", reply="Yes")
    verdict = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["x-trueup-verdict"] == verdict["id"]
    expected = CHAT.check("Yes").to_dict()
    assert {name: verdict[name] for name in expected if name != "reply"} == {
        k: v for k, v in expected.items() if k != "reply"
    }
    assert (verdict["contract"], verdict["fingerprint"]) == ("chat", CHAT.fingerprint)


def test_data_fixes_and_calls_are_returned() -> None:
    tools = Contract(tools=[{"name": "book", "parameters": {"properties": {"day": {"type": "integer"}}}}], name="tools")
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "book", "arguments": '{"day": "3"}'}}]}
    with (
        running(config(contracts={"person": SHAPED, "tools": tools}, routes=())) as gateway,
        httpx.Client(base_url=gateway.url) as http,
    ):
        person = post(http, contract="person", reply='```json\n{"name": "Ada", "age": "36",}\n```').json()
        assert (person["ok"], person["data"], person["id"]) == (True, {"name": "Ada", "age": 36}, None)
        assert [fix["code"] for fix in person["fixes"]] == ["W001", "C001", "S001", "W001"]
        assert (person["fixes"][1]["name"], person["certainty"], person["confidence"]) == ("to-integer", 1.0, 1.0)
        called = post(http, contract="tools", reply=call).json()
        assert [(each["name"], each["args"]) for each in called["calls"]] == [("book", {"day": 3})]
        unknown = {**call, "tool_calls": [{"id": "1", "function": {"name": "fly", "arguments": "{}"}}]}
        refused = post(http, contract="tools", reply=unknown).json()
        assert [each["call"]["name"] for each in refused["refused"]] == ["fly"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"reply": FINE}, "Sufficient text content"),
        ({"reply": ""}, "Empty response"),
        ({"reply": {"choices": [{"message": {"role": "assistant", "content": FINE}}]}}, "Sufficient text content"),
        ({"reply": [{"role": "assistant", "content": "Yes"}]}, "Insufficient text (3 chars)"),
        (
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": FINE}]},
            "Sufficient text content",
        ),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "No assistant message"),
    ],
)
def test_replies_and_messages_are_judged(http: httpx.Client, body: dict[str, Any], reason: str) -> None:
    assert post(http, contract="chat", **body).json()["reason"] == reason


def test_messages_next_to_a_reply_are_the_earlier_ones() -> None:
    rule = {"name": "greets", "expr": "not first or 'hello' in text.lower()", "reason": "Missing greeting"}
    topic = {"name": "topic", "expr": "'rain' not in question or 'rain' in text", "reason": "Off topic"}
    contract = Contract(reply={"rules": [rule, topic]}, name="polite")
    asked = {"role": "user", "content": "Will it rain?"}
    with (
        running(config(contracts={"polite": contract}, routes=())) as gateway,
        httpx.Client(base_url=gateway.url) as http,
    ):
        assert post(http, reply="The answer is no.").json()["reason"] == "Missing greeting"
        before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}, asked]
        assert post(http, messages=before, reply="The answer is no.").json()["reason"] == "Off topic"
        assert post(http, messages=before, reply="It will not rain.").json()["ok"]
        assert post(http, context={"first": False, "question": "?"}, reply="The answer is no.").json()["ok"]


def test_the_contract_is_the_named_one_or_the_bound_one_or_the_only_one(http: httpx.Client) -> None:
    assert post(http, contract="person", reply="{}").json()["contract"] == "person"
    assert post(http, headers={"x-trueup-contract": "person"}, reply="{}").json()["contract"] == "person"
    assert post(http, "/chat/v1/check", reply=FINE).json()["contract"] == "chat"
    assert post(http, "/chat/v1/check", contract="chat", reply=FINE).json()["contract"] == "chat"
    stays = post(http, "/chat/v1/check", headers={"x-trueup-contract": "person"}, reply=FINE)
    assert stays.json()["contract"] == "chat", "a header does not undo what a route binds"
    other = post(http, "/chat/v1/check", contract="person", reply=FINE)
    assert (other.status_code, other.json()["error"]["code"]) == (400, "bound_contract")
    assert post(http, "/open/v1/check", contract="person", reply="{}").json()["contract"] == "person"
    with running(config(contracts={}, routes=(Route("chat", ("*",), CHAT),))) as gateway:
        assert httpx.post(f"{gateway.url}/v1/check", json={"reply": FINE}).json()["contract"] == "chat"
    with running(config(contracts={}, routes=())) as gateway:
        assert (
            "has no contract" in httpx.post(f"{gateway.url}/v1/check", json={"reply": FINE}).json()["error"]["message"]
        )


def test_half_a_surrogate_pair_is_judged_and_the_answer_is_valid_json() -> None:
    def half(reply: Reply, context: Any) -> dict[str, Any]:
        return {"ok": False, "reason": "cut: \ud83d", "metrics": {"last": "\ud83d", "big": 10**400}}

    made = Contract(reply={"rules": [half]}, name="half")
    with running(config(contracts={"half": made}, routes=())) as gateway:
        body = b'{"reply": "A stream that was cut \\ud83d", "model": "m\\ud83d"}'
        response = httpx.post(f"{gateway.url}/v1/check", content=body)
        assert response.status_code == 200
        verdict = json.loads(response.content.decode("utf-8"))
        assert (verdict["reason"], verdict["metrics"]["big"]) == ("cut: \ud83d", 10**400)
        for refused in (
            b'{"reply": "\\ud83d',
            b'{"reply": "\\u0041", "context": {"data": {"n": NaN}}}',
            b'["\\ud83d"]',
        ):
            response = httpx.post(f"{gateway.url}/v1/check", content=refused)
            assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_json")


@pytest.mark.parametrize(
    ("body", "status", "code", "says"),
    [
        ({}, 400, "missing_contract", 'set "contract" to one of chat, person'),
        ({"contract": "chat"}, 400, "missing_reply", "'reply'"),
        ({"contract": "caht", "reply": ""}, 400, "unknown_contract", "known: chat, person"),
        ({"contract": 3, "reply": ""}, 400, "unknown_contract", "'3'"),
        ({"contract": "chat", "replies": ""}, 400, "unknown_key", "did you mean 'reply'?"),
        ({"contract": "chat", "reply": None}, 400, "invalid_value", "'reply' must be"),
        ({"contract": "chat", "reply": 5}, 400, "invalid_value", "'reply' must be"),
        ({"contract": "chat", "messages": []}, 400, "invalid_value", "'messages' must be"),
        ({"contract": "chat", "messages": ["Hi"]}, 400, "invalid_value", "'messages' must be"),
        ({"contract": "chat", "reply": "", "context": []}, 400, "invalid_value", "'context' must be an object"),
        ({"contract": "chat", "reply": "", "context": {"state": 3}}, 400, "invalid_value", "'state'"),
        ({"contract": "chat", "reply": "", "context": {"history": "x"}}, 400, "invalid_value", "'history'"),
        ({"contract": "chat", "reply": "", "context": {"first": "no"}}, 400, "invalid_value", "'first' of the context must be true or false"),
        ({"contract": "chat", "reply": "", "context": {"expected_sequence": [1]}}, 400, "invalid_value", "'expected_sequence'"),
        ({"contract": "chat", "reply": "", "model": "m" * 257}, 400, "invalid_value", "'model'"),
        ({"contract": "chat", "reply": "", "user": 3}, 400, "invalid_value", "user"),
        ({"contract": "chat", "reply": "", "record": "no"}, 400, "invalid_value", "'record'"),
    ],
)  # fmt: skip
def test_input_that_cannot_be_judged_is_reported(
    http: httpx.Client, body: Any, status: int, code: str, says: str
) -> None:
    answer = http.post("/v1/check", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert says in error["message"]


def test_other_invalid_requests_are_refused(http: httpx.Client) -> None:
    assert http.post("/v1/check", content=b"{no").json()["error"]["code"] == "invalid_json"
    assert http.post("/v1/check", content=b"[1]").json()["error"]["code"] == "invalid_json"
    assert post(http, "/nobody/v1/check", reply="").status_code == 404
    assert post(http, "/a/b/v1/check", reply="").status_code == 404
    assert http.get("/v1/check").status_code == 405


def test_keys_and_limits_are_the_same_as_on_other_paths() -> None:
    clients = (Caller("app-key", "acme", "ada"),)
    with (
        running(config(clients=clients, limits=Limits(request=1000))) as gateway,
        httpx.Client(base_url=gateway.url) as http,
    ):
        assert post(http, contract="chat", reply=FINE).status_code == 401
        assert post(http, headers={"authorization": "Bearer wrong"}, contract="chat", reply=FINE).status_code == 401
        key = {"x-api-key": "app-key"}
        assert post(http, headers=key, contract="chat", reply=FINE).status_code == 200
        assert post(http, headers=key, contract="chat", reply="x" * 1000).status_code == 413
        gateway.gateway.stopping = True
        assert post(http, headers=key, contract="chat", reply=FINE).status_code == 503
        gateway.gateway.stopping = False
        wait_for(lambda: gateway.gateway.metrics.active == 0)


def test_the_deadline_is_the_same_as_on_other_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.gateway.runtime._GRACE", 0.0)

    async def never(reply: Reply, context: Any) -> None:
        await asyncio.Event().wait()

    slow = Contract(reply={"rules": [never]}, name="slow")
    with running(config(contracts={"slow": slow}, routes=(), limits=Limits(total_seconds=0.2))) as gateway:
        answer = httpx.post(f"{gateway.url}/v1/check", json={"reply": FINE}, timeout=60)
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline_exceeded")
        wait_for(lambda: gateway.gateway.metrics.active == 0)


def test_a_slow_check_does_not_delay_other_requests() -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(reply: Reply, context: Any) -> bool:
        begun.set()
        return over.wait(60)

    contracts = {"chat": CHAT, "slow": Contract(reply={"rules": [slow]}, name="slow")}
    with running(config(contracts=contracts, routes=())) as gateway:
        found: list[Any] = []
        ask = threading.Thread(
            target=lambda: found.append(
                httpx.post(f"{gateway.url}/v1/check", json={"contract": "slow", "reply": FINE}, timeout=60)
            )
        )
        ask.start()
        assert begun.wait(60)
        assert httpx.post(f"{gateway.url}/v1/check", json={"contract": "chat", "reply": FINE}, timeout=60).json()["ok"]
        over.set()
        ask.join()
        assert found[0].json()["ok"]


def test_a_request_whose_contract_waits_does_not_delay_others(desk: Open) -> None:
    begun, over = threading.Event(), threading.Event()

    async def scored(reply: Reply, context: Any) -> dict[str, Any]:
        begun.set()
        await asyncio.to_thread(over.wait, 60)
        return {"metrics": {"score": 1}}

    with desk([FINE, FINE], Contract(reply={"rules": [scored]}, name="scored")) as d:
        found: list[Any] = []
        ask = threading.Thread(target=lambda: found.append(d.chat()))
        ask.start()
        assert begun.wait(60)
        assert d.http.get("/healthz").status_code == 200
        over.set()
        ask.join()
        assert found[0].status_code == 200
        assert d.chat(stream=True).status_code == 200


def test_verdicts_are_stored_redacted_unless_the_request_says_no(http: httpx.Client, store: Store) -> None:
    who = {"x-trueup-tenant": "acme", "x-trueup-user": "ada"}
    made = post(
        http,
        headers=who,
        contract="chat",
        reply="The password is hunter2, as always.",
        model="m-1",
        context={"state": "S"},
    )
    unstored = post(http, headers=who, contract="chat", reply="The password is hunter2, as always.", record=False)
    assert unstored.json()["id"] is None
    assert "x-trueup-verdict" not in unstored.headers
    store.flush()
    (kept,) = store.verdicts()
    assert (kept.id, kept.tenant, kept.user, kept.model) == (made.json()["id"], "acme", "ada", "m-1")
    assert (kept.contract, kept.fingerprint, kept.state, kept.outcome) == ("chat", CHAT.fingerprint, "S", "accepted")
    assert "hunter2" not in json.dumps(kept.body)
    assert store.stats()[0].asked == 1


def test_a_full_store_is_reported_before_anything_is_judged(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "crowded", property(lambda self: True))
    assert post(http, contract="chat", reply=FINE).status_code == 503
    assert post(http, contract="chat", reply=FINE, record=False).status_code == 200


def test_checks_are_counted_and_never_charged(tmp_path: Path) -> None:
    with open_store(tmp_path / "q.db") as store, running(config(quota=True), store) as gateway:
        store.quota.set_limit("acme", 1)
        with httpx.Client(base_url=gateway.url, headers={"x-trueup-tenant": "acme"}) as http:
            assert [post(http, contract="chat", reply=FINE, model="m").status_code for _ in range(3)] == [200] * 3
            assert post(http, contract="chat", reply="No", model="m").json()["ok"] is False
            page = http.get("/metrics").text
        assert 'trueup_requests_total{route="",model="m",outcome="valid",status="200"} 3' in page
        assert 'trueup_requests_total{route="",model="m",outcome="invalid",status="200"} 1' in page
        assert 'trueup_findings_total{contract="chat",model="m",code="Q006"} 1' in page
        assert all(standing.used == 0 for standing in store.quota.standings("acme"))


def test_a_lone_surrogate_and_a_long_integer_are_accepted(http: httpx.Client) -> None:
    answer = http.post(
        "/v1/check",
        content=b'{"contract": "person", "reply": "{\\"name\\": \\"\\\\ud800\\", \\"age\\": 123456789012345678901234567890}"}',
    )
    assert answer.status_code == 200
    assert answer.json()["data"]["age"] == 123456789012345678901234567890


def test_a_client_that_leaves_ends_the_work() -> None:
    begun = threading.Event()
    ended = threading.Event()

    async def waits(reply: Reply, context: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with running(config(contracts={"w": Contract(reply={"rules": [waits]}, name="w")}, routes=())) as gateway:
        host, _, port = gateway.url.removeprefix("http://").partition(":")
        body = json.dumps({"reply": FINE}).encode()
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            assert begun.wait(60)
        assert ended.wait(60)
        wait_for(lambda: gateway.gateway.metrics.active == 0)


@pytest.mark.parametrize("offered", [5, "look", {"look": 1}, [5], [{"name": "look"}]])
def test_tools_that_are_not_names_are_refused(desk: Open, offered: Any) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    reply = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    with desk([], {"type": "object"}) as d:
        got = d.http.post("/v1/check", json={"reply": reply, "context": {"offered": offered}})
        assert (got.status_code, got.json()["error"]["code"]) == (400, "invalid_value"), got.text
        assert "offered" in got.json()["error"]["message"]
        got = d.chat(trueup={"offered": offered})
        assert got.status_code == 400
        fine = d.http.post("/v1/check", json={"reply": reply, "context": {"offered": ["look"]}})
        assert fine.status_code == 200
