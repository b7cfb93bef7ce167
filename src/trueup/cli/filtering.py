"""How a phase runs as a filter: units on standard input, valid ones on standard output, failure records on standard error.

Standard error carries nothing else, so progress has no place here; a log of coercions goes to a file.
"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.named import Unavailable
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from trueup.batch.filters import Filter

OUT_OF_TIME = 3


def filter_options(command: Any) -> Any:
    """The options of every filter."""
    for option in reversed((
        click.option("--max-line", type=click.IntRange(min=1024), default=8 << 20, show_default=True, metavar="BYTES",
                     help="A longer line fails its unit."),
        click.option("--timeout", type=click.FloatRange(min=0.0), default=0.0, metavar="SECONDS",
                     help="Stop after so long, with exit code 3.  [default: none]"),
        click.option("--log", metavar="FILE", help="Append a line for every coercion to FILE."),
    )):  # fmt: skip
        command = option(command)
    return command


def run_filter(made: "Filter", max_line: int, timeout: float, log: str | None) -> int:
    """Sort standard input until it ends; gives the exit code."""
    from trueup.batch.filters import stream_lines

    if sys.stdin.isatty():
        raise click.UsageError("units come on standard input: pipe a JSONL file in")
    source = sys.stdin.fileno()
    out, errors = sys.stdout.buffer, sys.stderr.buffer
    notes = _open_log(log) if log else None
    until = time.monotonic() + timeout if timeout else None
    code = 0
    for found in stream_lines(lambda most: os.read(source, most), max_line):
        if found is None:
            out.flush()
            errors.flush()
        else:
            offset, line = found
            if isinstance(line, bytes) and not line.strip():
                continue
            valid, failed, coerced = made.sort(line, offset)
            out.write(valid)
            if failed:
                errors.write(failed)
                code = 1
            if notes is not None:
                notes.writelines(f"{safe_line(note)}\n" for note in coerced)
        if until is not None and time.monotonic() > until:
            code = OUT_OF_TIME
            break
    out.flush()
    errors.flush()
    if notes is not None:
        notes.close()
    return code


def _open_log(path: str) -> Any:
    try:
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"--log {path}: cannot be written: {error.strerror}") from None
