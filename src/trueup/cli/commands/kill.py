"""`trueup kill`: end the process of a run, first with a request to stop."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
def kill(run: str) -> int:
    """End the process of a RUN: ask it to stop, and kill it after 5 seconds.

    The process is identified by the run's lock, so another process that got the same number is never killed. No results
    are lost, and `trueup run` resumes the run. Exit code 0: ended, 2: no process is running it.
    """
    from trueup.batch.pipeline.rundir.control import kill as end
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    with told():
        path = find_run(run)
        how = end(path)
    name = safe_line(str(path))
    write(f"{name}: {how}; `trueup run {name}` resumes it\n")
    return 0
