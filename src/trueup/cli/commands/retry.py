"""`trueup retry`: put the failed units of a run that may be retried into new chunks."""

import click

from trueup.cli.options.runs import find_run, told


@click.command()
@click.argument("run")
@click.option("--step", metavar="NAME", default="", help="Only the failures of this step.")
@click.option(
    "--code", "codes", multiple=True, metavar="CODE", help="Only units that failed with this code; may be repeated."
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="PATH",
    help="Only units with an error at this path, such as $.lines[].price; may be repeated.",
)
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    metavar="N",
    help="The maximum number of replies per unit, in total.  [default: as configured]",
)
@click.option("--start", is_flag=True, help="Run the retried units immediately.")
@click.option("--max-cost", type=float, metavar="USD", help="With --start: stop before the total cost exceeds this.")
def retry(
    run: str,
    *,
    step: str,
    codes: tuple[str, ...],
    paths: tuple[str, ...],
    attempts: int | None,
    start: bool,
    max_cost: float | None,
) -> int:
    """Prepare the failed units of a RUN for another attempt, with prompts that say what was wrong.

    Failures at the stages parse, schema_validation and validation are retried while the unit has attempts left. Units
    that never had a reply are retried too, and so are units without a prompt if the template now produces one. Other
    failures stay failed. Failure files are archived as .bak. The requests of each new chunk are also written in the
    provider's batch format. Exit code 0: units were prepared, or nothing had failed, 1: all failures have used up their
    attempts or cannot be retried.
    """
    from trueup.batch.pipeline.retrying.retry import caused_by
    from trueup.batch.pipeline.retrying.retry import retry as take
    from trueup.batch.pipeline.rundir.directory import OwnedRun
    from trueup.batch.pipeline.running.run import PipelineOptions, asking_steps, execute
    from trueup.cli.display.run import print_end
    from trueup.cli.progress.run import Watcher
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    if max_cost is not None and not (start and 0 <= max_cost < 1e9):
        raise click.UsageError("--max-cost: a number of dollars, 0 or more, together with --start")
    with told():
        path = find_run(run)
        owned = OwnedRun.open(path)
        try:
            if step and step not in owned.state.steps:
                raise click.UsageError(f"--step {step}: the steps are {', '.join(owned.state.steps)}")
            found = take(owned, step, attempts, asking_steps(owned), caused_by(codes, paths))
        finally:
            owned.close()
    if found.units:
        write(f"{count(found.units, 'unit')} to retry in {', '.join(found.chunks)}\n")
    if found.exhausted:
        write(
            f"{count(found.exhausted, 'unit')} used all {found.limit} attempts; --attempts {found.limit + 2} allows more\n"
        )
    if found.kept:
        write(f"{count(found.kept, 'unit')} failed in a way that asking again cannot fix\n")
    if not found.units:
        wanted = safe_line(" ".join([*(f"--code {code}" for code in codes), *(f"--path {place}" for place in paths)]))
        no_match = wanted and not (found.exhausted or found.kept)
        write(f"nothing to retry: no failure matches {wanted}\n" if no_match else "nothing to retry\n")
        return 1 if found.exhausted or found.kept else 0
    if not start:
        write(f"`trueup run {safe_line(str(path))}` asks for their replies again\n")
        return 0
    with told():
        watcher = Watcher(quiet=False)
        try:
            result = execute(path, PipelineOptions(max_cost=max_cost), watcher.live, watcher.said)
        finally:
            watcher.close()
    print_end(path, result, as_json=False)
    return result.code
