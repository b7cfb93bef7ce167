"""`python bench/sift.py`: a file of replies sifted, compared with a hand-written loop and with the system that it replaces.

python bench/sift.py [--lines N] [--small-lines N] [--quick] [--turns N] [--no-ray] [--markdown PAGE] [--json OUT]

One run, side by side, the same files, in two shapes: 20 fields in lines of 1 KB, and 5 fields in lines of 200 bytes. Times are
CPU time of all processes together and wall time; memory is the most that any one process held.
"""

import argparse
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import sift_budget
import tree
from sift_report import Row, budgets, page, table, targets
from sift_ways import (
    COERCED,
    LARGE,
    SCHEMA,
    SMALL,
    SOURCE_LINES,
    Shape,
    as_the_source_does,
    by_hand,
    make_file,
    orjson_only,
    read_only,
)


def timed(name: str, path: Path, lines: int, act: Callable[[Path], int]) -> Row:
    """One measurement inside this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    act(path)
    return _told(Row(name, lines, time.process_time() - cpu, time.perf_counter() - wall))


def _told(row: Row) -> Row:
    """Show a measurement when it is made: the whole takes many minutes."""
    print(f"{row.name}: {row.micro:,.1f} µs a line, {row.wall:,.1f} s", file=sys.stderr, flush=True)
    return row


def sifted(name: str, path: Path, lines: int, out: Path, *options: str, shape: Shape = LARGE) -> Row:
    """One run of the command, as a user starts it."""
    contract = path.parent / f"contract-{len(shape.rules)}.json"
    contract.write_text(json.dumps({"schema": shape.schema, "rules": shape.rules}))
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "trueup.cli", "sift", str(path), "-c", str(contract), "-o", str(out), "--progress", "none"]  # fmt: skip
    row = _command(name, lines, [*command, *options], path.parent)
    units = json.loads((out / "summary.json").read_text())["counts"]["units"]
    assert units == lines, f"{name} judged {units} of {lines} lines"
    return row


def _command(name: str, lines: int, command: list[str], folder: Path) -> Row:
    # as in any installed package, the bytecode of the modules is there already
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    watch = _Memory(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    watch.end()
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 1), f"{name} ended with {child.returncode}"
    return _told(Row(name, lines, usage.ru_utime + usage.ru_stime, wall, watch.driver, watch.worker))


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


def measure(folder: Path, lines: int, turns: int, *, ray: bool) -> list[Row]:
    clean, broken, small = folder / "clean.jsonl", folder / "broken.jsonl", folder / "small.jsonl"
    make_file(clean, lines, 0.0)
    make_file(broken, lines, 0.1)
    make_file(small, 10, 0.0)
    for act in (by_hand, as_the_source_does):
        act(small)  # their imports are not measured
    sifted("first", small, 10, folder / "start")
    runs = [
        ("trueup, clean, 1 worker", clean, "1"),
        ("trueup, clean, 2 workers", clean, "2"),
        ("trueup, 10 % broken, 1 worker", broken, "1"),
    ]
    floors: list[Row] = []
    best: dict[str, Row] = {}
    for _ in range(turns):  # in turns, so that a busy moment of the machine hits all of them alike
        for name, path, workers in runs:
            floors.append(timed("by hand: the floor", clean, lines, by_hand))
            _keep_best(best, sifted(name, path, lines, _out(folder, name), "--workers", workers))
            if name != runs[0][0]:
                shutil.rmtree(_out(folder, name))
    rows = [
        timed("read only", clean, lines, read_only),
        timed("orjson", clean, lines, orjson_only),
        min(floors, key=lambda one: one.cpu)._replace(wall=min(one.wall for one in floors)),
        *best.values(),
    ]
    start = min((sifted("trueup, 10 lines", small, 10, folder / "start", "--workers", "1") for _ in range(5)), key=lambda one: one.cpu)  # fmt: skip
    rows = [_without_start(row, start, rows[2]) if row.name in best else row for row in rows]
    rows.append(start._replace(note="its fixed cost: start, contract, folder"))
    source = timed("the source's way", clean, min(lines, SOURCE_LINES), as_the_source_does)
    rows.append(source._replace(note=f"on {source.lines:,} lines"))
    if ray:
        rows += _on_ray(folder, clean, small, lines, turns)
    rows.append(_flips(folder, min(lines, 100_000)))
    return rows


def measure_small(folder: Path, lines: int, turns: int) -> list[Row]:
    """The second shape: short replies, for which the work around judging matters most."""
    few = max(lines // 10, 10)
    files = {
        "clean": (lines, 0.0, (0,), 0), "10 % broken": (lines, 0.1, range(5), 0), "all coerced": (few, 1.0, (COERCED,), 0),
        "no duplicates": (few, 0.0, (0,), 0), "20 duplicates": (few, 0.0, (0,), 20),
    }  # fmt: skip
    paths = {name: folder / f"small-{name.replace(' ', '-').replace('%', 'percent')}.jsonl" for name in files}
    for name, (count, share, kinds, doubled) in files.items():
        make_file(paths[name], count, share, SMALL, kinds, doubled)
    tiny = folder / "tiny.jsonl"
    make_file(tiny, 10, 0.0, SMALL)
    SMALL.by_hand(tiny)
    sifted("first", tiny, 10, folder / "start", shape=SMALL)
    floors: list[Row] = []
    best: dict[str, Row] = {}
    for turn in range(max(turns, 3)):
        for name, (count, *_) in files.items():
            if count == lines and turn >= turns:
                continue  # the short ones are measured once more: little time is much noise
            floors.append(timed("by hand: the floor", paths["clean"], lines, SMALL.by_hand))
            row = sifted(
                f"trueup, {name}, 1 worker", paths[name], count, folder / "small", "--workers", "1", shape=SMALL
            )
            _keep_best(best, row)
            shutil.rmtree(folder / "small")
    start = min((sifted("trueup, 10 lines", tiny, 10, folder / "start", "--workers", "1", shape=SMALL) for _ in range(5)), key=lambda one: one.cpu)  # fmt: skip
    floor = min(floors, key=lambda one: one.cpu)._replace(wall=min(one.wall for one in floors))
    rows = [floor, *(_without_start(row, start, floor) for row in best.values()), start]
    for path in paths.values():
        path.unlink()
    return rows


def _keep_best(best: dict[str, Row], row: Row) -> None:
    """Keep the lowest CPU time and the lowest wall time of each name."""
    before = best.get(row.name, row)
    best[row.name] = min(row, before, key=lambda one: one.cpu)._replace(wall=min(row.wall, before.wall))


def _out(folder: Path, name: str) -> Path:
    return folder / name.replace(" ", "-")


def _without_start(row: Row, start: Row, floor: Row) -> Row:
    steady = (row.cpu - start.cpu) / row.lines * 1e6
    return row._replace(steady=steady, note=f"{steady:.1f} µs ({steady / floor.micro:.2f} ×) without the start")


def _on_ray(folder: Path, clean: Path, small: Path, lines: int, turns: int) -> list[Row]:
    """Both engines with two workers, in turns; the CPU time includes all processes, also those that Ray starts."""
    best: dict[str, Row] = {}
    for _ in range(max(turns, 3)):  # the first one on Ray is slower than all others
        _keep_best(best, _whole("local engine, clean, 2 workers", clean, lines, folder / "beside", "local"))
        _keep_best(best, _whole("trueup on Ray, clean, 2 workers", clean, lines, folder / "ray", "ray"))
    fixed = _whole("trueup on Ray, 10 lines", small, 10, folder / "ray0", "ray")
    local, whole = best.values()
    same = filecmp.cmp(folder / "ray" / "validated.jsonl", folder / "beside" / "validated.jsonl", shallow=False)
    for name in ("beside", "ray0", "ray"):
        shutil.rmtree(folder / name)
    return [
        local._replace(note="measured in the same way as Ray"),
        fixed._replace(note="its fixed cost"),
        whole._replace(note=f"{whole.cpu / local.cpu:.2f} × local, {'same bytes as local' if same else 'OTHER BYTES'}"),
    ]


def _whole(name: str, path: Path, lines: int, out: Path, engine: str) -> Row:
    shutil.rmtree(out, ignore_errors=True)
    contract = path.parent / f"contract-{len(LARGE.rules)}.json"
    command = [sys.executable, "-m", "trueup.cli", "sift", str(path), "-c", str(contract), "-o", str(out), "--progress", "none",
               "--engine", engine, "--workers", "2"]  # fmt: skip
    began = time.perf_counter()
    used = tree.used_by(command, ends=(0, 1))  # 1: some units failed
    assert (out / "summary.json").exists(), f"{command} did not finish"
    return _told(Row(name, lines, used.cpu, time.perf_counter() - began, used.command, used.other))


def _flips(folder: Path, lines: int) -> Row:
    """Stored replies judged again under another contract."""
    path = folder / "stored.jsonl"
    make_file(path, lines, 0.1)
    sifted("stored", path, lines, folder / "stored")
    stricter = {**SCHEMA, "properties": {**SCHEMA["properties"], "weight_grams": {"type": "integer", "maximum": 9_000}}}
    (folder / "stricter.json").write_text(json.dumps(stricter))
    command = [sys.executable, "-m", "trueup.cli", "revalidate", str(folder / "stored"), "-s", str(folder / "stricter.json"),
               "-o", str(folder / "again"), "--progress", "none"]  # fmt: skip
    row = _command("trueup revalidate", lines, command, folder)
    found = json.loads((folder / "again" / "summary.json").read_text())["flips"]
    return row._replace(note=f"{found.get('valid_to_failed', 0):,} flips found, 2 workers")


def main() -> int:
    parser = argparse.ArgumentParser(description="sifting, compared with a hand-written loop")
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of 1 KB")
    parser.add_argument("--small-lines", type=int, default=1_000_000, help="lines of 200 bytes")
    parser.add_argument("--quick", action="store_true", help="20,000 lines of each")
    parser.add_argument("--turns", type=int, default=3, help="how often each is run; the best counts")
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the files are made (default: a temporary folder)")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    lines, small_lines = (20_000, 20_000) if options.quick else (options.lines, options.small_lines)
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        small = measure_small(Path(folder), small_lines, options.turns)
        rows = measure(Path(folder), lines, options.turns, ray=not options.no_ray)
        clean, broken = sift_budget.of_clean(Path(folder) / "clean.jsonl"), sift_budget.of_broken()
    print(table(rows), table(small), targets(rows, small), budgets(clean, broken), sep="\n\n")
    if options.markdown:
        options.markdown.write_text(page(rows, small, load, clean, broken), "utf-8")
    if options.json:
        told = {
            "rows": [row._asdict() for row in rows],
            "small": [row._asdict() for row in small],
            "clean": clean,
            "broken": broken,
        }
        options.json.write_text(json.dumps(told, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
