"""Erasure of a tenant or a user, on each database: their data is gone, all other data is left, and the sums agree."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.store.test_backup import busy, contents
from trueup import Contract
from trueup.store import erasure
from trueup.store.backup import tables
from trueup.store.open import open_store
from trueup.store.retention import Retention
from trueup.store.store import Store

TENANT, USER = "canary\\tenant é", "canary\\user é"
CHECK = Contract({"type": "object", "required": ["age"]}, name="person")


@pytest.fixture(autouse=True)
def small_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "_BITE", 2)


def use(store: Store, tenant: str, user: str, count: int = 5) -> str:
    """Requests of a user, some of them valid; the id of the last verdict."""
    for number in range(count):
        made = store.record_verdict(CHECK.check(f"says {user}"), tenant=tenant, user=user, model="small-1", wait=False)
        held = store.quota.reserve(tenant, f"{user} {number}", user=user, model="small-1", estimate=10)
        store.quota.spend(held, 1, 7)
        (store.quota.capture if number % 2 else store.quota.release)(held)
    store.record_feedback(made, helpful=True, note=f"by {user}", user=user)
    return made


def sums(store: Store, tenant: str, scope: str) -> dict[tuple[str, str, str], int]:
    return {(s.name, s.unit, s.period): s.used for s in store.quota.standings(tenant) if s.scope == scope}


def of_others(url: str) -> dict[str, list[str]]:
    """All rows that do not name the canary."""
    return {table: [row for row in rows if "canary" not in row] for table, rows in contents(url).items()}


# -- no table is forgotten -----------------------------------------------------------------------


def value_of(table: str, column: str, kind: str) -> Any:
    """Something for any column of any table, that names the tenant and the user wherever a text can."""
    known = {
        "tenant": TENANT.replace("\\", "\\\\"), "person": USER.replace("\\", "\\\\"), "state": "captured", "scope": "user",
        "name": USER.replace("\\", "\\\\"), "unit": "replies", "period": "total", "key": "canary-key", "verdict": "canary-id",
        "id": "canary-id", "token": "t", "buckets": "" if table == "ledger" else '[5, "canary\\\\\\\\user é", "m"]', "sending": 0,
    }  # fmt: skip
    if column in known:
        return known[column]
    return {"BIGINT": 0, "BLOB": b"canary", "BYTEA": b"canary"}.get(kind.upper(), "canary")


@pytest.mark.parametrize("user", [None, USER])
def test_every_table_with_a_tenant_a_user_or_a_verdict_is_covered(
    database: Callable[[], str], user: str | None, tmp_path: Path
) -> None:
    """A table from a later version is filled here as well: an erasure must be told about each new table."""
    with open_store(tmp_path / "kinds.db"), closing(sqlite3.connect(tmp_path / "kinds.db")) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kinds = {name: {row[1]: row[2] for row in db.execute(f"PRAGMA table_info({name})")} for name in names}
    about = {"tenant", "person", "verdict"}
    known = [name for name, columns in kinds.items() if about & set(columns)]
    assert set(known) >= {"verdicts", "replies", "feedback", "limits", "buckets", "ledger", "attempts", "replays"}
    with open_store(database()) as store:

        def fill(session: Any) -> None:
            for table in known:
                columns = kinds[table]
                row = [value_of(table, column, kind) for column, kind in columns.items()]
                session.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(row))})", row)

        store._writer.submit(fill).result()
        planned = store.erase(TENANT, user, dry=True)
        assert set(planned.rows) == set(known)
        assert store.erase(TENANT, user) == planned

        def left(session: Any) -> list[str]:
            return [table for table in tables(session, store.backend) if session.run(f"SELECT 1 FROM {table}")]

        assert store.read(left) == []


# -- what goes and what stays --------------------------------------------------------------------


def test_erasing_a_user_keeps_the_bill(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as store:
        theirs = use(store, TENANT, "bob")
        store.record_feedback(theirs, helpful=False, note="a canary on bob's reply", user=USER)
        use(store, "other", "ada")
        before = of_others(url)
        use(store, TENANT, USER)
        store.quota.set_limit(TENANT, 3, scope="user", name=USER)
        store.quota.set_limit(TENANT, 9, scope="user", name="*")
        totals = sums(store, TENANT, "tenant") | sums(store, TENANT, "model")
        erased = store.erase(TENANT, USER, dry=True)
        assert store.erase(TENANT, USER) == erased
        assert erased.rows == {
            "attempts": 5, "buckets": 8, "facts": 5, "feedback": 2, "ledger": 5, "limits": 1, "replies": 5, "verdicts": 5,
        }  # fmt: skip
        assert store.quota.audit() == []
        assert sums(store, TENANT, "tenant") | sums(store, TENANT, "model") == totals
        assert {name for name, _, _ in sums(store, TENANT, "user")} == {"bob"}
        assert [limit.name for limit in store.quota.limits()] == ["*"]
        assert store.erase(TENANT, USER).rows == {}
    after = contents(url)
    assert {table: [row for row in rows if "canary\\\\\\\\user" in row] for table, rows in after.items() if rows} == {
        table: [] for table, rows in after.items() if rows
    }
    assert of_others(url)["replies"] == before["replies"]
    assert of_others(url)["ledger"] == before["ledger"]


def test_erasing_a_tenant_with_its_sums_leaves_nothing(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as store:
        use(store, "other", "ada")
    before = contents(url)
    with open_store(url) as store:
        use(store, TENANT, USER)
        use(store, TENANT, "canary\\user 2")
        store.quota.set_limit(TENANT, 100)
        totals = sums(store, TENANT, "tenant")
        store.erase(TENANT)
        assert store.quota.audit() == []
        assert sums(store, TENANT, "tenant") == totals
        assert sums(store, TENANT, "user") == {}
        assert len(store.quota.limits()) == 1
        erased = store.erase(TENANT, sums=True, dry=True)
        assert store.erase(TENANT, sums=True) == erased
        assert set(erased.rows) == {"buckets", "limits"}
        assert store.quota.audit() == []
    after = contents(url)
    assert "canary" not in str(after)
    tallied = {table: rows for table, rows in after.items() if table != "tallies"}
    assert tallied == {table: rows for table, rows in before.items() if table != "tallies"}


def test_a_request_in_progress_is_erased_the_next_time(database: Callable[[], str]) -> None:
    with open_store(database()) as store:
        use(store, TENANT, USER)
        held = store.quota.reserve(TENANT, "under way", user=USER, estimate=5)
        store.quota.spend(held, 1, 3)
        erased = store.erase(TENANT, USER)
        assert (erased.left, erased.rows["ledger"], erased.rows["attempts"]) == (1, 5, 5)
        assert store.quota.audit() == []
        store.quota.capture(held)
        assert store.quota.audit() == []
        assert store.erase(TENANT, USER).left == 0
        assert store.quota.audit() == []
        assert sums(store, TENANT, "tenant")["", "replies", "total"] == 3


def test_gateways_keep_working_during_an_erasure(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as store:
        use(store, "acme", "ada", 20)
        use(store, "acme", "bob", 20)
        with busy(url):  # ada sends requests all the while
            for _ in range(3):
                store.erase("acme", "bob")
                store.erase("acme", "ada")
        assert store.quota.audit() == []
        assert store.erase("acme").left == 0
        assert store.quota.audit() == []


def test_rows_pruned_during_an_erasure_are_counted_once(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as store, open_store(url) as other:
        for user in ("ada", "bob", "eve"):
            use(store, "acme", user, 30)
        totals = sums(store, "acme", "tenant")
        with ThreadPoolExecutor(3) as pool:
            pruned = pool.submit(other.prune, Retention(replies=0, verdicts=0, ledger=0, replays=0))
            erased = [pool.submit(store.erase, "acme", user) for user in ("ada", "bob")]
            for done in (pruned, *erased):
                done.result()
        assert store.quota.audit() == []
        assert sums(store, "acme", "tenant") == totals


def test_the_sqlite_file_contains_no_erased_data(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with open_store(file, keep_context=True) as store:
        use(store, TENANT, USER, 40)
        said = [{"role": "user", "content": "says canary"}]
        kept = store.record_verdict(CHECK.check("{}"), tenant=TENANT, user=USER, context={"history": said})
        assert store.get(kept).context == {"history": said}
        use(store, "other", "ada", 40)
        store.flush()
        assert any(b"says canary" in part.read_bytes() for part in tmp_path.iterdir())
        store.erase(TENANT, USER)
        for part in tmp_path.iterdir():
            assert b"canary\\\\user" not in part.read_bytes(), part.name
            assert b"says canary" not in part.read_bytes(), part.name
