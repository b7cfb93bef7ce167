"""The commands of a newcomer, measured on a fresh clone with empty caches: `make demo`, `make test`, `make quick`.

python bench/fresh.py [--only demo,test,quick] [--busy] [--nice] [--one-core] [--repeat N] [--markdown docs/tests.md]

Clones the last commit into a temporary folder, with its own caches for pip, uv and npm, and runs the commands one after the other.
--busy keeps every core busy with other work meanwhile, --nice runs at low priority in addition, --one-core leaves one core.
Prints seconds, the seconds until the first line of output, and megabytes on disk; the page gets the table.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {"demo": ["make", "demo"], "test": ["make", "test"], "quick": ["make", "quick", "ROOM=recover"]}
GOALS = {"demo": (30, 200), "test": (480, None), "quick": (60, None)}
HEAD = ["command", "machine", "seconds", "goal", "first line", "on disk", "outcome"]
BEGIN, END = "<!-- bench/fresh.py -->", "<!-- end -->"


class Figure(NamedTuple):
    command: str
    machine: str
    seconds: float
    first: float
    megabytes: float
    outcome: str

    def row(self) -> list[str]:
        seconds, megabytes = GOALS[self.command]
        disk = f"{self.megabytes:,.0f} MB" + (f" (≤ {megabytes})" if megabytes else "") if self.megabytes else ""
        goal = f"≤ {seconds}" if self.machine == "idle" else ""
        command = " ".join(COMMANDS[self.command])
        return [f"`{command}`", self.machine, f"{self.seconds:.0f}", goal, f"{self.first:.1f} s", disk, self.outcome]


@contextlib.contextmanager
def busy(cores: int) -> Iterator[None]:
    """Useless work on this many cores."""
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for process in burning:
            process.send_signal(signal.SIGKILL)
            process.wait()


def megabytes(folder: Path) -> float:
    if not folder.exists():
        return 0.0
    done = subprocess.run(["du", "-sm", str(folder)], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def run(name: str, clone: Path, env: dict[str, str], options: argparse.Namespace, log: Path) -> Figure:
    """Run one command to its end, its output in a log."""

    def prepare() -> None:
        if options.nice:
            os.nice(19)
        if options.one_core:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    before = megabytes(clone)
    began, first, last = time.monotonic(), 0.0, ""
    with (
        busy(len(os.sched_getaffinity(0)) if options.busy or options.nice else 0),
        log.open("a", encoding="utf-8") as kept,
        subprocess.Popen(
            COMMANDS[name], cwd=clone, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", preexec_fn=prepare,
        ) as child,
    ):  # fmt: skip
        for line in child.stdout or ():
            first = first or time.monotonic() - began
            kept.write(line)
            if summary := re.search(r"\d+ passed.* in ", line):
                last = summary[0].removesuffix(" in ")
        child.wait()
    spent = time.monotonic() - began
    outcome = last or "done" if child.returncode == 0 else f"exit code {child.returncode}; {last}"
    words = [
        word
        for word, on in (("busy", options.busy), ("busy, nice 19", options.nice), ("one core", options.one_core))
        if on
    ]
    disk = megabytes(clone) - before if name in ("demo", "test") else 0.0
    return Figure(name, ", ".join(words) or "idle", spent, first, disk, outcome)


def fresh(options: argparse.Namespace, log: Path) -> Iterator[Figure]:
    place = Path(tempfile.mkdtemp(prefix="trueup-fresh-"))
    try:
        clone = place / "trueup"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        caches = {"PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "npm_config_cache": "npm", "XDG_CACHE_HOME": "cache"}
        env = {**os.environ, **{name: str(place / folder) for name, folder in caches.items()}}
        for name in options.only.split(","):
            for _ in range(options.repeat):
                yield run(name, clone, env, options, log)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def write(page: Path, rows: list[list[str]]) -> None:
    """Put the table between its two marks on a page; rows of other commands or machines stay as they are."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    known = [[cell.strip() for cell in line.strip("|").split("|")] for line in old.strip().splitlines()[2:]]
    new = [row[:2] for row in rows]
    order = [f"`{' '.join(words)}`" for words in COMMANDS.values()]
    kept = sorted([*(row for row in known if row[:2] not in new), *rows], key=lambda row: order.index(row[0]))
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *kept)]
    page.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default=",".join(COMMANDS), help="some of: %(default)s")
    parser.add_argument("--busy", action="store_true", help="with other work on every core")
    parser.add_argument("--nice", action="store_true", help="at low priority, with other work on every core")
    parser.add_argument("--one-core", action="store_true", help="on one core")
    parser.add_argument("--repeat", type=int, default=1, help="how often each command is run")
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "trueup-fresh.log")
    parser.add_argument("--markdown", type=Path, help="the page to write the table into")
    options = parser.parse_args()
    rows = []
    failed = False
    for figure in fresh(options, options.log):
        rows.append(figure.row())
        failed = failed or figure.outcome.startswith("exit code")
        print("  ".join(figure.row()), flush=True)
    if options.markdown:
        write(options.markdown, rows)
    print(f"output of the commands: {options.log}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
