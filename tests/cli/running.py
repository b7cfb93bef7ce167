"""Run the command line in tests: the command, its environment and its result."""

import os
import random
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-m", "trueup.cli"]
PERSON = (
    '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}'
)


class Ran(NamedTuple):
    """The result of a run."""

    code: int
    out: str
    err: str = ""


Run = Callable[..., Ran]


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without variables that colour or widen the output."""
    hidden = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "PYTHONUTF8": "1", "TERM": "xterm", **extra}


def unprivileged() -> list[str]:
    """The beginning of a command for which the permissions of files count: root gives up the right to ignore them."""
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def run_in_full(args: Sequence[str], stdin: bytes, folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run `trueup` from the start of its interpreter."""
    done = subprocess.run(
        [*COMMAND, *args], input=stdin, capture_output=True, cwd=folder, env=environment, timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())


def read_all(terminal: int) -> bytes:
    """All output of a terminal until its other end is closed."""
    out = b""
    ready = select.poll()
    ready.register(terminal, select.POLLIN)
    while ready.poll(120_000):  # after a silence of this length, the program hangs
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux raises this if the other end is closed
            break
        if not piece:
            break
        out += piece
    return out


def free_port() -> int:
    """A port on loopback for a server that cannot choose its own.

    It is below the ports that Linux assigns for port 0, so other tests cannot take it before the server does.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
