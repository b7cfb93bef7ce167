"""`trueup stats`, as a person or a script runs it."""

import json
import re
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
def test_rates_reasons_and_the_warning_are_shown(run: Run, filled: str) -> None:
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
def test_rows_over_time_are_shown(run: Run, filled: str, by: str) -> None:
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


def test_an_empty_store_and_invalid_options_are_reported(run: Run, filled: str) -> None:
    assert run("stats", "--store", filled, "--model", "nobody").out == "no verdicts in this period\n"
    done = run("stats", "--store", filled, "--since", "yesterday")
    assert (done.code, done.out) == (2, "")
    assert "give 24h, 7d, 2w, or a date" in done.err


def test_eighty_columns_show_dates_and_fingerprints_whole(run_on_terminal: Run, tmp_path: Path) -> None:
    contract = Contract(reply=True, name="a contract with a long name")
    with open_store(tmp_path / "r.db") as store:
        for reply in ("", "OK", "  ", [], None):
            store.record_verdict(contract.check(reply), contract=contract)
    done = run_on_terminal("stats", "--store", "r.db", "--by", "rules", width=80, NO_COLOR="1")
    row = done.out.splitlines()[1]
    assert len(row) <= 80
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d  ", row)
    assert contract.fingerprint in row


def test_the_rules_of_verdicts_are_shown(run: Run, tmp_path: Path) -> None:
    lax, strict = Contract(reply={"min_text": 3}, name="chat"), Contract(reply={"min_text": 20}, name="chat")
    with open_store(tmp_path / "r.db") as store:
        for contract in (lax, strict):
            store.record_verdict(contract.check("I understand."), contract=contract)
        store.record_verdict(lax.check("I understand."), contract="by name only")
    done = run("stats", "--store", "r.db", "--by", "rules", "--contract", "chat")
    rows = [line.split()[2:] for line in done.out.splitlines()[1:]]
    assert rows == [["chat", lax.fingerprint, "1", "0.0%"], ["chat", strict.fingerprint, "1", "100.0%", "Q006", "1"]]
    data = json.loads(run("stats", "--store", "r.db", "--by", "rules", "--json").out)
    assert [row["refusal_rate"] for row in data["rules"]] == [0.0, 1.0, 0.0]
    assert "(unknown)" in run("stats", "--store", "r.db", "--by", "rules").out
    assert (
        run("stats", "--store", "r.db", "--by", "rules", "--since", "2020-01-01", "--contract", "x").out
        == "no verdicts in this period\n"
    )
    refused = run("stats", "--store", "r.db", "--by", "rules", "--model", "m")
    assert (refused.code, "remove --model" in refused.err) == (2, True)
