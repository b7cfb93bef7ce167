"""`trueup repair`: a run in; what verify finds wrong is put right from what is recorded."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
def repair(run: str) -> int:
    """Put a RUN right that verify finds wrong; nothing is asked of a model.

    Torn lines are cut off and kept aside; a chunk whose files do not fit the journal is opened again at the first step that is
    wrong, and the next `trueup run` works it out anew from the recorded replies. Exit code 0: everything is right or will
    be, 1: something is left that cannot be put right.
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
