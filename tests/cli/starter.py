"""Starts `trueup` quickly: a process that has loaded the commands once and forks for every run.

Takes arguments, a folder, an environment and three file descriptors; returns the exit code. Each run is its own process with
its own streams and environment, and exits as an interpreter does. Loading takes half a second of CPU, forking a few milliseconds.
A fork cannot change what an interpreter reads from its environment on startup; runs that set such variables start a new
interpreter (see `is_forkable`).
"""

import gc
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_MOST = 1 << 17  # bytes of one request: arguments and environment
_READ_AT_START = ("PYTHON", "LANG", "LC_")  # variables that matter when an interpreter starts
_BESIDES = (
    "trueup.contract.judging.judge", "trueup.contract.lint.run", "trueup.contract.files.yamlfile", "trueup.batch.sift",
    "trueup.batch.pipeline.running.run", "rich.console", "rich.syntax", "rich.table",
)  # fmt: skip


def is_forkable(extra: Mapping[str, str]) -> bool:
    """Whether a run with these variables may be forked: the interpreter itself reads none of them."""
    return not any(name.startswith(_READ_AT_START) for name in extra)


class Starter:
    """The process that forks, seen from a test."""

    def __init__(self, root: Path) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.starter", str(theirs.fileno())],
                cwd=root,
                env={**os.environ, "PYTHONUTF8": "1"},
                pass_fds=[theirs.fileno()],
            )

    def run(
        self, args: Sequence[str], folder: Path, environment: Mapping[str, str], streams: tuple[int, int, int]
    ) -> int:
        """Run `trueup` with these streams until it ends. Returns its exit code, negative for a signal."""
        order = json.dumps({"args": list(args), "folder": str(folder), "environment": dict(environment)})
        socket.send_fds(self._control, [order.encode("utf-8", "surrogateescape")], streams)
        return int(self._control.recv(32))

    def close(self) -> None:
        """End the process: it exits when its socket is closed."""
        self._control.close()
        self._process.wait(30)


def _load() -> None:
    """Load what the commands load, once for all of them."""
    import trueup.cli

    for module in pkgutil.walk_packages(trueup.cli.__path__, "trueup.cli."):
        if module.name != "trueup.cli.__main__":
            import_module(module.name)
    for name in _BESIDES:
        import_module(name)
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket) -> None:
    """Fork for every request. Only a child returns from here, ready to run."""
    while True:
        order, streams, _, _ = socket.recv_fds(control, _MOST, 3)
        if not order:
            os._exit(0)
        child = os.fork()
        if child == 0:
            control.close()
            _become(json.loads(order), streams)
            return
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        control.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(order: dict[str, Any], streams: list[int]) -> None:
    """Take the streams, folder, environment and arguments of one run."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # as an interpreter in UTF-8 mode opens them
    for name, number, mode, errors in (
        ("stdin", 0, "rb", "surrogateescape"),
        ("stdout", 1, "wb", "surrogateescape"),
        ("stderr", 2, "wb", "backslashreplace"),
    ):
        lines = name == "stderr" or os.isatty(number)
        stream = io.TextIOWrapper(os.fdopen(number, mode), "utf-8", errors, line_buffering=lines)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["trueup", *order["args"]]
    sys.path[0] = order["folder"]  # as in `python -m`


if __name__ == "__main__":
    _load()
    with socket.socket(fileno=int(sys.argv[1])) as line:
        _serve(line)
    runpy.run_module("trueup.cli", run_name="__main__")
