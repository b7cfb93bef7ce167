"""`trueup sift`: judge files of replies; write validated units, failure records and a summary. No line is lost."""

import contextlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from trueup.cli.full_disk import resumable
from trueup.cli.options.batch_contract import contract_options, read_spec
from trueup.verdict.extras import install

if TYPE_CHECKING:
    from collections.abc import Callable

    from trueup.batch.judging.contracts import ContractSpec
    from trueup.batch.sift import SiftOptions, SiftResult

OUT_OF_TIME = 3


class CannotSift(click.ClickException):
    """The run cannot start or continue; exit code 2."""

    exit_code = 2


def running_options(command: "Callable[..., Any]") -> "Callable[..., Any]":
    """The options for running a batch."""
    for option in reversed((
        click.option("--engine", default="local", show_default=True, metavar="ENGINE", help="local, or ray[:ADDRESS]."),
        click.option("-w", "--workers", type=click.IntRange(min=1), metavar="N", help="The number of processes.  [default: one per core]"),
        click.option("--progress", type=click.Choice(["auto", "bar", "plain", "json", "none"]), default="auto", show_default=True,
                     help="Progress on standard error; auto shows a bar on a terminal, otherwise lines."),
        click.option("--fresh", is_flag=True, help="Discard the results of an earlier run in the folder."),
        click.option("--max-line", type=click.IntRange(min=1024), default=8 << 20, show_default=True, metavar="BYTES",
                     help="Fail units with a longer line."),
        click.option("--unit-timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, metavar="SECONDS",
                     help="Fail units that take longer."),
        click.option("--max-memory", type=click.IntRange(min=128), default=1024, show_default=True, metavar="MB",
                     help="Fail units that make a worker use more memory."),
        click.option("--time-limit", type=click.FloatRange(min=0.0), default=0.0, metavar="SECONDS",
                     help="Stop after this time; the same command resumes.  [default: none]"),
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output."),
    )):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("-o", "--out", required=True, metavar="DIR", help="The folder to write the results to.")
@click.option("--table", metavar="FILE", help="Also write the valid units as a flat table: .csv or .jsonl.")
@click.option("--merge", type=click.Choice(["first", "last", "valid", "fail"]),
              help="For lines with the same id: keep one reply, or fail all but the first.  [default: valid for a "
                  "provider's files, otherwise fail]")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(["jsonl", "parquet", "arrow", "csv", "datasets"]), default="jsonl", show_default=True,
              help="Also write the valid and the failed units in this format.")  # fmt: skip
@click.option(
    "--id-column", default="", metavar="NAME", help="The column or field that contains the id.  [default: unit_id]"
)
@click.option(
    "--reply-column",
    default="",
    metavar="NAME",
    help="The column or field that contains the reply.  [default: raw_response]",
)
@click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="The encoding of CSV files.")
@click.option("--grow", is_flag=True, help="Sift only the lines and files that were added since the last time.")
@contract_options
@running_options
def sift(files: tuple[str, ...], out: str, table: str | None, **options: Any) -> int:
    """Judge files of replies; write validated.jsonl, failures.jsonl and summary.json.

    FILES are JSONL, Parquet, Arrow, CSV or TSV files, also as .gz or .zst; '-' for standard input; a folder or a
    pattern of such files; a folder of Hugging Face datasets; or a URL such as s3://…. Each line is a unit: {unit_id, input,
    raw_response}, {unit_id, messages}, or a line of a provider's batch output, a provider's error file, or a store's
    export. A table has one unit per row. Each unit goes to either validated.jsonl or failures.jsonl, in order, unless
    --merge joins lines with the same id. After a stop or a crash, the same command resumes the work. Exit code 0: all valid, 1: some failed,
    2: the command or the contract is wrong, 3: out of time or disk space, 130: stopped.

    \b
      trueup sift replies.jsonl --schema invoice.json --out sifted
      trueup sift batch_output.jsonl batch_errors.jsonl -c contract.yaml -o sifted
    """
    spec = read_spec(options)
    _refuse_format(options["format_"], options["encoding"])
    if table is not None:
        _refuse_table(Path(table))
    code = run_batch(list(files), spec, Path(out), options)
    if table is not None and code in {0, 1}:
        _write_table(Path(out), Path(table))
    return code


def _refuse_format(form: str, encoding: str) -> None:
    """Fail before anything is judged if a package is missing or an encoding does not exist."""
    from trueup.batch.tables.writing import Unwritable, require_writer

    try:
        require_writer(form)
        "".encode(encoding)  # a codec from bytes to bytes, such as base64, is not a text encoding
    except Unwritable as error:
        raise CannotSift(str(error)) from None
    except LookupError:
        raise CannotSift(f"--encoding {encoding}: unknown encoding") from None


def _refuse_table(target: Path) -> None:
    """Refuse a bad file name for a table before anything is judged."""
    from trueup.batch.exporting.flat_table import KINDS

    if target.suffix not in KINDS:
        raise CannotSift(f"--table {target}: give a file that ends in {' or '.join(KINDS)}")


def _write_table(out: Path, target: Path) -> None:
    from trueup.batch.exporting.flat_table import UnwritableTable, write_table

    try:
        write_table(out / "validated.jsonl", target)
    except UnwritableTable as error:
        raise CannotSift(f"--table: {error}") from None


def run_batch(
    files: list[str], spec: "ContractSpec", out: Path, options: dict[str, Any], *, flips: bool = False
) -> int:
    """Run a sift and print its result; returns the exit code."""
    from trueup.batch.sift import WORK, OutOfTime
    from trueup.cli.display.sift import account
    from trueup.cli.progress.sift import ProgressDisplay

    if options["engine"].partition(":")[0] not in {"local", "ray"}:
        raise CannotSift(f"--engine {options['engine']}: unknown engine; choose local or ray[:ADDRESS]")
    if options["engine"].startswith("ray") and find_spec("ray") is None:
        raise CannotSift(f"--engine ray needs a package: {install('ray')}")
    if "-" in files and sys.stdin.isatty() and not (out / WORK).exists():
        raise CannotSift("'-' is standard input: pipe a JSONL file in")
    as_json = options["as_json"]
    quiet = options["progress"] == "none"
    shower = ProgressDisplay(options["progress"])
    try:
        result = _run(files, spec, out, _options(options, flips=flips), shower)
    except (KeyboardInterrupt, OutOfTime) as stop:
        shower.close(shown=False)
        why = "Stopped" if isinstance(stop, KeyboardInterrupt) else f"Stopped: {stop}"
        click.echo(f"{why}. Completed work is kept: run the same command to resume.", err=True)
        return 130 if isinstance(stop, KeyboardInterrupt) else OUT_OF_TIME
    except BaseException:
        shower.close(shown=False)
        raise
    shower.close(shown=not result.already)
    _write_page(out)
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import write

        write(document(result.summary, indented=True) + "\n")
    elif not quiet:
        with contextlib.suppress(BrokenPipeError):  # the text is for people; the exit code says the same
            text = account(result.summary, out, already=result.already, width=_width())
            click.echo(text, err=True, nl=False)
    return result.exit_code


def _width() -> int:
    """The cells of a line on stderr: as many as the terminal has, up to the usual number."""
    import shutil

    from trueup.cli.display.sift import WIDTH

    return min(WIDTH, shutil.get_terminal_size().columns) if sys.stderr.isatty() else WIDTH


def _write_page(out: Path) -> None:
    """Write the page. If this fails, the results of the sift are still there."""
    from trueup.batch.disk.full_disk import is_full
    from trueup.batch.reporting.report import NotASift, write_report

    try:
        write_report(out)
    except (NotASift, OSError) as error:
        if is_full(error):
            raise
        click.echo(f"report.html was not written: {error}", err=True)


def _options(given: dict[str, Any], *, flips: bool) -> "SiftOptions":
    from trueup.batch.input.sources import InputForm
    from trueup.batch.judging.work import UnitLimits
    from trueup.batch.sift import SiftOptions
    from trueup.batch.tables.rows import UnitColumns

    return SiftOptions(
        engine=given["engine"],
        workers=given["workers"] or 0,
        guard=UnitLimits(given["unit_timeout"], given["max_memory"]),
        max_line=given["max_line"],
        fresh=given["fresh"],
        flips=flips,
        time_limit=given["time_limit"],
        merge=given.get("merge") or "",
        grow=given.get("grow", False),
        form=InputForm(
            UnitColumns(given.get("id_column", ""), given.get("reply_column", "")), given.get("encoding", "utf-8")
        ),
        format=given.get("format_", "jsonl"),
    )


def _run(files: list[str], spec: "ContractSpec", out: Path, options: "SiftOptions", shower: Any) -> "SiftResult":
    """Run, and turn every failure into one message."""
    from trueup.batch.disk.full_disk import writing
    from trueup.batch.input.sources import UnreadableSource
    from trueup.batch.judging.contracts import BadContract
    from trueup.batch.judging.work import EngineFailed
    from trueup.batch.merging.stored_ranges import BrokenRange
    from trueup.batch.pipeline.rundir.lock import RunTakenOver
    from trueup.batch.sift import SiftRefused, sift
    from trueup.batch.siftdir.manifest import LostOwnership, UnknownManifest

    _stop_on_term()
    try:
        with resumable("Free some space: the same command resumes where it stopped."), writing(out):
            return sift(files, spec, out, options, shower, _stdin(files))
    except (SiftRefused, UnreadableSource, BadContract, UnknownManifest, BrokenRange) as error:
        raise CannotSift(str(error)) from None
    except (EngineFailed, LostOwnership, RunTakenOver) as error:
        raise CannotSift(f"{error}. Completed work is kept: run the same command to resume.") from None
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise CannotSift(
            f"{error.strerror or error}{where}. Completed work is kept: run the same command to resume."
        ) from None


def _stdin(files: list[str]) -> BinaryIO | None:
    if "-" not in files:
        return None
    return None if sys.stdin.isatty() else sys.stdin.buffer


def _stop_on_term() -> None:
    """Treat SIGTERM like Ctrl-C."""
    import signal

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
