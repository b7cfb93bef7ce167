"""How the command line is run in tests: the command, its environment, what comes of it."""

import os
import select
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

COMMAND = [sys.executable, "-m", "trueup.cli"]
PERSON = (
    '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}'
)


class Ran(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str = ""


Run = Callable[..., Ran]


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without what would colour or widen the output."""
    hidden = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "PYTHONUTF8": "1", "TERM": "xterm", **extra}


def read_all(terminal: int) -> bytes:
    """Everything that is written to a terminal until its other end is closed."""
    out = b""
    until = time.monotonic() + 120  # a busy machine takes its time
    ready = select.poll()
    ready.register(terminal, select.POLLIN)
    while time.monotonic() < until:
        if ready.poll(500):
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not piece:
                break
            out += piece
    return out
