"""How the cost of hostile and large input grows: a table of CPU times for every shape whose growth the tests compare.

python bench/growth.py [--quick] [--only WORD] [--markdown PAGE]

Each shape is measured at its full size and at half of it. If a [requirement](requirements.md), such as X2, or
another page sets a time limit, the table shows it as the goal; the last line says how many shapes exceed their goal. A shape that
is tried in several ways (after several starts, under several contracts) has one row: the slowest.
"""

import argparse
import gc
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import root  # noqa: F401 - makes `tests` importable
from report import markdown_table, plain_table
from tests.shapes.families import FAMILIES
from tests.shapes.shape import Shape
from trueup.measure.timing import timed

HEAD = ["shape", "slowest", "size", "CPU ms", "× half", "goal"]


class Figure(NamedTuple):
    shape: Shape
    size: int
    seconds: float
    half: float

    @property
    def over(self) -> bool:
        return self.shape.goal is not None and self.size == self.shape.size and self.seconds > self.shape.goal

    def row(self) -> list[str]:
        grown = f"{self.seconds / self.half:.1f}" if self.half > 0.0005 else ""
        goal = "" if self.shape.goal is None else f"{self.shape.goal * 1000:,.0f}"
        ms = f"{self.seconds * 1000:,.1f}" + (" !" if self.over else "")
        return [self.shape.name[:48], self.shape.variant, f"{self.size:,}", ms, grown, goal]


def _best(shape: Shape, size: int) -> float:
    given = shape.make(size)
    spent = timed(lambda: shape.run(given))[0]
    for _ in range(2 if spent < 0.5 else 0):
        spent = min(spent, timed(lambda: shape.run(given))[0])
    return spent


def measured(shapes: list[Shape], divisor: int) -> Iterator[Figure]:
    """The slowest way of each shape, by name, in the order in which they come."""
    ways: dict[str, list[Shape]] = {}
    for shape in shapes:
        ways.setdefault(shape.name, []).append(shape)
    for same in ways.values():
        found = [(_best(shape, max(1, shape.size // divisor)), shape) for shape in same]
        spent, shape = max(found, key=lambda pair: pair[0])
        size = max(1, shape.size // divisor)
        yield Figure(shape, size, spent, _best(shape, max(1, size // 2)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of each size, to see that it runs")
    parser.add_argument("--only", default="", help="families with this word in their title")
    parser.add_argument("--markdown", type=Path, help="write the tables as a page here")
    options = parser.parse_args()
    about = f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}."
    page = [
        "# How cost grows",
        "",
        "Written by `make bench`. CPU time, best of three. The time of a check includes writing out every fix and finding.",
        about,
        "",
    ]
    page += [" ".join((__doc__ or "").split("\n\n")[-1].split()), ""]
    print(about)
    count = over = 0
    gc.disable()
    for title, shapes in FAMILIES.items():
        if options.only.lower() not in title.lower():
            continue
        figures = list(measured(shapes, 20 if options.quick else 1))
        gc.collect()
        rows = [figure.row() for figure in figures]
        print(f"\n{title}\n\n{plain_table(HEAD, rows)}", flush=True)
        page += [f"## {title}", "", markdown_table(HEAD, rows), ""]
        count, over = count + len(figures), over + sum(figure.over for figure in figures)
    last = f"{count} shapes; {over} exceed their goal (marked !)."
    print(f"\n{last}")
    if options.markdown:
        options.markdown.write_text("\n".join([*page, last, ""]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
