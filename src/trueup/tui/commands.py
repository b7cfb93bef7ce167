"""The commands that the screens can run on a run, the same ones that a person would run.

Every command is a process in its own session. If the screens are closed, a command that changes the run finishes its
work, and one that only reads is ended. Closing the screens waits for neither.
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_CALL = (sys.executable, "-m", "trueup.cli")
_SECONDS = {"pause": 60.0, "kill": 60.0}  # the time of the others depends on the size of the run
_LOOK = 0.1  # seconds between two checks that the screen is still waiting


class CommandResult(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    said: str


def carry_out(
    command: str, run: Path, *options: str, left: Callable[[], bool] = lambda: False, looks: bool = False
) -> CommandResult | None:
    """Run a command on a run, and wait for it; None once `left` reports that nobody is waiting.

    A command that only `looks` is ended then. The others finish their work.
    """
    with tempfile.TemporaryFile() as out:  # not a pipe: there may be no reader
        process = subprocess.Popen(  # noqa: S603 - our own command, no shell
            [*_CALL, command, str(run), *options], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )  # fmt: skip
        limit = time.monotonic() + _SECONDS.get(command, float("inf"))
        while (code := _ended(process, _LOOK)) is None:
            if left():
                if looks:
                    process.terminate()
                _hear_of_its_end(process)
                return None
            if time.monotonic() > limit:
                process.kill()
                process.wait()
                return CommandResult(
                    1, f"`trueup {command}` took longer than {_SECONDS[command]:.0f} seconds and was ended"
                )
        out.seek(0)
        said = out.read().decode("utf-8", "replace").strip()
    return CommandResult(code, said or f"`trueup {command}` ended with {code}")


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    """The exit code of a process within a time; None if it is still running."""
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def _hear_of_its_end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process in a thread; otherwise it stays in the list of processes as long as the screens are open."""
    threading.Thread(target=process.wait, name=f"run-{process.pid}", daemon=True).start()


def resume(run: Path) -> CommandResult:
    """Resume a run in a separate process; if it ends soon, report why."""
    log = run / "TUI_LOG.txt"
    try:
        with log.open("ab") as out:
            process = subprocess.Popen(  # noqa: S603 - as above
                [*_CALL, "run", str(run)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
    except OSError as error:
        return CommandResult(2, f"{error.filename or run}: {error.strerror or error}")
    code = _ended(process, 1.5)
    if code is None:
        _hear_of_its_end(process)
        return CommandResult(0, f"{run.name} runs as process {process.pid}")
    try:
        last = log.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        last = []
    return CommandResult(code, f"{run.name} has ended" + (f": {last[-1]}" if code not in (0, 1) and last else ""))
