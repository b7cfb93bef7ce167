"""The CPU time and memory of a command with every process that it starts, Ray's among them, which no parent waits for.

They have a mark in their environment and are measured several times a second; work after the last measurement is missed.
"""

import os
import subprocess
import uuid
from pathlib import Path
from typing import NamedTuple

_MARK = "TRUEUP_BENCH"
_LOOK = 0.1  # seconds
_TICK = os.sysconf("SC_CLK_TCK")


class Used(NamedTuple):
    """CPU seconds of all processes together, and of Ray's driver; the most megabytes that the command and any other process held."""

    cpu: float
    courier: float
    command: float
    other: float


def used_by(command: list[str], ends: tuple[int, ...] = (0,)) -> Used:
    """Run a command, and return the resources that it and its children used. `ends` are the exit codes of success."""
    mark = uuid.uuid4().hex
    seen: dict[int, tuple[float, float]] = {}
    couriers: set[int] = set()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, _MARK: mark})
    while True:
        try:
            code = child.wait(_LOOK)
        except subprocess.TimeoutExpired:
            _look(f"{_MARK}={mark}".encode(), seen, couriers)
            continue
        break
    assert code in ends, f"{command} ended with {code}"
    others = [held for pid, (_, held) in seen.items() if pid != child.pid]
    total = sum(cpu for cpu, _ in seen.values())
    courier = sum(seen[pid][0] for pid in couriers)
    return Used(total, courier, seen.get(child.pid, (0, 0))[1], max(others, default=0.0))


def _look(mark: bytes, seen: dict[int, tuple[float, float]], couriers: set[int]) -> None:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        pid = int(folder.name)
        try:
            if pid not in seen and mark not in (folder / "environ").read_bytes():
                continue
            if b"engines.courier" in (folder / "cmdline").read_bytes():
                couriers.add(pid)
            cells = (folder / "stat").read_text().rpartition(")")[2].split()
            status = (folder / "status").read_text()
        except OSError:
            continue
        held = next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
        seen[pid] = (int(cells[11]) + int(cells[12])) / _TICK, max(held, seen.get(pid, (0, 0))[1])
