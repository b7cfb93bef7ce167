"""`trueup tui`: show the screens for a folder of runs."""

import sys
from pathlib import Path

import click

from trueup.cli.options.runs import RUNS, RunUnavailable
from trueup.verdict.extras import install


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=RUNS)
def tui(folder: Path) -> None:
    """Browse the runs in FOLDER, or one run, in the terminal: funnel, rates, failures, each unit with its replies.

    Browsing changes nothing; only these commands on a run's screen do: retry, revalidate, pause, resume, kill.

    \b
      trueup tui runs/first
    """
    try:
        from trueup.tui.app import RunsApp
    except ModuleNotFoundError as error:
        raise RunUnavailable(f"{error.name} is not installed: {install('tui')}") from None
    if not folder.is_dir() and folder != RUNS:
        raise RunUnavailable(f"{folder}: there is no such folder")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunUnavailable(
            "the screens need a terminal for input and output; `trueup status` prints the state of runs"
        )
    RunsApp(folder).run()
