"""Refunds, limits set in the middle of a period, holds that nobody waits for, and stores from before; on each database."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.store.conftest import Hand
from tests.waiting import wait_for
from trueup.store.errors import KeyReused, NotHeld, QuotaExceeded, StoreFull, StoreUnavailable
from trueup.store.open import backend_of, open_store
from trueup.store.replays import SentReply
from trueup.store.retention import Retention
from trueup.store.schema import VERSIONS, migrate
from trueup.store.session import Session
from trueup.store.store import Store

DAY = 86_400.0


def used(store: Store, tenant: str = "acme", unit: str = "replies") -> tuple[int, int]:
    rows = [s for s in store.quota.standings(tenant) if (s.scope, s.unit, s.period) == ("tenant", unit, "total")]
    return (rows[0].used, rows[0].held) if rows else (0, 0)


# -- refunds -----------------------------------------------------------------------------------


@pytest.mark.spec("Q13", "X39")
def test_a_capture_is_refunded_once_and_its_key_can_be_used_again(opened: Store) -> None:
    quota = opened.quota
    quota.set_limit("acme", 2)
    held = quota.reserve("acme", "k", estimate=7)
    quota.capture(quota.reserve("acme", "other"))
    quota.capture(held)
    assert used(opened) == (2, 0)
    for _ in range(3):
        assert quota.refund(held).state == "released"
    assert (used(opened), quota.audit()) == ((1, 0), [])
    with pytest.raises(NotHeld, match="released"):
        quota.capture(held)
    again = quota.reserve("acme", "k")
    assert again.fresh
    with pytest.raises(NotHeld, match="taken over"):
        quota.refund(held)
    quota.capture(again)
    assert (used(opened), quota.audit()) == ((2, 0), [])


@pytest.mark.spec("Q13", "X42")
def test_a_refund_counts_in_the_period_of_its_reservation(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    quota.set_limit("acme", 1, period="day")
    held = quota.reserve("acme", "k", lifetime=3 * DAY)
    quota.capture(held)
    clock.go(DAY)
    quota.capture(quota.reserve("acme", "next"))
    quota.refund(held)
    with pytest.raises(QuotaExceeded, match="1 of 1 replies per day"):
        quota.reserve("acme", "more")
    assert (used(opened), quota.audit()) == ((1, 0), [])


def test_refunding_a_hold_releases_it_and_an_expired_hold_stays_expired(opened: Store, clock: Hand) -> None:
    one, two = opened.quota.reserve("acme", "one"), opened.quota.reserve("acme", "two")
    assert opened.quota.refund(one).state == "released"
    clock.go(301)
    assert opened.quota.refund(two).state == "expired"
    assert (used(opened), opened.quota.audit()) == ((0, 0), [])


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["tenant", "user", "model"])
@pytest.mark.parametrize("period", ["hour", "day", "month", "total"])
@pytest.mark.spec("Q13")
def test_a_limit_set_in_the_middle_of_a_period_counts_earlier_use(opened: Store, scope: str, period: str) -> None:
    quota = opened.quota
    for n in range(3):
        held = quota.reserve("acme", f"{n}", user="ada", model="m")
        quota.spend(held, 1, 10)
        if n:
            quota.capture(held)
    name = {"tenant": "", "user": "*", "model": "m"}[scope]
    quota.set_limit("acme", 3, scope=scope, name=name, period=period)  # type: ignore[arg-type]
    with pytest.raises(QuotaExceeded, match=r"2 of 3 replies.*1 on hold"):
        quota.reserve("acme", user="ada", model="m")
    quota.set_limit("acme", 4, scope=scope, name=name, period=period)  # type: ignore[arg-type]
    quota.set_limit("acme", 30, scope=scope, name=name, period=period, unit="cost")  # type: ignore[arg-type]
    with pytest.raises(QuotaExceeded, match="30 of 30 cost"):
        quota.reserve("acme", user="ada", model="m")
    assert quota.audit() == []


def test_a_limit_set_by_another_process_applies_from_the_next_reservation_on(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as one, open_store(url) as other:
        for n in range(3):
            one.quota.capture(one.quota.reserve("acme", f"{n}"))
        other.quota.set_limit("*", 3)
        with pytest.raises(QuotaExceeded):
            one.quota.reserve("acme")
        other.quota.set_limit("acme", -1)
        assert one.quota.reserve("acme").fresh


def test_sums_of_old_periods_are_deleted_with_the_ledger(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    quota.set_limit("acme", 5, period="day")
    held = quota.reserve("acme", "long", lifetime=300 * DAY)
    for n in range(4):
        quota.capture(quota.reserve("acme", f"{n}", user="ada"))
        clock.go(DAY)
    rows = "SELECT count(*) FROM buckets WHERE period <> 'total'"
    before = opened.read(lambda s: s.run(rows)[0][0])
    opened.prune(Retention(ledger=1))
    assert opened.read(lambda s: s.run(rows)[0][0]) == before, "too young, and some are still in the ledger"
    clock.go(200 * DAY)
    opened.prune(Retention(ledger=1))
    assert quota.audit() == []
    quota.release(held)
    clock.go(2 * DAY)
    opened.prune(Retention(ledger=1))
    assert opened.read(lambda s: s.run(rows)[0][0]) == 0
    assert (used(opened), quota.audit()) == ((4, 0), [])


# -- who no longer waits -----------------------------------------------------------------------


@pytest.mark.spec("Q13", "X40")
def test_a_caller_that_leaves_during_a_reservation_leaves_no_hold(opened: Store) -> None:
    entered, go = threading.Event(), threading.Event()

    async def run() -> None:
        opened._writer.submit(lambda _: (entered.set(), go.wait(60)))
        asking = [asyncio.ensure_future(opened.quota.areserve("acme", f"{n}")) for n in range(20)]
        asking += [asyncio.ensure_future(opened.quota.areserve("acme")) for _ in range(5)]
        await asyncio.to_thread(entered.wait, 60)
        for one in asking[:10]:
            one.cancel()  # still in the queue
        go.set()
        results = await asyncio.gather(*asking, return_exceptions=True)
        assert sum(isinstance(one, asyncio.CancelledError) for one in results) == 10

    asyncio.run(run())
    opened.flush()
    assert (used(opened), opened.quota.audit()) == ((0, 15), [])


@pytest.mark.spec("Q13", "X40")
def test_a_hold_committed_after_its_caller_left_is_released(opened: Store) -> None:
    """The writer has begun the job when its caller goes: nobody can stop it, so it must be undone."""
    begun, go = threading.Event(), threading.Event()

    async def run() -> None:
        with opened._writer._change:  # so that they come as one group
            asking = asyncio.ensure_future(opened.quota.areserve("acme", "k"))
            await asyncio.sleep(0)
            opened._writer.submit(lambda _: (begun.set(), go.wait(60)))
        await asyncio.to_thread(begun.wait, 60)
        asking.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(run())
    opened.flush()
    assert used(opened) == (0, 0)
    assert opened.quota.reserve("acme", "k").fresh


@pytest.mark.parametrize("why", [StoreFull("full"), StoreUnavailable("gone")])
@pytest.mark.spec("Q13", "X39")
def test_pending_refunds_are_made_as_soon_as_the_store_can_write(
    opened: Store, monkeypatch: pytest.MonkeyPatch, why: Exception
) -> None:
    held, captured = opened.quota.reserve("acme", "held"), opened.quota.reserve("acme", "captured")
    opened.quota.capture(captured)
    tries: list[int] = []

    def fail(*_: object) -> list[object]:
        tries.append(1)
        raise why

    async def leave() -> None:
        for one in (held, captured):
            with pytest.raises(type(why)):
                await opened.quota.arefund(one)

    with monkeypatch.context() as patch:
        patch.setattr(opened._writer, "_once", fail)
        asyncio.run(leave())
        assert used(opened) == (1, 1)
    wait_for(lambda: used(opened) == (0, 0))
    assert opened.quota.audit() == []


# -- replies that are kept ---------------------------------------------------------------------


def test_a_reply_is_stored_with_its_capture_and_deleted_with_its_refund(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    reply = SentReply([("content-type", "application/json")], b'{"a": 1}')

    async def run() -> None:
        held = await quota.areserve("acme", "k", digest="d")
        await quota.acapture(held, replay=reply)
        assert await quota.areplay(held) == reply
        other = await quota.areserve("umbrella", "k", digest="d")
        assert await quota.areplay(other) is None, "a key of another tenant is another key"
        with pytest.raises(KeyReused):
            await quota.areserve("acme", "k", digest="other")
        assert (await quota.areserve("acme", "k", digest="d")).state == "captured"
        await quota.arefund(held)
        assert await quota.areplay(held) is None
        again = await quota.areserve("acme", "k", digest="other")
        await quota.acapture(again, replay=reply)
        clock.go(DAY - 1)
        assert await quota.areplay(again) == reply
        clock.go(2)
        assert await quota.areplay(again) is None, "kept for a day"

    asyncio.run(run())
    assert opened.prune()["replays"] == 1
    assert opened.quota.audit() == []


@pytest.mark.spec("X39")
def test_the_charge_of_a_dead_stream_is_taken_over_by_a_retry_and_not_earlier(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    quota.set_limit("acme", 1)
    reply = SentReply([], b"data: 1\n\n", stream=True)

    async def run() -> None:
        held = await quota.areserve("acme", "k", digest="d")
        await quota.acapture(held, sending=True)
        running = await quota.areserve("acme", "k", digest="d")
        assert (running.fresh, running.state, running.sending) == (False, "captured", True)
        clock.go(301)
        again = await quota.areserve("acme", "k", digest="d")
        assert (again.fresh, used(opened)) == (True, (0, 1)), "nobody is sending any more"
        with pytest.raises(NotHeld, match="taken over"):
            await quota.afinish(held, reply)
        await quota.acapture(again, sending=True)
        await quota.afinish(again, reply)
        clock.go(301)
        done = await quota.areserve("acme", "k", digest="d")
        assert (done.fresh, done.sending) == (False, False)
        assert await quota.areplay(done) == reply

    asyncio.run(run())
    assert (used(opened), quota.audit()) == ((1, 0), [])


@pytest.mark.spec("Q13", "X39")
def test_a_retry_that_is_refused_leaves_the_charge_that_it_would_have_taken_over(opened: Store, clock: Hand) -> None:
    quota = opened.quota
    quota.set_limit("acme", 1, period="day")

    async def run() -> None:
        held = await quota.areserve("acme", "k", digest="d")
        await quota.acapture(held, sending=True)  # and the process that was sending it is killed
        clock.go(DAY)
        quota.capture(quota.reserve("acme", "other"))
        with pytest.raises(QuotaExceeded):
            await quota.areserve("acme", "k", digest="d")
        assert (used(opened), quota.audit()) == ((2, 0), []), "what was sent is not free"
        clock.go(DAY)
        assert (await quota.areserve("acme", "k", digest="d")).fresh
        assert (used(opened), quota.audit()) == ((1, 1), [])

    asyncio.run(run())


# -- stores from before ------------------------------------------------------------------------


@pytest.mark.spec("Q13")
def test_a_ledger_of_an_earlier_version_continues_and_stays_exact(database: Callable[[], str], clock: Hand) -> None:
    """Entries of the second version list their buckets; they are settled in those, and no others."""
    url = database()
    backend = backend_of(url, clock)
    session = backend.connect(writing=True)
    migrate(backend, session, VERSIONS[:2])
    listed = '[["tenant","","replies","total",0],["tenant","","cost","total",0]]'
    session.begin(["acme"])
    for key, state, captured in (("open", "held", 0), ("done", "captured", 1)):
        row = (
            "acme",
            key,
            "t",
            "",
            "",
            1,
            captured,
            5,
            5 if state == "held" else 0,
            state,
            clock(),
            clock() + 10**9,
            0,
        )
        session.insert("ledger", [(*row, listed)])
    session.insert("attempts", [("acme", "done", "t", 1, 9, clock(), '[["tenant","","cost","total",0]]')])
    session.insert("buckets", [("acme", "tenant", "", "replies", "total", 0, 1, 1, 0)])
    session.insert("buckets", [("acme", "tenant", "", "cost", "total", 0, 9, 5, 0)])
    session.commit()
    session.close()
    with open_store(url, clock=clock) as store:
        assert store.quota.audit() == []
        held = store.quota.reserve("acme", "open", token="t")
        store.quota.spend(held, 1, 3)
        store.quota.capture(held)
        store.quota.capture(store.quota.reserve("acme", "new"))
        assert (used(store), used(store, unit="cost"), store.quota.audit()) == ((3, 0), (12, 0), [])
        store.quota.refund(held)
        clock.go(2 * DAY)
        store.prune(Retention(ledger=1))
        assert (used(store), used(store, unit="cost"), store.quota.audit()) == ((2, 0), (12, 0), [])


# -- speed -------------------------------------------------------------------------------------


def test_a_group_of_moves_takes_few_statements(tmp_path: Path) -> None:
    """The overhead of a group, apart from its rows, does not grow with it."""

    def statements(count: int) -> int:
        with open_store(tmp_path / f"{count}.db") as store:
            store.quota.set_limit("*", 10**9)
            session = store._writer._session
            assert session is not None
            ran: list[str] = []
            go = threading.Event()

            def traced(session: Session) -> None:
                go.wait(60)
                session._db.set_trace_callback(ran.append)  # type: ignore[attr-defined]

            async def run() -> None:
                held = await asyncio.gather(*(store.quota.areserve("acme", f"{n}") for n in range(count)))
                store._writer.submit(traced)
                both = [store.quota.acapture(one) for one in held] + [store.quota.areserve("acme") for _ in held]
                asking = asyncio.gather(*both)
                await asyncio.sleep(0)
                go.set()
                await asking

            asyncio.run(run())
            assert used(store) == (count, count)
            return len(ran)

    assert statements(256) <= statements(64) + 40


def test_no_move_scans_the_ledger(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        store.quota.set_limit("*", 10**9)
        ran: list[str] = []
        store._writer.submit(lambda session: session._db.set_trace_callback(ran.append)).result(60)  # type: ignore[attr-defined]

        async def run() -> None:
            held = await asyncio.gather(*(store.quota.areserve("acme", f"{n}") for n in range(50)))
            await asyncio.gather(*(store.quota.aspend(one, 1, 5) for one in held))
            await asyncio.gather(*(store.quota.acapture(one) for one in held[:30]))
            await asyncio.gather(*(store.quota.arefund(one) for one in held))

        asyncio.run(run())
        seen = [sql for sql in dict.fromkeys(ran) if sql.startswith(("SELECT", "WITH", "INSERT", "UPDATE", "DELETE"))]
        assert len(seen) > 8
        for sql in seen:
            plan = [row[3] for row in store.read(partial(explained, sql))]
            assert not [
                step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step and "wanted" not in step
            ], sql


def explained(sql: str, session: Session) -> list[Any]:
    return session.run(f"EXPLAIN QUERY PLAN {sql}")


@pytest.mark.spec("X39")
def test_a_commit_waits_for_the_disk_unless_all_of_it_may_be_lost(tmp_path: Path) -> None:
    """A reservation may be lost with the power; a capture may not, and takes all that came before it to the disk."""
    with open_store(tmp_path / "s.db") as store:
        session = store._writer._session
        assert session is not None
        seen: list[int] = []
        commit = session.commit

        def watched() -> None:
            seen.append(session.run("PRAGMA synchronous")[0][0])
            commit()

        session.commit = watched  # type: ignore[method-assign]

        async def run() -> None:
            for _ in range(2):
                held = await store.quota.areserve("acme", "k")
                await store.quota.aspend(held, 1, 5)
                await store.quota.acapture(held)
                await store.quota.arefund(held)

        asyncio.run(run())
        assert seen == [1, 2, 2, 1] * 2, "1: the system has it, 2: the disk has it"
