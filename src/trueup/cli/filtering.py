"""How a phase runs as a filter: units on standard input, valid ones on standard output, failure records on standard error.

Standard error carries nothing else, so progress has no place here; a log of coercions and warnings goes to a file.
"""

import os
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.named import Unavailable
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from trueup.batch.filters import Filter

OUT_OF_TIME = 3


def filter_options(command: Any) -> Any:
    """The options of every filter."""
    for option in reversed((
        click.option("--max-line", type=click.IntRange(min=1024), default=8 << 20, show_default=True, metavar="BYTES",
                     help="A longer line fails its unit."),
        click.option("--timeout", type=click.FloatRange(min=0.0), default=0.0, metavar="SECONDS",
                     help="Stop after so long, with exit code 3.  [default: none]"),
        click.option("--log", metavar="FILE", help="Append a line for every coercion and warning to FILE."),
    )):  # fmt: skip
        command = option(command)
    return command


def run_filter(made: "Filter", max_line: int, timeout: float, log: str | None) -> int:
    """Sort standard input until it ends; gives the exit code."""
    from trueup.batch.filters import stream_lines

    if sys.stdin.isatty():
        raise click.UsageError("units come on standard input: pipe a JSONL file in")
    out, errors = sys.stdout.buffer, sys.stderr.buffer
    notes = _open_log(log) if log else None
    until = time.monotonic() + timeout if timeout else None
    code = 0
    try:
        for found in stream_lines(_reader(sys.stdin.fileno(), until), max_line):
            if found is None:
                out.flush()
                errors.flush()
            else:
                offset, line = found
                if isinstance(line, bytes) and not line.strip():
                    continue
                valid, failed, said = made.sort(line, offset)
                out.write(valid)
                if failed:
                    errors.write(failed)
                    code = 1
                if notes is not None:
                    notes.writelines(f"{safe_line(note)}\n" for note in said)
            _in_time(until)
    except _OutOfTime:
        code = OUT_OF_TIME
    out.flush()
    errors.flush()
    if notes is not None:
        notes.close()
    return code


class _OutOfTime(Exception):
    """The time of the filter is over."""


def _in_time(until: float | None) -> None:
    if until is not None and time.monotonic() > until:
        raise _OutOfTime


def _reader(source: int, until: float | None) -> "Callable[[int], bytes]":
    """Reads what is there; with a limit, nobody is waited for longer than that."""
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
