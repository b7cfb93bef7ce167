"""Following: reads the journal of a run once; later requests read only new lines, no matter how long the journal is.

It takes a path and returns the state so far. The time of one request is limited: a very long new journal is read over
several requests, and the state says so. A journal that its owner truncated or replaced is read from the start.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.pipeline.rundir.journal import JOURNAL, is_whole, unsealed
from trueup.batch.pipeline.rundir.state import RunState
from trueup.studio.runs.guarding import FAULTS, open_plain

_KEPT = 64  # journals that are kept in memory
_MOST_LINE = 64 << 20
_BETWEEN = 64  # lines between two checks of the clock


class Followed(NamedTuple):
    """A state, and the share of the journal that it covers: 1.0 once all of it was read."""

    state: RunState
    share: float


class _Journal:
    """A journal as far as it was read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self._start_again(0)

    def _start_again(self, inode: int) -> None:
        self._inode, self._at, self._term, self._lines = inode, 0, 0, 0
        self._state = RunState()
        self._fault = ""

    @contextmanager
    def look(self, seconds: float) -> Iterator[Followed]:
        with self._turn:
            yield self._read(seconds)

    def _read(self, seconds: float) -> Followed:
        with open_plain(self._folder, self._folder / JOURNAL) as opened:
            found = os.fstat(opened.fileno())
            if found.st_ino != self._inode or found.st_size < self._at:
                self._start_again(found.st_ino)
            if self._fault:
                raise Damaged(self._fault)
            end = time.monotonic() + seconds
            opened.seek(self._at)
            share = 1.0
            try:
                while self._at < found.st_size:
                    if not self._take(opened.readline(_MOST_LINE)):
                        self._look_behind(opened.readline(_MOST_LINE))
                        break
                    if self._lines % _BETWEEN == 0 and time.monotonic() > end:
                        share = min(1.0, self._at / found.st_size)  # its owner may have written more in the meantime
                        break
            except Damaged as error:
                self._fault = str(error)
                raise
            except FAULTS as error:
                self._fault = f"{JOURNAL}:{self._lines + 1}: not a record of a run ({type(error).__name__})"
                raise Damaged(self._fault) from None
            if not self._state.run and share == 1.0:
                raise Damaged(f"{JOURNAL}: the record of the run's creation is gone")
            return Followed(self._state, share)

    def _take(self, raw: bytes) -> bool:
        """Take a line; False if it is damaged, or not complete yet."""
        record = unsealed(raw)
        if record is None:
            if is_whole(raw) or len(raw) >= _MOST_LINE:
                raise Damaged(self._broken())
            return False
        if record["term"] >= self._term:
            self._state.take(record)
            self._term = record["term"]
        self._at += len(raw)
        self._lines += 1
        return True

    def _look_behind(self, raw: bytes) -> None:
        """A torn line is the last one: its owner cuts it off when it returns."""
        if raw.endswith(b"\n") and (is_whole(raw) or unsealed(raw) is not None):
            raise Damaged(self._broken())

    def _broken(self) -> str:
        return f"{JOURNAL}:{self._lines + 1}: the line was changed or damaged; `trueup repair` works around it"


_journals: "OrderedDict[Path, _Journal]" = OrderedDict()
_turn = threading.Lock()


@contextmanager
def following(folder: Path, seconds: float = 2.0) -> Iterator[Followed]:
    """The state of a run from its current journal; it does not change until the end of the block.

    Reading stops after that many seconds, and continues at the next request.
    """
    with _turn:
        journal = _journals.pop(folder, None) or _Journal(folder)
        _journals[folder] = journal
        while len(_journals) > _KEPT:
            _journals.popitem(last=False)
    with journal.look(seconds) as found:
        yield found
