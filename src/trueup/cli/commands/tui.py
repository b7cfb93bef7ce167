"""`trueup tui`: the screens over a folder of runs."""

import sys
from pathlib import Path

import click

from trueup.cli.options.runs import RUNS, Refused
from trueup.verdict.extras import install


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=RUNS)
def tui(folder: Path) -> None:
    """Look at the runs in FOLDER, or at one run: funnel, rates, failures, each unit with its replies.

    A run is changed only by the commands on its screen: retry, revalidate, pause, resume, kill.

    \b
      trueup tui
      trueup tui runs/first
    """
    try:
        from trueup.tui.app import RunsApp
    except ModuleNotFoundError as error:
        raise Refused(f"{error.name} is not installed: {install('tui')}") from None
    if not folder.is_dir() and folder != RUNS:
        raise Refused(f"{folder}: there is no such folder")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("the screens need a terminal on both sides; `trueup status` prints how runs stand")
    RunsApp(folder).run()
