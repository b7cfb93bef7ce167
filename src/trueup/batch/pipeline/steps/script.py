"""Runs scripts of a pipeline: steps of scope `run`, and scripts after the last step.

A script gets the run directory as its first argument; its output goes to a file or the log. Scripts are part of the pipeline and
trusted like it, and must be in its folder. If a script fails or takes too long, its last output is reported. If the run stops, a
running script is ended, and run again when the run resumes.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_TAIL = 2000
_TURN = 0.1  # seconds between two checks whether to give up
_GRACE = 2.0  # seconds that a script has to end


class ScriptResult(NamedTuple):
    """How a script ended; `error` is empty if it succeeded."""

    error: str = ""
    output: bytes = b""


def args_of(entry: Mapping[str, Any]) -> list[str]:
    """The arguments that an entry gives a script."""
    args = entry.get("args")
    return [str(arg) for arg in args] if isinstance(args, list) else []


def run_script(
    script: Path, run: Path, args: Sequence[str] = (), step: str = "", timeout: float = 600.0,
    given_up: threading.Event | None = None,
) -> ScriptResult:  # fmt: skip
    """Run a script and wait for it. If it takes too long or is given up, it and all processes that it started are ended."""
    command = [sys.executable, str(script)] if script.suffix == ".py" else [str(script)]
    environment = {**os.environ, "TRUEUP_RUN": str(run.resolve()), "TRUEUP_STEP": step}
    try:
        process = subprocess.Popen(  # noqa: S603 - the pipeline's own script, without a shell
            [*command, str(run), *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return ScriptResult(f"cannot be started: {error.strerror}")
    until = time.monotonic() + timeout
    while True:
        try:
            output, said = process.communicate(timeout=max(0.0, min(_TURN, until - time.monotonic())))
        except subprocess.TimeoutExpired:
            if given_up is not None and given_up.is_set():
                return ScriptResult("was ended with the run", _end(process, signal.SIGTERM, signal.SIGKILL))
            if time.monotonic() >= until:
                printed = _end(process, signal.SIGKILL)
                return ScriptResult(f"took longer than {timeout:g} seconds and was ended", printed)
        else:
            last = said[-_TAIL:].decode("utf-8", "replace").strip()
            wrong = f"ended with code {process.returncode}{': ' + last if last else ''}" if process.returncode else ""
            return ScriptResult(wrong, output)


def _end(process: "subprocess.Popen[bytes]", *how: signal.Signals) -> bytes:
    """Send one signal after the other to a script and all processes that it started until it has ended. Returns its output."""
    for each in how:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, each)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)[0]
    return b""  # a process that left its group still has the pipe open
