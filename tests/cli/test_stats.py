"""`trueup stats`, as a person or a script runs it."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup import Contract
from trueup.store.open import open_store

CONTRACT = Contract({"type": "object", "required": ["age"]})


@pytest.fixture
def filled(tmp_path: Path) -> str:
    with open_store(tmp_path / "s.db") as store:
        for n in range(40):
            verdict = CONTRACT.check('{"age": 1}' if n % 4 else "{}")
            store.record_verdict(verdict, model="shaky\x1b[2J", attempts=1 if n % 4 else 3, cost=50_000, wait=False)
            store.record_verdict(CONTRACT.check('{"age": 1}'), model="steady", wait=False)
    return "s.db"


@pytest.mark.spec("Q14")
def test_rates_reasons_and_the_warning(run: Run, filled: str) -> None:
    done = run("stats", "--store", filled, "--since", "1d")
    assert done.code == 0
    shaky = next(line for line in done.out.splitlines() if line.startswith("shaky"))
    assert shaky.split()[1:6] == ["40", "25.0%", "25.0%", "1.50", "2.00"]
    assert "V002 10" in shaky
    assert "asked again for 25% of 40 requests, over 20%" in done.err
    assert "steady" not in done.err
    assert "\x1b" not in done.out + done.err
    data = json.loads(run("stats", "--store", filled, "--json").out)
    assert [row["model"] for row in data["rates"]] == ["shaky\x1b[2J", "steady"]
    assert len(data["warnings"]) == 1


@pytest.mark.parametrize("by", ["hour", "day"])
def test_rows_over_time(run: Run, filled: str, by: str) -> None:
    done = run("stats", "--store", filled, "--by", by, "--model", "steady")
    head, *rows = done.out.splitlines()
    assert head.split()[:2] == ["when", "model"]
    assert sum(int(row.split("steady")[1].split()[0]) for row in rows) == 40


def test_eighty_columns_are_enough(run_on_terminal: Run, filled: str) -> None:
    done = run_on_terminal("stats", "--store", filled, width=80, NO_COLOR="1")
    assert done.code == 0
    assert max(len(line) for line in done.out.splitlines() if not line.startswith("warning")) <= 80


def test_long_names_are_cut_to_the_width(run_on_terminal: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "long.db") as store:
        store.record_verdict(CONTRACT.check("{}"), model="provider/family-" + "x" * 90)
    done = run_on_terminal("stats", "--store", "long.db", width=80, NO_COLOR="1")
    assert max(len(line) for line in done.out.splitlines()) <= 80
    assert "provider/family-" in done.out
    assert "V002 1" in done.out


def test_nothing_yet_and_bad_words(run: Run, filled: str) -> None:
    assert run("stats", "--store", filled, "--model", "nobody").out == "no verdicts in that time\n"
    done = run("stats", "--store", filled, "--since", "yesterday")
    assert (done.code, done.out) == (2, "")
    assert "give 24h, 7d, 2w, or a date" in done.err
