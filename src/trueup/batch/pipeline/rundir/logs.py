"""The logs of a run for people: events (`RUN_LOG.txt`) and every call (`TRACE_LOG.txt`).

Control characters in the text are made visible. The logs only grow, and decide nothing. If the disk is full, nothing is logged.
"""

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from trueup.batch.pipeline.rundir.journal import now

RUN_LOG, TRACE_LOG = "RUN_LOG.txt", "TRACE_LOG.txt"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Text on one line, without anything that a terminal would act on.

    >>> visible("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb\\\\nc'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text) if _CONTROL.search(text) else text


class RunLog:
    """Both logs of a run; `listener` is called with every line of the first one."""

    def __init__(self, folder: Path) -> None:
        self._run = _open(folder / RUN_LOG)
        self._trace = _open(folder / TRACE_LOG)
        self._second, self._stamp = 0, ""
        self.listener: Callable[[str], None] | None = None

    def say(self, message: str) -> None:
        """Log an event."""
        message = visible(message)
        _write(self._run, f"{now()} {message}\n", flush=True)
        if self.listener is not None:
            self.listener(message)

    def note(self, messages: Iterable[str]) -> None:
        """Log details that are not needed while the run is running."""
        stamp = now()
        _write(self._run, "".join(f"{stamp} {visible(message)}\n" for message in messages), flush=True)

    def trace(self, message: str) -> None:
        """Log a call."""
        second = int(time.time())
        # seconds are exact enough here, and formatting a time takes longer than writing a line
        if second != self._second:
            self._second, self._stamp = second, now()[:19]
        _write(self._trace, f"{self._stamp}Z {visible(message)}\n")

    def flush(self) -> None:
        _write(self._trace, "", flush=True)

    def close(self) -> None:
        for file in (self._run, self._trace):
            try:
                if file is not None:
                    file.close()
            except OSError:
                pass  # the disk is full: unwritten lines are only lost from the log


def _open(path: Path) -> IO[str] | None:
    try:
        return path.open("a", encoding="utf-8")
    except OSError:
        return None


def _write(file: IO[str] | None, text: str, *, flush: bool = False) -> None:
    if file is None:
        return
    try:
        file.write(text)
        if flush:
            file.flush()
    except OSError:
        pass  # a log that cannot be written does not stop a run
