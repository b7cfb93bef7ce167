"""The access log and the verdict log: writes each event as one whole line, to a file or to stdout.

Lines are written by a thread, so that no request waits for a disk. Several workers may write to one file: each line is
one complete write. A file that was moved away is opened again. Text from a client or a model cannot start a new line.
If the disk is too slow or full, lines are dropped and counted, and the log says how many.
"""

import json
import logging
import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from trueup.gateway.config import Logs
from trueup.gateway.watching.metrics import Metrics
from trueup.watch.lines import visible

log = logging.getLogger("trueup.gateway")

Fields = Mapping[str, Any]
Event = Callable[[], Fields]
STDOUT = "-"
LONGEST = 4096  # bytes of a line: what a pipe takes as one piece
_MOST = 10_000  # lines that may wait
_LINGER = 0.02  # seconds in which more lines may come
_BATCH = 65_536


class LogWriter:
    """One log: events are queued, and its thread writes them as lines."""

    def __init__(self, path: str, form: str, dropped: Callable[[int], object]) -> None:
        self._path, self._form, self._dropped = path, form, dropped
        self._waiting: deque[Event] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._torn = False
        self._lost = 0
        self._open()
        self._thread = threading.Thread(target=self._run, name="trueup-log", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Write the line of an event soon."""
        if len(self._waiting) >= _MOST:
            self._lost += 1
            return
        self._waiting.append(event)
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write what is queued, then stop."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        self._write(self._taken())  # what arrived while it ended
        if self._path != STDOUT:
            os.close(self._file)

    def _open(self) -> None:
        self._file = 1 if self._path == STDOUT else _opened(self._path)
        found = os.fstat(self._file)
        self._is_file = stat.S_ISREG(found.st_mode)
        self._identity = (found.st_dev, found.st_ino)

    def _run(self) -> None:
        while not self._closing or self._waiting:
            self._wake.wait()
            self._wake.clear()
            if not self._closing:
                threading.Event().wait(_LINGER)
            try:
                self._write(self._taken())
            except Exception:  # a line that cannot be written must not end the log
                log.exception("a line of the log could not be written")

    def _taken(self) -> list[bytes]:
        found = []
        while self._waiting:
            found.append(line_of(self._waiting.popleft()(), self._form))
        lost, self._lost = self._lost, 0
        if lost:
            self._dropped(lost)
            found.append(line_of({"event": "dropped", "lines": lost}, self._form))
        return found

    def _write(self, lines: list[bytes]) -> None:
        if self._path != STDOUT:
            self._follow()
        at = 0
        while at < len(lines):
            size, end = 0, at
            while end < len(lines) and (end == at or (self._is_file and size + len(lines[end]) <= _BATCH)):
                size += len(lines[end])
                end += 1
            if not self._put_out(b"".join(lines[at:end])):
                self._dropped(end - at)
            at = end

    def _put_out(self, piece: bytes) -> bool:
        """Append whole lines; False if the system took none or not all of them."""
        try:
            written = os.write(self._file, b"\n" + piece if self._torn else piece)
        except OSError as error:
            log.error("%s: %s", self._path, error.strerror)  # noqa: TRY400 - the sentence says it all
            return False
        self._torn = written < len(piece)
        return not self._torn

    def _follow(self) -> None:
        """Open the file again if it was moved away."""
        try:
            found = Path(self._path).stat()
            if (found.st_dev, found.st_ino) == self._identity:
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            log.error("%s: %s", self._path, error.strerror)  # noqa: TRY400 - as above
            return
        try:
            before = self._file
            self._open()
            os.close(before)
        except OSError as error:
            log.error("%s cannot be opened again: %s", self._path, error.strerror)  # noqa: TRY400


class LogBook:
    """The logs of one worker, according to its configuration; None for a log that is off."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._logs = Logs()
        self.access: LogWriter | None = None
        self.verdicts: LogWriter | None = None

    def follow(self, logs: Logs) -> None:
        """Write with these settings from now on; a file that cannot be opened raises OSError, and nothing changes."""
        if logs == self._logs:
            return
        before = (self.access, self.verdicts)
        access = self._made("access", logs)
        try:
            verdicts = self._made("verdicts", logs)
        except OSError:
            if access is not None:
                access.close()
            raise
        self._logs, self.access, self.verdicts = logs, access, verdicts
        for lines in before:
            if lines is not None:
                lines.close()

    def close(self) -> None:
        """Write what is queued."""
        self.follow(Logs())

    def _made(self, name: str, logs: Logs) -> LogWriter | None:
        path = getattr(logs, name)
        if not path:
            return None
        return LogWriter(path, logs.format, lambda n: self._metrics.count("trueup_log_dropped_total", n, log=name))


def line_of(fields: Fields, form: str) -> bytes:
    r"""Fields as one printable line: JSON, or `name=value` pairs.

    >>> line_of({"model": "m\n2026 forged", "status": 200, "tenant": ""}, "json")
    b'{"model":"m\\n2026 forged","status":200}\n'
    >>> line_of({"at": "2026-11-17T13:00:00.000Z", "model": "a b", "status": 200}, "text")
    b'2026-11-17T13:00:00.000Z model="a b" status=200\n'
    """
    known = {name: value for name, value in fields.items() if value not in ("", None)}
    line = _written(known, form)
    if len(line) >= LONGEST:
        line = _written({name: _short(value) for name, value in known.items()}, form)
    return line + b"\n"


def _written(fields: Fields, form: str) -> bytes:
    if form == "json":
        try:
            line = orjson.dumps(fields)
        except TypeError:  # half a surrogate pair
            text = _dump(fields)
        else:
            if line.isascii() and b"\x7f" not in line:
                return line  # every other control character is escaped
            text = line.decode()
    else:
        at = fields.get("at", "")
        pairs = (f"{name}={_plain(value)}" for name, value in fields.items() if name != "at")
        text = " ".join([at, *pairs] if at else pairs)
    return visible(text).encode("utf-8")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _plain(value: Any) -> str:
    """A value unchanged if it is one plain word, otherwise as JSON."""
    is_plain = isinstance(value, str) and value.isalnum() and value.isascii()
    return value if is_plain else _dump(value)


def _short(value: Any) -> Any:
    """A shortened value of a line that is too long."""
    if isinstance(value, str):
        return value if len(value) <= 100 else value[:99] + "…"
    if isinstance(value, list):
        return [each.get("code") if isinstance(each, dict) else _short(each) for each in value[:50]]
    return value


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o640)
