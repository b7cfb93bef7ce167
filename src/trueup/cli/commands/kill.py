"""`trueup kill`: ends the process that runs it, politely first."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
def kill(run: str) -> int:
    """End the process that runs a RUN: asked to first, ended for good after 5 seconds.

    The process is known by the lock that it holds, so none that only has the same number is touched. The run itself stays
    as it is, and `trueup run` resumes it. Exit code 0: ended, 2: nobody is running it.
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
