"""`trueup store`, as a person or a script runs it."""

import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup import Contract
from trueup.store.open import open_store


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    contract = Contract({"type": "object", "required": ["age"]}, name="person")
    with open_store(tmp_path / "s.db") as store:
        for tenant, user in (("acme", "ada"), ("acme", "bob"), ("other", "ada")):
            made = store.record_verdict(contract.check('{"age": 1}'), tenant=tenant, user=user)
            store.record_feedback(made, helpful=True, user=user)
            store.quota.capture(store.quota.reserve(tenant, f"k-{user}", user=user))
    return tmp_path / "s.db"


def test_info_shows_the_contents_of_a_store(run: Run, filled: Path) -> None:
    done = run("store", "info", "--store", filled.name)
    assert done.code == 0
    assert done.out.startswith("s.db: tables of version ")
    assert ", of 2 tenants\n" in done.out
    assert ["verdicts", "3"] in [line.split() for line in done.out.splitlines()]
    about = json.loads(run("store", "info", "--json", TRUEUP_STORE=filled.name).out)
    assert (about["where"], about["tenants"], about["rows"]["ledger"]) == ("s.db", 2, 3)
    assert about["bytes"] == filled.stat().st_size


def test_a_backup_can_be_restored(run: Run, filled: Path) -> None:
    done = run("store", "backup", "--store", "s.db", "--to", "b.db")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "the quota agrees with its ledger"
    assert run("store", "restore", "b.db", "--store", "t.db").code == 0
    assert run("quota", "check", "--store", "t.db").code == 0
    done = run("store", "restore", "b.db", "--store", "t.db")
    assert done.code == 2
    assert "there is data in this store" in done.err
    assert run("store", "restore", "b.db", "--store", "t.db", "--force").code == 0
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute("UPDATE buckets SET used = 7")
    done = run("store", "backup", "--store", "s.db", "--to", "b.db", "--force")
    assert (done.code, done.err.splitlines()[-1].startswith("the quota disagrees")) == (1, True)


def test_a_user_is_counted_first_and_then_erased(run: Run, filled: Path) -> None:
    done = run("store", "erase", "--store", "s.db", "--tenant", "acme", "--user", "ada")
    assert done.code == 0
    assert done.out.startswith("acme, user ada: would be deleted\n")
    assert done.err == "nothing was deleted; add --yes\n"
    erased = run("store", "erase", "--store", "s.db", "--tenant", "acme", "--user", "ada", "--yes")
    assert (erased.code, erased.err) == (0, "")
    assert erased.out == done.out.replace("would be deleted", "deleted")
    assert run("store", "erase", "--store", "s.db", "--tenant", "acme", "--user", "ada").out == (
        "acme, user ada: nothing is stored\n"
    )
    assert run("quota", "check", "--store", "s.db").code == 0
    with open_store(filled) as store:
        assert sorted((stored.tenant, stored.user) for stored in store.verdicts()) == [
            ("acme", "bob"),
            ("other", "ada"),
        ]
        store.quota.reserve("acme", "under way")
    done = run("store", "erase", "--store", "s.db", "--tenant", "acme", "--sums", "--yes")
    assert (done.code, done.err) == (1, "requests in progress: 1; run this command again in five minutes\n")
    done = run("store", "erase", "--store", "s.db", "--tenant", "acme", "--user", "ada", "--sums")
    assert (done.code, "--sums is for a whole tenant" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["info", "--store", "none.db"], "none.db: there is no such store"),
        (["backup", "--store", "none.db", "--to", "b.db"], "none.db: there is no such store"),
        (["restore", "none.db", "--store", "t.db"], "none.db: there is no such file"),
        (["restore", "none.db", "--store", "redis://x"], "none.db: there is no such file"),
        (["info", "--store", "mysql://ada:canary@db/x"], "mysql:// is not a store"),
    ],
)
def test_errors_are_reported(run: Run, args: list[str], said: str) -> None:
    done = run("store", *args)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err
    assert "canary" not in done.err


def test_prune_deletes_data_older_than_its_retention_time(run: Run, filled: Path) -> None:
    assert run("store", "prune", "--store", filled.name).out == "nothing is older than its retention time\n"
    done = run("store", "prune", "--store", filled.name, "--replies", "0", "--verdicts", "forever")
    assert (done.code, done.err) == (0, "")
    assert ["replies", "3"] in [line.split() for line in done.out.splitlines()]
    assert ["verdicts", "3"] in [line.split() for line in run("store", "info", "--store", filled.name).out.splitlines()]
    wrong = run("store", "prune", "--store", filled.name, "--ledger", "soon")
    assert wrong.code == 2
    assert "'soon' is not a number of days; give a number, or 'forever'" in wrong.err


@pytest.mark.parametrize(
    "args", [("stats",), ("quota", "show"), ("store", "info"), ("store", "backup", "--to", "b.db")]
)
def test_a_command_that_reads_a_store_does_not_make_an_empty_file_one(
    run: Run, tmp_path: Path, args: tuple[str, ...]
) -> None:
    (tmp_path / "notes.txt").touch()
    done = run(*args, "--store", "notes.txt")
    assert (done.code, done.out) == (2, "")
    assert done.err == "trueup: notes.txt: the file is empty; it is not a store\n"
    assert [(file.name, file.stat().st_size) for file in tmp_path.iterdir()] == [("notes.txt", 0)]


def test_a_command_that_writes_may_make_an_empty_file_a_store(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    assert run("quota", "set", "--store", "s.db", "--tenant", "acme", "--replies", "5").code == 0
    assert "acme" in run("quota", "show", "--store", "s.db").out


def test_a_store_that_cannot_be_opened_is_not_reported_as_unwritable(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as unopenable:
        unopenable.bind("s.db")
        done = run("stats", "--store", "s.db")
    assert (done.code, done.out) == (2, "")
    assert "s.db: the file cannot be opened (unable to open database file)" in done.err
