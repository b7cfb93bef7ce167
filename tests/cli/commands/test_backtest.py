"""`trueup backtest`: exit codes, conditions, what it prints in a pipe and on narrow terminals, pages, and a stop in the middle."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.backtesting.making import NEW, OLD, REPLIES, write_contract, write_units
from tests.cli.running import COMMAND, Run, clean_environment
from trueup import Contract
from trueup.cli.display.backtest import lines_of
from trueup.store.open import open_store

TEXTS = [text for texts in REPLIES.values() for text in texts]


@pytest.fixture
def both(tmp_path: Path) -> tuple[str, str]:
    write_contract(tmp_path / "new.json", NEW)
    write_contract(tmp_path / "old.json", OLD)
    write_units(tmp_path / "units.jsonl", TEXTS)
    return "new.json", "old.json"


@pytest.mark.spec("B14")
def test_it_shows_what_flips_and_the_result(run: Run, both: tuple[str, str]) -> None:
    new, old = both
    ran = run("backtest", new, "--against", old, "units.jsonl", "--progress", "none")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "new.json against old.json · units.jsonl"
    assert lines[2].split() == ["newly", "refused", "3", "25", "%", "8.9–53", "%"]
    assert any("3  newly refused   V004 out-of-bounds · $.n" in line for line in lines)
    assert "58 % of 12 judged replies flip: 3 newly refused, 2 newly accepted and 2 with another value;" in " ".join(
        ran.out.split()
    )
    told = json.loads(run("backtest", new, "--against", old, "units.jsonl", "--json").out)
    assert (told["total"], told["judged"], told["newly_refused"], told["complete"]) == (12, 12, 3, True)


def test_files_of_the_same_name_are_told_apart(run: Run, both: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    write_contract(tmp_path / "before" / "new.json", OLD)
    ran = run("backtest", both[0], "--against", str(tmp_path / "before" / "new.json"), "units.jsonl")
    assert ran.out.splitlines()[0] == "new.json against before/new.json · units.jsonl"
    ran = run("backtest", "before/new.json", "--against", "before/new.json", "units.jsonl")
    assert ran.out.splitlines()[0] == "new.json against new.json · units.jsonl"


def test_a_condition_decides_the_exit_code(run: Run, both: tuple[str, str]) -> None:
    base = ("backtest", both[0], "--against", both[1], "units.jsonl", "--json", "--progress", "none")
    assert run(*base, "--fail-if", "newly_refused > 3").code == 0
    holds = run(*base, "--fail-if", "newly_refused > 3", "--fail-if", "newly_refused.high > 40%")
    assert (holds.code, holds.err) == (1, "--fail-if 'newly_refused.high > 40%' is true\n")
    unknown = run(*base, "--fail-if", "cost > 1")
    assert (unknown.code, unknown.err) == (0, "--fail-if 'cost > 1': cost is not known from these replies\n")
    bad = run(*base, "--fail-if", "refusals > 1")
    assert bad.code == 2
    assert bad.err.startswith(
        "trueup: --fail-if 'refusals > 1': unknown figure 'refusals'; the names are newly_refused,"
    )
    none = run("backtest", both[0], "units.jsonl", "--fail-if", "newly_refused > 3")
    assert (none.code, none.err.splitlines()[-1]) == (
        2,
        "trueup: --fail-if: no reply could be judged under both contracts.",
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["none.yaml", "units.jsonl"], "NEW none.yaml: there is no such file"),
        (["new.json", "--against", "none.yaml", "units.jsonl"], "--against none.yaml: there is no such file"),
        (["bad.yaml", "units.jsonl"], "NEW: "),
        (["nothing:made", "units.jsonl"], "nothing:made: there is no module 'nothing'"),
        (["new.json", "none.jsonl"], "none.jsonl: there is no such file; give a store"),
        (["new.json"], "Missing argument 'SOURCE...'"),
        (["new.json", "units.jsonl", "--margin", "x"], "--margin 'x': give a share"),
        (["new.json", "units.jsonl", "--engine", "dask"], "--engine dask: unknown engine; choose local or ray"),
        (["new.json", "units.jsonl", "--json", "--markdown"], "choose one"),
        (["new.json", "units.jsonl", "--since", "soon"], "--since 'soon': give 24h"),
        (["new.json", "units.jsonl", "--labels", "none"], "none: there is no such file of labels"),
        (["new.json", "units.jsonl", "--html", "no/such/page.html"], "there is no folder no/such"),
    ],
)
def test_errors_are_one_message_and_code_2(
    run: Run, both: tuple[str, str], tmp_path: Path, args: list[str], says: str
) -> None:
    (tmp_path / "bad.yaml").write_text("schema: [")
    ran = run("backtest", *args)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_store_is_filtered_and_labels_are_next_to_flips(run: Run, both: tuple[str, str], tmp_path: Path) -> None:
    old = Contract(OLD, name="old")
    with open_store(tmp_path / "s.db") as store:
        for number, text in enumerate(TEXTS * 2):
            known: dict[str, Any] = {
                "model": f"m{number % 2}",
                "tenant": f"t{number % 3}",
                "contract": old,
                "context": {},
            }
            name = store.record_verdict(old.check(text), request=f"r{number}", **known)
            if text == '{"n": 60}':
                store.record_feedback(name, outcome="wrong", user="ana")
    told = json.loads(run("backtest", both[0], "s.db", "--json", "--since", "1d").out)
    assert (told["total"], told["old"], told["labels"]["better"]) == (24, None, 2)
    assert told["verdicts"] == {"made": 24, "skipped": 0}
    some = json.loads(
        run("backtest", both[0], "--against", both[1], "s.db", "--model", "m1", "--tenant", "t0", "--json").out
    )
    assert some["total"] == 4
    assert some["verdicts"]["skipped"] == 4
    assert (
        json.loads(run("backtest", both[0], "s.db", "--was", "refused", "--label", "wrong", "--json").out)[
            "newly_accepted"
        ]
        == 2
    )
    assert json.loads(run("backtest", both[0], "s.db", "--until", "1d", "--json").out)["total"] == 0


def test_it_writes_a_page_every_flip_and_markdown(run: Run, both: tuple[str, str], tmp_path: Path) -> None:
    ran = run(
        "backtest",
        both[0],
        "--against",
        both[1],
        "units.jsonl",
        "--markdown",
        "--html",
        "page.html",
        "--out",
        "flips.jsonl",
    )
    assert ran.code == 0
    assert ran.out.startswith("### 58 % of 12 judged replies flip")
    assert "| **newly refused** | 3 | 25 % | 8.9–53 % |" in ran.out
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    flips = [json.loads(line) for line in (tmp_path / "flips.jsonl").read_text().splitlines()]
    assert sorted(flip["id"] for flip in flips) == sorted(f"u{n}" for n in range(5, 12))


@pytest.mark.parametrize(
    "options",
    [["--out", "v.db"], ["--out", "linked.db"], ["--html", "./new.json"], ["--out", "old.json"], ["--out", "labels.jsonl"],
     ["--html", "a.html", "--out", "a.html"], ["--out", "folder/units.jsonl"]],
)  # fmt: skip
def test_inputs_are_never_overwritten(run: Run, both: tuple[str, str], tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "labels.jsonl").write_text('{"verdict": "u5", "outcome": "right"}\n')
    (tmp_path / "folder").mkdir()
    write_units(tmp_path / "folder" / "units.jsonl", TEXTS)
    with open_store(tmp_path / "v.db") as store:
        store.record_verdict(Contract(OLD).check('{"n": 5}'), context={})
    (tmp_path / "linked.db").hardlink_to(tmp_path / "v.db")
    before = {
        path: path.read_bytes()
        for path in tmp_path.rglob("*.*")
        if path.is_file() and path.suffix in (".db", ".json", ".jsonl")
    }
    ran = run("backtest", both[0], "--against", both[1], "v.db", "folder", "--labels", "labels.jsonl", *options)
    assert (ran.code, ran.out) == (2, "")
    assert (
        ran.err
        == f"trueup: {options[-2]} {options[-1]}: this command reads that file, or it is a store; name another one\n"
    )
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_full_disk_costs_the_file_and_not_the_result(run: Run, both: tuple[str, str], option: str) -> None:
    ran = run("backtest", both[0], "--against", both[1], "units.jsonl", "--json", option, "/dev/full")
    assert (ran.code, json.loads(ran.out)["judged"]) == (3, 12)
    assert (
        ran.err
        == "trueup: the disk is full: /dev/full could not be written. Free some space, then run the same command again.\n"
    )


def test_an_earlier_file_of_flips_stays_if_nothing_can_be_judged(
    run: Run, both: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "flips.jsonl").write_text("earlier")
    assert run("backtest", both[0], "nowhere.db", "--out", "flips.jsonl").code == 2
    assert (tmp_path / "flips.jsonl").read_text() == "earlier"
    assert run("backtest", both[1], "--against", both[1], "units.jsonl", "--out", "flips.jsonl").code == 0
    assert (tmp_path / "flips.jsonl").read_text() == ""


@pytest.mark.parametrize("columns", ["44", "80"])
def test_a_pipe_has_lines_as_wide_as_columns_says(
    run: Run, both: tuple[str, str], tmp_path: Path, columns: str
) -> None:
    write_units(tmp_path / "long.jsonl", [f'{{"n": {n}, "s": "a", "t{n}": "{"long " * 40}"}}' for n in range(60)])
    ran = run("backtest", both[0], "--against", both[1], "long.jsonl", "--progress", "none", COLUMNS=columns)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= int(columns)
    assert "…" in ran.out
    assert "\x1b" not in ran.out


def test_labels_come_from_a_file(run: Run, both: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text(
        '{"verdict": "u5", "outcome": "right"}\n{"unit_id": "u8", "outcome": "wrong"}\n'
    )
    told = json.loads(
        run("backtest", both[0], "--against", both[1], "units.jsonl", "--labels", "labels.jsonl", "--json").out
    )
    assert (told["labels"]["better"], told["labels"]["worse"]) == (1, 1)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    from rich.cells import cell_len

    from trueup.backtesting.backtest import backtest

    given = [
        ("Queda confirmada 😀 la cita " * 20, {"state": "A"}),
        ("\x1b[31m\u202e confirmada", {"state": "A"}),
        ("ok, 明日は confirmada です " * 5, {"state": "A"}),
    ]
    new = Contract(states={"A": {"forbid": [{"pattern": "confirmada", "why": "w" * 90}]}}, name="n" * 50)
    found = backtest(new, given, against=Contract(states={"A": {}}, name="o" * 50))
    assert found.newly_refused == 3
    lines = ["".join(text for text, _ in line) for line in lines_of(found, width)]
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)


def test_progress_is_lines_of_json_with_intervals_or_nothing(run: Run, both: tuple[str, str]) -> None:
    base = ("backtest", both[0], "--against", both[1], "units.jsonl")
    ran = run(*base, "--progress", "json")
    first = json.loads(ran.err.splitlines()[0])
    assert (first["judged"], first["newly_refused"][0]) == (12, 3)
    assert 0 < first["newly_refused"][1] < 0.25 < first["newly_refused"][2] < 1
    assert run(*base, "--progress", "none").err == ""


def test_stopped_in_the_middle_it_prints_the_results_so_far(both: tuple[str, str], tmp_path: Path) -> None:
    write_units(tmp_path / "many.jsonl", TEXTS * 100_000)
    command = [
        *COMMAND,
        "backtest",
        both[0],
        "--against",
        both[1],
        "many.jsonl",
        "--progress",
        "json",
        "--json",
        "-j",
        "1",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        first = json.loads(child.stderr.readline())
        assert 0 < first["judged"] < len(TEXTS) * 100_000
        time.sleep(0.05)
        os.kill(child.pid, signal.SIGINT)
        out, err = child.communicate()
    assert child.returncode == 130
    told = json.loads(out)
    assert told["complete"] is False
    assert told["total"] == told["judged"] + sum(told["unjudgeable"].values()) < len(TEXTS) * 100_000
    assert "Stopped after" in err.splitlines()[-1]
    assert told["newly_refused"] / told["judged"] == pytest.approx(0.25, abs=0.02)
