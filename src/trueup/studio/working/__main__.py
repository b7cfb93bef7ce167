"""The process of a long job: `python -m trueup.studio.working`, started only by the studio.

It reads a specification from standard input and writes events to standard output, one per line. It ends with the server
that started it.
"""

import json
import os
import signal
import sys
from typing import Any, NoReturn

from trueup.studio.refusal import RequestRefused
from trueup.verdict.codec import spelled

_LOOK = 1.0  # seconds between two checks that the server is still running
_MODULES = {"backtest": "backtest", "tune": "tune", "apply": "tune", "compare": "compare", "infer": "infer"}
_KIND = 5  # lower priority: a gateway on the same machine comes first


def main() -> int:
    """Do the job in the specification."""
    spec: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a user's check is not an event
    _end_with(int(spec["parent"]))
    if hasattr(os, "nice"):
        os.nice(_KIND)

    def tell(event: Any) -> None:
        out.write(spelled(event) + b"\n")
        out.flush()

    try:
        _work(spec["work"])(spec, tell)
    except RequestRefused as refusal:
        tell({**refusal.to_dict(), "status": refusal.status})
    except BrokenPipeError:
        return 1
    tell({"end": True})
    return 0


def _work(kind: str) -> Any:
    from importlib import import_module  # modules of other kinds are not loaded

    return getattr(import_module(f"trueup.studio.working.{_MODULES[kind]}"), kind)


def _end_with(parent: int) -> None:
    """End with the server. A timer checks for it, since a thread would keep this process from forking."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            _die()

    look()
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)


def _die() -> NoReturn:
    if hasattr(os, "killpg"):
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
