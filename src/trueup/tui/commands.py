"""What the screens can do to a run: each is the command of that name, run as a person would run it.

Pause, kill and retry end soon and give what they said; resuming starts a process of its own that goes on without the screen.
"""

import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

_CALL = (sys.executable, "-m", "trueup.cli")
_SECONDS = 60.0


class Done(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    said: str


def carry_out(command: str, run: Path, *options: str) -> Done:
    """Run a command on a run, and wait for it."""
    try:
        ended = subprocess.run(  # noqa: S603 - our own command, no shell
            [*_CALL, command, str(run), *options], capture_output=True, text=True, timeout=_SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Done(1, f"`trueup {command}` takes longer than {_SECONDS:.0f} seconds; it was ended")
    said = (ended.stdout + ended.stderr).strip()
    return Done(ended.returncode, said or f"`trueup {command}` ended with {ended.returncode}")


def resume(run: Path) -> Done:
    """Go on with a run in a process of its own; one that ends at once tells why."""
    log = run / "TUI_LOG.txt"
    with log.open("ab") as out:
        process = subprocess.Popen(  # noqa: S603 - as above
            [*_CALL, "run", str(run)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        code = process.wait(timeout=1.5)
    except subprocess.TimeoutExpired:
        # Somebody must hear of its end, or it stays in the list of processes as long as the screen does.
        threading.Thread(target=process.wait, name=f"run-{process.pid}", daemon=True).start()
        return Done(0, f"{run.name} goes on as process {process.pid}")
    last = log.read_text("utf-8", errors="replace").strip().splitlines()
    return Done(code, f"{run.name} has ended" + (f": {last[-1]}" if code not in (0, 1) and last else ""))
