"""`trueup verify`: a run in; whether every unit is there exactly once, and everything as it was written."""

import click

from trueup.cli.runs import find_run, told


@click.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON document.")
def verify(run: str, as_json: bool) -> int:
    """Verify a RUN: at each step, units in = valid + failed, none missing, none twice, none from nowhere.

    Files are compared with the journal line by line, the snapshot with its hashes, the money with the recorded replies.
    Exit code 0: everything is right, 1: something is not.
    """
    from trueup.batch.pipeline.rundir import RunDir
    from trueup.batch.pipeline.verify import verify as look
    from trueup.cli.layout import count
    from trueup.cli.runview import print_json
    from trueup.cli.terminal import write
    from trueup.verdict.display import safe_line

    with told():
        found = RunDir.look(find_run(run))
        problems = list(look(found))
    if as_json:
        print_json({"ok": not problems, "problems": [problem._asdict() for problem in problems]})
        return 1 if problems else 0
    for problem in problems:
        where = "/".join(part for part in (problem.chunk, problem.step) if part)
        units = f" ({', '.join(problem.units[:5])}{', …' if len(problem.units) > 5 else ''})" if problem.units else ""
        write(safe_line(f"{where or 'run'}: {problem.kind}: {problem.message}{units}") + "\n")
    if problems:
        write(f"✗ {count(len(problems), 'problem')}; `trueup repair {safe_line(run)}` puts right what it can\n")
        return 1
    units = found.state.run["units"]
    write(
        f"✓ {count(units, 'unit')}, {count(len(found.state.chunks), 'chunk')}: every unit is there once, at every step\n"
    )
    return 0
