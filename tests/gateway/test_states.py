"""The state of a conversation at the gateway: from a header, the body or the route, and refused where it is not known."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import Open
from trueup import Contract
from trueup.contract.files.faults import ContractError
from trueup.gateway.config import Config, Upstream
from trueup.gateway.running import running
from trueup.gateway.settings import load_config
from trueup.store.open import open_store
from trueup.testing.script import Call, Say

STATES = {"ASKING": {"forbid": [{"terms": ["Ana"]}], "fallback": "Which service?"}, "BOOKED": {}}
BARE = Contract(states=STATES)
STARTED = Contract(states={"start": "ASKING", **STATES})


@pytest.mark.parametrize(
    ("headers", "told", "code"),
    [
        ({}, {}, "D006"),
        ({"x-trueup-state": "ASKNG"}, {}, "D004"),
        ({}, {"state": "ASKNG"}, "D004"),
        ({}, {"estado": "ASKING"}, "D006"),
        ({"x-trueup-context": json.dumps({"State": "ASKING"})}, {}, "D006"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_request_without_a_known_state_is_refused_and_the_upstream_is_not_asked(
    desk: Open, headers: dict[str, str], told: dict[str, str], code: str, stream: bool
) -> None:
    with desk([], BARE, then=Say("Hello! Ana is free. Bye.")) as d:
        response = d.chat(headers=headers, stream=stream, **({"trueup": told} if told else {}))
        assert response.status_code == 400
        error = response.json()["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", "unknown_state")
        assert error["message"].startswith(f"the upstream was not asked: {code} ")
        assert [found["code"] for found in error["findings"]] == [code]
        assert "this contract defines ASKING and BOOKED" in error["findings"][0]["message"]
        assert d.upstream.requests == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_default_fallback_is_sent_if_no_state_is_known(desk: Open, stream: bool) -> None:
    with desk([], Contract(states=STATES, fallbacks={"default": "How can I help?"})) as d:
        response = d.chat(stream=stream)
        assert response.status_code == 200
        assert "How can I help?" in response.text
        assert d.upstream.requests == []


def test_the_key_that_was_found_is_named(desk: Open) -> None:
    with desk([], BARE, then="Hello!") as d:
        found = d.chat(trueup={"estado": "ASKING"}).json()["error"]["findings"][0]
        assert "it has 'estado' instead of 'state'" in found["message"]


def test_without_a_state_the_start_state_applies(desk: Open) -> None:
    with desk(["Which service?", "Ana is free."], STARTED, then="Ana is free.") as d:
        assert d.chat().status_code == 200
        response = d.chat()
        assert response.headers["x-trueup-outcome"] == "fallback"
        assert response.json()["choices"][0]["message"]["content"] == "Which service?"


def test_a_check_without_a_known_state_is_a_refusal() -> None:
    config = Config({"main": Upstream("main", "http://127.0.0.1:9", private=True)}, (), {"bare": BARE})
    with running(config) as gateway, httpx.Client(base_url=gateway.url) as http:
        contexts: list[dict[str, str]] = [{}, {"state": "ASKNG"}, {"fsm_state": "ASKING"}, {"state": "ASKING"}]
        bodies = [{"contract": "bare", "reply": "Which service?", "context": context} for context in contexts]
        verdicts = [http.post("/v1/check", json=body).json() for body in bodies]
    found = [[each["code"] for each in verdict["findings"]] for verdict in verdicts]
    assert found == [["D006"], ["D004"], ["D006"], []]
    assert [verdict["ok"] for verdict in verdicts] == [False, False, False, True]


def test_the_state_of_a_route_must_be_one_of_its_contract(tmp_path: Path) -> None:
    (tmp_path / "bare.json").write_text(json.dumps({"states": STATES}))
    config = {
        "upstreams": {"main": {"url": "http://127.0.0.1:9", "private": True}},
        "contracts": {"bare": "bare.json"},
        "routes": [{"name": "chat", "models": "*", "contract": "bare", "state": "ASKNG"}],
    }
    (tmp_path / "gateway.json").write_text(json.dumps(config))
    with pytest.raises(ContractError) as refused:
        load_config(tmp_path / "gateway.json")
    assert [(fault.code, fault.path) for fault in refused.value.faults] == [("N018", "$.routes[0].state")]
    assert "did you mean 'ASKING'" in str(refused.value)
    config["routes"][0]["state"] = "ASKING"  # type: ignore[index]
    (tmp_path / "gateway.json").write_text(json.dumps(config))
    assert load_config(tmp_path / "gateway.json").routes[0].state == "ASKING"


def test_stored_verdicts_name_their_state(desk: Open, tmp_path: Path) -> None:
    with open_store(tmp_path / "verdicts.db") as store:
        with desk([], STARTED, then="Which service?", store=store) as d:
            for headers in ({}, {"x-trueup-state": "booked"}, {"x-trueup-state": "BOOKD"}):
                d.chat(headers=headers)
        store.flush()
        assert sorted(kept.state for kept in store.verdicts()) == ["ASKING", "BOOKD", "BOOKED"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_route_may_refuse_every_unknown_state(tmp_path: Path, stream: bool) -> None:
    contract = {"states": STATES, "fallbacks": {"default": "How can I help?"}}
    (tmp_path / "talk.json").write_text(json.dumps(contract))
    file = tmp_path / "gateway.yaml"
    head = "upstreams: {main: {url: 'http://127.0.0.1:9', private: true}}\ncontracts: {talk: talk.json}\n"
    for said, status in (("", 200), ("unknown_state: fallback", 200), ("unknown_state: refuse", 400)):
        file.write_text(f"{head}routes:\n  - models: ['*']\n    contract: talk\n    {said}\n")
        with running(load_config(file)) as gateway:
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": stream}
            answer = httpx.post(f"{gateway.url}/v1/chat/completions", json=body, headers={"x-trueup-state": "ASKNG"})
            assert answer.status_code == status
            if status == 400:
                error = answer.json()["error"]
                assert (error["code"], error["findings"][0]["code"]) == ("unknown_state", "D004")
                assert "this contract defines ASKING and BOOKED" in error["message"]
    file.write_text(f"{head}routes:\n  - models: ['*']\n    unknown_state: open\n")
    with pytest.raises(ContractError, match=r"gateway\.yaml:5:5: N006.*fallback.*refuse"):
        load_config(file)


@pytest.mark.spec("C10", "C11")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "said",
    [
        "Ana is free.", "<think>Ana</think>Ana is free at ten.", '{"name": "Ana"}', "A\u200bna is free today, shall I book?",
        Say("Ana is free.", (Call("book", {"who": "Ana"}),)), Say(None, (Call("book", {"who": "Ana"}),)),
    ],
)  # fmt: skip
def test_whatever_the_model_does_the_client_gets_a_coherent_reply_or_the_fallback(
    desk: Open, caplog: pytest.LogCaptureFixture, said: Any, protocol: str, stream: bool
) -> None:
    with desk([], STARTED, then=said, protocol=protocol) as d, caplog.at_level("WARNING", "trueup.gateway"):
        ask = d.chat if protocol == "openai" else d.message
        response = ask(stream=stream, headers={"x-trueup-state": "ASKING", "x-trueup-include": "1"})
    assert response.status_code == 200
    assert "Which service?" in response.text
    assert "Ana" not in response.text
    assert "book" not in response.text
    assert "na is free" not in response.text
    warned = [record.getMessage() for record in caplog.records if "the fallback is sent" in record.getMessage()]
    assert len(warned) == 1
    assert "in the state 'ASKING'" in warned[0]
    assert ("D001" in warned[0]) or ("T001" in warned[0])
    assert "Ana" not in warned[0]
