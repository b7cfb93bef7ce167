"""Hostile texts: each peer reads each shape in a separate process, at doubling sizes, under a time limit.

As a script it is the child: `hostile.py PEER SHAPE SIZE…` prints one JSON line per size that it survived, and
stops if the next size would clearly not end in time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cases
from peers import REPAIRERS, TRUEUP, Peer
from trueup.measure.timing import timed

Result = dict[str, Any]
MEGABYTE = 1_000_000
SHAPES = {**cases.HOSTILE, **cases.FUZZ}


def _child(name: str, shape: str, sizes: list[int], limit: float) -> None:
    peer = next(peer for peer in REPAIRERS if peer.name == name)
    read = peer.make(cases.SCHEMA)
    _attempt(read, cases.BROKEN["trailing commas"][0])
    spent, before = 0.0, 0.0
    for size in sizes:
        text = SHAPES[shape](size)
        best, outcome = _attempt(read, text)
        spent += best
        for _ in range(2 if best < limit / 40 else 0):
            again = _attempt(read, text)[0]
            spent, best = spent + again, min(best, again)
        print(json.dumps({"size": size, "cpu": best, "outcome": outcome}), flush=True)
        growth = best / before if before > 0.02 else 2.0
        before = best
        if size != sizes[-1] and spent + best * growth > limit:
            print(json.dumps({"stopped": True}), flush=True)
            return


def _attempt(read: Any, text: str) -> tuple[float, str]:
    try:
        spent, _ = timed(lambda: read(text))
        return spent, "value"
    except RecursionError:
        outcome = "RecursionError"
    except Exception:
        outcome = "refused"

    def again() -> None:
        try:
            read(text)
        except Exception:
            pass

    return timed(again)[0], outcome


def _run(peer: Peer, shape: str, sizes: list[int], limit: float) -> Result:
    """The outcome of one peer on one shape. The child limits its CPU time; the wall limit is for one that hangs.

    No RLIMIT_CPU: with it the kernel counts this process's time in ticks, and short readings become 0.
    """
    command = [sys.executable, str(Path(__file__)), peer.name, shape, str(limit), *map(str, sizes)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit * 3 + 10, check=False, env=_environment()
        )
        output, code, late, errors = done.stdout, done.returncode, False, done.stderr
    except subprocess.TimeoutExpired as stop:
        output, code, late, errors = (stop.stdout or b"").decode(), 0, True, ""
    lines = [json.loads(line) for line in output.splitlines()]
    steps = [line for line in lines if "size" in line]
    row: Result = {"steps": steps, "status": "ok"}
    if late:
        row["status"] = "timeout"
    elif len(lines) > len(steps):
        row["status"] = "too slow"
    elif code < 0:
        row["status"] = f"crash (signal {-code})"
    elif code:
        row["status"] = "failed"
        row["error"] = errors.strip().rpartition("\n")[2]
    times = {step["size"]: step["cpu"] for step in steps}
    row["seconds"] = times.get(MEGABYTE)
    row["ratio"] = times[sizes[-1]] / times[sizes[-2]] if sizes[-1] in times and times.get(sizes[-2]) else None
    return row


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "0"}


def hostile(limit: float, *, quick: bool) -> Result:
    """Every peer on the five hostile shapes; repeated tokens (X2) for all with a shorter limit."""
    sizes = [62_500, 125_000] if quick else [62_500, 125_000, 250_000, 500_000, MEGABYTE, 2 * MEGABYTE]
    table: dict[str, Result] = {}
    for shape in SHAPES:
        named = shape in cases.HOSTILE
        row: Result = {}
        for peer in REPAIRERS if not quick else REPAIRERS[:3] if named else (TRUEUP,):
            if peer.version() == "not installed":
                continue
            own = sizes if peer is TRUEUP else [size for size in sizes if size <= MEGABYTE]
            row[peer.name] = _run(peer, shape, own, limit if named or peer is TRUEUP else limit / 4)
        table[shape] = row
    return {"sizes": sizes, "limit": limit, "shapes": table}


if __name__ == "__main__":
    _child(sys.argv[1], sys.argv[2], [int(size) for size in sys.argv[4:]], float(sys.argv[3]))
