"""Acting: actions on a run from the page. Each one is the real command or request, and the lock of the run decides.

Retry and resume start `trueup` in a separate process, which outlives the studio and writes to `STUDIO_LOG.txt` in the
run. A second lock is held until that process ends, so if two people press at the same time, one starts it and the other
gets an error.
"""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from trueup.batch.pipeline.reporting.status import standing
from trueup.batch.pipeline.rundir.control import NotRunning, kill, pause
from trueup.batch.pipeline.rundir.lock import is_held
from trueup.studio.places import named
from trueup.studio.refusal import RequestRefused
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.following import following
from trueup.studio.runs.guarding import FAULTS, GuardedRun, cut
from trueup.studio.settings import StudioSettings

LOG = "STUDIO_LOG.txt"
_STARTING = "studio.lock"
_CALL = (sys.executable, "-P", "-m", "trueup")  # without the current folder, which may contain anybody's modules
_PATIENCE = 5.0  # seconds within which a failing command has usually ended
_AT_WORK = 0.3  # seconds after which a held lock means that the command is working, and not just another reader
_LOOK = 0.03
_TAIL = 4000
_PAUSED = 3  # the exit code of a run that stopped on its own
_EXHAUSTED = re.compile(r"([0-9,]+) units? used all ([0-9]+) attempts")

Row = dict[str, Any]


def retry_run(
    settings: StudioSettings, place: RunPlace, *, step: str, code: str, path: str, attempts: int | None
) -> Row:
    """Retry failed units, all or those with one cause, and run them."""
    given = {"step": step, "code": code, "path": path}
    for name, value in given.items():
        if "\0" in value or (not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)):
            raise RequestRefused(400, f"The run has no {name} {value[:100]!r}.", hint="Choose one that the run has.")
    options = ["--start", *(f"--{name}={value}" for name, value in given.items() if value)]
    if attempts is not None:
        options.append(f"--attempts={attempts}")
    return _start(settings, place, "retry", options)


def resume_run(settings: StudioSettings, place: RunPlace) -> Row:
    """Resume a stopped run."""
    return _start(settings, place, "run", ["--quiet"])


def pause_run(settings: StudioSettings, place: RunPlace) -> Row:
    """Ask a run to stop after its calls in progress."""
    _must_be_run(place)
    try:
        pause(place.path)
    except NotRunning:
        return {"started": False, "said": "It is not running."}
    except OSError as error:
        raise _refused(settings, f"it cannot be paused: {error.strerror}") from None
    return {"started": True, "said": "It stops after its calls in progress."}


def kill_run(settings: StudioSettings, place: RunPlace) -> Row:
    """End the process of a run."""
    _must_be_run(place)
    try:
        said = kill(place.path)
    except NotRunning as error:
        if not is_held(place.path):
            return {"started": False, "said": "It is not running."}
        raise _refused(settings, str(error)) from None
    except OSError as error:
        raise _refused(settings, f"it cannot be ended: {error.strerror}") from None
    return {"started": True, "said": f"Its {said}."}


def _must_be_run(place: RunPlace) -> None:
    if place.kind != "run":
        raise RequestRefused(
            400, "This is a sift: the command that started it resumes it.", code="not_a_run",
            hint="Only runs of a pipeline can be started and stopped here.",
        )  # fmt: skip


def _start(settings: StudioSettings, place: RunPlace, command: str, options: list[str]) -> Row:
    """Start a command on a run; if it ends immediately, report why."""
    _must_be_run(place)
    if is_held(place.path):
        raise RequestRefused(
            409, "It is running already.", code="running", hint="Pause it first, or wait until it is done."
        )
    cap = _standing(settings, place)["cap_usd"]  # from its last start: it applies to this one too
    handle = _taken(place.path)
    try:
        if is_held(place.path):
            raise RequestRefused(409, "Someone has just started it.", code="running")
        log = _opened_log(place.path)
        try:
            began = os.fstat(log).st_size
            process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [*_CALL, command, str(place.path), *options, *([] if cap is None else [f"--max-cost={cap!r}"])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, pass_fds=(handle,),
            )  # fmt: skip
        finally:
            os.close(log)
    except OSError as error:
        raise _refused(settings, f"it cannot be started: {error.strerror}") from None
    finally:
        os.close(handle)  # the process now has it until it ends
    code = _watched(process, place.path)
    if code is None:
        return {"started": True, "said": "It is running."}
    lines = _said_since(settings, place.path, began)
    said = " ".join(lines)
    if code == _PAUSED:
        return {"started": False, "said": _why_paused(settings, place)}
    if code not in {0, 1, 130}:
        raise RequestRefused(
            409, said or f"`trueup {command}` ended with exit code {code}.", code="not_started",
            hint=f"It was started in the environment of the studio; {LOG} in the run's folder has its output.",
        )  # fmt: skip
    exhausted = _EXHAUSTED.search(said)
    more = {"exhausted": int(exhausted[1].replace(",", "")), "limit": int(exhausted[2])} if exhausted else {}
    is_started = "nothing to retry" not in said
    if said == "nothing to retry" and _standing(settings, place)["pending"]:
        said = "There is nothing to retry yet: units can be retried once their chunk has finished the step. Resume the run first."
    return {"started": is_started, "said": lines[0] if is_started and lines else said, **more}


def _why_paused(settings: StudioSettings, place: RunPlace) -> str:
    """The reason why a run stopped right after its start, and a remedy."""
    found = _standing(settings, place)
    said = f"It stopped: {found['reason'] or 'it was paused'}."
    return said if found["cap_usd"] is None else f"{said} `trueup run {place.name} --max-cost USD` raises the cap."


def _standing(settings: StudioSettings, place: RunPlace) -> Row:
    """The state of a run that no process is working on."""
    try:
        with following(place.path) as (state, share):
            if share == 1.0:
                return standing(GuardedRun(place.path, state), running=False)
    except FAULTS as error:
        raise _refused(settings, str(error)) from None
    raise _refused(settings, "its journal is long and not completely read yet; try again in a moment")


def _taken(folder: Path) -> int:
    """Take the lock for starting a command; a Refusal if somebody else has it."""
    import fcntl

    try:
        handle = os.open(folder / _STARTING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise RequestRefused(
            409, f"The folder of the run cannot be written to: {error.strerror}.", code="read_only"
        ) from None
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # its owner is starting something, or about to end; then it is free in a moment
            if is_held(folder) or time.monotonic() > end:
                os.close(handle)
                raise RequestRefused(409, "Someone has just started it.", code="running") from None
            time.sleep(_LOOK)
        else:
            return handle


def _opened_log(folder: Path) -> int:
    return os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def _watched(process: "subprocess.Popen[bytes]", folder: Path) -> int | None:
    """The exit code of a process; None once it works on the run, or after a while."""
    end = time.monotonic() + _PATIENCE
    held_since = 0.0
    while time.monotonic() < end:
        code = process.poll()
        if code is not None:
            return code
        if is_held(folder):
            held_since = held_since or time.monotonic()
            if time.monotonic() - held_since > _AT_WORK:
                break
        else:
            held_since = 0.0
        time.sleep(_LOOK)
    threading.Thread(target=process.wait, name=f"run-{process.pid}", daemon=True).start()  # otherwise it stays a zombie
    return None


def _said_since(settings: StudioSettings, folder: Path, began: int) -> list[str]:
    """The lines that a command wrote to the log."""
    try:
        with (folder / LOG).open("rb") as opened:
            opened.seek(began)
            said = opened.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return []
    return [
        line
        for each in said.splitlines()
        if (line := cut(named(settings, " ".join(each.split()).removeprefix("trueup: ")), 600))
    ]


def _refused(settings: StudioSettings, said: str) -> RequestRefused:
    return RequestRefused(409, cut(named(settings, said)), code="not_possible")
