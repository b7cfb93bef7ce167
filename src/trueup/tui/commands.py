"""What the screens can do to a run: each is the command of that name, run as a person would run it.

Every command is a process in a session of its own. One that changes the run finishes its work when the screens are closed before
it has; one that only looks is ended then. Nobody who closes the screens waits for either.
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
_SECONDS = {"pause": 60.0, "kill": 60.0}  # the others take as long as the run is large
_LOOK = 0.1  # seconds between two looks at whether somebody still waits


class Done(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    said: str


def carry_out(
    command: str, run: Path, *options: str, left: Callable[[], bool] = lambda: False, looks: bool = False
) -> Done | None:
    """Run a command on a run, and wait for it; None when `left` says that nobody waits any more.

    A command that only `looks` is ended then. The others finish their work without us.
    """
    with tempfile.TemporaryFile() as out:  # not a pipe: nobody may be there to read it
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
                return Done(1, f"`trueup {command}` took longer than {_SECONDS[command]:.0f} seconds and was ended")
        out.seek(0)
        said = out.read().decode("utf-8", "replace").strip()
    return Done(code, said or f"`trueup {command}` ended with {code}")


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    """How a process ended within a time; None if it has not."""
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def _hear_of_its_end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process aside, or it stays in the list of processes as long as the screens do."""
    threading.Thread(target=process.wait, name=f"run-{process.pid}", daemon=True).start()


def resume(run: Path) -> Done:
    """Resume a run in a process of its own; for one that ends soon, say why."""
    log = run / "TUI_LOG.txt"
    try:
        with log.open("ab") as out:
            process = subprocess.Popen(  # noqa: S603 - as above
                [*_CALL, "run", str(run)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
    except OSError as error:
        return Done(2, f"{error.filename or run}: {error.strerror or error}")
    code = _ended(process, 1.5)
    if code is None:
        _hear_of_its_end(process)
        return Done(0, f"{run.name} runs as process {process.pid}")
    try:
        last = log.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        last = []
    return Done(code, f"{run.name} has ended" + (f": {last[-1]}" if code not in (0, 1) and last else ""))
