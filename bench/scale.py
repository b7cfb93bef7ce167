"""`python bench/scale.py`: measure what each stage of a sift costs here, and say what that means for a billion replies a day.

python bench/scale.py [--lines N] [--store] [--markdown PAGE] [--no-measure]

Without --no-measure the parameters are measured (a few minutes), and with --store kept in bench/data/scale.json. Then the tables of
the model are printed, the model is compared with the simulation and with a real run, and with --markdown the page gets the tables.
"""

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

import scale_model as model
import tree
from scale_model import Parameters, Setup
from scale_simulation import simulate
from sift_ways import RULES, SCHEMA, broken, make_file, value

BIG, SMALL = model.RANGE, 32 << 10
TINY = 2 << 10  # ten lines in several ranges, so that every worker is started
RUN = """
import sys
from pathlib import Path
from trueup.batch.judging.contracts import spec_of
from trueup.batch.engines import node_worker, ray
from trueup.batch.sift import SiftOptions, sift
file, contract, out, engine, size, shared = sys.argv[1:]
if shared == "no":
    ray.FirstMessage = lambda *given: node_worker.FirstMessage(*given[:-1], "/nowhere")
sift([file], spec_of(contract), Path(out), SiftOptions(engine=engine, workers=2, range_size=int(size), fresh=True))
"""


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def cpu(act: Callable[[], Any]) -> float:
    """CPU seconds of this process, the best of three."""
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        act()
        best = min(best, time.process_time() - began)
    return best


def measure(folder: Path, lines: int) -> dict[str, float]:
    contract = folder / "contract.json"
    contract.write_text(json.dumps({"schema": SCHEMA, "rules": RULES}))
    clean = folder / "clean.jsonl"
    make_file(clean, lines, 0.0)
    found: dict[str, float] = {"line": clean.stat().st_size / lines}
    found["read"] = cpu(lambda: _read(clean)) / clean.stat().st_size
    told("judging")
    kinds = {
        "clean": clean,
        "fixed": _only(folder, "fixed", lines // 4, 0, 3),
        "failed": _only(folder, "failed", lines // 4, 3, 5),
    }
    for name, path in kinds.items():
        spent, count, parts = _judged(path, contract)
        found[name] = spent / count - path.stat().st_size / count * found["read"]
        if name == "clean":
            found["part"], found["row"] = parts[0] / count, parts[1] / count
    told("comparing")
    found |= _compared(folder)
    told("the driver and the merge")
    found |= _driven(folder, clean, contract)
    told("Ray")
    found |= _on_ray(folder, clean, contract, lines)
    found["ray_byte"] = max(found["ray_byte"], found["write"])  # Ray's driver writes each of these bytes, at the least
    found["disk"] = _disk(folder)
    return found


def _read(path: Path) -> None:
    with path.open("rb") as opened:
        while opened.read(1 << 20):
            pass


def _only(folder: Path, name: str, lines: int, low: int, high: int) -> Path:
    """Replies broken in some ways only."""
    dice, path = random.Random(5), folder / f"{name}.jsonl"
    with path.open("wb") as opened:
        for number in range(lines):
            reply = broken(low + number % (high - low), json.dumps(value(dice, number)))
            line = {"unit_id": f"unit-{number:08d}", "input": {"n": number}, "raw_response": reply}
            opened.write(orjson.dumps(line) + b"\n")
    return path


def _judged(path: Path, contract: Path) -> tuple[float, int, tuple[int, int]]:
    """The CPU of judging a file range by range, its lines, and the bytes of records and of ids."""
    from trueup.batch.input.ranges import ranges_of
    from trueup.batch.input.sources import open_sources
    from trueup.batch.judging.contracts import spec_of
    from trueup.batch.judging.work import RangeTask, SiftJob, judge_range, read_part, write_part

    spec = spec_of(contract)
    sources = open_sources([str(path)], path.parent)
    job = SiftJob("key", spec, tuple(sources), str(path.parent), 8 << 20)
    pieces = list(ranges_of([path.stat().st_size]))
    spent = cpu(
        lambda: [len(part) for piece in pieces for part in judge_range(job, spec.open(), RangeTask(piece), [0])]
    )
    sizes = [0, 0]
    for piece in pieces:
        done = write_part(job.parts, piece.number, judge_range(job, spec.open(), RangeTask(piece), [0]))
        sizes[0] += sum(done.sizes[:3])
        sizes[1] += sum(done.sizes[3:])
        target = path.parent / f"{piece.number:08d}.part"
        assert read_part(target) is not None
        target.unlink()
    with path.open("rb") as opened:
        return spent, sum(1 for _ in opened), (sizes[0], sizes[1])


def _compared(folder: Path) -> dict[str, float]:
    """The comparison of ids in one go, and in as many buckets as there ever are."""
    from trueup.batch.judging.sieve import ID_ROW, ID_SIZE
    from trueup.batch.merging.duplicates import groups_in
    from trueup.batch.merging.stored_ranges import FileSpan

    dice, rows, tables = random.Random(3), 4_000, 300
    places = []
    for number in range(tables):
        path = folder / f"{number}.ids"
        keys = sorted(dice.randbytes(ID_SIZE) for _ in range(rows))
        path.write_bytes(b"".join(key + (n).to_bytes(ID_ROW - ID_SIZE, "big") for n, key in enumerate(keys)))
        places.append((number, FileSpan(path, 0, rows * ID_ROW)))
    total = rows * tables
    once = cpu(lambda: list(groups_in(lambda: iter(places), folder / "buckets", at_once=total)))
    split = cpu(lambda: list(groups_in(lambda: iter(places), folder / "buckets", at_once=total // 500)))
    return {"id": once / total, "split": max(0.0, split - once) / total}


def _driven(folder: Path, path: Path, contract: Path) -> dict[str, float]:
    """The driver's own CPU for judging and merging, with large ranges and with small ones."""
    large, small = _phases(folder, path, contract, BIG), _phases(folder, path, contract, SMALL)
    more = small["ranges"] - large["ranges"]
    merge_range = max(0.0, small["merging"] - large["merging"]) / more
    return {
        "driver": max(0.0, small["judging"] - large["judging"]) / more,
        "merge_range": merge_range,
        "merge_byte": max(0.0, large["merging"] - large["ranges"] * merge_range) / large["bytes"],
        "write": _write(folder),
    }


def _phases(folder: Path, path: Path, contract: Path, size: int) -> dict[str, float]:
    from trueup.batch.judging.contracts import spec_of
    from trueup.batch.sift import SiftOptions, sift

    best: dict[str, float] = {}
    out = folder / "driven"
    for _ in range(3):
        marks: dict[str, float] = {}

        def tell(progress: Any, marks: dict[str, float] = marks) -> None:
            marks.setdefault(progress.step, time.process_time())
            marks[f"last {progress.step}"] = time.process_time()

        began = time.process_time()
        sift([str(path)], spec_of(contract), out, SiftOptions(workers=1, range_size=size, fresh=True), tell)
        ended = time.process_time()
        one = {"judging": marks["comparing"] - began, "merging": ended - marks["last comparing"]}
        best = {name: min(spent, best.get(name, spent)) for name, spent in one.items()}
    bytes_ = sum((out / name).stat().st_size for name in ("validated.jsonl", "failures.jsonl"))
    return {**best, "ranges": model.ranges_of(_sized(path.stat().st_size / size * model.RANGE), 1), "bytes": bytes_}


def _sized(line: float) -> Parameters:
    return Parameters(**dict.fromkeys(Parameters._fields, 0.0))._replace(line=line)


def _write(folder: Path) -> float:
    """A byte of a part: written and synced, CPU time."""
    data, path = os.urandom(8 << 20), folder / "written"

    def act() -> None:
        with path.open("wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())

    return min(cpu(act) for _ in range(3)) / len(data)


def _on_ray(folder: Path, path: Path, contract: Path, lines: int) -> dict[str, float]:
    few = folder / "few.jsonl"
    make_file(few, 10, 0.0)

    def used(file: Path, engine: str, size: int, shared: str = "yes") -> tree.Used:
        command = [sys.executable, "-c", RUN, str(file), str(contract), str(folder / "out"), engine, str(size), shared]
        return min((tree.used_by(command) for _ in range(2)), key=lambda one: one.cpu)

    start, ray_start = used(few, "local", TINY), used(few, "ray", TINY)
    local, small = used(path, "local", BIG), used(path, "local", SMALL)
    ray, ray_small, sent = used(path, "ray", BIG), used(path, "ray", SMALL), used(path, "ray", BIG, "no")
    more = path.stat().st_size / SMALL - path.stat().st_size / BIG
    out = sum((folder / "out" / name).stat().st_size for name in ("validated.jsonl", "failures.jsonl"))
    told(f"local {local.cpu:.1f} s, Ray {ray.cpu:.1f} s, parts sent {sent.cpu:.1f} s of CPU for {lines:,} lines")
    return {
        "start": start.cpu,
        "ray_start": ray_start.cpu - start.cpu,
        "ray_range": max(0.0, (ray_small.cpu - ray.cpu) - (small.cpu - local.cpu)) / more,
        "courier": max(0.0, ray_small.courier - ray.courier) / more,
        "ray_byte": max(0.0, sent.courier - ray.courier) / out,
        "driver_mb": local.command,
        "worker_mb": local.other,
    }


def _disk(folder: Path) -> float:
    """Bytes a second, synced; the best of three."""
    data, path, best = os.urandom(64 << 20), folder / "disk", 0.0
    for _ in range(3):
        began = time.perf_counter()
        with path.open("wb") as opened:
            for _ in range(4):
                opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        best = max(best, 4 * len(data) / (time.perf_counter() - began))
        path.unlink()
    return best


def against_simulation(p: Parameters) -> str:
    """The model and the simulation, without and with failures."""
    out = ["| replies | where | model | simulation | error | a node dies every 10 minutes of its life | ranges judged again |",
           "|---|---|--:|--:|--:|--:|--:|"]  # fmt: skip
    for amount in (10**7, 10**8):
        for setup in model.SETUPS:
            cost, ran = model.predict(p, amount, setup), simulate(p, amount, setup)
            worse = simulate(p, amount, setup, hours=1 / 6 if setup.ray else 0.0)
            error = cost.wall / ran.wall - 1
            failing = f"{worse.wall:,.0f} s" if setup.ray else ""
            out.append(
                f"| {amount:,} | {setup.name} | {cost.wall:,.0f} s | {ran.wall:,.0f} s | {error:+.1%} | {failing} | {worse.again or ''} |"
            )
    return "\n".join(out)


def run_really(p: Parameters, folder: Path, lines: int) -> list[tuple[str, float, float]]:
    """Real runs here, 10 % of the replies broken: what the model says and what was measured, in CPU seconds.

    CPU time is what other work on the machine changes least.
    """
    path, contract = folder / "real.jsonl", folder / "contract.json"
    make_file(path, lines, 0.1)
    guess = model.predict(p, lines, Setup("here", 1, 2, p.disk)).cpu
    on_ray = guess + p.ray_start + model.ranges_of(p, lines) * p.ray_range
    out = []
    for engine, expected in (("local", guess), ("ray", on_ray)):
        command = [sys.executable, "-c", RUN, str(path), str(contract), str(folder / "real"), engine, str(BIG), "yes"]
        spent = min(tree.used_by(command).cpu for _ in range(2))
        out.append((f"{lines:,} lines, {engine} engine, 2 workers", round(expected, 2), round(spent, 2)))
    return out


def against_reality(runs: list[tuple[str, float, float]]) -> str:
    """The model and the real runs."""
    out = ["| a real run here | model, CPU s | measured, CPU s | error |", "|---|--:|--:|--:|"]
    out += [f"| {name} | {guess:.1f} | {spent:.1f} | {guess / spent - 1:+.0%} |" for name, guess, spent in runs]
    return "\n".join(out)


def sections(stored: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The tables, by the name of their place in the page; all are computed from the stored parameters."""
    p = Parameters(**stored["parameters"])
    yield "parameters", model.parameters(p)
    yield "table", model.table(p)
    yield "stages", model.stages(p, 10**9)
    yield "sizes", model.sizes(p)
    yield "simulation", against_simulation(p)
    yield "reality", against_reality(stored["real"])


def written(page: str, name: str, text: str) -> str:
    """The page with a table in its place."""
    place = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(\n<!-- end -->)", re.DOTALL)
    assert place.search(page), f"the page has no place for {name}"
    return place.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", page)


def main() -> int:
    parser = argparse.ArgumentParser(description="the cost of a sift, stage by stage")
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--no-measure", action="store_true", help="take the stored parameters")
    parser.add_argument("--store", action="store_true", help="keep the parameters in bench/data/scale.json")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if options.no_measure:
        stored = json.loads(model.STORED.read_text("utf-8"))
    else:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(Path(folder), options.lines)
            p = Parameters(**{name: float(f"{measured[name]:.3g}") for name in Parameters._fields})
            stored = {
                "lines": options.lines,
                "parameters": p._asdict(),
                "real": run_really(p, Path(folder), options.lines),
            }
    if options.store:
        model.STORED.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    tables = dict(sections(stored))
    print("\n\n".join(tables.values()))
    if options.markdown:
        page = options.markdown.read_text("utf-8")
        for name, text in tables.items():
            page = written(page, name, text)
        options.markdown.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
