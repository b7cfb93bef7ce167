"""Quota at the gateway: only valid replies are charged, every attempt costs, and a store that cannot write gives nothing away."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tests.gateway.conftest import GOOD, KEY, PERSON, Desk, Open
from tests.gateway.test_threats_clients import WHOLE, line_to
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy, Price
from trueup.gateway.config import Config, Route, of
from trueup.store.errors import StoreFull
from trueup.store.open import open_store
from trueup.store.store import Store
from trueup.testing.script import Fail, Hang

PRICED = Policy(otherwise="failed", backoff=0.01, retries=0, prices={"*": Price(1000, 1000)})


def used(store: Store, tenant: str = "", unit: str = "replies") -> tuple[int, int]:
    rows = [s for s in store.quota.standings(tenant) if (s.scope, s.unit, s.period) == ("tenant", unit, "total")]
    return (rows[0].used, rows[0].held) if rows else (0, 0)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


@pytest.mark.spec("Q12", "Q13")
def test_only_a_valid_reply_is_charged(desk: Open, store: Store) -> None:
    script = [GOOD, "no", "no", "no", '{"name": "A"}', GOOD, Fail(400), Fail(500)]
    with desk(script, PERSON, store=store, quota=True, policy=Policy(otherwise="failed", retries=0)) as d:
        statuses = [d.chat().status_code for _ in range(5)]
        assert statuses == [200, 422, 200, 400, 502]
        store.flush()
        assert used(store) == (2, 0)
        assert store.quota.audit() == []
        assert [(s.outcome, s.attempts) for s in store.verdicts(ok=True)] == [("accepted", 1), ("repaired", 2)]


@pytest.mark.spec("Q13")
def test_an_exhausted_quota_is_reported_before_any_call(desk: Open, store: Store) -> None:
    store.quota.set_limit("acme", 1)
    with desk([GOOD, GOOD], PERSON, store=store, quota=True) as d:
        acme = {"x-trueup-tenant": "acme", "x-trueup-user": "ada"}
        assert d.chat(headers=acme).status_code == 200
        response = d.chat(headers=acme)
        assert response.status_code == 429
        assert response.json()["error"]["code"] == "insufficient_quota"
        assert response.json()["error"]["quota"]["limit"] == 1
        assert response.headers["x-should-retry"] == "false"
        assert len(d.upstream.requests) == 1
        assert d.chat(headers={"x-trueup-tenant": "umbrella"}).status_code == 200


@pytest.mark.spec("X41")
def test_every_attempt_counts_against_the_cost_budget(desk: Open, store: Store) -> None:
    store.quota.set_limit("", 60_000, unit="cost", period="total")
    with desk([], PERSON, then="useful but invalid", store=store, quota=True, policy=PRICED) as d:
        statuses = []
        for _ in range(20):
            statuses.append(d.chat().status_code)
            if statuses[-1] == 429:
                break
        assert statuses[-1] == 429
        assert used(store) == (0, 0)
        assert used(store, unit="cost")[0] >= 60_000
        asked = len(d.upstream.requests)
        assert d.chat().status_code == 429
        assert len(d.upstream.requests) == asked


@pytest.mark.spec("X38")
def test_a_key_is_answered_once_for_each_tenant(desk: Open, store: Store) -> None:
    with desk([GOOD, GOOD, "no", "no", "no", GOOD], PERSON, store=store, quota=True) as d:
        one = {"idempotency-key": "k1", "x-trueup-tenant": "acme"}
        first, again = d.chat(headers=one), d.chat(headers=one)
        assert (first.status_code, again.status_code, again.content) == (200, 200, first.content)
        assert ("x-trueup-replayed" in first.headers, again.headers["x-trueup-replayed"]) == (False, "true")
        assert d.chat(headers={**one, "x-trueup-tenant": "umbrella"}).status_code == 200
        failed = {"idempotency-key": "k2"}
        assert d.chat(headers=failed).status_code == 422
        assert d.chat(headers=failed).status_code == 200, "what was not answered may be asked again"
        assert used(store, "acme") == (1, 0)


def test_two_concurrent_requests_with_one_key_are_one(desk: Open, store: Store) -> None:
    found: list[int] = []
    refused = threading.Event()  # all but the first request

    def held(_: Any) -> str:
        assert refused.wait(60)
        return GOOD

    with desk(held, PERSON, store=store, quota=True) as d:

        def ask() -> None:
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
            headers = {"idempotency-key": "k"}
            answer = httpx.post(f"{d.url}/v1/chat/completions", json=body, headers=headers, timeout=60)
            found.append(answer.status_code)
            if len(found) == 3:
                refused.set()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [200, 409, 409, 409]
        assert used(store) == (1, 0)
        d.chat()


def test_no_reply_is_sent_if_the_store_cannot_write(desk: Open, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any, **__: Any) -> Any:
        raise StoreFull("s.db: the disk is full")

    def check(d: Desk) -> None:
        response = d.chat()
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "store_unavailable"
        assert response.headers["retry-after"] == "1"
        assert '"name"' not in response.text
        assert "s.db" not in response.text

    with desk([GOOD], PERSON, store=store, quota=True) as d:
        with monkeypatch.context() as patch:
            patch.setattr(store.quota, "areserve", full)
            check(d)
            assert d.upstream.requests == []
        with monkeypatch.context() as patch:
            patch.setattr(store.quota, "acapture", full)
            check(d)
        assert used(store) == (0, 0)
        assert d.upstream.left == 0
        store._writer.trouble = StoreFull("full")
        assert d.http.get("/readyz").status_code == 503
        assert d.chat().status_code == 503
        store._writer.trouble = None


def test_a_store_that_falls_behind_refuses_new_requests_and_loses_no_verdict(
    desk: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "slow.db")
    stood_still: list[Any] = []
    with open_store(url, capacity=5) as store, desk([], PERSON, then=GOOD, store=store) as d:
        monkeypatch.setattr(store._writer, "_make_room", lambda *given: stood_still.append(given))
        other = sqlite3.connect(url, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # somebody else writes, and takes his time
        statuses = [d.chat().status_code for _ in range(20)]
        assert list(store.verdicts()) == [], "every request was answered before anything could be written"
        assert stood_still == [], "no request waited for room in the queue"
        assert statuses == [200] * 4 + [503] * 16, "what is being written takes its room until it is on disk"
        assert d.http.get("/readyz").status_code == 503
        other.execute("ROLLBACK")
        other.close()
        store.flush()
        assert len(list(store.verdicts())) == statuses.count(200)
        assert d.chat().status_code == 200


@pytest.mark.spec("X38")
def test_the_callers_key_decides_the_tenant_and_no_header_overrides_it(desk: Open, store: Store) -> None:
    from trueup.gateway.config import Caller

    with desk([GOOD], PERSON, store=store, quota=True, clients=(Caller("k-acme", "acme"),)) as d:
        d.chat(headers={"authorization": "Bearer k-acme", "x-trueup-tenant": "umbrella"}, trueup={"tenant": "umbrella"})
        assert used(store, "acme") == (1, 0)
        assert used(store, "umbrella") == (0, 0)


def test_every_attempt_is_stored_under_one_request(desk: Open, store: Store) -> None:
    with desk(["no", GOOD], PERSON, store=store) as d:
        response = d.chat(headers={"x-trueup-user": "ada"}, model="gpt")
        store.flush()
        rows = list(store.verdicts())
        assert [(s.attempt, s.ok, s.outcome, s.user, s.model, s.contract) for s in rows] == [
            (1, False, "refused", "ada", "gpt", "person"),
            (2, True, "repaired", "ada", "gpt", "person"),
        ]
        assert {s.request for s in rows} == {response.headers["x-trueup-verdict"]} == {rows[-1].id}
        rate = store.stats()[0]
        assert (rate.asked, rate.retried, rate.failed) == (1, 1, 0)


# -- routes without a contract -----------------------------------------------------------------


def routed(*routes: Route, **more: Any) -> Callable[[str], Config]:
    """A configuration with these routes for one upstream."""
    return lambda url: replace(of(url, key=KEY, quota=True), routes=routes, **more)


def test_each_reply_that_is_passed_through_is_charged(desk: Open, store: Store) -> None:
    script = [GOOD, Fail(400), Fail(500), Fail(429), GOOD]
    with desk(script, store=store, config=routed()) as d:
        assert [d.chat().status_code for _ in range(4)] == [200, 400, 500, 429]
        assert used(store) == (1, 0)
        assert d.chat(stream=True).status_code == 200
        assert used(store) == (2, 0)
        assert store.quota.audit() == []


def test_a_quota_exhausted_on_one_route_is_exhausted_on_every_route(desk: Open, store: Store) -> None:
    store.quota.set_limit("", 2, period="total")
    judged, plain, free = (
        Route("judged", ("j",), Contract(PERSON)),
        Route("plain", ("p",)),
        Route("free", ("f",), quota=False),
    )
    with desk([], then=GOOD, store=store, config=routed(judged, plain, free)) as d:
        assert [d.chat(model=model).status_code for model in ("p", "j", "p", "j", "f")] == [200, 200, 429, 429, 200]
        assert d.chat(model="f", stream=True).status_code == 200
        assert used(store) == (2, 0)


def test_the_file_says_which_routes_are_charged(tmp_path: Path) -> None:
    from trueup.gateway.settings import load_config, read_config

    file = tmp_path / "g.yaml"
    routes = "routes: [{name: a}, {name: b, quota: true}, {name: c, quota: false}]"
    file.write_text(f"store: s.db\nupstreams: {{u: {{url: http://h}}}}\n{routes}\n")
    config = load_config(file)
    assert [config.charges(config.route(name)) for name in "abc"] == [False, True, False]
    file.write_text(f"quota: true\nstore: s.db\nupstreams: {{u: {{url: http://h}}}}\n{routes}\n")
    config = load_config(file)
    assert [config.charges(config.route(name)) for name in "abc"] == [True, True, False]
    file.write_text(f"upstreams: {{u: {{url: http://h}}}}\n{routes}\n")
    assert [(f.line, f.message) for f in read_config(file)[1]] == [(2, "quota needs a store")]


def test_one_route_may_be_charged_and_the_others_not(desk: Open, store: Store) -> None:
    paid, free = Route("paid", ("p",), quota=True), Route("free", ("*",))
    with desk([], then=GOOD, store=store, config=routed(paid, free, quota=False)) as d:
        assert [d.chat(model=model).status_code for model in ("p", "f", "f")] == [200] * 3
        assert used(store) == (1, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_the_user_and_the_model_of_a_passed_request_have_separate_limits(
    desk: Open, store: Store, stream: bool
) -> None:
    store.quota.set_limit("", 1, scope="user", name="*", period="day")
    with desk([], then=GOOD, store=store, config=routed()) as d:
        assert [d.chat(user=user, stream=stream).status_code for user in ("ada", "ada", "bob")] == [200, 429, 200]
        said = [d.message(metadata={"user_id": user}, stream=stream).status_code for user in ("ada", "eve", "eve")]
        assert said == [429, 200, 429]


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_before_the_first_byte_of_a_passed_reply_owes_nothing(
    desk: Open, store: Store, stream: bool
) -> None:
    with desk([Hang()], store=store, config=routed()) as d:
        with line_to(d.url) as line:
            line.sendall(WHOLE)
            wait_for(lambda: d.upstream.requests)
            assert used(store) == (0, 1)
        wait_for(lambda: used(store) == (0, 0))
        assert store.quota.audit() == []
