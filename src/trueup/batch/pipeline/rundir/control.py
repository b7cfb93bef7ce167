"""Controls a run from another process: pauses it or ends it. The lock identifies the process, never a number in a file alone."""

import os
import signal
import time
from pathlib import Path

from trueup.batch.pipeline.rundir.directory import PAUSE
from trueup.batch.pipeline.rundir.lock import born, is_held, read_owner

_GRACE = 5.0


class NotRunning(ValueError):
    """No process is running it."""


def pause(path: Path, wait: float = 0.0) -> bool:
    """Ask the owner of a run to stop after its unfinished calls. Returns whether it has stopped, if asked to wait."""
    if not is_held(path):
        raise NotRunning(f"{path}: no process is running it")
    (path / PAUSE).touch()
    return _released(path, wait)


def kill(path: Path, grace: float = _GRACE) -> str:
    """End the process that runs it: politely, then by force. Returns how it ended."""
    if not is_held(path):
        raise NotRunning(f"{path}: no process is running it")
    owner = read_owner(path)
    if owner is None or (owner.born and born(owner.pid) != owner.born):
        raise NotRunning(f"{path}: a process on another machine or in another container is running it; end it there")
    try:
        os.kill(owner.pid, signal.SIGTERM)
        if _released(path, grace):
            return f"process {owner.pid} has stopped"
        if born(owner.pid) == owner.born:
            os.kill(owner.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise NotRunning(f"{path}: process {owner.pid} belongs to another user") from None
    _released(path, grace)
    return f"process {owner.pid} was ended"


def _released(path: Path, wait: float) -> bool:
    end = time.monotonic() + wait
    while is_held(path):
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)
    return True
