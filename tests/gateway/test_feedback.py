"""`POST /v1/feedback`: what people say about a reply is stored under its verdict, and only under one of their own tenant."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import GOOD, PERSON, Open
from trueup import Contract
from trueup.gateway.config import Caller, Config, Route, Upstream
from trueup.store.open import open_store
from trueup.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "verdicts.db") as opened:
        yield opened


def of_two(url: str) -> Config:
    person = Contract(PERSON, name="person")
    clients = (Caller("key-of-acme", "acme"), Caller("key-of-beta", "beta", "bea"))
    return Config({"main": Upstream("main", url, private=True)}, (Route("all", ("*",), person),), clients=clients)


def bearer(tenant: str) -> dict[str, str]:
    return {"authorization": f"Bearer key-of-{tenant}"}


def test_feedback_is_stored_under_the_verdict_of_a_reply(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store) as d:
        verdict = d.chat().headers["x-trueup-verdict"]
        said = {"verdict": verdict, "helpful": True, "comment": "just right", "label": "tone", "user": "ada"}
        answer = d.http.post("/v1/feedback", json=said)
        assert (answer.status_code, answer.json()) == (200, {"verdict": verdict, "stored": True})
        row = store.feedback(verdict)[0]
        assert (row["helpful"], row["note"], row["label"], row["user"]) == (True, "just right", "tone", "ada")
        assert "trueup_feedback_total 1" in d.http.get("/metrics").text
        assert d.http.post("/all/v1/feedback", json=said).status_code == 200
        assert d.http.post("/nobody/v1/feedback", json=said).status_code == 404


def test_the_verdict_may_be_named_by_the_header_and_a_later_word_replaces_the_earlier(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store) as d:
        headers = {"x-trueup-verdict": d.chat().headers["x-trueup-verdict"], "x-trueup-user": "ada"}
        for helpful in (True, True, False):
            assert d.http.post("/v1/feedback", json={"helpful": helpful}, headers=headers).status_code == 200
        d.http.post("/v1/feedback", json={"helpful": True}, headers={**headers, "x-trueup-user": "bob"})
        assert {row["user"]: row["helpful"] for row in store.feedback()} == {"ada": False, "bob": True}


def test_a_comment_that_was_cut_inside_an_emoji_is_stored(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store) as d:
        headers = {"x-trueup-verdict": d.chat().headers["x-trueup-verdict"]}
        answer = d.http.post("/v1/feedback", content=b'{"helpful": true, "comment": "fine \\ud83d"}', headers=headers)
        assert answer.status_code == 200
        assert store.feedback()[0]["note"].startswith("fine ")


@pytest.mark.spec("X38")
def test_a_verdict_of_another_tenant_is_not_found(desk: Open, store: Store) -> None:
    with desk([], then=GOOD, store=store, config=of_two) as d:
        verdict = d.chat(headers=bearer("acme")).headers["x-trueup-verdict"]
        said = {"verdict": verdict, "helpful": False}
        others = d.http.post("/v1/feedback", json={**said, "tenant": "acme"}, headers=bearer("beta"))
        unknown = d.http.post("/v1/feedback", json={**said, "verdict": "f" * 32}, headers=bearer("beta"))
        assert (others.status_code, unknown.status_code) == (404, 404)
        assert others.json()["error"]["code"] == unknown.json()["error"]["code"] == "verdict_not_found"
        assert d.http.post("/v1/feedback", json=said).status_code == 401
        assert store.feedback() == []
        assert d.http.post("/v1/feedback", json=said, headers=bearer("acme")).status_code == 200


WRONG = [
    (b"no json", "invalid_json"),
    (b"\xff{}", "invalid_json"),
    (b"[]", "invalid_json"),
    (b"{}", "missing_verdict"),
    (b'{"verdict": 5, "helpful": true}', "missing_verdict"),
    (b'{"verdict": "v"}', "missing_feedback"),
    (b'{"verdict": "v", "helpful": "yes"}', "invalid_value"),
    (b'{"verdict": "v", "comment": "%s"}' % (b"x" * 4001), "invalid_value"),
    (b'{"verdict": "v", "label": ["x"]}', "invalid_value"),
    (b'{"verdict": "v", "helpful": true, "user": "%s"}' % (b"x" * 300), "invalid_value"),
    (b'{"verdict": "v", "helpfull": true}', "unknown_key"),
]


def test_a_request_that_cannot_be_stored_says_what_to_send(desk: Open, store: Store) -> None:
    with desk([], store=store) as d:
        for body, code in WRONG:
            answer = d.http.post("/v1/feedback", content=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, code), body[:80]
        for verdict in ("nothing", "v" * 5000, "a\u0000b", "😀", "%s'; --"):
            assert d.http.post("/v1/feedback", json={"verdict": verdict, "helpful": True}).status_code == 404


def test_without_a_store_or_with_a_closed_one_it_is_503(desk: Open, tmp_path: Path) -> None:
    said = {"verdict": "f" * 32, "helpful": True}
    with desk([]) as d:
        answer = d.http.post("/v1/feedback", json=said)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_store")
    closed = open_store(tmp_path / "closed.db")
    closed.close()
    with desk([], store=closed) as d:
        assert d.http.post("/v1/feedback", json=said).status_code == 503
