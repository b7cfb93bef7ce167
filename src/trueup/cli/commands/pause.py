"""`trueup pause`: ask a run to stop after the calls in progress."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
@click.option(
    "--wait",
    type=float,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the run to pause.",
)
def pause(run: str, wait: float) -> int:
    """Pause a RUN: calls in progress finish and are kept, and no new ones start. `trueup run` resumes it.

    Exit code 0: paused, or finished first, 1: still running after the wait, 2: no process is running it.
    """
    from trueup.batch.pipeline.rundir.control import pause as ask
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    with told():
        path = find_run(run)
        stopped = ask(path, wait)
        status = RunDir.look(path).state.status
    name = safe_line(str(path))
    if not stopped:
        write(f"{name} was asked to pause and is still running\n")
        return 1
    ended = status in {"done", "failed"}
    write(f"{name} has already ended: {status}\n" if ended else f"{name} is paused; `trueup run {name}` resumes it\n")
    return 0
