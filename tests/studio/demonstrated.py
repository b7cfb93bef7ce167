"""`trueup studio --demo` as a separate process."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def demonstrated(
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    program: tuple[str, ...] = ("-m", "trueup"),
    python: str = sys.executable,
) -> Iterator[str]:
    """The URL that it prints; at the end it must stop by Ctrl-C, without a traceback."""
    process = subprocess.Popen(
        [python, *program, "studio", "--demo", "--no-browser", "--port", "0"],
        cwd=folder, env={**os.environ, **(env or {})}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        lines: list[str] = []
        while not any("?token=" in line for line in lines):
            line = process.stderr.readline()
            assert line, f"the studio did not start: {lines}"
            lines.append(line)
        yield next(word for word in lines[-1].split() if "?token=" in word)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) in (0, 130)
            assert "Traceback" not in process.stderr.read()
        finally:
            process.stderr.close()
