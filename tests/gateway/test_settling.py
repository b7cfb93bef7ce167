"""Every way a request can end, and what it owes then: the table in docs/howto/quota.md, row by row."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from msgspec.structs import replace

from tests.gateway.conftest import GOOD, KEY, PERSON, Desk, Open
from tests.gateway.test_threats_clients import WHOLE, line_to
from tests.gateway.test_threats_quota import Hand, used_and_held
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy, Price
from trueup.gateway.config import Limits, of
from trueup.gateway.running import running
from trueup.store.errors import StoreFull, StoreUnavailable
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.store.store import Store
from trueup.testing.script import Cut, Fail, Hang, Say, Slow
from trueup.testing.server import ScriptedServer

ONCE = Policy(otherwise="failed", retries=0, repairs=0, timeout=60, prices={"*": Price(1, 1)})
CALM = Contract(states={"CALM": {"forbid": [{"terms": ["secret"], "why": "it is secret"}]}}, name="calm")
STATE = {"x-trueup-state": "CALM"}
WORDS = "A first sentence that is long enough to be shown to the client at once. " * 6
VIOLATION = Say(WORDS + "The secret is out. " + WORDS, piece=10)
LONG = json.dumps({"name": "Ada " * 40, "age": 36})
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        opened.quota.set_limit("", 20, period="day")
        yield opened


def ask(d: Desk, *, stream: bool, **headers: str) -> httpx.Response:
    return d.chat("x", stream=stream, headers={**STATE, **headers})


# -- what the upstream answers -----------------------------------------------------------------

VALUE = Contract(PERSON, name="person")
DEGRADES = replace(ONCE, otherwise="text")
FALLS = replace(ONCE, fallback={"name": "nobody", "age": 0})
ASKS_AGAIN = replace(ONCE, repairs=2)


@pytest.mark.spec("Q11", "Q13", "X40", "X41")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("contract", "script", "policy", "charged"),
    [
        pytest.param(VALUE, [GOOD], ONCE, 1, id="valid"),
        pytest.param(VALUE, ['{"name": "Ada", "age": "36",}'], ONCE, 1, id="mended"),
        pytest.param(VALUE, ["no", GOOD], ASKS_AGAIN, 1, id="asked again"),
        pytest.param(VALUE, ["no"], ONCE, 0, id="refused"),
        pytest.param(VALUE, ["no"], DEGRADES, 0, id="degraded"),
        pytest.param(VALUE, ["no"], FALLS, 0, id="fallback"),
        pytest.param(VALUE, [Fail(500)], ONCE, 0, id="upstream error"),
        pytest.param(VALUE, [Fail(400)], ONCE, 0, id="refused by the upstream"),
        pytest.param(VALUE, [Cut(GOOD, 0.5)], ONCE, 0, id="cut before anything was sent"),
        pytest.param(None, [GOOD], ONCE, 1, id="passed"),
        pytest.param(None, [Fail(500)], ONCE, 0, id="passed error"),
    ],
)
def test_a_reply_is_charged_if_it_satisfies_the_contract(
    desk: Open, store: Store, contract: Any, script: list[Any], policy: Policy, charged: int, stream: bool
) -> None:
    with desk(script, contract, then=GOOD, store=store, quota=True, policy=policy) as d:
        response = ask(d, stream=stream, **{"idempotency-key": "k"})
        assert (used_and_held(store), store.quota.audit()) == ((charged, 0), []), response.text
        asked = len(d.upstream.requests)
        again = ask(d, stream=stream, **{"idempotency-key": "k"})
        if charged:
            assert (again.headers["x-trueup-replayed"], again.text) == ("true", response.text)
            assert again.headers["content-type"] == response.headers["content-type"]
            assert again.headers["x-trueup-outcome"] == response.headers["x-trueup-outcome"]
        else:
            assert (again.status_code, len(d.upstream.requests)) == (200, asked + 1), "the key is new again"
        assert (used_and_held(store), store.quota.audit()) == ((1, 0), [])


@pytest.mark.spec("Q11", "Q13", "X40")
@pytest.mark.parametrize(
    ("contract", "step", "charged"),
    [
        pytest.param(CALM, VIOLATION, 0, id="violation"),
        pytest.param(CALM, Cut(Say(WORDS, piece=10), 0.7), 1, id="text cut"),
        pytest.param(VALUE, Cut(Say(LONG, piece=10), 0.7), 0, id="object cut before its last required member"),
        pytest.param(None, Cut(Say(WORDS, piece=10), 0.7), 1, id="passed text cut"),
    ],
)
def test_a_stream_that_ends_badly_after_its_first_word_is_judged_on_what_was_sent(
    desk: Open, store: Store, contract: Any, step: Any, charged: int
) -> None:
    with desk([step, GOOD if contract is VALUE else WORDS], contract, store=store, quota=True, policy=ONCE) as d:
        first = ask(d, stream=True, **{"idempotency-key": "k"})
        assert first.status_code == 200
        assert '"error"' in first.text
        assert (used_and_held(store), store.quota.audit()) == ((charged, 0), [])
        again = ask(d, stream=True, **{"idempotency-key": "k"})
        assert ("x-trueup-replayed" in again.headers) == bool(charged)
        if charged:
            assert again.text == first.text, "what was paid for, with its error"
            ask(d, stream=True)
        else:
            assert '"error"' not in again.text
        assert used_and_held(store)[1] == 0
        assert store.quota.audit() == []


def test_a_violation_in_a_stream_releases_its_reservation(desk: Open, store: Store) -> None:
    store.quota.set_limit("", 1, period="total")
    with desk([VIOLATION, VIOLATION, WORDS], CALM, store=store, quota=True, policy=ONCE) as d:
        for _ in range(2):
            assert "secret is out" not in ask(d, stream=True).text
        assert WORDS[:40] in ask(d, stream=True).text
        assert (used_and_held(store), ask(d, stream=False).status_code) == ((1, 0), 429)


# -- clients that leave ------------------------------------------------------------------------


def leave_after(d: Desk, words: str, **headers: str) -> str:
    """Read a stream until something was said, and go; what was read."""
    seen = ""
    body = {**BODY, "stream": True}
    with d.http.stream("POST", "/v1/chat/completions", json=body, headers={**STATE, **headers}) as response:
        for piece in response.iter_text():
            seen += piece
            if words in seen:
                break
    wait_for(lambda: d.gateway.gateway.metrics.active == 0)
    return seen


@pytest.mark.spec("Q11", "X40")
@pytest.mark.parametrize(
    ("contract", "step", "words", "charged"),
    [
        pytest.param(CALM, Hang(Say(WORDS, piece=10), events=2), "assistant", 0, id="before the first word"),
        pytest.param(CALM, Hang(Say(WORDS, piece=10), events=20), "long enough", 1, id="text"),
        pytest.param(VALUE, Hang(Say(LONG, piece=10), events=19), "Ada", 1, id="object, just before its end"),
        pytest.param(None, Hang(Say(WORDS, piece=10), events=20), "long", 1, id="passed"),
    ],
)
def test_an_abort_does_not_give_a_free_answer(
    desk: Open, store: Store, contract: Any, step: Any, words: str, charged: int
) -> None:
    with desk([step], contract, then=WORDS, store=store, quota=True, policy=ONCE) as d:
        seen = leave_after(d, words, **{"idempotency-key": "k"})
        wait_for(lambda: used_and_held(store) == (charged, 0))
        assert store.quota.audit() == []
        if charged:
            again = ask(d, stream=True, **{"idempotency-key": "k"})
            assert again.headers["x-trueup-replayed"] == "true"
            assert seen.rstrip() in again.text
            assert "reply_cut" in again.text.removeprefix(seen)
        else:
            assert ask(d, stream=True, **{"idempotency-key": "k"}).status_code == 200
        assert (used_and_held(store), store.quota.audit()) == ((1, 0), [])


def requests_of(d: Desk) -> float:
    """How many requests are over."""
    lines = [line for line in d.http.get("/metrics").text.splitlines() if line.startswith("trueup_requests_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.spec("Q13", "X40")
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_three_hundred_clients_that_send_and_close_leave_nothing_on_hold(
    desk: Open, store: Store, contract: Any
) -> None:
    with desk([], contract, then=Slow(GOOD, first=0.02), store=store, quota=True) as d:
        for _ in range(300):
            with line_to(d.url) as line:
                line.sendall(WHOLE)
        wait_for(lambda: requests_of(d) >= 300)
        wait_for(lambda: used_and_held(store)[1] == 0)
        used = used_and_held(store)[0]
        assert used < 20, "nobody got a reply"
        assert [d.chat().status_code for _ in range(20 - used)] == [200] * (20 - used)
        assert d.chat().status_code == 429
        assert (used_and_held(store), store.quota.audit()) == ((20, 0), [])


@contextlib.contextmanager
def paused(store: Store) -> Iterator[Callable[[], bool]]:
    """The writer stands still inside; the function says whether jobs wait for it."""
    entered, go = threading.Event(), threading.Event()
    store._writer.submit(lambda _: (entered.set(), go.wait(60)))
    entered.wait(60)
    try:
        yield lambda: bool(store._writer._jobs)
    finally:
        go.set()


@pytest.mark.spec("Q13", "X40")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_a_client_that_leaves_during_reservation_or_capture_owes_nothing(
    desk: Open, store: Store, contract: Any, stream: bool
) -> None:
    body = json.dumps({**BODY, "stream": stream}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n" % len(
        body
    )
    with desk([], contract, then=Slow(GOOD, first=0.3), store=store, quota=True) as d:
        with paused(store) as waits, line_to(d.url) as line:  # while it is reserved
            line.sendall(head + body)
            wait_for(waits)
            line.close()
            wait_for(lambda: d.gateway.gateway.metrics.active == 0)
        wait_for(lambda: used_and_held(store) == (0, 0))
        assert d.upstream.requests == []
        with line_to(d.url) as line:  # while it is captured
            line.sendall(head + body)
            wait_for(lambda: d.upstream.requests)
            with paused(store) as waits:
                wait_for(waits)
                line.close()
                wait_for(lambda: len(store._writer._jobs) >= 2, "nothing is given back")
        wait_for(lambda: d.gateway.gateway.metrics.active == 0)
        wait_for(lambda: used_and_held(store) == (0, 0))
        assert store.quota.audit() == []
        assert d.chat(stream=stream, headers={"idempotency-key": "k"}).status_code == 200
        assert used_and_held(store) == (1, 0)


@pytest.mark.spec("Q13")
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_a_deadline_releases_the_hold(desk: Open, store: Store, contract: Any) -> None:
    limits = Limits(total_seconds=0.2)
    with desk([Hang()], contract, store=store, quota=True, limits=limits, policy=replace(ONCE, timeout=0.2)) as d:
        assert d.chat().status_code == 504
        assert (used_and_held(store), store.quota.audit()) == ((0, 0), [])


@pytest.mark.spec("Q11", "Q13")
@pytest.mark.parametrize(
    ("contract", "said", "charged"),
    [(CALM, WORDS, 1), (VALUE, LONG, 0), (None, WORDS, 1)],
    ids=["text", "object", "passed"],
)
def test_a_deadline_after_the_first_word_cuts_the_stream(
    desk: Open, store: Store, contract: Any, said: str, charged: int
) -> None:
    step, limits = Hang(Say(said, piece=10), events=17), Limits(total_seconds=0.5)
    with desk([step], contract, store=store, quota=True, limits=limits, policy=replace(ONCE, timeout=0.5)) as d:
        response = ask(d, stream=True)
        assert (response.status_code, '"error"' in response.text) == (200, True)
        assert (used_and_held(store), store.quota.audit()) == ((charged, 0), [])


@pytest.mark.spec("Q13")
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_a_gateway_that_stops_settles_requests_in_progress(tmp_path: Path, contract: Any) -> None:
    file = tmp_path / "s.db"
    with ScriptedServer([Hang(), Hang(Say(WORDS, piece=10), events=20)]) as upstream:
        contract = None if contract is None else Contract(contract)
        config = of(upstream.url, contract, key=KEY, quota=True, store=str(file), limits=Limits(stop_seconds=0))
        with running(config) as gateway, line_to(gateway.url) as line:
            line.sendall(WHOLE)
            wait_for(lambda: upstream.requests)
    with open_store(file) as store:
        assert (used_and_held(store), store.quota.audit()) == ((0, 0), [])


# -- a store in trouble ------------------------------------------------------------------------


@pytest.mark.spec("Q13", "X39")
@pytest.mark.parametrize("trouble", [StoreFull("full"), StoreUnavailable("gone")])
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_a_failing_store_lets_no_free_reply_out_and_leaves_nothing_on_hold(
    desk: Open, store: Store, monkeypatch: pytest.MonkeyPatch, trouble: Exception, contract: Any
) -> None:
    def fail(*_: Any) -> Any:
        raise trouble

    with desk([Slow(GOOD, first=0.3), GOOD], contract, store=store, quota=True) as d:
        with monkeypatch.context() as patch:
            answers: list[httpx.Response] = []
            asking = threading.Thread(target=lambda: answers.append(d.chat()))
            asking.start()
            wait_for(lambda: d.upstream.requests)
            patch.setattr(store._writer, "_once", fail)
            asking.join()
            assert (answers[0].status_code, "Ada" in answers[0].text) == (503, False)
        wait_for(lambda: used_and_held(store) == (0, 0))
        store._writer.trouble = None
        wait_for(lambda: d.chat().status_code == 200)
        assert (used_and_held(store), store.quota.audit()) == ((1, 0), [])


# -- killed ------------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.gateway.serving.wire import Out
send = Out.send
async def sent(self, message):
    await send(self, message)
    piece = message.get("body", b"")
    if b"long enough" in piece or b"is long" in piece:
        os.kill(os.getpid(), signal.SIGKILL)
Out.send = sent
calm = Contract(states={"CALM": {"forbid": [{"terms": ["secret"], "why": "it is secret"}]}}, name="calm")
with running(of(sys.argv[1], calm, store=sys.argv[2], hold=sys.argv[3], quota=True)) as gateway:
    print(gateway.url, flush=True)
    sys.stdin.read()
"""


def killed_amid_a_stream(url: str, file: Path, hold: str) -> None:
    """Ask a gateway for a stream, and kill it in the middle of that."""
    command = [sys.executable, "-c", _KILLED, url, str(file), hold]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with pytest.raises(httpx.HTTPError):
            retried(process.stdout.readline().strip())
    with open_store(file) as store:
        assert (used_and_held(store), store.quota.audit()) == ((1, 0), []), "a crash gives no answer away"


def retried(url: str) -> httpx.Response:
    headers = {**STATE, "idempotency-key": "k"}
    return httpx.post(f"{url}/v1/chat/completions", json={**BODY, "stream": True}, headers=headers, timeout=60)


@pytest.mark.spec("X39", "X40")
def test_a_gateway_killed_during_a_stream_charges_once_and_a_retry_takes_the_charge_over(tmp_path: Path) -> None:
    file, clock = tmp_path / "s.db", Hand()
    with ScriptedServer([Say(WORDS, piece=10)], then=WORDS) as upstream:
        killed_amid_a_stream(upstream.url, file, "auto")
        with open_store(file) as store:
            clock.now = store.read(lambda session: session.now())
        with open_store(file, clock=clock) as store, running(of(upstream.url, CALM, quota=True), store) as gateway:
            busy = retried(gateway.url)
            assert (busy.status_code, busy.headers["retry-after"]) == (409, "1"), "somebody may still be sending it"
            clock.now += 301 * 1_000_000
            assert retried(gateway.url).status_code == 200
            assert retried(gateway.url).headers["x-trueup-replayed"] == "true"
            assert (used_and_held(store), store.quota.audit()) == ((1, 0), []), "charged once in all"


@pytest.mark.spec("X39", "X40")
def test_a_stream_judged_before_the_gateway_was_killed_is_stored_completely(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with ScriptedServer([Say(WORDS, piece=10)]) as upstream:
        killed_amid_a_stream(upstream.url, file, "whole")
        with open_store(file) as store, running(of(upstream.url, CALM, quota=True), store) as gateway:
            again = retried(gateway.url)
            assert (again.status_code, again.headers["x-trueup-replayed"]) == (200, "true")
            assert ("[DONE]" in again.text, "reply_cut" in again.text) == (True, False)
            assert (len(upstream.requests), used_and_held(store), store.quota.audit()) == (1, (1, 0), [])


# -- replays -----------------------------------------------------------------------------------


@pytest.mark.spec("X38")
def test_a_replay_is_only_for_the_same_tenant_and_request(desk: Open, store: Store) -> None:
    with desk([], PERSON, then=GOOD, store=store, quota=True) as d:
        key = {"idempotency-key": "k", "x-trueup-tenant": "acme"}
        assert d.chat(headers=key).status_code == 200
        for other in (
            {"content": "Who else?"},
            {"temperature": 1},
            {"stream": True},
            {"headers": {**key, "x-trueup-include": "1"}},
        ):
            refused = d.chat(**{"headers": key, **other})  # type: ignore[arg-type]
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "idempotency_key_reused")
            assert refused.headers["x-should-retry"] == "false"
        assert d.message(headers=key).status_code == 409
        assert "x-trueup-replayed" not in d.chat(headers={**key, "x-trueup-tenant": "umbrella"}).headers
        assert len(d.upstream.requests) == 2


def test_a_request_whose_key_is_in_progress_can_be_retried(desk: Open, store: Store) -> None:
    with desk([Slow(GOOD, first=0.4)], PERSON, store=store, quota=True) as d:
        client = openai.OpenAI(base_url=f"{d.url}/v1", api_key="x", max_retries=3)
        found: list[Any] = []

        def create() -> None:
            ask: Any = client.chat.completions.with_raw_response.create
            found.append(ask(**BODY, extra_headers={"idempotency-key": "k"}))

        crowd = [threading.Thread(target=create) for _ in range(3)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        assert [one.parse().choices[0].message.content for one in found] == [GOOD] * 3
        assert sorted(one.headers.get("x-trueup-replayed", "") for one in found) == ["", "true", "true"]
        assert (len(d.upstream.requests), used_and_held(store)) == (1, (1, 0))


def stored_replays(store: Store) -> int:
    return int(store.read(lambda session: session.run("SELECT count(*) FROM replays"))[0][0])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("options", "limits", "keeps"),
    [
        ({}, Limits(), True),
        ({}, Limits(replay=50), False),
        ({"retention": Retention(replays=0)}, Limits(), False),
        ({"redaction": Redaction(bodies="none")}, Limits(), False),
        ({"redaction": Redaction(words=("Ada",))}, Limits(), False),
        ({"redaction": Redaction(words=("Bob",))}, Limits(), True),
        ({"redaction": Redaction(patterns=(r"A[d]a",))}, Limits(), False),
    ],
)
def test_a_reply_that_may_not_be_stored_is_not_and_its_key_gets_an_explanation(
    desk: Open, tmp_path: Path, options: dict[str, Any], limits: Limits, keeps: bool, stream: bool
) -> None:
    with open_store(tmp_path / "s.db", **options) as store:
        with desk([GOOD], PERSON, store=store, quota=True, limits=limits) as d:
            key = {"idempotency-key": "k"}
            first, again = d.chat(headers=key, stream=stream), d.chat(headers=key, stream=stream)
            assert (first.status_code, again.status_code, stored_replays(store)) == (
                200,
                200 if keeps else 409,
                int(keeps),
            )
            if not keeps:
                assert again.json()["error"]["code"] == "idempotency_key_used"
                assert again.headers["x-should-retry"] == "false"
            assert (used_and_held(store), store.quota.audit()) == ((1, 0), [])
        rows = store.read(lambda session: session.run("SELECT body FROM replays"))
        assert bool(rows) == keeps


def test_a_request_without_an_idempotency_key_is_not_stored(desk: Open, store: Store) -> None:
    with desk([GOOD, GOOD], PERSON, store=store, quota=True) as d:
        assert [d.chat(stream=stream).status_code for stream in (False, True)] == [200, 200]
        assert stored_replays(store) == 0


@pytest.mark.spec("X25", "X38")
def test_no_key_of_an_upstream_is_stored(desk: Open, store: Store) -> None:
    with desk([json.dumps({"name": KEY, "age": 1})], PERSON, store=store, quota=True) as d:
        first = d.chat(headers={"idempotency-key": "k"})
        assert KEY not in first.text
        rows = store.read(lambda session: session.run("SELECT head, body FROM replays"))
        assert all(KEY.encode() not in bytes(body) and KEY not in head for head, body in rows)


def test_a_replay_costs_nothing_and_ignores_an_exhausted_limit(desk: Open, store: Store) -> None:
    store.quota.set_limit("", 1, period="total")
    with desk([GOOD], PERSON, store=store, quota=True, policy=ONCE) as d:
        key = {"idempotency-key": "k"}
        first = d.chat(headers=key)
        cost = used_and_held(store, "cost")
        assert (d.chat().status_code, d.chat(headers=key).content) == (429, first.content)
        assert (used_and_held(store), used_and_held(store, "cost")) == ((1, 0), cost)
        assert 'outcome="replayed"' in d.http.get("/metrics").text
