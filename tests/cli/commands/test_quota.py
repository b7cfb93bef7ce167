"""`trueup quota`, as a person or a script runs it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup.store.open import open_store


def test_a_limit_is_set_shown_and_removed(run: Run, tmp_path: Path) -> None:
    done = run("quota", "set", "--store", "s.db", "--tenant", "acme", "--replies", "10000")
    assert (done.code, done.out, done.err) == (0, "acme, tenant: 10,000 replies per month\n", "")
    done = run("quota", "set", "--store", "s.db", "--tenant", "acme", "--user", "*", "--cost", "2.5", "--per", "day")
    assert done.out == "acme, user *: a cost of 2.50 per day\n"
    done = run("quota", "set", "--store", "s.db", "--tenant", "acme", "--model", "m", "--replies", "0", "--no-limit")
    assert done.out == "acme, model m: no limit on replies per month\n"
    with open_store(tmp_path / "s.db") as store:
        assert [limit[1:] for limit in store.quota.limits()] == [
            ("model", "m", "replies", "month", -1),
            ("tenant", "", "replies", "month", 10_000),
            ("user", "*", "cost", "day", 2_500_000),
        ]
        held = store.quota.reserve("acme", "k", user="ada")
        store.quota.spend(held, 1, 250_000)
        store.quota.capture(held)
    done = run("quota", "show", TRUEUP_STORE="s.db")
    assert done.code == 0
    rows = [line.split() for line in done.out.splitlines()]
    assert ["acme", "user", "ada", "cost", "ever", "0.25", "0.00", "none"] in rows
    assert any(row[:3] == ["acme", "tenant", "replies"] and row[-3:] == ["1", "0", "10,000"] for row in rows)
    data = json.loads(run("quota", "show", "--store", "s.db", "--json").out)
    assert {row["used"] for row in data["used"] if row["unit"] == "cost"} == {250_000}
    done = run("quota", "set", "--store", "s.db", "--tenant", "acme", "--replies", "0", "--remove")
    assert done.out == "acme, tenant: the limit on replies per month is removed\n"
    assert len(json.loads(run("quota", "show", "--store", "s.db", "--json").out)["limits"]) == 2
    assert run("quota", "show", "--store", "s.db", "--tenant", "nobody").out.startswith("nothing has been used")


def test_the_ledger_can_be_checked(run: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        store.quota.capture(store.quota.reserve("acme\x1b[31m", "k"))
    assert run("quota", "check", "--store", "s.db").code == 0
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
        db.execute("UPDATE buckets SET used = 7")
    done = run("quota", "check", "--store", "s.db")
    assert done.code == 1
    assert "used 7, held 0; the ledger says 1 and 0" in done.out
    assert "\x1b" not in done.out + run("quota", "show", "--store", "s.db").out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["show", "--store", "none.db"], "none.db: there is no such store"),
        (["show"], "no store: give --store with a file or a URL, or set TRUEUP_STORE"),
        (["set", "--store", "s.db", "--tenant", "a"], "give one of --replies and --cost"),
        (
            ["set", "--store", "s.db", "--tenant", "a", "--replies", "1", "--user", "u", "--model", "m"],
            "or neither for the tenant itself",
        ),
        (["set", "--store", "no/s.db", "--tenant", "a", "--replies", "1"], "there is no folder 'no'"),
        (["set", "--store", "s.db", "--tenant", "a", "--replies", "9" * 30], "a number up to 1,000,000,000,000,000"),
        (["set", "--store", "s.db", "--tenant", "a", "--cost", "nan"], "--cost nan: a number up to 1,000,000,000"),
    ],
)
def test_errors_are_reported(run: Run, args: list[str], message: str) -> None:
    done = run("quota", *args)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
