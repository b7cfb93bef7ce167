"""Backup and restore, from each database into each: nothing is lost, nothing half is taken for whole."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.store.backup import back_up, restore, tables
from trueup.store.errors import StoreError, StoreUnavailable
from trueup.store.open import open_store
from trueup.store.store import Store

ODD = "a\x00b\ud83d\\=1+1 é"
CHECK = Contract({"type": "object", "required": ["age"]}, name="person")


def fill(store: Store, tenant: str = "acme", count: int = 3) -> None:
    """Something in every table that is written today."""
    store.quota.set_limit(tenant, 1000, period="day")
    for number in range(count):
        verdict = CHECK.check('{"age": 36}' if number % 2 else f"no {ODD}")
        made = store.record_verdict(
            verdict, tenant=tenant, user="ada" + ODD, model="small-1", contract=CHECK, wait=False
        )
        held = store.quota.reserve(tenant, f"{number}{ODD}", user="ada", model="small-1", estimate=10)
        store.quota.spend(held, 1, 7)
        (store.quota.capture if number % 3 else store.quota.release)(held)
    store.quota.reserve(tenant, "on hold", user="ada")
    store.record_feedback(made, helpful=True, note=ODD, user="ada")


def contents(url: str) -> dict[str, list[Any]]:
    """Every row of every table, in one order."""
    with open_store(url) as store:

        def rows(session: Any) -> dict[str, list[Any]]:
            return {
                table: sorted(
                    repr([bytes(cell) if isinstance(cell, memoryview | bytes) else cell for cell in row])
                    for row in session.run(f"SELECT {', '.join(columns)} FROM {table}")
                )
                for table, columns in tables(session, store.backend).items()
            }

        return store.read(rows)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of a small store of SQLite."""
    with open_store(tmp_path / "source.db") as store:
        fill(store)
        back_up(store, tmp_path / "backup.db")
    return tmp_path / "backup.db"


def test_a_backup_can_be_restored_on_any_database(database: Callable[[], str], tmp_path: Path) -> None:
    source, file = database(), tmp_path / "backup.db"
    with open_store(source) as store:
        fill(store)
        copied = back_up(store, file)
    before = contents(source)
    assert (copied.faults, copied.rows) == ([], {table: len(rows) for table, rows in before.items()})
    assert {table for table, rows in before.items() if rows} >= {
        "verdicts", "replies", "feedback", "tallies", "limits", "buckets", "ledger", "attempts",
    }  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.db"]
    assert file.stat().st_mode & 0o077 == 0, "replies are for nobody else"
    for target in (database(), str(tmp_path / "target.db")):
        assert restore(file, target) == copied
        assert contents(target) == before
        with open_store(target) as store:
            assert store.quota.audit() == []
            assert store.quota.reserve("acme", "on hold", user="ada").fresh is False


def test_a_backup_of_sqlite_restores_into_any_database(backup: Path, database: Callable[[], str]) -> None:
    target = database()
    restore(backup, target)
    assert contents(target) == contents(str(backup.with_name("source.db")))


def test_a_store_with_data_is_replaced_only_by_force(backup: Path, database: Callable[[], str]) -> None:
    target = database()
    with open_store(target) as store:
        fill(store, "other", 5)
    before = contents(target)
    with pytest.raises(StoreError, match=r"there is data in this store .*--force to replace all of it"):
        restore(backup, target)
    assert contents(target) == before
    restore(backup, target, force=True)
    assert contents(target) == contents(str(backup.with_name("source.db")))


@contextlib.contextmanager
def busy(url: str) -> Iterator[None]:
    """A store that is written to all the while."""
    stop = threading.Event()

    def work() -> None:
        with open_store(url) as store:
            number = 0
            while not stop.is_set():
                number += 1
                held = store.quota.reserve("busy", f"busy-{number}", user="ada")  # a tenant without a limit
                store.record_verdict(CHECK.check('{"age": 1}'), tenant="acme", wait=False)
                store.quota.capture(held)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_backup_of_a_store_in_use_is_a_consistent_snapshot(database: Callable[[], str], tmp_path: Path) -> None:
    url = database()
    with open_store(url) as store:
        fill(store)
    with busy(url), open_store(url) as store:
        copies = [back_up(store, tmp_path / f"{number}.db") for number in range(3)]
    assert [copied.faults for copied in copies] == [[]] * 3
    assert [copied.rows["ledger"] for copied in copies] == sorted(copied.rows["ledger"] for copied in copies)


KILLED = """
import os, signal, sys
from pathlib import Path
from trueup.store import backup
from trueup.store.open import open_store

def die(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(backup if sys.argv[3] != "replace" else os, sys.argv[3], die)
with open_store(sys.argv[1]) as store:
    backup.back_up(store, Path(sys.argv[2]))
"""


@pytest.mark.parametrize("step", ["_copy", "_checked", "_audit", "replace"])
def test_a_killed_backup_leaves_nothing_that_looks_complete(
    step: str, database: Callable[[], str], tmp_path: Path
) -> None:
    url = database()
    if step == "_copy" and not url.startswith("postgresql"):
        step = "_audit"
    with open_store(url) as store:
        fill(store)
    file = tmp_path / "backup.db"
    done = subprocess.run([sys.executable, "-c", KILLED, url, file, step], check=False, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert not file.exists()
    (left,) = tmp_path.glob(".backup.db.*.part")
    if step != "replace":  # then it was whole, but for its name
        with pytest.raises(StoreError, match=r"not a whole backup|is not a store"):
            restore(left, str(tmp_path / "target.db"))
    with open_store(url) as store:
        assert back_up(store, file).faults == []


def test_an_incomplete_backup_is_refused(backup: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "target.db")
    with pytest.raises(StoreUnavailable, match="there is no such file"):
        restore(tmp_path / "none.db", target)
    with pytest.raises(StoreError, match="this is not a whole backup; `trueup store backup --store"):
        restore(tmp_path / "source.db", target)
    (tmp_path / "text.db").write_text("a letter " * 1000)
    with pytest.raises(StoreUnavailable, match="is not a store"):
        restore(tmp_path / "text.db", target)
    data = bytearray(backup.read_bytes())
    data[len(data) // 2 :] = os.urandom(len(data) - len(data) // 2)
    (tmp_path / "damaged.db").write_bytes(data)
    with pytest.raises(StoreError, match=r"damaged|is not a store"):
        restore(tmp_path / "damaged.db", target)
    with contextlib.closing(sqlite3.connect(backup)) as db, db:
        db.execute("UPDATE meta SET value = '999' WHERE name = 'version'")
    with pytest.raises(StoreError, match=r"made by a newer trueup .tables of version 999"):
        restore(backup, target)
    assert not Path(target).exists()


def test_a_backup_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    from trueup.store.schema import VERSIONS, migrate
    from trueup.store.sqlite import Sqlite

    old = Sqlite(tmp_path / "old.db")
    with contextlib.closing(old.connect(writing=True)) as session:
        migrate(old, session, VERSIONS[:1])
        session.run("INSERT INTO limits VALUES ('acme', 'tenant', '', 'replies', 'day', 5)")
        session.run("INSERT INTO meta VALUES ('backup', '2026-01-01T00:00:00+00:00')")
    assert restore(old.path, str(tmp_path / "new.db")).rows["limits"] == 1
    with open_store(tmp_path / "new.db") as store:
        assert store.quota.limits()[0].amount == 5


def test_an_existing_file_is_replaced_only_by_force(backup: Path) -> None:
    with open_store(backup.with_name("source.db")) as store:
        with pytest.raises(StoreError, match="there is a file already"):
            back_up(store, backup)
        with pytest.raises(StoreError, match="that is the store itself"):
            back_up(store, backup.with_name("source.db"), force=True)
        with pytest.raises(StoreError, match="cannot be written"):
            back_up(store, backup.with_name("none") / "backup.db")
        assert back_up(store, backup, force=True).faults == []


def test_inconsistent_sums_are_reported_and_still_backed_up(tmp_path: Path) -> None:
    with open_store(tmp_path / "source.db") as store:
        fill(store)
        with contextlib.closing(sqlite3.connect(tmp_path / "source.db")) as db, db:
            db.execute("UPDATE buckets SET used = used + 1 WHERE scope = 'tenant'")
        copied = back_up(store, tmp_path / "backup.db")
    assert copied.faults
    assert restore(tmp_path / "backup.db", str(tmp_path / "target.db")).faults == copied.faults
