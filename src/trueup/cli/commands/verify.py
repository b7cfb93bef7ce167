"""`trueup verify`: check that a run has every unit exactly once, unchanged since it was written, and still valid."""

from typing import TYPE_CHECKING

import click

from trueup.cli.options.runs import find_run, told

if TYPE_CHECKING:
    from trueup.batch.pipeline.verifying.recheck import Rechecked
    from trueup.batch.pipeline.verifying.verify import RunProblem


@click.command()
@click.argument("run")
@click.option(
    "--sample", type=click.IntRange(min=0), metavar="N",
    help="Judge N stored outcomes of each step again.  [default: 200]",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Judge every stored outcome again.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def verify(run: str, sample: int | None, *, everything: bool, as_json: bool) -> int:
    """Verify a RUN: at each step, units in = valid + failed, with none missing, duplicated or invented.

    Compares files with the journal line by line, the snapshot with its hashes, and the cost with the recorded replies.
    Judges a sample of the stored outcomes again under the run's own pipeline. A unit that is stored as valid but would
    now be refused, or have another value, is a problem. Exit code 0: no problems, 1: at least one problem.

    \b
      trueup verify runs/first
      trueup verify runs/first --all
    """
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.batch.pipeline.verifying.recheck import SAMPLE, recheck
    from trueup.batch.pipeline.verifying.verify import verify as look
    from trueup.cli.display.run import print_json
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write

    if everything and sample is not None:
        raise click.UsageError("--all judges every outcome again: leave out --sample")
    with told():
        found = RunDir.look(find_run(run))
        problems = list(look(found))
        rechecked = recheck(found, None if everything else SAMPLE if sample is None else sample)
    wrong = [*problems, *rechecked.problems]
    if as_json:
        rows = [problem._asdict() for problem in wrong]
        print_json({"ok": not wrong, "judged": rechecked.judged, "stored": rechecked.stored, "problems": rows})
        return 1 if wrong else 0
    for problem in wrong:
        _show(problem)
    if wrong:
        write(f"✗ {count(len(wrong), 'problem')}; {_advice(run, problems, rechecked)}\n")
        return 1
    units, chunks = count(found.state.run["units"], "unit"), count(len(found.state.chunks), "chunk")
    write(f"✓ {units}, {chunks}: every unit is present once at every step\n")
    write(
        f"✓ {rechecked.judged:,} of {count(rechecked.stored, 'stored outcome')} judged again: all agree with the contract\n"
    )
    return 0


def _show(problem: "RunProblem") -> None:
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    where = "/".join(part for part in (problem.chunk, problem.step) if part)
    units = f" ({', '.join(problem.units[:5])}{', …' if len(problem.units) > 5 else ''})" if problem.units else ""
    write(safe_line(f"{where or 'run'}: {problem.kind}: {problem.message}{units}") + "\n")


def _advice(run: str, problems: "list[RunProblem]", rechecked: "Rechecked") -> str:
    """The advice about problems: files are repaired, outcomes are judged again."""
    from trueup.verdict.display import safe_line

    told = []
    if problems:
        told.append(f"`trueup repair {safe_line(run)}` repairs what it can")
    if rechecked.problems:
        told.append(f"`trueup revalidate {safe_line(run)} --apply` makes the run agree with its contract")
    return "; ".join(told)
