"""`POST /v1/feedback`: feedback on a reply is stored under its verdict, and only under a verdict of the same tenant."""

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


def test_the_verdict_may_be_named_by_the_header_and_later_feedback_replaces_earlier(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store) as d:
        headers = {"x-trueup-verdict": d.chat().headers["x-trueup-verdict"], "x-trueup-user": "ada"}
        for helpful in (True, True, False):
            assert d.http.post("/v1/feedback", json={"helpful": helpful}, headers=headers).status_code == 200
        d.http.post("/v1/feedback", json={"helpful": True}, headers={**headers, "x-trueup-user": "bob"})
        assert {row["user"]: row["helpful"] for row in store.feedback()} == {"ada": False, "bob": True}


def test_a_comment_cut_inside_an_emoji_is_stored(desk: Open, store: Store) -> None:
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
    (b'{"verdict": "v", "outcome": 1}', "invalid_value"),
    (b'{"verdict": "v", "outcome": "%s"}' % (b"x" * 101), "invalid_value"),
    (b'{"verdict": "v", "outcome": "right", "code": "A1", "rule": "r"}', "invalid_value"),
    (b'{"verdict": "v", "code": "A1"}', "missing_feedback"),
    (b'{"items": []}', "invalid_value"),
    (b'{"items": [5]}', "invalid_value"),
    (b'{"items": [%s{}]}' % (b"{}," * 100), "invalid_value"),
    (b'{"items": [{"verdict": "v", "outcome": "right"}], "helpful": true}', "invalid_value"),
    (b'{"items": [{"outcome": "right"}]}', "missing_verdict"),
    (b'{"items": [{"verdict": "v", "outcome": "right", "user": "ada"}]}', "unknown_key"),
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


def test_an_outcome_is_about_the_verdict_a_code_or_a_rule(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store) as d:
        verdict = d.chat().headers["x-trueup-verdict"]
        for said in (
            {"outcome": "wrong"},
            {"outcome": "right"},
            {"outcome": "refunded"},
            {"outcome": "wrong", "code": "V002"},
            {"outcome": "wrong", "rule": "grown up", "comment": "it was a joke"},
        ):
            answer = d.http.post("/v1/feedback", json={"verdict": verdict, "user": "ada", **said})
            assert answer.status_code == 200
        assert {(label["subject"], label["outcome"], label["note"]) for label in store.labels()} == {
            ("", "right", ""), ("", "refunded", ""), ("code:V002", "wrong", ""), ("rule:grown up", "wrong", "it was a joke"),
        }  # fmt: skip


@pytest.mark.spec("X38")
def test_several_entries_are_stored_together_or_not_at_all(desk: Open, store: Store) -> None:
    with desk([], then=GOOD, store=store, config=of_two) as d:
        ours, theirs = (d.chat(headers=bearer(whose)).headers["x-trueup-verdict"] for whose in ("acme", "beta"))
        items = [{"verdict": ours, "outcome": "right"}, {"verdict": ours, "outcome": "wrong", "code": "V001"}]
        mixed = d.http.post(
            "/v1/feedback", json={"items": [*items, {"verdict": theirs, "outcome": "right"}]}, headers=bearer("acme")
        )
        assert (mixed.status_code, mixed.json()["error"]["code"]) == (404, "verdict_not_found")
        assert list(store.labels()) == []
        answer = d.http.post("/v1/feedback", json={"items": items, "user": "ada"}, headers=bearer("acme"))
        assert (answer.status_code, answer.json()) == (200, {"stored": 2})
        assert {(label["subject"], label["author"]) for label in store.labels()} == {("", "ada"), ("code:V001", "ada")}
        assert "trueup_feedback_total 2" in d.http.get("/metrics").text
