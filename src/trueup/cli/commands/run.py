"""`trueup run`: a pipeline or a run directory in; units through its steps, to the end or as far as it goes this time."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.runs import Refused, find_run, is_run, make_run, over_config, told

if TYPE_CHECKING:
    from trueup.batch.pipeline.running.run import RunOptions

# What is said when a run is made.
_AT_START = ("run_dir", "provider", "model", "base_url", "price", "max_units", "repeat", "sample", "by", "seed")


@click.command()
@click.argument("place", metavar="PIPELINE|RUN")
@over_config
@click.option("--batch/--no-batch", default=None, help="Through the provider's batches: cheaper, later.")
@click.option(
    "-j", "--concurrency", type=click.IntRange(1, 1000), metavar="N", help="Calls at the same time.  [default: 8]"
)
@click.option("--max-cost", type=float, metavar="USD", help="Stop before more than this is spent, in all.")
@click.option("--estimate", is_flag=True, help="Print calls, tokens and cost by step, without asking a model.")
@click.option(
    "--like", metavar="RUN", help="With --estimate: take lengths and rates from this run, such as one of a --sample."
)
@click.option(
    "--cache", metavar="FILE", help="Keep valid replies in FILE, and take those to identical requests from it."
)
@click.option("--timeout", metavar="TIME", help="Stop after this time: 90s, 30m, 2h.")
@click.option("--poll", type=float, metavar="SECONDS", help="How often a batch is looked at.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print how the run stands at the end as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing on the way, only the end.")
def run(place: str, as_json: bool, quiet: bool, estimate: bool, like: str | None, **options: Any) -> int:
    """Run a PIPELINE, or carry on with a RUN that was made or stopped before.

    Whatever stops a run (Ctrl-C, a power cut, kill -9, a full disk), running it again resumes it: nothing is
    lost, nothing is asked twice. Exit code 0: all units are valid, 1: some failed, 2: the pipeline or the command is
    wrong, 3: a limit, the disk or the provider stopped it, 130: interrupted.

    \b
      trueup run examples/pipelines/random_walk
      trueup run pipelines/reviews --provider openai --model gpt-4o-mini
      trueup run pipelines/reviews --estimate --sample 1000
      trueup run runs/reviews-20250101-120000
    """
    from trueup.batch.pipeline.running.run import RunOptions, execute

    chosen = {name: options.pop(name) for name in _AT_START}
    workers = options.pop("concurrency") or 8
    _above(options["max_cost"], "--max-cost", "dollars, 0 or more", least=0.0)
    _above(options["poll"], "--poll", "seconds, above 0", least=1e-6)
    if like is not None and not estimate:
        raise Refused("--like names the run that an estimate learns from; give --estimate too")
    given = RunOptions(
        options["batch"], workers, options["max_cost"], _seconds(options["timeout"]), options["poll"], options["cache"]
    )
    with told():
        if estimate:
            from trueup.cli.display.estimate import show_preview

            batch = bool(options["batch"])
            return show_preview(place, chosen, like, batch=batch, cap=options["max_cost"], as_json=as_json)
        path = _place(place, chosen, given)
        from trueup.cli.display.run import print_end
        from trueup.cli.progress.run import Watcher

        watcher = Watcher(quiet or as_json)
        try:
            result = execute(path, given, watcher.live, watcher.said)
        finally:
            watcher.close()
    print_end(path, result, as_json)
    sys.stdout.flush()
    return result.code


def _place(place: str, chosen: dict[str, Any], options: "RunOptions") -> Path:
    if not is_run(place):
        return make_run(place, options=options, **chosen)
    said = [f"--{name.replace('_', '-')}" for name, value in chosen.items() if value is not None]
    if said:
        raise Refused(f"{place}: the run is made already; {said[0]} is said when it is made")
    return find_run(place)


def _above(given: float | None, option: str, what: str, least: float) -> None:
    if given is not None and not least <= given < 1e9:  # no number at all is none of these either
        raise Refused(f"{option} {given:g}: a number of {what}")


def _seconds(given: str | None) -> float | None:
    """A time as it is written: 90, 90s, 30m, 2h."""
    if given is None:
        return None
    unit = {"s": 1, "m": 60, "h": 3600}.get(given[-1:])
    try:
        seconds = float(given[:-1]) * unit if unit else float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise Refused(f"--timeout {given}: a time is written as 90s, 30m or 2h")
    return seconds
