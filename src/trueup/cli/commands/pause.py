"""`trueup pause`: asks whoever runs it to stop after the calls under way."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
@click.option("--wait", type=float, default=30.0, show_default=True, metavar="SECONDS", help="How long to wait for it.")
def pause(run: str, wait: float) -> int:
    """Pause a RUN: calls under way come in and are kept, no new ones are made. `trueup run` resumes it.

    Exit code 0: paused, or done before it could be, 1: asked, but still under way after the wait, 2: nobody is running it.
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
        write(f"{name} is asked to pause, and still under way\n")
        return 1
    ended = status in {"done", "failed"}
    write(f"{name} has already ended: {status}\n" if ended else f"{name} is paused; `trueup run {name}` resumes it\n")
    return 0
