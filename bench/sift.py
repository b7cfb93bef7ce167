"""`python bench/sift.py`: a file of replies sifted, beside what one would write by hand and what the source system does.

python bench/sift.py [--lines N] [--quick] [--no-ray] [--markdown PAGE] [--json OUT]

One run, side by side, the same file. Times are CPU time of all processes together and wall time; memory is the most that any
one process held. The floor is a loop by hand: orjson, jsonschema-rs, the rules as Python, records written; no recovery, no
resume, no checks of the lines themselves.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

import cases

SCHEMA = cases.SCHEMA
RULES = [
    {
        "name": "sums_up",
        "expr": "abs(total - subtotal - shipping) < 0.01",
        "error": "{total} is not {subtotal} + {shipping}",
    },
    {"name": "has_items", "expr": "len(items) > 0 and risk <= 1"},
    {"name": "few_tries", "expr": "0 <= attempts <= 5"},
]
SOURCE_LINES = 2_000  # the source's way is timed on so many lines: it takes minutes for more


class Row(NamedTuple):
    """One measurement; times in seconds, memory in megabytes."""

    name: str
    lines: int
    cpu: float
    wall: float
    driver: float = 0.0
    worker: float = 0.0
    note: str = ""

    @property
    def micro(self) -> float:
        return self.cpu / self.lines * 1e6


def make_file(path: Path, lines: int, broken: float) -> None:
    """Lines of about 1 KB; a share of the replies is broken in five ways, two of which cannot be mended."""
    dice = random.Random(7)
    with path.open("wb") as opened:
        for number in range(lines):
            reply = json.dumps(_value(dice, number))
            if dice.random() < broken:
                reply = _break(dice.randrange(5), reply)
            opened.write(
                orjson.dumps({"unit_id": f"unit-{number:08d}", "input": {"n": number}, "raw_response": reply}) + b"\n"
            )


def _value(dice: random.Random, number: int) -> dict[str, Any]:
    """The document of 20 fields that the other measurements use, no two alike."""
    subtotal = round(dice.random() * 900, 2)
    return {
        **cases.DOCUMENT,
        "order_id": f"SO-{number}",
        "subtotal": subtotal,
        "total": round(subtotal + cases.DOCUMENT["shipping"], 2),
        "weight_grams": dice.randrange(10_000),
        "paid": dice.random() < 0.5,
    }


def _break(kind: int, reply: str) -> str:
    return (
        f"Here you are:\n```json\n{reply}\n```",
        reply[:-1] + ",}",
        reply.replace("true", "True").replace("false", "False").replace("null", "None"),
        "I am sorry, but I cannot help with that.",
        reply.replace('"attempts": 1', '"attempts": "more than one"', 1),
    )[kind]


def timed(name: str, path: Path, lines: int, act: Callable[[Path], int]) -> Row:
    """One measurement inside this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    act(path)
    return Row(name, lines, time.process_time() - cpu, time.perf_counter() - wall)


def read_only(path: Path) -> int:
    with path.open("rb") as opened:
        return sum(len(line) for line in opened)


def orjson_only(path: Path) -> int:
    loads = orjson.loads
    with path.open("rb") as opened:
        return sum(1 for line in opened if loads(loads(line)["raw_response"]))


def by_hand(path: Path) -> int:
    """The floor: what a careful person would write for clean replies."""
    import jsonschema_rs

    is_valid = jsonschema_rs.validator_for(SCHEMA).is_valid
    loads, dumps, newline = orjson.loads, orjson.dumps, orjson.OPT_APPEND_NEWLINE
    count = 0
    with path.open("rb") as opened, path.with_suffix(".floor").open("wb") as out:
        for line in opened:
            row = loads(line)
            data = loads(row["raw_response"])
            sums = abs(data["total"] - data["subtotal"] - data["shipping"]) < 0.01
            if is_valid(data) and sums and len(data["items"]) > 0 and data["risk"] <= 1 and 0 <= data["attempts"] <= 5:
                record = {
                    "unit_id": row["unit_id"],
                    "input": row["input"],
                    "data": data,
                    "raw_response": row["raw_response"],
                }
                out.write(dumps(record, option=newline))
                count += 1
    path.with_suffix(".floor").unlink()
    return count


def as_the_source_does(path: Path) -> int:
    """Two phases with JSON between them: json and jsonschema, then asteval, one interpreter whose symbols are set anew."""
    import asteval
    import jsonschema

    validator = jsonschema.Draft202012Validator(SCHEMA)
    evaluate = asteval.Interpreter()
    count = 0
    with path.open("rb") as opened:
        for _, line in zip(range(SOURCE_LINES), opened, strict=False):
            row = json.loads(line)
            text = re.sub(r"^```(?:json)?\s*|\s*```$", "", row["raw_response"].strip())
            data = json.loads(text)
            if sorted(validator.iter_errors(data), key=lambda error: list(error.path)):
                continue
            unit = json.loads(json.dumps({**row["input"], **data, "unit_id": row["unit_id"]}))
            evaluate.symtable.update(unit)
            if all(evaluate(rule["expr"]) for rule in RULES) and json.dumps(unit):
                count += 1
    return count


def sifted(name: str, path: Path, lines: int, out: Path, *options: str) -> Row:
    """One run of the command, as a user starts it."""
    contract = path.parent / "contract.json"
    contract.write_text(json.dumps({"schema": SCHEMA, "rules": RULES}))
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "trueup.cli",
        "sift",
        str(path),
        "-c",
        str(contract),
        "-o",
        str(out),
        "--progress",
        "none",
    ]
    row = _command(name, lines, [*command, *options])
    units = json.loads((out / "summary.json").read_text())["counts"]["units"]
    assert units == lines, f"{name} judged {units} of {lines} lines"
    return row


def _command(name: str, lines: int, command: list[str]) -> Row:
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = _Memory(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    watch.end()
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 1), f"{name} ended with {child.returncode}"
    return Row(name, lines, usage.ru_utime + usage.ru_stime, wall, watch.driver, watch.worker)


class _Memory:
    """Watches a process and its children: the most that the first, and any of the others, held."""

    def __init__(self, pid: int) -> None:
        self.driver = self.worker = 0.0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            self.driver = max(self.driver, _held(self._pid))
            try:
                children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()
            except OSError:
                continue
            self.worker = max([self.worker, *(_held(int(child)) for child in children)])

    def end(self) -> None:
        self._over.set()
        self._thread.join()


def _held(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def measure(folder: Path, lines: int, *, ray: bool) -> list[Row]:
    clean, broken = folder / "clean.jsonl", folder / "broken.jsonl"
    make_file(clean, lines, 0.0)
    make_file(broken, lines, 0.1)
    turns = 2 if lines <= 300_000 else 1
    floors: list[Row] = []
    best: dict[str, Row] = {}
    for _ in range(turns):  # in turns, so that a busy moment of the machine hits all of them alike
        floors.append(timed("by hand: the floor", clean, lines, by_hand))
        for name, path, workers in (
            ("trueup, clean, 1 worker", clean, "1"),
            ("trueup, clean, 2 workers", clean, "2"),
            ("trueup, 10 % broken, 1 worker", broken, "1"),
        ):
            row = sifted(name, path, lines, folder / name.replace(" ", "-"), "--workers", workers)
            before = best.get(name, row)
            best[name] = min(row, before, key=lambda one: one.cpu)._replace(wall=min(row.wall, before.wall))
    floors.append(timed("by hand: the floor", clean, lines, by_hand))
    floor = min(floors, key=lambda one: one.cpu)._replace(wall=min(one.wall for one in floors))
    rows = [
        timed("read only", clean, lines, read_only),
        timed("orjson", clean, lines, orjson_only),
        floor,
        *best.values(),
    ]
    small = folder / "small.jsonl"
    make_file(small, 10, 0.0)
    start = sifted("trueup, 10 lines", small, 10, folder / "start", "--workers", "1")
    for index, row in enumerate(rows):
        if row.name.startswith("trueup"):
            steady = (row.cpu - start.cpu) / row.lines * 1e6
            rows[index] = row._replace(note=f"{steady:.1f} µs ({steady / floor.micro:.2f} ×) without the start")
    rows.append(start._replace(note="its fixed cost: start, contract, folder"))
    source = timed("the source's way", clean, min(lines, SOURCE_LINES), as_the_source_does)
    rows.append(source._replace(note=f"on {source.lines:,} lines"))
    if ray:
        fixed = sifted("trueup on Ray, 10 lines", small, 10, folder / "ray0", "--engine", "ray", "--workers", "2")
        whole = sifted(
            "trueup on Ray, clean, 2 workers", clean, lines, folder / "ray", "--engine", "ray", "--workers", "2"
        )
        same = (folder / "ray" / "validated.jsonl").read_bytes() == (
            folder / "trueup,-clean,-1-worker" / "validated.jsonl"
        ).read_bytes()
        rows += [
            fixed._replace(note="its fixed cost"),
            whole._replace(note="same bytes as local" if same else "OTHER BYTES"),
        ]
    rows.append(_flips(folder, min(lines, 100_000)))
    return rows


def _flips(folder: Path, lines: int) -> Row:
    """Stored replies judged again under another contract."""
    path = folder / "stored.jsonl"
    make_file(path, lines, 0.1)
    sifted("stored", path, lines, folder / "stored")
    stricter = {**SCHEMA, "properties": {**SCHEMA["properties"], "weight_grams": {"type": "integer", "maximum": 9_000}}}
    (folder / "stricter.json").write_text(json.dumps(stricter))
    command = [sys.executable, "-m", "trueup.cli", "revalidate", str(folder / "stored"), "-s", str(folder / "stricter.json"),
               "-o", str(folder / "again"), "--progress", "none"]  # fmt: skip
    row = _command("trueup revalidate", lines, command)
    found = json.loads((folder / "again" / "summary.json").read_text())["flips"]
    return row._replace(note=f"{found.get('valid_to_failed', 0):,} flips found, 2 workers")


def table(rows: list[Row]) -> str:
    floor = next(row for row in rows if "floor" in row.name)
    out = [
        "| what | lines | CPU µs a line | × the floor | wall s | lines/s | driver MB | worker MB | |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        memory = [f"{held:.0f}" if held else "" for held in (row.driver, row.worker)]
        cells = [row.name, f"{row.lines:,}", f"{row.micro:,.1f}", f"{row.micro / floor.micro:.2f}", f"{row.wall:.1f}",
                 f"{row.lines / row.wall:,.0f}", *memory, row.note]  # fmt: skip
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join(out)


def targets(rows: list[Row]) -> str:
    by = {row.name: row for row in rows}
    floor, clean = by["by hand: the floor"], by["trueup, clean, 1 worker"]
    two, broken, source = by["trueup, clean, 2 workers"], by["trueup, 10 % broken, 1 worker"], by["the source's way"]
    told = [
        ("clean ≤ 2 × the floor", clean.micro / floor.micro, 2.0, True),
        ("10 % broken ≤ 3 × the floor", broken.micro / floor.micro, 3.0, True),
        ("≥ 25 × the source's way", source.micro / clean.micro, 25.0, False),
        ("2 workers ≥ 1.2 × one, wall", clean.wall / two.wall, 1.2, False),
        ("driver ≤ 150 MB", max(row.driver for row in (clean, two, broken)), 150.0, True),
        ("a worker ≤ 80 MB", max(row.worker for row in (clean, two, broken)), 80.0, True),
    ]
    out = ["| target | measured | |", "|---|--:|---|"]
    for name, figure, goal, below in told:
        met = figure <= goal if below else figure >= goal
        out.append(f"| {name} | {figure:,.2f} | {'met' if met else 'not met'} |")
    return "\n".join(out)


def page(rows: list[Row], lines: int, load: tuple[float, float, float]) -> str:
    return f"""# Sifting, measured

<!-- Written by `python bench/sift.py --markdown docs/benchmarks-sift.md`. -->

{lines:,} lines of about 1 KB, one run, side by side: {platform.python_implementation()} {platform.python_version()}, {platform.machine()},
{os.cpu_count()} CPUs shared with other work (load {load[0]:.1f} when it began). CPU time is that of all processes together; the
memory is the most that any one process held. The floor is a loop by hand (orjson, jsonschema-rs, the rules as Python, records
written): no recovery, no resume, no check of the lines themselves. "The source's way" is json, jsonschema and asteval.

{table(rows)}

## Targets

{targets(rows)}

The bench takes `--lines 1000000` for the long form and `--quick` for 20,000 lines.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="sifting, beside what one would write by hand")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="20,000 lines")
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the files are made (default: a temporary folder)")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    lines = 20_000 if options.quick else options.lines
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = measure(Path(folder), lines, ray=not options.no_ray)
    print(table(rows))
    print()
    print(targets(rows))
    if options.markdown:
        options.markdown.write_text(page(rows, lines, load), "utf-8")
    if options.json:
        options.json.write_text(json.dumps([row._asdict() for row in rows], indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
