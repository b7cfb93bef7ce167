"""A Ray cluster of several nodes on loopback, in a separate process that reads commands from standard input.

`kill` ends a node without warning, `behead` the head. The process of the tests never loads Ray.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from trueup.batch.engines.driver_process import _leave_out
from trueup.batch.engines.ray import _environment

ROOT = Path(__file__).resolve().parents[3]
MARK = "TRUEUP_TEST_CLUSTER"  # in the environment of all processes of one test
STORE = 80 << 20


class Nodes:
    """The cluster seen from a test: a head and more nodes, with one core each."""

    def __init__(self, more: int, **environment: str) -> None:
        self.environment = {"RAY_AUTH_MODE": "disabled", **environment}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.batch.engines.nodes", str(more)],
            cwd=ROOT,
            env={**os.environ, **_environment(""), **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def order(self, word: str) -> None:
        """Send a command, and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("answer "):
                return line.split(maxsplit=1)[1].strip()
        raise AssertionError("the process of the cluster has ended")


def of_mark(mark: str) -> set[int]:
    """The processes that have a mark in their environment."""
    marked = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes() + b"\0":
                    marked.add(int(folder.name))
            except OSError:  # it has ended, or is another user's
                continue
    return marked


def listening(processes: set[int]) -> set[str]:
    """The local addresses, in the system's notation, at which processes listen."""
    inodes = {inode for pid in processes for inode in _sockets(pid)}
    found = set()
    for name in ("tcp", "tcp6"):
        for row in Path("/proc/net", name).read_text("ascii").splitlines()[1:]:
            cells = row.split()
            if cells[3] == "0A" and cells[9] in inodes:  # 0A: it listens
                found.add(cells[1].partition(":")[0])
    return found


def _sockets(pid: int) -> set[str]:
    found = set()
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = str(handle.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:
        pass
    return found


def main() -> None:
    """Run the cluster until the input ends."""
    from ray.cluster_utils import Cluster

    _leave_out()
    small: dict[str, Any] = {"include_log_monitor": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **small})
    nodes = [cluster.add_node(num_cpus=1, **small) for _ in range(int(sys.argv[1]))]
    print("answer", cluster.address, flush=True)
    for line in sys.stdin:
        order = line.strip()
        if order == "kill":
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
        elif order == "behead":
            cluster.remove_node(cluster.head_node, allow_graceful=False)
        print("answer", order, flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
