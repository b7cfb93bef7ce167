"""`python bench/tables.py`: the same replies as JSON lines, Parquet, Arrow and CSV, sifted one after the other.

python bench/tables.py [--lines N] [--turns N]

One worker each, CPU time of all processes together, the best of several turns. A row for each format in, and one for each out.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from sift import sifted
from sift_report import Row
from sift_ways import make_file

IN = ("jsonl", "parquet", "arrow", "csv")
OUT = ("parquet", "arrow", "csv", "datasets")


def make_tables(lines: Path) -> dict[str, Path]:
    """The rows of a file of lines, as tables next to it; the input is a column of JSON text, because it has no fixed type."""
    rows = [json.loads(line) for line in lines.read_bytes().splitlines()]
    table = pa.table({
        "unit_id": [row["unit_id"] for row in rows], "given": [json.dumps(row["input"]) for row in rows],
        "raw_response": [row["raw_response"] for row in rows],
    })  # fmt: skip
    made = {"jsonl": lines, **{kind: lines.with_suffix(f".{kind}") for kind in IN[1:]}}
    pq.write_table(table, made["parquet"])
    with pa.ipc.new_file(made["arrow"], table.schema) as opened:
        opened.write_table(table, max_chunksize=10_000)
    pc.write_csv(table, made["csv"])
    return made


def measure(folder: Path, lines: int, turns: int) -> list[Row]:
    file = folder / "replies.jsonl"
    make_file(file, lines, 0.0)
    made = make_tables(file)
    runs = [(f"{kind} in", path, ()) for kind, path in made.items()]
    runs += [(f"jsonl in, {kind} out", file, ("--format", kind)) for kind in OUT]
    best: dict[str, Row] = {}
    for _ in range(turns):  # in turns, so that a busy moment of the machine hits all of them alike
        for name, path, options in runs:
            row = sifted(name, path, lines, folder / "out", "--workers", "1", *options)
            best[name] = min(best.get(name, row), row, key=lambda one: one.cpu)
    return list(best.values())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--lines", type=int, default=100_000)
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.lines, given.turns)
    for row in rows:
        print(f"{row.name:24} {row.micro:6.1f} µs a row   {row.cpu / rows[0].cpu:4.2f} ×", file=sys.stdout)


if __name__ == "__main__":
    main()
