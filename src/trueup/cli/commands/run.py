"""`trueup run`: run a pipeline or resume a run, until it is done or something stops it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.runs import RunUnavailable, find_run, is_run, make_run, over_config, told

if TYPE_CHECKING:
    from trueup.batch.pipeline.running.run import PipelineOptions

# Options that apply only when a run is made.
_AT_START = ("run_dir", "provider", "model", "base_url", "price", "max_units", "repeat", "sample", "by", "seed")


@click.command()
@click.argument("place", metavar="PIPELINE|RUN")
@over_config
@click.option("--batch/--no-batch", default=None, help="Use the provider's batch API: cheaper, but slower.")
@click.option(
    "-j",
    "--concurrency",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="The number of simultaneous calls.  [default: 8]",
)
@click.option("--max-cost", type=float, metavar="USD", help="Stop before the total cost exceeds this.")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens and cost by step, without asking a model.")
@click.option(
    "--like", metavar="RUN", help="With --estimate: use the lengths and rates of this run, such as a run with --sample."
)
@click.option("--cache", metavar="FILE", help="Store valid replies in FILE, and reuse them for identical requests.")
@click.option("--timeout", metavar="TIME", help="Stop after this time: 90s, 30m, 2h.")
@click.option("--poll", type=float, metavar="SECONDS", help="How often to check a batch.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print the state of the run at the end as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, only the result.")
def run(place: str, *, as_json: bool, quiet: bool, estimate: bool, like: str | None, **options: Any) -> int:
    """Run a PIPELINE, or resume a RUN that was made or stopped before.

    After any stop (Ctrl-C, a power cut, kill -9, a full disk), the same command resumes the run: nothing is lost,
    and nothing is asked twice. Exit code 0: all units are valid, 1: some failed, 2: the pipeline or the command is wrong,
    3: a limit, the disk or the provider stopped it, 130: interrupted.

    \b
      trueup run examples/pipelines/random_walk
      trueup run pipelines/reviews --provider openai --model gpt-4o-mini
      trueup run pipelines/reviews --estimate --sample 1000
      trueup run runs/reviews-20250101-120000
    """
    from trueup.batch.pipeline.running.run import PipelineOptions, execute

    chosen = {name: options.pop(name) for name in _AT_START}
    workers = options.pop("concurrency") or 8
    _above(options["max_cost"], "--max-cost", "dollars, 0 or more", least=0.0)
    _above(options["poll"], "--poll", "seconds, above 0", least=1e-6)
    if like is not None and not estimate:
        raise RunUnavailable("--like needs --estimate")
    given = PipelineOptions(
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

        watcher = Watcher(quiet=quiet or as_json)
        try:
            result = execute(path, given, watcher.live, watcher.said)
        finally:
            watcher.close()
    print_end(path, result, as_json=as_json)
    sys.stdout.flush()
    return result.code


def _place(place: str, chosen: dict[str, Any], options: "PipelineOptions") -> Path:
    if not is_run(place):
        return make_run(place, options=options, **chosen)
    said = [f"--{name.replace('_', '-')}" for name, value in chosen.items() if value is not None]
    if said:
        raise RunUnavailable(f"{place}: the run already exists; {said[0]} works only for a new run")
    return find_run(place)


def _above(given: float | None, option: str, what: str, least: float) -> None:
    if given is not None and not least <= given < 1e9:  # refuses NaN, too
        raise RunUnavailable(f"{option} {given:g}: must be a number of {what}")


def _seconds(given: str | None) -> float | None:
    """The seconds of a time such as 90, 90s, 30m or 2h."""
    if given is None:
        return None
    unit = {"s": 1, "m": 60, "h": 3600}.get(given[-1:])
    try:
        seconds = float(given[:-1]) * unit if unit else float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise RunUnavailable(f"--timeout {given}: give a time such as 90s, 30m or 2h")
    return seconds
