"""Code that the commands for runs share: finding a run or a pipeline, reporting errors as one message, options.

Nothing is printed here. Errors are usage errors that say what is wrong, where and what to do.
"""

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    from trueup.batch.pipeline.config import Pipeline
    from trueup.batch.pipeline.estimating.cost import Prices
    from trueup.batch.pipeline.running.run import PipelineOptions

RUNS = Path("runs")


class RunUnavailable(Unavailable):
    """The pipeline or the run cannot be used."""


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Report what goes wrong with a pipeline or a run as one message, with exit code 2."""
    from trueup.batch.pipeline.prompts.templates import PromptError
    from trueup.batch.pipeline.providers.choose import NoProvider
    from trueup.batch.pipeline.rundir.control import NotRunning
    from trueup.batch.pipeline.rundir.create import CannotCreate
    from trueup.batch.pipeline.rundir.directory import NoRun
    from trueup.batch.pipeline.rundir.disk import Damaged
    from trueup.batch.pipeline.rundir.lock import Busy
    from trueup.batch.pipeline.units.sampling import BadSample
    from trueup.contract.files.faults import ContractError

    try:
        yield
    except ContractError as error:
        number = len(error.faults)
        raise RunUnavailable(f"the pipeline has {number} error{'s' * (number != 1)}:\n{error}") from None
    except BrokenPipeError:
        raise  # the reader of our output has gone: not an error of the run
    except (BadSample, Busy, CannotCreate, Damaged, NoProvider, NoRun, NotRunning, PromptError) as error:
        raise RunUnavailable(str(error)) from None
    except OSError as error:  # includes a full disk, which has its own message and exit code (cli/main.py)
        name = f"{error.filename}: " if error.filename else ""
        raise RunUnavailable(f"{name}{error.strerror or error}") from None
    except ModuleNotFoundError as error:
        raise RunUnavailable(str(error)) from None


def find_run(given: str) -> Path:
    """The run directory that the user named: a path, or a name in `runs/`."""
    from trueup.batch.pipeline.rundir.journal import JOURNAL

    for place in (Path(given), RUNS / given):
        if (place / JOURNAL).is_file():
            return place
    if (Path(given) / "config.yaml").is_file():
        raise RunUnavailable(f"{given}: that is a pipeline, not a run; `trueup run {given}` starts one")
    if (Path(given) / "summary.json").is_file():
        raise RunUnavailable(
            f"{given}: that is the folder of a sift, not a run; `trueup revalidate {given} --contract …` judges it again"
        )
    near = _near(given)
    raise RunUnavailable(f"{given}: there is no such run{f'; did you mean {near!r}?' if near else ''}")


def is_run(given: str) -> bool:
    """Whether a word names an existing run. A folder with a pipeline is not a run, even if a run in `runs/` has its
    name.
    """
    from trueup.batch.pipeline.rundir.journal import JOURNAL

    if (Path(given) / JOURNAL).is_file():
        return True
    return not (Path(given) / "config.yaml").is_file() and (RUNS / given / JOURNAL).is_file()


def all_runs(folder: Path) -> list[Path]:
    """The runs in a folder, newest first."""
    from trueup.batch.pipeline.rundir.directory import runs_in

    return runs_in(folder)


def _near(given: str) -> str:
    from trueup.verdict.likeness import nearest

    return nearest(Path(given).name, [place.name for place in all_runs(RUNS)]) or ""


def new_run(pipeline: str, given: str | None) -> Path:
    """The directory for a new run: the given one, or the pipeline's name with the time."""
    if given is not None:
        return Path(given)
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return RUNS / f"{pipeline}-{stamp}"


def over_config(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that override the configuration when a run is made."""
    for option in reversed((
        click.option("--run-dir", metavar="DIR", help="The run directory to create.  [default: runs/NAME-TIME]"),
        click.option("--provider", metavar="NAME", help="The provider for all steps: openai, anthropic, gemini, url, local or replay."),
        click.option("--model", metavar="NAME", help="The model for all steps."),
        click.option("--base-url", metavar="URL", help="The base URL of an OpenAI-compatible server."),
        click.option("--price", metavar="IN/OUT", help="The price for all models, in dollars per million tokens, such as 0.15/0.60."),
        click.option("--max-units", type=click.IntRange(min=1), metavar="N", help="Run only the first N units."),
        click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Run every unit N times."),
        click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Run only N units, chosen at random."),
        click.option("--by", metavar="FIELD", help="With --sample: keep the proportions of FIELD's values, with at least one unit of each."),
        click.option("--seed", type=int, metavar="N", help="With --sample: the random seed.  [default: 0]"),
    )):  # fmt: skip
        command = option(command)
    return command


def make_run(pipeline: str, run_dir: str | None, options: "PipelineOptions | None" = None, **wanted: Any) -> Path:
    """Lint a pipeline and make a run of it. If the run starts immediately, its `options` are checked before it is
    made.
    """
    from trueup.batch.pipeline.providers.choose import check_providers
    from trueup.batch.pipeline.rundir.create import RunSettings, create_run

    found = read_pipeline(pipeline)
    given = {name: value for name, value in wanted.items() if value is not None}
    given_prices(found, given)
    check_sample(given)
    check_providers(found, given)
    if options is not None:
        from trueup.batch.pipeline.running.run import check_options

        check_options(found, given, options)
    return create_run(found, new_run(found.name, run_dir), RunSettings(**given))


def check_sample(given: dict[str, Any]) -> None:
    """Refuse the options of a sample if no sample is requested."""
    alone = [f"--{name}" for name in ("by", "seed") if name in given and "sample" not in given]
    if alone:
        raise RunUnavailable(f"{alone[0]} says how to choose a sample; give --sample N too")


def read_pipeline(place: str) -> "Pipeline":
    """An existing pipeline, linted."""
    from trueup.batch.pipeline.lint.run import check_pipeline

    if not Path(place).exists():
        raise RunUnavailable(f"{place}: there is no such pipeline or run")
    return check_pipeline(Path(place))


def given_prices(pipeline: "Pipeline", given: dict[str, Any]) -> "Prices":
    """The prices in the configuration, overridden by the price on the command line."""
    from trueup.batch.pipeline.estimating.cost import prices_of

    price = str(given.get("price", ""))
    try:
        prices_of({}, price)
    except ValueError as error:
        raise RunUnavailable(f"--price: {error}") from None
    return prices_of(pipeline.section("api", "prices"), price)
