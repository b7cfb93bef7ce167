"""The logs of a run for people: what happened (`RUN_LOG.txt`) and every call (`TRACE_LOG.txt`).

Text enters and leaves with every control character made visible. The logs only grow, and decide nothing: where the
disk is full they fall silent.
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
    """Text on one line, with nothing in it that a terminal would act on.

    >>> visible("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb\\\\nc'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text) if _CONTROL.search(text) else text


class RunLog:
    """Both logs of a run; `listener` hears every line of the first one."""

    def __init__(self, folder: Path) -> None:
        self._run = _open(folder / RUN_LOG)
        self._trace = _open(folder / TRACE_LOG)
        self._second, self._stamp = 0, ""
        self.listener: Callable[[str], None] | None = None

    def say(self, message: str) -> None:
        """Log what happened."""
        message = visible(message)
        _write(self._run, f"{now()} {message}\n", flush=True)
        if self.listener is not None:
            self.listener(message)

    def note(self, messages: Iterable[str]) -> None:
        """Log details that nobody needs to see while the run runs."""
        stamp = now()
        _write(self._run, "".join(f"{stamp} {visible(message)}\n" for message in messages), flush=True)

    def trace(self, message: str) -> None:
        """Log a call."""
        second = int(time.time())
        if second != self._second:  # to the second is enough here, and a time takes longer to write than a line
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
                pass  # the disk is full: what was not written yet is lost from the log alone


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
        pass  # a log that cannot be written stops no run
