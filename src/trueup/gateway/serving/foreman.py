"""The parent of several workers: reports when all of them serve, and passes on reloads, whichever server runs them.

A worker that has written its id to its place on the board (`board.py`) serves requests and handles signals. The file is read
here first, so that a fault is reported once and does not disturb the workers.
"""

import contextlib
import logging
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from trueup.gateway.config import Config
from trueup.gateway.serving.reloading import NotUsable, Read, report, taken_over, terminal_is_gone
from trueup.gateway.watching.board import Board, Series, living
from trueup.gateway.watching.metrics import RELOAD_FAILURES

log = logging.getLogger("trueup.gateway")

_LOOK = 0.02  # seconds between two checks while workers start


class Foreman:
    """Watches the workers of one gateway from a thread of the parent."""

    def __init__(self, config: Config, folder: Path, read: Read, listening: Callable[[], object]) -> None:
        self._config, self._folder, self._read = config, folder, read
        self._listening = listening
        self._wishes: queue.SimpleQueue[bool] = queue.SimpleQueue()  # a signal's handler may use it at any moment
        self.ended = threading.Event()
        self.is_up = False  # every worker serves requests
        self.stopped = False  # a signal asked to stop
        self._thread = threading.Thread(target=self._run, name="trueup-foreman", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self.ended.set()
        self._wishes.put(item=False)
        self._thread.join(5)

    def want_reload(self) -> None:
        """Reload soon; may be called from a signal's handler."""
        self._wishes.put(item=True)

    def reload(self) -> None:
        """Read the configuration, and let every worker adopt it if it is usable."""
        if terminal_is_gone():
            os.kill(os.getpid(), signal.SIGTERM)
            return
        try:
            self._config = taken_over(self._config, self._read())
        except NotUsable as error:
            report(error)
            self._count_failure()
            return
        workers = living(self._folder)
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGHUP)
        log.info("the changed configuration was passed to %d workers", len(workers))

    def _run(self) -> None:
        while not self.ended.wait(_LOOK):
            if len(living(self._folder)) >= self._config.workers and _answers(self._config.host, self._config.port):
                self.is_up = True
                self._listening()
                break
        while self._wishes.get():
            while not self._wishes.empty() and not self.ended.is_set():  # several requests together count as one
                self._wishes.get()
            if not self.ended.is_set():
                self._safely()

    def _safely(self) -> None:
        try:
            self.reload()
        except Exception:  # after any error, the workers keep serving, and the next reload is handled
            log.exception("the configuration could not be read")

    def _count_failure(self) -> None:
        board = Board(self._folder)
        place = board.place(Series("counter", RELOAD_FAILURES))
        if place is not None:
            board.cells[place] += 1
        board.close()


def _answers(host: str, port: int) -> bool:
    """Whether a server accepts connections there."""
    where = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    try:
        socket.create_connection((where, port), 1).close()
    except OSError:
        return False
    return True
