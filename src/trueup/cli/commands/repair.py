"""`trueup repair`: repair a run that failed verification, from its recorded replies."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
def repair(run: str) -> int:
    """Repair a RUN that failed verification; no model is asked.

    Incomplete lines are moved to another file. A chunk that disagrees with the journal is reopened at its first wrong
    step, and the next `trueup run` computes it again from the recorded replies. Exit code 0: everything is correct, or
    will be after the next run, 1: something cannot be repaired.
    """
    from trueup.batch.pipeline.verifying.repair import repair as put_right
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    with told():
        done, left = put_right(find_run(run))
    for message in done:
        write(safe_line(message) + "\n")
    for problem in left:
        where = "/".join(part for part in (problem.chunk, problem.step) if part)
        write(safe_line(f"{where or 'run'}: {problem.kind}: {problem.message}") + "\n")
    if not done and not left:
        write("nothing to repair\n")
    return 1 if left else 0
