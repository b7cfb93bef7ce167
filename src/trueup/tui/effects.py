"""The effects of a command, determined in advance: takes a run and returns a question that lists the consequences.

Nothing is changed here. If nothing would happen, there is no question, only the reason.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from trueup.batch.pipeline.retrying.retry import would_retry
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.lock import is_held, read_owner
from trueup.tui.commands import carry_out
from trueup.tui.pictures import FAULTS, RunPicture


class Effect(NamedTuple):
    """The consequences of a command. Without a question: why nothing would happen, with the command's exit code."""

    text: str
    question: str = ""
    code: int = 0
    options: tuple[str, ...] = ()


_BUSY = "it is running: pause it first"


def retry_effect(path: Path) -> Effect:
    """The effect of `trueup retry`."""
    try:
        if is_held(path):
            return Effect(_BUSY, code=2)
        found = would_retry(RunDir.look(path))
    except FAULTS as error:
        return Effect(str(error), code=2)
    lines = []
    if found.units:
        lines.append(f"{_units(found.units)} will be asked about again, with what was wrong as the next prompt.")
        lines.append("They get their own chunk. Their failure records are kept as .bak files.")
    if found.exhausted:
        lines.append(
            f"{_units(found.exhausted)} used all {found.limit} attempts; `trueup retry --attempts` allows more."
        )
    if found.kept:
        lines.append(f"{_units(found.kept)} failed in a way that asking again cannot fix.")
    if not found.units:
        return Effect(" ".join(["nothing to retry.", *lines]), code=1 if lines else 0)
    return Effect("\n".join([*lines, "No call is made until you resume the run (s)."]), "Retry these units?")


def kill_effect(run: RunPicture) -> Effect:
    """The effect of `trueup kill`."""
    owner = read_owner(run.path) if run.running else None
    if owner is None:
        return Effect("it is not running", code=2)
    calls = run.live.get("under_way", 0)
    lines = [f"Process {owner.pid} is asked to stop. If it has not stopped after 5 seconds, it is ended."]
    if calls:
        lines.append(
            f"{calls} call{'s' * (calls != 1)} in progress may be lost but still cost money. Pause (p) waits for them."
        )
    lines.append("Recorded results are kept, and the run can be resumed.")
    return Effect("\n".join(lines), "End the process of this run?")


def revalidate_effect(path: Path, pipeline: str, left: Callable[[], bool]) -> Effect | None:
    """The effect of `trueup revalidate --apply` with the pipeline in a folder; None once the screens are closed."""
    options = ("--pipeline", str(Path(pipeline).expanduser()))
    looked = carry_out("revalidate", path, *options, left=left, looks=True)
    if looked is None:
        return None
    if looked.code not in {0, 1}:
        return Effect(looked.said, code=looked.code)
    if is_held(path):
        return Effect(f"{looked.said}\nNothing was changed: {_BUSY}.", code=1)
    lines = [
        looked.said,
        "",
        "Applying copies these schemas, rules and templates into the run. Newly valid units continue; newly refused ones become failures. No model is asked.",
    ]
    return Effect("\n".join(lines), "Apply this to the run?", options=(*options, "--apply"))


def _units(number: int) -> str:
    return f"{number:,} unit{'s' * (number != 1)}"
