"""Scripts of a pipeline: steps of scope `run`, and what is run after the last step.

A script gets the run directory as its first argument; what it prints goes to a file or the log. Scripts are part of the
pipeline and are trusted like it; they must stand in its folder. One that fails or takes too long is told with its last words.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_TAIL = 2000


class ScriptResult(NamedTuple):
    """How a script ended: `error` is empty when it went well."""

    error: str = ""
    output: bytes = b""


def args_of(entry: Mapping[str, Any]) -> list[str]:
    """The arguments that an entry gives a script."""
    args = entry.get("args")
    return [str(arg) for arg in args] if isinstance(args, list) else []


def run_script(
    script: Path, run: Path, args: Sequence[str] = (), step: str = "", timeout: float = 600.0
) -> ScriptResult:
    """Run a script and wait for it; it and what it started are ended when it takes too long."""
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
    try:
        output, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, said = process.communicate()
        return ScriptResult(f"took longer than {timeout:g} seconds and was ended", output)
    if process.returncode:
        last = said[-_TAIL:].decode("utf-8", "replace").strip()
        return ScriptResult(f"ended with code {process.returncode}{': ' + last if last else ''}", output)
    return ScriptResult("", output)
