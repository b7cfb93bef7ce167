"""Work in a separate process: takes a specification and returns events one by one.

The process gets the specification on its standard input, so that a store's password does not appear in the list of
processes. It writes one event per line; its standard error goes to the log. Closing ends it with all processes that it
has started. While it is silent, an event says that it is still working, so that a client that has left is noticed.
"""

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, Self

from trueup.studio.refusal import RequestRefused

log = logging.getLogger("trueup.studio")
_SILENCE = 0.2  # seconds of silence after which an event says that the work continues
_MOST_SAID = 20_000  # bytes of standard error that are logged
_COMMAND = (sys.executable, "-P", "-m", "trueup.studio.working")


class ReportedRefusal(RequestRefused):
    """A refusal that the process reported."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(status, error["message"], code=error["code"], hint=error["hint"])
        self._error = error

    def to_dict(self) -> dict[str, object]:
        """The body of the response."""
        return {"error": self._error}


class LongJob(Iterator[Any]):
    """One long job. It starts when the first event is requested."""

    def __init__(self, kind: str, spec: dict[str, Any], ended: "Callable[[LongJob], object]" = id) -> None:
        self._spec = json.dumps(
            {**spec, "work": kind, "parent": os.getpid()}
        ).encode()  # half a surrogate pair stays unchanged
        self._kind = kind
        self._ended = ended
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._began = 0.0
        self._closed = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The id of the process; None before it has begun."""
        return None if self._process is None else self._process.pid

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self._process is None:
            self._start()
        if self._closed:
            raise StopIteration
        try:
            line = self._lines.get(timeout=_SILENCE)
        except queue.Empty:
            return {"working": round(time.monotonic() - self._began, 1)}
        if not line:
            self._finish()
        event = json.loads(line)
        if "end" in event:
            self.close()
            raise StopIteration
        if "error" in event:
            self.close()
            raise ReportedRefusal(event["status"], event["error"])
        return event

    def result(self) -> Any:
        """The result of the work, for callers that can wait."""
        with contextlib.closing(self):
            for event in self:
                if "result" in event:
                    return event["result"]
        raise RequestRefused(500, f"The {self._kind} ended before it was done.", code="work_failed")

    def close(self) -> None:
        """End the work, whether it is done or not."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            if self._process is not None:
                self._kill(self._process)
        finally:
            if self._said is not None:
                self._log()
            self._ended(self)

    def __del__(self) -> None:  # a client that left before the first event
        with contextlib.suppress(Exception):
            self.close()

    def _start(self) -> None:
        with self._lock:
            if self._closed:
                raise StopIteration
            self._began = time.monotonic()
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the work
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, start_new_session=True
            )
        threading.Thread(target=self._read, args=(self._process,), daemon=True, name="trueup studio work").start()

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        """Hand over the specification, then every line; an empty one is the end."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(self._spec)
            process.stdin.close()
        with contextlib.suppress(OSError, ValueError):
            for line in process.stdout:
                self._lines.put(line)
        self._lines.put(b"")

    def _finish(self) -> None:
        """The process has ended without a last event."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        if self._closed:
            raise StopIteration
        code = self._process.returncode
        log.error("the %s of the studio ended early, with exit code %s", self._kind, code)
        self.close()
        why = (
            "The system ended it, probably because memory was short."
            if code == -signal.SIGKILL
            else "See the studio's log for the reason."
        )
        raise RequestRefused(500, f"The {self._kind} ended before it was done.", code="work_failed", hint=why)

    def _kill(self, process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)  # its group: also all processes that it has started
            else:
                process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _log(self) -> None:
        assert self._said is not None
        with self._said as said:
            size = said.seek(0, os.SEEK_END)
            said.seek(max(0, size - _MOST_SAID))
            text = said.read().decode("utf-8", "replace").strip()
        if text:
            log.warning("the %s of the studio said: %s", self._kind, text)
