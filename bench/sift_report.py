"""The figures of `bench/sift.py` as tables and as the page of the documentation."""

import os
import platform
from typing import NamedTuple

Steps = list[tuple[str, float]]
Kinds = list[tuple[str, float, float, float]]
Target = tuple[str, float, float, bool]  # the name of the target, the measurement, the goal, and whether less is better


class Row(NamedTuple):
    """One measurement; times in seconds, memory in megabytes."""

    name: str
    lines: int
    cpu: float
    wall: float
    driver: float = 0.0
    worker: float = 0.0
    note: str = ""
    steady: float = 0.0  # CPU microseconds of a line, without those of the start

    @property
    def micro(self) -> float:
        return self.cpu / self.lines * 1e6


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


def targets(rows: list[Row], small: list[Row]) -> str:
    """The targets and the measurements; `small` are the rows of the second shape."""
    large, short = {row.name: row for row in rows}, {row.name: row for row in small}
    one, two, source = large["trueup, clean, 1 worker"], large["trueup, clean, 2 workers"], large["the source's way"]
    held = [row for row in rows if row.name.startswith("trueup, ") and row.driver]
    told = [
        *_beside_floor("20 fields", large),
        *_beside_floor("5 fields", short),
        ("5 fields, a coerced reply ≤ 40 µs", short["trueup, all coerced, 1 worker"].steady, 40.0, True),
        ("5 fields, 20 duplicates: CPU ≤ 1.05 × none", _ratio(short, "20 duplicates", "no duplicates"), 1.05, True),
        ("20 fields, ≥ 25 × the source's way", source.micro / one.micro, 25.0, False),
        ("20 fields, 2 workers ≥ 1.6 × one, wall", one.wall / two.wall, 1.6, False),
        *_beside_local(large),
        ("driver ≤ 150 MB", max(row.driver for row in held), 150.0, True),
        ("a worker ≤ 80 MB", max(row.worker for row in held), 80.0, True),
    ]
    out = ["| target | measured | |", "|---|--:|---|"]
    for name, figure, goal, below in told:
        met = figure <= goal if below else figure >= goal
        out.append(f"| {name} | {figure:,.2f} | {'met' if met else 'not met'} |")
    return "\n".join(out)


def _beside_floor(shape: str, by: dict[str, Row]) -> list[Target]:
    floor, clean, broken = (
        by["by hand: the floor"], by["trueup, clean, 1 worker"], by["trueup, 10 % broken, 1 worker"],
    )  # fmt: skip
    return [
        (f"{shape}, clean ≤ 1.6 × the floor", clean.micro / floor.micro, 1.6, True),
        (f"{shape}, 10 % broken ≤ 2.7 × the floor", broken.micro / floor.micro, 2.7, True),
    ]


def _beside_local(by: dict[str, Row]) -> list[Target]:
    """Ray compared with the local engine, if it was measured."""
    if "trueup on Ray, clean, 2 workers" not in by:
        return []
    ratio = by["trueup on Ray, clean, 2 workers"].cpu / by["local engine, clean, 2 workers"].cpu
    return [("20 fields, Ray ≤ 1.3 × the local engine's CPU", ratio, 1.3, True)]


def _ratio(by: dict[str, Row], one: str, other: str) -> float:
    return by[f"trueup, {one}, 1 worker"].cpu / by[f"trueup, {other}, 1 worker"].cpu


def budgets(clean: Steps, broken: Kinds) -> str:
    """Where the time of a line goes."""
    steps = ["| of a clean line | CPU µs |", "|---|--:|", *(f"| {name} | {micro:.2f} |" for name, micro in clean)]
    kinds = ["| of a broken reply | judged | its fixes reported | its record |", "|---|--:|--:|--:|"]
    kinds += [f"| {name} | {judge:.1f} | {fixes:.1f} | {record:.1f} |" for name, judge, fixes, record in broken]
    return "\n".join([*steps, "", *kinds])


def _about_ray(rows: list[Row]) -> str:
    """A sentence about the figures on Ray, if there are any."""
    if not any("Ray" in row.name for row in rows):
        return ""
    return "\n**On Ray**, the CPU time is the total of all processes, including Ray's."


def page(rows: list[Row], small: list[Row], load: tuple[float, float, float], clean: Steps, broken: Kinds) -> str:
    return f"""# Sifting, measured

<!-- Written by `python bench/sift.py --markdown docs/benchmarks-sift.md`. -->

Two files in one run, side by side: {platform.python_implementation()} {platform.python_version()}, {platform.machine()},
{os.cpu_count()} CPUs (load {load[0]:.1f} when it started). CPU time is the total of all processes, the best of
the turns; memory is the peak of the largest process. Python's bytecode was cached, as in any installed package.

## Replies of 20 fields, lines of 1 KB

{table(rows)}

## Replies of 5 fields, lines of 200 bytes

{table(small)}

A coerced reply has a number in quotes. There are five kinds of broken replies: a fence and prose, a trailing comma, Python's words, an
apology, and a field of the wrong type. The last two cannot be repaired and become failure records.

**The floor** is a hand-written loop: orjson, jsonschema-rs, the rules as Python code, and writing the records. It has no recovery, no
resume and no check of the lines themselves, and it does not survive a crash. **The source's way** is how the batch pipeline that sifting
replaces ([sources](sources.md)) does it, in one process: json, a walk for coercions, jsonschema, JSON lines between its two phases, and
asteval with its symbols set again for each rule. Its processes, pipes and logs are not counted, nor its work between the two phases.{_about_ray(rows)}

## Targets

{targets(rows, small)}

## Where the time goes

Each step of a worker's loop is timed alone, with warm caches; in the loop, the steps share the caches. The rest of the command's time
is the system's part of reading and writing, the second copy of each record (from its part to its place), the comparison of
ids, and the start.

{budgets(clean, broken)}

A clean reply needs no verdict: it is parsed, judged and passed on as bytes, 128 lines at a time. All other lines are put aside
and judged together, with their places kept, because the code that repairs replies is large, and judging them here and there took a
tenth more time in total. A broken reply costs as much as its repair; reporting each fix with its place and path often doubles that.

`make bench-sift` runs all of it; `--lines`, `--small-lines` and `--quick` use fewer lines, and `--no-ray` leaves Ray out.
"""
