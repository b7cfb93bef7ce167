"""Correct charges despite storms, other tenants' keys, crashes, aborts, invalid replies, races and jumping clocks."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import GOOD, PERSON, Desk, Open
from tests.gateway.test_threats_clients import WHOLE, line_to
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy, Price
from trueup.gateway.config import Caller, of
from trueup.gateway.protocols.protocol import MOST_NAME
from trueup.gateway.running import running
from trueup.store.open import open_store
from trueup.store.store import Store
from trueup.testing.script import Fail, Hang, Say, Slow
from trueup.testing.server import ScriptedServer

PRICED = Policy(otherwise="failed", backoff=0.01, retries=0, timeout=60, prices={"*": Price(1000, 1000)})
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
WORDS = "A first sentence that is long enough to be shown. " * 20
CALM = Contract(states={"CALM": {"forbid": [{"terms": ["secret"], "why": "it is secret"}]}}, name="calm")
STATE = {"x-trueup-state": "CALM"}


def used_and_held(store: Store, unit: str = "replies", tenant: str = "") -> tuple[int, int]:
    """The amounts that a tenant has used and reserved."""
    rows = [s for s in store.quota.standings(tenant) if (s.scope, s.unit, s.period) == ("tenant", unit, "total")]
    return (rows[0].used, rows[0].held) if rows else (0, 0)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


# -- storms ------------------------------------------------------------------------------------


@pytest.mark.spec("X37")
@pytest.mark.parametrize("fail", [Fail(500), Fail(429), Fail(529)])
def test_an_upstream_that_is_down_is_not_flooded(desk: Open, fail: Fail) -> None:
    policy = Policy(otherwise="failed", retries=3, backoff=0.3, deadline=2)
    with desk([], PERSON, then=fail, policy=policy) as d:
        assert d.chat().status_code in (429, 502, 503, 529)
        assert 1 < len(d.upstream.requests) <= 5


@pytest.mark.spec("X37")
def test_an_upstream_whose_retry_after_exceeds_the_deadline_is_not_asked_again(desk: Open) -> None:
    with desk([], PERSON, then=Fail(429, retry_after=7200), policy=Policy(otherwise="failed", deadline=3600)) as d:
        response = d.chat()  # it gives up after a minute, long before either of the two hours is over
        assert response.status_code == 429
        assert response.headers["retry-after"] == "7200", "the client is told, and waits itself"
        assert len(d.upstream.requests) == 1


@pytest.mark.spec("X37", "X43")
def test_a_huge_invalid_reply_is_not_repeated_in_the_next_request(desk: Open) -> None:
    policy = Policy(otherwise="failed", repairs=3, same_fault=9)
    with desk([], PERSON, then='{"name": "' + "x" * 300_000 + '", "age": "old"}', policy=policy) as d:
        assert d.chat().status_code == 422
        sizes = [len(request.body) for request in d.upstream.requests]
        assert len(sizes) == 4
        assert max(sizes) < 12_000


@pytest.mark.spec("X37")
def test_requests_over_the_concurrency_limit_are_rejected_immediately(desk: Open) -> None:
    from trueup.gateway.config import Limits

    with desk([], then=Hang(), limits=Limits(at_once=4)) as d:
        waiting = [line_to(d.url) for _ in range(4)]
        for line in waiting:
            line.sendall(WHOLE)
        wait_for(lambda: len(d.upstream.requests) == 4)
        response = d.chat()
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        for line in waiting:
            line.close()
        assert len(d.upstream.requests) == 4


# -- keys and tenants --------------------------------------------------------------------------


@pytest.mark.spec("X38")
def test_a_key_means_nothing_to_another_tenant(desk: Open, store: Store) -> None:
    callers = (Caller("k-a", "acme"), Caller("k-b", "umbrella"), Caller("k-c", "acme\0umbrella"))
    with desk([], PERSON, then=GOOD, store=store, quota=True, clients=callers) as d:
        for key in ("same", "", "acme", "k" * 200):
            for caller in callers:
                headers = {"authorization": f"Bearer {caller.key}", "idempotency-key": key}
                first = d.chat(headers=headers)
                assert (first.status_code, first.headers.get("x-trueup-replayed")) == (200, None), "no other tenant's"
                if key:
                    again = d.chat(headers=headers)
                    assert again.headers["x-trueup-replayed"] == "true"
                    assert again.headers["x-trueup-verdict"] == first.headers["x-trueup-verdict"]
        for caller in callers:
            assert used_and_held(store, tenant=caller.tenant) == (4, 0)
        assert store.quota.audit() == []


@pytest.mark.spec("X38")
def test_different_names_are_never_truncated_to_the_same(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store, quota=True) as d:
        for name in ("idempotency-key", "x-trueup-tenant", "x-trueup-user"):
            assert d.chat(headers={name: "k" * MOST_NAME}).status_code == 200
            assert d.chat(headers={name: "k" * (MOST_NAME + 1)}).status_code == 400
        for odd in (5, ["a"], {"a": 1}, "k" * (MOST_NAME + 1), True):
            assert d.chat(trueup={"tenant": odd}).status_code == 400


def distinct(table: str, session: Any) -> list[Any]:
    found: list[Any] = session.run(f"SELECT DISTINCT tenant FROM {table}")
    return found


@pytest.mark.spec("X38")
def test_every_row_of_the_store_names_its_tenant(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store, quota=True, policy=PRICED) as d:
        for tenant in ("acme", "umbrella"):
            d.chat(headers={"x-trueup-tenant": tenant, "idempotency-key": "same"})
        store.flush()
        for table in ("ledger", "attempts", "buckets", "verdicts"):
            assert set(store.read(partial(distinct, table))) == {("acme",), ("umbrella",)}, table


# -- crashes -----------------------------------------------------------------------------------

_CRASH = """
import os, signal, sys
from trueup import Contract
import trueup.gateway.replies.replying as module
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.gateway.replies.tab import Tab
url, store, instant = sys.argv[1:]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if instant == "after reserving":
    module.Asking.run = die
elif instant == "before capturing":
    Tab.settle = die
elif instant == "after capturing":
    module.overhead = die
config = of(url, Contract({"type": "object"}), store=store, quota=True)
with running(config) as gateway:
    print(gateway.url, flush=True)
    sys.stdin.read()
"""


class Gateway:
    """A gateway in a separate process, which may be killed, or may kill itself."""

    def __init__(self, url: str, file: Path, instant: str = "") -> None:
        command = [sys.executable, "-c", _CRASH, url, str(file), instant]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def ask(self, **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.post(f"{self.url}/v1/chat/completions", json=BODY, headers=named, timeout=60).status_code

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Wait for its end, which comes once nobody writes to it."""
        self._process.communicate(timeout=60)
        return self._process.returncode


@pytest.mark.spec("X39")
@pytest.mark.parametrize(
    ("instant", "stand", "again"),
    [("after reserving", (0, 1), 409), ("before capturing", (0, 1), 409), ("after capturing", (1, 0), 200)],
)
def test_a_crash_at_any_instant_charges_once_or_not_at_all(
    tmp_path: Path, instant: str, stand: tuple[int, int], again: int
) -> None:
    file = tmp_path / "s.db"
    with ScriptedServer([], then=GOOD) as upstream:
        gateway = Gateway(upstream.url, file, instant)
        with pytest.raises(httpx.HTTPError):
            gateway.ask(idempotency_key="k")
        assert gateway.end() == -signal.SIGKILL
        with open_store(file) as store:
            assert used_and_held(store) == stand, "used is what was captured, held is what was reserved"
            assert store.quota.audit() == []
        gateway = Gateway(upstream.url, file)
        try:
            assert gateway.ask(idempotency_key="k") == again, "the same key is never charged a second time"
            assert gateway.ask() == 200
        finally:
            gateway.end()
        with open_store(file) as store:
            assert used_and_held(store) == (stand[0] + 1, stand[1])
            assert store.quota.audit() == []


@pytest.mark.spec("X39", "X42")
def test_gateways_killed_during_traffic_leave_a_consistent_ledger(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    told: list[str] = []
    with ScriptedServer([], then=Slow(GOOD, first=0.01)) as upstream:
        crew = [Gateway(upstream.url, file) for _ in range(2)]
        stop = threading.Event()

        def ask(number: int) -> None:
            with httpx.Client(timeout=60) as client:
                for n in range(10_000):
                    if stop.is_set():
                        return
                    url, key = crew[(number + n) % 2].url, f"k{(number * 7 + n) % 40}"
                    try:
                        answer = client.post(f"{url}/v1/chat/completions", json=BODY, headers={"idempotency-key": key})
                        if answer.status_code == 200 and "x-trueup-replayed" not in answer.headers:
                            told.append(key)
                    except httpx.HTTPError:
                        stop.wait(0.02)

        crowd = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in crowd:
            thread.start()
        wait_for(lambda: len(told) >= 5)
        crew[0].kill()
        crew[0].end()
        crew[0] = Gateway(upstream.url, file)
        wait_for(lambda: len(told) >= 25)
        crew[1].kill()
        stop.set()
        for thread in crowd:
            thread.join()
        for gateway in crew:
            gateway.end()
    with open_store(file) as store:
        assert len(told) == len(set(told)), "a key was answered twice"
        used, held = used_and_held(store)
        assert len(told) <= used <= 40, "who got a reply was charged"
        assert used + held <= 40
        assert store.quota.audit() == []


# -- aborts ------------------------------------------------------------------------------------


def leave_after(d: Desk, words: str, body: dict[str, Any], path: str = "/v1/chat/completions") -> None:
    """Read a stream until something was said, and go."""
    seen = ""
    with d.http.stream("POST", path, json={**body, "stream": True, "max_tokens": 99}, headers=STATE) as response:
        for piece in response.iter_text():
            seen += piece
            if words in seen:
                return


@pytest.mark.spec("X40")
@pytest.mark.parametrize(
    ("path", "protocol", "words", "charged"),
    [
        ("/v1/chat/completions", "openai", "long enough", 1),
        ("/v1/chat/completions", "openai", "assistant", 0),
        ("/v1/messages", "anthropic", "long enough", 1),
        ("/v1/messages", "anthropic", "message_start", 0),
    ],
)
def test_an_abort_is_settled_once_for_the_shown_text(
    desk: Open, store: Store, path: str, protocol: str, words: str, charged: int
) -> None:
    slow = Slow(Say(WORDS, piece=10), every=0.05 if charged else 1)
    with desk([slow] * 3, CALM, store=store, quota=True, protocol=protocol, policy=PRICED) as d:
        for _ in range(3):
            leave_after(d, words, BODY, path)
        wait_for(lambda: d.gateway.gateway.metrics.active == 0)
        wait_for(lambda: used_and_held(store) == (3 * charged, 0))
        assert store.quota.audit() == []
        wait_for(lambda: [e.ended for e in d.upstream.exchanges] == ["client left"] * 3, "somebody reads on")
        assert used_and_held(store, "cost")[0] > 0, (
            "what the upstream had to read is paid for, though nobody waited for the end"
        )


@pytest.mark.spec("X40")
def test_a_client_that_leaves_before_a_complete_reply_gets_nothing_and_owes_nothing(desk: Open, store: Store) -> None:
    with desk([Hang()], PERSON, store=store, quota=True) as d:
        with line_to(d.url) as line:
            line.sendall(WHOLE)
            wait_for(lambda: d.upstream.requests)
            assert used_and_held(store) == (0, 1), "the reply that may come is on hold"
        wait_for(lambda: d.gateway.gateway.metrics.active == 0)
        wait_for(lambda: used_and_held(store) == (0, 0))
        wait_for(lambda: d.upstream.exchanges[0].ended == "client left")
        assert store.quota.audit() == []
        assert 'outcome="gone"' in d.http.get("/metrics").text


# -- useful but invalid ------------------------------------------------------------------------


@pytest.mark.spec("X41")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("usage", [None, (0, 0)])
def test_a_useful_invalid_reply_is_withheld_and_paid_for(
    desk: Open, store: Store, stream: bool, usage: tuple[int, int] | None
) -> None:
    """The recipe is the useful part; the model was talked into a form that never passes."""
    useful = "the recipe: two eggs, a cup of flour, and " * 30
    store.quota.set_limit("", 900_000, unit="cost", period="total")
    with desk([], PERSON, then=Say(useful, usage=usage), store=store, quota=True, policy=PRICED) as d:
        statuses: list[int] = []
        for _ in range(30):
            response = d.chat("x " * 200, stream=stream)
            statuses.append(response.status_code)
            assert "two eggs" not in response.text
            if response.status_code == 429:
                break
        if usage is None:
            assert statuses[-1] == 429, "the budget of costs ends it"
            assert used_and_held(store, "cost")[0] >= 900_000
        wait_for(lambda: used_and_held(store) == (0, 0))  # no reply was charged
        assert store.quota.audit() == []


@pytest.mark.spec("X41")
def test_a_stream_that_is_aborted_early_is_charged_too(desk: Open, store: Store) -> None:
    bad = Say("The secret is out. " + WORDS, piece=10)
    with desk([bad] * 8, CALM, store=store, quota=True, policy=PRICED) as d:
        response = d.chat(stream=True, headers=STATE)
        assert "secret is out" not in response.text
        asked = len(d.upstream.requests)
        assert asked >= 2
        rows = store.read(lambda s: s.run("SELECT attempt, cost FROM attempts ORDER BY attempt"))
        assert [row[0] for row in rows] == list(range(1, asked + 1)), "every attempt, once"
        assert all(row[1] > 0 for row in rows)


# -- many at once, and clocks ------------------------------------------------------------------


@pytest.mark.spec("X42")
def test_concurrent_requests_at_two_gateways_never_exceed_a_limit(tmp_path: Path) -> None:
    file, found = tmp_path / "s.db", []
    with ScriptedServer([], then=Slow(GOOD, first=0.05)) as upstream, open_store(file) as one, open_store(file) as two:
        one.quota.set_limit("", 7, period="total")
        config = of(upstream.url, Contract(PERSON), quota=True)
        with running(config, one) as first, running(config, two) as second:

            def ask(url: str) -> None:
                found.append(httpx.post(f"{url}/v1/chat/completions", json=BODY, timeout=60).status_code)

            crowd = [threading.Thread(target=ask, args=(url,)) for url in (first.url, second.url) * 12]
            for thread in crowd:
                thread.start()
            for thread in crowd:
                thread.join()
        assert sorted(found) == [200] * 7 + [429] * 17
        assert len(upstream.requests) == 7, "who is over the limit asks nothing"
        assert used_and_held(one) == (7, 0)
        assert one.quota.audit() == []


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.mark.spec("X42")
def test_a_hold_expired_by_the_stores_clock_does_not_give_a_free_reply(desk: Open, tmp_path: Path) -> None:
    clock = Hand()
    with open_store(tmp_path / "s.db", clock=clock) as store:
        store.quota.set_limit("", 1, period="total")
        with desk([Slow(GOOD, first=2), GOOD], PERSON, store=store, quota=True) as d:
            answers: list[httpx.Response] = []
            slow = threading.Thread(target=lambda: answers.append(d.chat()))
            slow.start()
            wait_for(lambda: len(d.upstream.requests) == 1)
            clock.now += 10 * 3600 * 1_000_000
            other = httpx.post(f"{d.url}/v1/chat/completions", json=BODY, timeout=60)
            slow.join()
        assert other.status_code == 200, "the place was free again"
        assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (503, "quota_lost")
        assert "Ada" not in answers[0].text
        assert used_and_held(store) == (1, 0)
        assert store.quota.audit() == []


@pytest.mark.spec("X42")
def test_the_clock_of_this_process_decides_nothing(desk: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand()
    with open_store(tmp_path / "s.db", clock=clock) as store:
        store.quota.set_limit("", 2, period="total")
        held = store.quota.reserve("", "somebody else's")
        for days in (-1, 400):
            monkeypatch.setattr(time, "time", lambda days=days: clock.now / 1e6 + days * 86_400)
            with desk([GOOD], PERSON, store=store, quota=True) as d:
                answer = d.chat(headers={"idempotency-key": "own"})
                assert ("x-trueup-replayed" in answer.headers) == (days > 0), (
                    "a key that was answered stays so, whatever the time is here"
                )
                if d.upstream.left:
                    assert d.chat().status_code == 429
                    d.http.post("/v1/messages", json=BODY)
            assert used_and_held(store) == (1, 1)
        assert store.quota.capture(held).state == "captured", "it did not expire by our clock"
        assert store.quota.audit() == []
