"""`python bench/backtest.py`: stored replies backtested under two contracts, compared with two sifts of the same replies.

python bench/backtest.py [--replies N] [--turns N] [--markdown PAGE]

An SQLite store has replies of 20 fields (1 KB), 80 % clean and 20 % broken in five ways, recorded under a third contract, so that
both contracts must judge every reply. Times are CPU time of all processes together, and wall time.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import sift_ways
from root import ROOT
from trueup import Contract
from trueup.store.open import open_store
from trueup.store.records import Note, new_id

BROKEN = 0.2


class Row(NamedTuple):
    name: str
    cpu: float
    wall: float
    note: str = ""


def contracts(folder: Path) -> dict[str, Path]:
    """The contract that recorded, the old and the new one: the new one is stricter about one number, and has one more rule."""
    stricter = json.loads(json.dumps(sift_ways.SCHEMA))
    stricter["properties"]["weight_grams"] = {"type": "integer", "minimum": 0, "maximum": 9_900}
    rule = {"name": "light_or_paid", "expr": "paid or weight_grams < 9800"}
    made = {
        "recorded": {"schema": sift_ways.SCHEMA, "rules": sift_ways.RULES[:2]},
        "old": {"schema": sift_ways.SCHEMA, "rules": sift_ways.RULES},
        "new": {"schema": stricter, "rules": [*sift_ways.RULES, rule]},
    }
    for name, body in made.items():
        (folder / f"{name}.json").write_text(json.dumps(body))
    return {name: folder / f"{name}.json" for name in made}


def fill(folder: Path, replies: int, contract: Contract) -> tuple[Path, Path]:
    """A store of judged replies, and the same replies as units."""
    plain, store = folder / "plain.jsonl", folder / "store.db"
    sift_ways.make_file(plain, replies, BROKEN)
    dice = random.Random(3)
    with open_store(store) as opened, plain.open("rb") as lines:
        for number, line in enumerate(lines):
            text = json.loads(line)["raw_response"]
            note = Note(
                new_id(), contract.check(text), f"request-{number}", model=dice.choice(("small", "large")), contract="orders",
                fingerprint=contract.fingerprint, context={}, conversation=f"c{number // 3}", latency=0.5, cost=120,
            )  # fmt: skip
            while opened.queued > 5_000:
                time.sleep(0.01)
            opened.note(note)
        opened.flush()
    return store, plain


def run(name: str, folder: Path, *command: str, note: str = "") -> tuple[Row, str]:
    """One run of the command, as a user starts it."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([sys.executable, "-m", "trueup.cli", *command], stdout=out, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode in (0, 1), f"{name} ended with {child.returncode}"
        out.seek(0)
        said = out.read().decode()
    row = Row(name, usage.ru_utime + usage.ru_stime, wall, note)
    print(f"{row.name}: {row.cpu:.2f} s of CPU, {row.wall:.2f} s", file=sys.stderr, flush=True)
    return row, said


def first_estimate(folder: Path, *command: str) -> float:
    """Seconds from the start of the command to its first estimate."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "trueup.cli", *command, "--progress", "json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert child.stderr is not None
    child.stderr.readline()
    seconds = time.perf_counter() - began
    child.kill()
    child.wait()
    child.stderr.close()
    return seconds


def measure(folder: Path, replies: int, turns: int) -> tuple[list[Row], dict[str, Any]]:
    files = contracts(folder)
    store, plain = fill(folder, replies, Contract.load(files["recorded"]))
    export = folder / "export.jsonl"
    with open_store(store) as opened:
        opened.export(export)
    base = ("backtest", str(files["new"]), str(store))
    quiet = ("--progress", "none", "--json")
    best: dict[str, Row] = {}
    said = ""
    for _ in range(turns):
        for name, command in (
            ("sift, plain units, new", ("sift", str(plain), "-c", str(files["new"]))),
            ("sift, plain units, old", ("sift", str(plain), "-c", str(files["old"]))),
            ("sift, exported verdicts, new", ("sift", str(export), "-c", str(files["new"]))),
            ("sift, exported verdicts, old", ("sift", str(export), "-c", str(files["old"]))),
        ):
            shutil.rmtree(folder / "out", ignore_errors=True)
            _keep(best, run(name, folder, *command, "-o", str(folder / "out"), "--progress", "none")[0])
        row, said = run("backtest, store, two contracts", folder, *base, "--against", str(files["old"]), *quiet)
        _keep(best, row)
        _keep(
            best,
            run("backtest, store, one contract recorded", folder, *base, "--against", str(files["recorded"]), *quiet)[
                0
            ],
        )
        same = ("backtest", str(files["recorded"]), str(store), "--against", str(files["recorded"]))
        _keep(best, run("backtest, store, the same contract", folder, *same, *quiet)[0])
        _keep(best, run("backtest, plain units, two contracts", folder, "backtest", str(files["new"]), str(plain), "--against", str(files["old"]), *quiet)[0])  # fmt: skip
    told = json.loads(said)
    estimates = [first_estimate(folder, *base, "--against", str(files["old"])) for _ in range(max(5, turns))]
    told["first_estimate"] = min(estimates)
    return list(best.values()), told


def _keep(best: dict[str, Row], row: Row) -> None:
    known = best.get(row.name)
    best[row.name] = row if known is None else Row(row.name, min(known.cpu, row.cpu), min(known.wall, row.wall))


def page(rows: list[Row], told: dict[str, Any], replies: int) -> str:
    by_name = {row.name: row for row in rows}
    both = by_name["backtest, store, two contracts"]
    sifts = {
        kind: [by_name[f"sift, {kind}, {which}"] for which in ("new", "old")]
        for kind in ("plain units", "exported verdicts")
    }
    made = told["verdicts"]["made"]
    targets = [
        (f"≤ 1.5 × two sifts of the same {kind}, {what}", getattr(both, name) / sum(getattr(row, name) for row in sifts[kind]), 1.5, False)
        for kind in sifts for what, name in (("CPU", "cpu"), ("wall", "wall"))
    ]  # fmt: skip
    targets += [
        ("≥ 10,000 verdicts a second on two cores, wall", made / both.wall, 10_000, True),
        ("first estimate ≤ 1 s, from the start of the command", told["first_estimate"], 1.0, False),
    ]
    lines = [
        "# Backtests, measured", "",
        "<!-- Written by `python bench/backtest.py --markdown docs/benchmarks-backtest.md`. -->", "",
        f"One run, side by side: CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs",
        f"(load {os.getloadavg()[0]:.1f} at the end). CPU time is the total of all processes; each figure is the best of the turns.", "",
        f"An SQLite store has {replies:,} replies of 20 fields (1 KB): 80 % are clean, 20 % are broken in five ways. They were recorded",
        "under a third contract, so that both contracts must judge every reply; a contract that is the recorded one reuses its",
        f"verdicts. {told['newly_refused']:,} replies flip, in {told['tests']['clustered']['clusters']:,} conversations.", "",
        "| what | CPU s | wall s | CPU µs a reply | replies/s |", "|---|--:|--:|--:|--:|",
        *(f"| {row.name} | {row.cpu:.2f} | {row.wall:.2f} | {1e6 * row.cpu / replies:.1f} | {replies / row.wall:,.0f} |" for row in rows), "",
        "## Targets", "", "| target | measured | |", "|---|--:|---|",
        *(f"| {name} | {value:,.2f} | {'met' if (value >= limit) is more or value == limit else 'not met'} |" for name, value, limit, more in targets),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-backtest-") as folder:
        rows, told = measure(Path(folder), options.replies, options.turns)
    text = page(rows, told, options.replies)
    print(text)
    if options.markdown:
        (ROOT / options.markdown).write_text(text)


if __name__ == "__main__":
    main()
