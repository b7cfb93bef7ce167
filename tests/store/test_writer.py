"""A writer that cannot write: waiting callers get an error, later ones succeed, and a bad value harms no others."""

import asyncio
import secrets
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_for
from trueup import Contract
from trueup.store.alarm import Alarm
from trueup.store.errors import NotStorable, StoreBusy, StoreError, StoreFull
from trueup.store.open import open_store
from trueup.store.session import Session
from trueup.store.store import Store
from trueup.verdict.reply import Reply

CONTRACT = Contract(True)
GOOD = CONTRACT.check('{"age": 1}')
NO_SPACE = OSError(28, "No space left on device")


class Tap:
    """The writer's way to the tables, which can be shut."""

    def __init__(self, store: Store) -> None:
        self._real = store._writer._bulk
        self.shut = False
        self.tries = 0
        store._writer._bulk = self

    def __call__(self, session: Session, values: Any) -> None:
        self.tries += 1
        self._real(session, values)
        if self.shut:
            raise NO_SPACE


def test_after_a_reported_failure_the_next_verdict_is_tried(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        tap = Tap(store)
        tap.shut = True
        for _ in range(2):
            with pytest.raises(StoreFull, match="free some space"):
                store.record_verdict(GOOD)
            assert store.trouble is None, "nothing waits to be written"
        tap.shut = False
        made = store.record_verdict(GOOD)
        store.flush()
        assert [stored.id for stored in store.verdicts()] == [made]


def test_a_late_write_counts_once_for_the_alarm(tmp_path: Path) -> None:
    said: list[str] = []
    with open_store(tmp_path / "s.db", alarm=Alarm(least=3, tell=said.append)) as store:
        tap = Tap(store)
        tap.shut = True
        store.record_verdict(GOOD, model="m", attempts=3, wait=False)
        wait_for(lambda: tap.tries > 4)
        assert store.trouble is not None
        tap.shut = False
        wait_for(lambda: store.trouble is None)
        assert list(store.alarm._last["m"]) == [True]
        assert said == []


ENDING = """
import atexit, os, sys
from trueup import Contract
from trueup.store.open import open_store

store = open_store(sys.argv[1])
for _ in range(30):
    store.record_verdict(Contract(True).check("1"), wait=False)
if os.fork() == 0:
    atexit._run_exitfuncs()  # the parent's queue is no business of the child's
    os._exit(0)
assert os.wait()[1] == 0
"""


def test_a_process_that_ends_without_closing_writes_its_queue(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", ENDING, str(tmp_path / "s.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    with open_store(tmp_path / "s.db") as store:
        assert len(list(store.verdicts())) == 30


def test_an_alarm_that_fails_costs_no_verdict(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def tell(_: str) -> None:
        raise RuntimeError("the pager is broken")

    with open_store(tmp_path / "s.db", alarm=Alarm(least=1, tell=tell)) as store:
        made = store.record_verdict(GOOD, model="m", attempts=2)
        assert [stored.id for stored in store.verdicts()] == [made]
        assert store.stats()[0].asked == 1
    assert "the pager is broken" in caplog.text


@pytest.mark.spec("X46")
def test_closing_a_failing_store_does_not_wait_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.store.writer._GROUP", 2)
    store = open_store(tmp_path / "s.db")
    gate = threading.Event()

    def stuck(_: Session, __: Any) -> None:
        gate.wait(60)
        raise NO_SPACE

    store._writer._bulk = stuck
    for _ in range(3):
        store.record_verdict(GOOD, wait=False)
    told: list[BaseException] = []

    def wait() -> None:
        try:
            store.record_verdict(GOOD)
        except StoreError as error:
            told.append(error)

    waiting = [threading.Thread(target=wait, daemon=True) for _ in range(4)]
    for thread in waiting:
        thread.start()
    wait_for(lambda: len(store._writer._records) >= 5)  # a group is being written, the others wait
    gone = store._writer.submit(lambda session: session.now())
    gone.cancel()  # a caller that went away does not keep the others from an answer
    unwritten: list[str] = []

    def close() -> None:
        try:
            store.close()
        except StoreFull as error:
            unwritten.append(str(error))

    closing = threading.Thread(target=close)
    closing.start()
    wait_for(lambda: store._writer._closing)
    gate.set()
    closing.join(60)
    for thread in waiting:
        thread.join(60)
    assert not any(thread.is_alive() for thread in waiting)
    assert len(told) == 4
    assert len(unwritten) == 1
    assert "could not be written" in unwritten[0]


def test_a_value_that_no_table_accepts_fails_alone_and_delays_nothing(opened: Store) -> None:
    ids = [opened.record_verdict(GOOD, wait=False, attempt=n) for n in (1, 2**70, 2)]
    opened.flush()
    assert [stored.id for stored in opened.verdicts()] == [ids[0], ids[2]]
    assert opened.trouble is None
    with pytest.raises((NotStorable, OverflowError)):
        opened.record_verdict(GOOD, attempt=2**70)
    with pytest.raises(StoreError, match="cannot store this value"):
        opened.record_verdict(GOOD, attempt={"no": "number"})  # type: ignore[arg-type]
    assert opened.trouble is None


@pytest.mark.needs("database")
def test_a_text_too_long_for_its_index_is_reported_only_to_its_caller(server: str) -> None:
    from tests.store.conftest import empty_database

    with open_store(empty_database(server)()) as store:
        ids = [store.record_verdict(GOOD, wait=False, request=text) for text in ("a", secrets.token_hex(9000), "b")]
        store.flush()
        assert [stored.id for stored in store.verdicts()] == [ids[0], ids[2]]
        held = threading.Event()
        first = store._writer.submit(lambda _: held.wait(60))
        keys = ["a", secrets.token_hex(9000), "b"]
        told: list[Any] = []

        async def reserve() -> None:
            asking = asyncio.gather(*(store.quota.areserve("acme", key) for key in keys), return_exceptions=True)
            await asyncio.sleep(0)
            held.set()
            told.extend(await asking)

        asyncio.run(reserve())
        assert first.result(60)
        assert isinstance(told[1], NotStorable)
        assert [told[0].state, told[2].state] == ["held", "held"]
        assert store.quota.audit() == []


def test_the_usage_that_a_provider_reports_is_stored_however_large(opened: Store) -> None:
    reply = Reply("{}", usage={"input_tokens": 10**30, "output_tokens": 7})
    for _ in range(3):
        stored = opened.get(opened.record_verdict(CONTRACT.check(reply), model="m", cost=10**40))
        assert (stored.tokens_in, stored.tokens_out, stored.cost) == (10**15, 7, 10**15)
    assert opened.stats()[0].cost == 3 * 10**15
    opened.quota.set_limit("acme", 100, unit="cost", period="total")
    held = opened.quota.reserve("acme", "k")
    assert opened.quota.spend(held, 1, 10**40) is True
    assert opened.quota.audit() == []


def test_a_database_locked_by_another_process_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = tmp_path / "s.db"
    with open_store(url) as store:
        store._writer._session.run("PRAGMA busy_timeout = 50")  # type: ignore[union-attr]
        tries = 0
        real = store._writer._once

        def once(*group: Any) -> list[Any]:
            nonlocal tries
            tries += 1
            return real(*group)

        monkeypatch.setattr(store._writer, "_once", once)
        other = sqlite3.connect(url, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with store._writer._change:  # so that they come as one group
            late = store.record_verdict(GOOD, wait=False)
            jobs = [store._writer.submit(lambda session: session.now(), f"t{n}") for n in range(20)]
        for job in jobs:
            with pytest.raises(StoreBusy, match="another process"):
                job.result(60)
        assert tries <= 3, "not once for each of them"
        other.execute("ROLLBACK")
        other.close()
        wait_for(lambda: store.trouble is None)
        store.flush()
        assert [stored.id for stored in store.verdicts()] == [late]
