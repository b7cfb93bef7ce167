"""Guarding: opens only plain files inside a run directory, which anybody may have made.

Links, pipes and names that lead outside are refused as `Damaged`, as is a file too large to read for one page. Data for
the page are bounded too: texts are cut, and numbers are finite.
"""

import math
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Damaged, read_records
from trueup.batch.pipeline.rundir.state import Chunk, RunState

FAULTS = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""The exceptions that reading a damaged run may raise; `Damaged` and the errors of msgspec are among them."""

MOST_FILE = 512 << 20  # bytes of a file that is read completely
_MOST_TEXT = 2000
_MOST_ROWS = 1000
_SAFE_NUMBER = 1 << 53
_CHUNK = re.compile(r"(chunk|retry)_[0-9]{1,12}")
_STEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CONFIG = re.compile(r"[\w.-]{1,100}")


def open_plain(root: Path, file: Path) -> BinaryIO:
    """Open a file of a run; one that is a link, a pipe or outside `root` is refused."""
    if not file.parent.resolve().is_relative_to(root.resolve()):
        raise Damaged(f"{file.name} leads out of the folder")
    handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Damaged(f"{file.name} is not a plain file")
    return os.fdopen(handle, "rb")


def check_plain(root: Path, file: Path, most: int = MOST_FILE) -> None:
    """The same check for a file that other code will open; it may be missing, but not very large."""
    try:
        with open_plain(root, file) as opened:
            size = os.fstat(opened.fileno()).st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise Damaged(f"{file.name}: {error.strerror}") from None
    if size > most:
        raise Damaged(f"{file.name} has {size >> 20:,} MB, too many to read for one page")


class GuardedRun(RunDir):
    """A run directory in which every file is checked before it is opened."""

    def __init__(self, path: Path, state: RunState) -> None:
        super().__init__(path, state)
        if not _CONFIG.fullmatch(str(state.run.get("config", "config.yaml"))):
            raise Damaged("the name of its configuration is not one of trueup's names")

    def folder(self, chunk: str) -> Path:
        if not _CHUNK.fullmatch(chunk):
            raise Damaged(f"{chunk[:80]!r} is not the name of a chunk")
        folder = super().folder(chunk)
        check_plain(self.path, folder / "units.jsonl")
        check_plain(self.path, folder / "retries.jsonl")
        return folder

    def file(self, chunk: str, step: str, kind: str) -> Path:
        if not _STEP.fullmatch(step):
            raise Damaged(f"{step[:80]!r} is not the name of a step")
        file = super().file(chunk, step, kind)
        check_plain(self.path, file)
        return file

    def units(self, chunk: Chunk, index: int) -> Iterator[dict[str, Any]]:
        file = self.folder(chunk.name) / self.state.source_of(chunk, index)
        check_plain(self.path, file)
        yield from read_records(file)


def cut(text: str, most: int = _MOST_TEXT) -> str:
    """A text of bounded length."""
    return text if len(text) <= most else f"{text[:most]}…"


def bounded(value: Any, depth: int = 8) -> Any:
    """Data that any page can show: texts and long lists are cut, numbers are finite."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < _SAFE_NUMBER else None
    if not depth:
        return None
    if isinstance(value, dict):
        return {
            cut(str(key), 200): bounded(each, depth - 1) for key, each in list(value.items())[:_MOST_ROWS]
        }  # fmt: skip
    if isinstance(value, list | tuple):
        return [bounded(each, depth - 1) for each in value[:_MOST_ROWS]]
    return value if value is None or isinstance(value, bool) else cut(str(value))
