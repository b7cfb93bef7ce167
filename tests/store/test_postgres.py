"""Only in PostgreSQL: a connection that can be lost, the server's clock, tenants that do not wait for each other."""

import asyncio
import threading
import time
from typing import Any

import httpx
import psycopg
import pytest

from tests.store.conftest import empty_database
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.store.errors import StoreUnavailable
from trueup.store.open import open_store
from trueup.store.session import Session
from trueup.store.store import Store
from trueup.store.writer import _TRIES

pytestmark = pytest.mark.needs("database")
GOOD = Contract(True).check('{"age": 1}')


@pytest.fixture
def url(server: str) -> str:
    return empty_database(server)()


def cut(url: str) -> int:
    """End every connection of the store to its database, as a restart of the server does."""
    with psycopg.connect(url, autocommit=True) as admin:
        sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return int(admin.execute(sql).fetchone()[0])  # type: ignore[index]


def used(store: Store) -> tuple[int, int]:
    whole = [s for s in store.quota.standings("acme") if (s.scope, s.unit) == ("tenant", "replies")]
    return (whole[0].used, whole[0].held) if whole else (0, 0)


@pytest.mark.spec("Q13", "X39")
def test_a_lost_connection_is_reopened_and_nothing_is_counted_twice(url: str) -> None:
    with open_store(url) as store:
        for n in range(8):
            held = store.quota.reserve("acme", f"k{n}")
            assert held.fresh
            assert cut(url) >= 1
            assert store.quota.capture(held).state == "captured"
            store.record_verdict(GOOD, model="m", wait=False)
            cut(url)
        store.flush()
        assert used(store) == (8, 0)
        assert store.quota.audit() == []
        assert store.stats()[0].asked == len(list(store.verdicts())) == 8


def test_connections_cut_at_any_instant_during_many_writes_lose_nothing(url: str) -> None:
    with open_store(url) as store:
        stop = threading.Event()
        done: list[str] = []

        def work(who: int) -> None:
            n = 0
            while not stop.is_set():
                key = f"{who}-{n}"
                held = store.quota.reserve("acme", key)
                assert held.fresh, "a wish that was sent twice is still the caller's own"
                store.quota.capture(held)
                store.record_verdict(GOOD, model="m")
                done.append(key)
                n += 1

        threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            before = len(done)
            wait_for(lambda before=before: len(done) > before)  # type: ignore[misc]
            cut(url)
        stop.set()
        for thread in threads:
            thread.join()
        assert len(done) >= 10
        assert used(store) == (len(done), 0)
        assert store.stats()[0].asked == len(done)
        assert store.quota.audit() == []


@pytest.mark.spec("Q13", "X39")
def test_losing_a_connection_several_times_in_a_row_loses_no_reservation(url: str) -> None:
    with open_store(url) as store:
        cuts: list[int] = []

        def work(session: Session) -> int:
            if len(cuts) < 4:
                cuts.append(cut(url))
            return session.now()

        work_done = store.quota._writer.submit(work)
        others = [store.quota._writer.submit(lambda session: session.now()) for _ in range(3)]
        assert work_done.result(60) > 0
        assert all(other.result(60) > 0 for other in others)
        assert len(cuts) == 4
        assert min(cuts) >= 1


@pytest.mark.spec("X39")
def test_a_caller_waiting_for_a_lost_server_soon_gets_an_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(url) as store:
        held = store.quota.reserve("acme", "k")
        real = psycopg.connect
        gone = url.replace(str(psycopg.conninfo.conninfo_to_dict(url)["port"]), "1")
        cut(url)
        tries: list[str] = []

        def connect(url: str, **options: Any) -> Any:
            tries.append(url)
            return real(gone, **options)

        monkeypatch.setattr(psycopg, "connect", connect)
        waiting = [store.quota._writer.submit(lambda session: session.now()) for _ in range(50)]
        for one in waiting:
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                one.result(60)
        assert len(tries) < len(waiting) * len(_TRIES) // 2, "not every one of them tried anew"
        monkeypatch.undo()
        assert store.quota.capture(held).state == "captured"


@pytest.mark.spec("Q13", "Q14")
def test_a_gateway_is_not_ready_while_its_database_is_down(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks meanwhile: a balancer that sends requests only to ready servers would never find out otherwise."""
    real = psycopg.connect
    gone = url.replace(str(psycopg.conninfo.conninfo_to_dict(url)["port"]), "1")
    with open_store(url) as store, running(of("http://127.0.0.1:9", store=url, quota=True), store) as gateway:

        def ready() -> Any:
            return httpx.get(f"{gateway.url}/readyz", timeout=60).json()["problems"]

        assert ready() == []
        cut(url)
        monkeypatch.setattr(psycopg, "connect", lambda _, **options: real(gone, **options))
        assert ready() == ["store"]
        assert isinstance(asyncio.run(store.areach(60)), StoreUnavailable)
        monkeypatch.undo()
        assert ready() == []


@pytest.mark.spec("X42")
def test_a_wrong_clock_on_one_machine_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 4_000_000_000 * 10**9)  # the year 2096
    monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)
    with open_store(url) as store:
        before = store.read(lambda session: session.now())
        held = store.quota.reserve("acme", "k", lifetime=3600)
        after = store.read(lambda session: session.now())
        assert before / 1e6 <= held.expires - 3600 <= after / 1e6, "it ends by the clock of the server"
        assert store.quota.expire() == 0
        assert store.quota.capture(held).state == "captured"


def test_a_reader_has_more_time_than_a_writer(url: str) -> None:
    ask = "SHOW idle_in_transaction_session_timeout"
    with open_store(url) as store:
        assert store.read(lambda session: session.run(ask)) == [("0",)]
        assert store._writer.submit(lambda session: session.run(ask)).result(60) == [("1min",)]


def test_a_session_ended_by_the_server_for_idleness_is_reopened(url: str) -> None:
    with open_store(url) as store:
        silent: list[bool] = []

        def work(session: Session) -> int:
            if not silent:  # the first time the process was stopped in the middle of its transaction
                silent.append(True)
                session.run("SET LOCAL idle_in_transaction_session_timeout = '1ms'")
                ended = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
                pid = session.run("SELECT pg_backend_pid()")[0][0]
                with psycopg.connect(url, autocommit=True) as admin:
                    wait_for(lambda: admin.execute(ended, (pid,)).fetchone() == (0,))
            return session.now()

        assert store._writer.submit(work).result(90) > 0
        assert silent == [True]
        assert store.record_verdict(GOOD)


def test_one_tenant_does_not_wait_for_another(url: str) -> None:
    from trueup.store.session import lock_number

    with open_store(url) as store, psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number("umbrella"),))
        waiting = threading.Thread(target=lambda: waited.append(second.quota.reserve("umbrella", "k")))
        waited: list[object] = []
        with open_store(url) as second, psycopg.connect(url, autocommit=True) as admin:
            waiting.start()
            queue = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            wait_for(lambda: admin.execute(queue).fetchone() == (1,), "nobody waits for the lock")
            store.quota.capture(store.quota.reserve("acme", "k"))
            assert waited == []
            other.rollback()
            waiting.join(60)
        assert len(waited) == 1


def test_no_message_contains_the_password(server: str) -> None:
    head, _, _ = server.replace("trueup@", "trueup:hunter2@").rpartition("/")
    with pytest.raises(StoreUnavailable, match="no_such_database") as caught:
        open_store(f"{head}/no_such_database")
    assert "hunter2" not in str(caught.value)
