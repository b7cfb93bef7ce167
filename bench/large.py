"""Large replies: texts of any kind and of ten megabytes, each judged whole by contracts of every kind.

python bench/large.py [--megabytes 10] [--over SECONDS] [INPUT…]
"""

import argparse
import sys
import time
from typing import Any

import root  # noqa: F401 - makes `tests` importable
from tests.shapes.large import INPUTS, Text, contracts
from trueup import Contract

Result = dict[str, Any]
TARGET = 2.0  # seconds for ten megabytes


def seconds(contract: Contract, text: Text) -> float:
    """CPU seconds of one check."""
    begun = time.process_time()
    contract.check(text, context={"state": "S"})
    return time.process_time() - begun


def large(megabytes: float, names: tuple[str, ...] = ()) -> Result:
    """For each input and contract the seconds, and how they grew over half the size."""
    size = int(megabytes * 1_000_000)
    judges = contracts()
    found: Result = {}
    for name in names or INPUTS:
        half, whole = INPUTS[name](size // 2), INPUTS[name](size)
        row: Result = {}
        for kind, contract in judges.items():
            first, then = seconds(contract, half), seconds(contract, whole)
            row[kind] = {"seconds": then, "growth": then / first if first > 0.02 else None}
        found[name] = row
    return {"megabytes": megabytes, "inputs": found}


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    kinds = list(next(iter(data["inputs"].values())))
    rows = [[name, *(_shown(row[kind]) for kind in kinds)] for name, row in data["inputs"].items()]
    every = [row[kind]["seconds"] for row in data["inputs"].values() for kind in kinds]
    over = sum(spent > TARGET * data["megabytes"] / 10 for spent in every)
    note = (
        f"CPU seconds for {data['megabytes']:g} MB (as UTF-8) of each kind of text, and × the time for half of it. Of "
        f"{len(every)} cells {over} are over {TARGET * data['megabytes'] / 10:g} s."
    )
    return "Large replies", note, ["text", *kinds], rows


def _shown(cell: Result) -> str:
    grown = f" ×{cell['growth']:.1f}" if cell["growth"] else ""
    return f"{cell['seconds']:.2f} s{grown}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--over", type=float, default=0, help="show rows that have a cell over this many seconds")
    parser.add_argument("inputs", nargs="*", help=f"some of: {', '.join(INPUTS)}")
    options = parser.parse_args()
    for name in options.inputs or INPUTS:
        data = large(options.megabytes, (name,))
        _, _, _, (row,) = table(data)
        if max(cell["seconds"] for cell in data["inputs"][name].values()) >= options.over:
            print(f"{row[0]:32}", *(f"{cell:14}" for cell in row[1:]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
