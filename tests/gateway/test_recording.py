"""The record of a judgement in the store: contract, conversation, and context if its file says so, to judge again."""

import json
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.gateway.conftest import GOOD, PERSON, QUICK, Open
from trueup import Contract
from trueup.contract.text import rebuilt
from trueup.gateway.config import Config, Route, Upstream, of
from trueup.gateway.running import running
from trueup.store.open import open_store
from trueup.store.records import Stored
from trueup.store.store import Store
from trueup.testing.server import ScriptedServer

LIMITED = Contract(PERSON, rules=["age < limit"], input=["limit"], name="limited")
CHAT = Contract(
    reply={"min_text": 3}, states={"start": "ASKING", "ASKING": {"forbid": [{"terms": ["bye"]}]}, "DONE": {}}, name="chat"
)  # fmt: skip
POLITE = Contract(reply={"rules": [{"name": "polite", "expr": "'idiot' not in text"}]}, name="polite")


@pytest.fixture
def keeping(tmp_path: Path) -> Any:
    with open_store(tmp_path / "verdicts.db", keep_context=True) as opened:
        yield opened


def judged_again(store: Store, stored: Stored) -> None:
    """The stored reply gets the stored verdict, from what the store has alone."""
    assert (stored.unjudgeable, stored.missing) == ("", {})
    assert stored.verdict is not None
    contract = rebuilt(store.contract_text(stored.fingerprint) or "")
    again = contract.check(stored.verdict.reply, stored.context)
    assert (again.ok, again.data, again.findings) == (stored.ok, stored.verdict.data, stored.verdict.findings)


def test_a_request_is_stored_with_its_contract_conversation_and_context(desk: Open, keeping: Store) -> None:
    with desk([], LIMITED, then=GOOD, store=keeping, policy=QUICK) as d:
        for limit in (50, 10):
            d.chat(headers={"x-trueup-conversation": "c-1"}, trueup={"input": {"limit": limit}})
        d.chat(metadata={"conversation_id": "c-2"}, trueup={"input": {"limit": 50}})
    keeping.flush()
    found = list(keeping.verdicts())
    assert {stored.conversation for stored in found} == {"c-1", "c-2"}
    assert {stored.ok for stored in found} == {True, False}
    for stored in found:
        assert stored.context is not None
        assert stored.context["question"] == "Who?"
        judged_again(keeping, stored)
    assert [(known["name"], known["fingerprint"]) for known in keeping.contracts()] == [
        ("limited", LIMITED.fingerprint)
    ]


def test_the_state_the_tools_and_earlier_messages_are_stored(desk: Open, keeping: Store) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    before: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    with desk([], CHAT, then="Good bye to you.", store=keeping, policy=QUICK) as d:
        for state in ("ASKING", "DONE"):
            body = {"model": "m", "messages": [*before, {"role": "user", "content": "Bye"}], "tools": tools}
            d.http.post("/v1/chat/completions", json=body, headers={"x-trueup-state": state})
    keeping.flush()
    found = list(keeping.verdicts())
    assert {(stored.state, stored.ok) for stored in found} == {("ASKING", False), ("DONE", True)}
    for stored in found:
        assert stored.context is not None
        assert (stored.context["state"], stored.context["offered"]) == (stored.state, ["look"])
        assert [message["content"] for message in stored.context["history"]] == ["Hello!"]
        judged_again(keeping, stored)


def test_checks_and_refused_requests_are_stored_too(desk: Open, keeping: Store) -> None:
    def config(url: str) -> Config:
        route = Route("all", ("*",), CHAT, request=POLITE)
        return Config({"main": Upstream("main", url, private=True)}, (route,))

    with desk([], then="Hello there.", store=keeping, config=config) as d:
        assert (
            d.chat("you are such an idiot, dear gateway", headers={"x-trueup-conversation": "c-3"}).status_code == 400
        )
        said = {"contract": "chat", "reply": "Good bye", "context": {"conversation": "c-4", "mood": 1}}
        assert not d.http.post("/v1/check", json=said).json()["ok"]
        messages = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello to you."}]
        assert d.http.post("/v1/check", json={"contract": "chat", "messages": messages}).json()["ok"]
    keeping.flush()
    found = {(stored.contract, stored.conversation): stored for stored in keeping.verdicts()}
    assert set(found) == {("polite", "c-3"), ("chat", "c-4"), ("chat", "")}
    for stored in found.values():
        judged_again(keeping, stored)
    assert (found["chat", "c-4"].context or {})["mood"] == 1
    assert (found["chat", ""].context or {})["question"] == "Hi?"
    assert [row.id for row in keeping.rows(rule="polite")] == [found["polite", "c-3"].id]


def test_without_the_setting_only_names_are_stored(desk: Open, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        with desk([], LIMITED, then=GOOD, store=store) as d:
            d.chat("a canary?", trueup={"input": {"limit": 50}})
        store.flush()
        stored = next(store.verdicts())
        assert stored.missing == dict.fromkeys(("input", "offered", "question"), "not_kept")
        assert "canary" not in json.dumps(stored.body)
        assert not any(b"canary" in part.read_bytes() for part in tmp_path.iterdir())


def test_an_invalid_conversation_name_is_refused(desk: Open, keeping: Store) -> None:
    with desk([], LIMITED, then=GOOD, store=keeping) as d:
        answer = d.chat(headers={"x-trueup-conversation": "c" * 300})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_value")
        assert d.chat(trueup={"conversation": ["c"]}).status_code == 400


def test_a_reload_turns_recording_on_and_off(tmp_path: Path) -> None:
    with ScriptedServer(then=GOOD) as upstream:
        whole = of(upstream.url, LIMITED, policy=QUICK, store=str(tmp_path / "s.db"))
        with running(whole) as gateway, httpx.Client(base_url=gateway.url, timeout=60, verify=False) as http:
            for keep in (False, True, False):
                gateway.adopt(msgspec.structs.replace(whole, keep_context=keep))
                body = {
                    "model": "m",
                    "messages": [{"role": "user", "content": "Who?"}],
                    "trueup": {"input": {"limit": 50}},
                }
                assert http.post("/v1/chat/completions", json=body).status_code == 200
                assert gateway.gateway.store is not None
                gateway.gateway.store.flush()  # what waits to be written follows the new configuration too
    with open_store(tmp_path / "s.db") as store:
        assert ["input" in (stored.context or {}) for stored in store.verdicts()] == [False, True, False]
