"""`trueup backtest`: judge stored replies under two contracts; show the flips, their reasons and what they would
cost.
"""

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.options.selection import readable, selection_options, take_selection

if TYPE_CHECKING:
    from trueup.backtesting.conditions import Condition
    from trueup.backtesting.result import Backtest

INTERRUPTED = 130
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*\Z")


@click.command()
@click.argument("new", metavar="NEW")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--against", metavar="OLD", help="The contract to compare with.  [default: the recorded outcomes]")
@selection_options
@click.option(
    "--outcome", metavar="NAME", help="Only replies to requests with this outcome: accepted, repaired, failed."
)
@click.option("--label", metavar="NAME", help="Only replies with this label, such as wrong.")
@click.option("--was", type=click.Choice(["accepted", "refused"]), help="Only replies with this recorded verdict.")
@click.option(
    "--labels", "label_files", multiple=True, metavar="FILE", help="Labels for replies in files: JSONL, matched by id."
)
@click.option(
    "--margin",
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Refusal rates count as equivalent if they differ by no more than this.",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help='Exit with code 1 if true: "newly_refused > 0.5%".',
)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Judge a random sample of about N replies.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print it as Markdown, for a pull request.")
@click.option("--html", metavar="FILE", help="Also write it as a self-contained HTML page.")
@click.option("--out", metavar="FILE", help="Also write every flip to this file, one line of JSON each.")
@click.option("--engine", default="local", show_default=True, metavar="ENGINE", help="local, or ray[:ADDRESS].")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="The number of processes.  [default: one per core]"
)
@click.option("--unit-timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, metavar="SECONDS",
              help="Skip a reply that takes longer to judge.")  # fmt: skip
@click.option("--progress", type=click.Choice(["auto", "bar", "plain", "json", "none"]), default="auto", show_default=True,
              help="Progress on standard error; auto shows a bar on a terminal, otherwise lines.")  # fmt: skip
def backtest(new: str, sources: tuple[str, ...], **options: Any) -> int:
    """Judge stored replies under a NEW contract and an old one; show which verdicts flip, why, and the cost.

    SOURCE is a store (an SQLite file or postgresql://…), a folder from `trueup sift`, a run directory, or a file of
    replies. NEW and OLD are contract files, JSON Schema files or module:name. No model is asked and nothing is changed.
    Replies are judged in random order, so the estimates shown during the run are not biased. Replies that cannot be
    judged again are counted, with the reason. Exit code 0: fine, 1: a --fail-if condition is true, 2: the command, a
    contract or a source is wrong, 3: a limit or a full disk, 130: stopped.

    \b
      trueup backtest new.yaml --against old.yaml verdicts.db --since 30d
      trueup backtest new.yaml sifted --fail-if "newly_refused > 0.5%" --markdown
    """
    if options["as_json"] and options["as_markdown"]:
        raise click.UsageError("--json and --markdown: choose one")
    conditions = [_condition(text) for text in options.pop("conditions")]
    settings = {
        "margin": _margin(options.pop("margin")),
        "selection": _selection(options),
        "labels": options.pop("label_files"),
        "sample": options.pop("sample"),
        "workers": options.pop("jobs") or (None if options["engine"].startswith("ray") else _cores()),
        **_engine(options),
    }
    _refuse_outputs(options, [new, *sources, options["against"] or "", *settings["labels"]])
    _refuse_contracts(new, options["against"])
    flips = None if options["out"] is None else _Flips(options["out"])
    found, complete = _run(new, list(sources), options, {**settings, "on_flips": None if flips is None else flips.add})
    if found is None:
        return INTERRUPTED
    _show(found, options)
    if flips is not None:
        flips.close()
    if not complete:
        click.echo(f"Stopped after {found.done:,} of {found.blocks:,} blocks; the figures cover only those.", err=True)
        return INTERRUPTED
    return _judge(found, conditions)


def _condition(text: str) -> "Condition":
    from trueup.backtesting.conditions import BadCondition, Condition
    from trueup.backtesting.result import NAMES

    try:
        return Condition(text, NAMES)
    except BadCondition as error:
        raise Unavailable(f"--fail-if {error}") from None


def _margin(given: str) -> float:
    match = _PERCENT.match(given)
    share = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < share < 1:
        raise click.UsageError(f"--margin {given!r}: give a share between 0 and 1, such as 1% or 0.005")
    return share


def _selection(options: dict[str, Any]) -> Any:
    from msgspec.structs import replace

    was = options.pop("was")
    more = {
        "outcome": options.pop("outcome"),
        "label": options.pop("label"),
        "ok": None if was is None else was == "accepted",
    }
    return replace(take_selection(options), **more)


def _cores() -> int:
    from trueup.backtesting.backtest import cores

    return cores()


def _engine(options: dict[str, Any]) -> dict[str, Any]:
    from trueup.batch.judging.work import UnitLimits

    name, _, address = options.pop("engine").partition(":")
    if name not in ("local", "ray"):
        raise click.UsageError(f"--engine {name}: unknown engine; choose local or ray[:ADDRESS]")
    return {"engine": name, "address": address, "guard": UnitLimits(options.pop("unit_timeout"))}


def _refuse_outputs(options: dict[str, Any], read: list[str]) -> None:
    """Fail before anything is judged if an output cannot be written or would replace an input."""
    from trueup.cli.options.outputs import keep_results
    from trueup.material.sources import is_store

    files = {Path(name).resolve() for name in read if name}
    for name in ("html", "out"):
        given = options[name]
        if given is None:
            continue
        keep_results(f"--{name}", Path(given))
        target = Path(given).resolve()
        inside = target.is_file() and target.suffix != ".html" and not files.isdisjoint(target.parents)
        if target in files or inside or (target.is_file() and is_store(given)):
            raise Unavailable(f"--{name} {given}: this command reads that file, or it is a store; name another one")
        files.add(target)
        if Path(given).is_dir():
            raise Unavailable(f"--{name} {given}: that is a directory; name a file")
        if not Path(given).absolute().parent.is_dir():
            raise Unavailable(f"--{name} {given}: there is no folder {Path(given).parent}")


def _run(
    new: str, sources: list[str], options: dict[str, Any], settings: dict[str, Any]
) -> "tuple[Backtest | None, bool]":
    """The result, and whether it is complete. If the backtest was stopped, the result covers what was judged."""
    from trueup.backtesting.backtest import backtest as judge
    from trueup.batch.judging.work import EngineFailed
    from trueup.cli.display.backtest import EstimateDisplay

    shower = EstimateDisplay(options["progress"])
    with contextlib.ExitStack() as stack:
        stack.callback(shower.close)
        try:
            with readable():
                found = judge(new, [*map(_named, sources)], against=options["against"], on_progress=shower, **settings)
        except KeyboardInterrupt:
            return shower.last, False
        except EngineFailed as error:
            raise Unavailable(str(error)) from None
    return found, True


def _named(source: str) -> Any:
    """The source with this name, which may also be a run in `runs/`."""
    from trueup.cli.options.runs import find_run, is_run
    from trueup.material.sources import SourceName

    if "://" not in source and not Path(source).exists() and is_run(source):
        return SourceName(str(find_run(source)))
    return SourceName(source)


def _refuse_contracts(new: str, against: str | None) -> None:
    """Report errors in the contracts before any file is opened for writing."""
    for option, given in (("NEW", new), ("--against", against)):
        _refuse_contract(option, given)


def _refuse_contract(option: str, given: str | None) -> None:
    """Report all errors in a contract in one message."""
    from trueup.batch.judging.contracts import BadContract, spec_of
    from trueup.cli.options.references import no_file

    if given is None:
        return
    try:
        spec_of(given)
    except BadContract as error:
        if not Path(given).exists() and ":" not in given:
            raise Unavailable(f"{option} {given}: {no_file(given)}") from None
        raise Unavailable(f"{option}: {error}") from None
    except OSError as error:
        raise Unavailable(f"{option} {given}: cannot be read: {error.strerror}") from None


def _show(found: "Backtest", options: dict[str, Any]) -> None:
    """Print the result, then write its page: if the page cannot be written, nothing else is lost."""
    from trueup.cli.terminal.output import write

    if options["as_json"]:
        from trueup.cli.display.run import print_json

        print_json(found.to_dict())
    elif options["as_markdown"]:
        write(found.to_markdown())
    else:
        from trueup.cli.display.backtest import show

        show(found)
    if options["html"] is not None:
        from trueup.batch.reporting.html import put_page

        with _naming(options["html"]):
            put_page(Path(options["html"]), found.to_html())


class _Flips:
    """The file of flips. If writing fails, the error is raised after the result has been shown, so that no work is
    lost.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._error: OSError | None = None
        self._mode = "wb"

    def add(self, lines: list[bytes]) -> None:
        """Write some flips, unless writing has already failed. The first flips replace an earlier file."""
        if self._error is None:
            try:
                with _naming(self._path), Path(self._path).open(self._mode) as opened:
                    opened.writelines(lines)
                self._mode = "ab"
            except OSError as error:
                self._error = error

    def close(self) -> None:
        """Raise the error of writing the file, if there was one. Without a flip, the file is empty."""
        if self._mode == "wb":
            self.add([])
        if self._error is not None:
            raise self._error


@contextlib.contextmanager
def _naming(file: str) -> Iterator[None]:
    """Add the file's name to errors of writing it. The code that runs commands adds the advice."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None


def _judge(found: "Backtest", conditions: "list[Condition]") -> int:
    """The exit code: 1 if a condition is true. Conditions need at least one judged reply."""
    if conditions and not found.judged:
        raise Unavailable(f"--fail-if: {found.conclusion[:1].lower()}{found.conclusion[1:]}")
    figures = found.figures()
    failed = False
    for condition in conditions:
        if unknown := condition.unknown(figures):
            click.echo(f"--fail-if {condition.text!r}: {', '.join(unknown)} is not known from these replies", err=True)
        if condition.holds(figures):
            click.echo(f"--fail-if {condition.text!r} is true", err=True)
            failed = True
    sys.stderr.flush()
    return int(failed)
