"""Starts a process of this package for one purpose, and exchanges messages with it.

The process runs `main()` of a module. Messages are pickled and sent over its standard input and output; everything else that it
or its libraries print goes to its standard error. It ends when its input does.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

_START = "import importlib, sys; sys.path[:] = sys.argv[2:]; importlib.import_module(sys.argv[1]).main()"
_BROKEN = (EOFError, OSError, pickle.UnpicklingError)  # the other side has ended, perhaps in the middle of a message
_PATIENCE = 60.0  # seconds that a process may take to end


class ProcessEnded(RuntimeError):
    """The process on the other side is gone."""


class Helper:
    """A process that runs `main()` of a module, seen from the one that started it."""

    def __init__(
        self, module: str, *, errors: IO[bytes] | None = None, environment: dict[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - this Python, and a module of ours
            [sys.executable, "-c", _START, module, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if errors is None else errors,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl-C only concerns the process that started it, which then ends it in order
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin, self.process.stdout

    def send(self, message: Any) -> None:
        """Send a message. A missing process is noticed when its answer is read."""
        with suppress(OSError):
            pickle.dump(message, self._to)
            self._to.flush()

    def receive(self) -> Any:
        """Wait for the next message."""
        try:
            return pickle.load(self._from)  # noqa: S301 - from a process of ours
        except _BROKEN:
            raise ProcessEnded from None

    def ask(self, message: Any) -> Any:
        """Send a message and wait for its answer."""
        self.send(message)
        return self.receive()

    def close(self) -> None:
        """End the process: by ending its input, then by force."""
        with suppress(OSError):
            self._to.close()
        # its output is no longer read: a process that still wants to write must not wait for that
        drain = threading.Thread(target=self._drain, daemon=True)
        drain.start()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        drain.join()
        self._from.close()

    def _drain(self) -> None:
        with suppress(OSError, ValueError):
            while self._from.read(65_536):
                pass


class Channel:
    """The same pipes, seen from inside the process."""

    def __init__(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._from, self._to = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def messages(self) -> Iterator[Any]:
        """The messages of the other side, until it ends."""
        while True:
            try:
                yield pickle.load(self._from)  # noqa: S301 - from the process that started this one
            except _BROKEN:
                return

    def send(self, message: Any) -> None:
        """Send a message. If the other side has stopped reading, the end of the input says so too."""
        with suppress(OSError):
            pickle.dump(message, self._to)
            self._to.flush()
