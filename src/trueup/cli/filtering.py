"""Run a phase as a filter: read units from standard input, write valid ones to standard output, failures to standard
error.

Every line on standard error is JSON: failure records, and at the end one warning if units had no `unit_id`. There is no
progress bar. Fixes and warnings can be logged to a file.
"""

import os
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from trueup.batch.judging.filters import Filter

OUT_OF_TIME = 3


def filter_options(command: Any) -> Any:
    """The options of every filter."""
    for option in reversed((
        click.option("--max-line", type=click.IntRange(min=1024), default=8 << 20, show_default=True, metavar="BYTES",
                     help="Fail units with a longer line."),
        click.option("--timeout", type=click.FloatRange(min=0.0), default=0.0, metavar="SECONDS",
                     help="Stop after this time, with exit code 3.  [default: none]"),
        click.option("--log", metavar="FILE", help="Append a line for every fix and warning to FILE."),
    )):  # fmt: skip
        command = option(command)
    return command


def run_filter(made: "Filter", max_line: int, timeout: float, log: str | None) -> int:
    """Judge every line of standard input; returns the exit code."""
    from trueup.batch.disk.full_disk import writing
    from trueup.batch.judging.filters import stream_lines

    if sys.stdin.isatty():
        raise click.UsageError("units are read from standard input: pipe in a JSONL file")
    out, errors = sys.stdout.buffer, sys.stderr.buffer
    notes = _open_log(log) if log else None
    until = time.monotonic() + timeout if timeout else None
    code = unnamed = 0
    try:
        for found in stream_lines(_reader(sys.stdin.fileno(), until), max_line):
            if found is None:
                out.flush()
                errors.flush()
            else:
                offset, line = found
                if isinstance(line, bytes) and not line.strip():
                    continue
                valid, failed, said, without_id = made.sort(line, offset)
                unnamed += without_id
                out.write(valid)
                if failed:
                    errors.write(failed)
                    code = 1
                if notes is not None:
                    with writing(str(log)):
                        notes.writelines(f"{safe_line(note)}\n" for note in said)
            _in_time(until)
    except _OutOfTime:
        code = OUT_OF_TIME
    if unnamed:
        errors.write(_unnamed(unnamed))
    out.flush()
    errors.flush()
    if notes is not None:
        with writing(str(log)):
            notes.close()
    return code


def _unnamed(units: int) -> bytes:
    """The warning about units without an id: a JSON line, but not a failure record."""
    from trueup.batch.judging.records import error_of, line_of
    from trueup.verdict.facts import finding

    message = "1 unit has no unit_id" if units == 1 else f"{units} units have no unit_id"
    warning = finding("U005", "$", message, None, {}, "Give every line a unit_id.")
    return line_of({"warnings": [error_of(warning)], "units": units})


class _OutOfTime(Exception):
    """The time limit has been reached."""


def _in_time(until: float | None) -> None:
    if until is not None and time.monotonic() > until:
        raise _OutOfTime


def _reader(source: int, until: float | None) -> "Callable[[int], bytes]":
    """A function that reads available input, and waits at most until the time limit."""
    if until is None:
        return lambda most: os.read(source, most)

    def read(most: int) -> bytes:
        if not select.select([source], [], [], max(0.0, until - time.monotonic()))[0]:
            raise _OutOfTime
        return os.read(source, most)

    return read


def _open_log(path: str) -> Any:
    try:
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"--log {path}: cannot be written: {error.strerror}") from None
