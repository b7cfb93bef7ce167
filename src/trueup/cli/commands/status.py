"""`trueup status`: show the state of runs. It changes nothing and works during a run."""

from pathlib import Path
from typing import Any

import click

from trueup.cli.options.runs import RUNS, all_runs, find_run, told


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUNS]...")
@click.option("--json", "as_json", is_flag=True, help="Print the state of the runs as one JSON document.")
def status(runs: tuple[str, ...], *, as_json: bool) -> int:
    """Show the state of RUNS: units valid, failed and waiting at each step, cost, failures by code.

    Without RUNS, shows all runs in the folder runs/. Exit code 0: every run is done or can be resumed, 1: one has
    failed.

    \b
      trueup status runs/first
      trueup status --json
    """
    from trueup.batch.pipeline.reporting.status import standing
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.cli.display.run import print_json, show_run
    from trueup.cli.terminal.output import write

    found: list[tuple[Path, bool, dict[str, Any]]] = []
    with told():
        paths = [find_run(run) for run in runs] if runs else all_runs(RUNS)
        for path in paths:
            run = RunDir.look(path)
            running = run.is_running
            found.append((path, running, standing(run, running=running)))
    if as_json:
        print_json([{"path": str(path), "running": running, **row} for path, running, row in found])
    elif not found:
        write("no runs here: `trueup run PIPELINE` starts one\n")
    else:
        for number, (path, running, row) in enumerate(found):
            if number:
                write("\n")
            show_run(path, row, running=running)
    return 1 if any(row["status"] == "failed" for _, _, row in found) else 0
