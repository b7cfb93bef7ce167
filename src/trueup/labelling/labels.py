"""Read and write labels in JSONL files and in the store. When a write returns, the label is on disk.

Each line is one label, with the non-empty fields of `Label`. `read_labels` reads them back; it is the function from
`material`, so everything that reads replies with labels can read these files.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from trueup.material.case import Label
from trueup.material.labels import BadLabels, is_torn, read_labels
from trueup.store.store import Store

__all__ = ["BadLabels", "LabelFile", "LabelStore", "Sink", "labels_of", "line_of", "read_labels", "write_labels"]

_BLOCK = 65_536


class Sink(Protocol):
    """The destination of labels."""

    name: str

    def write(self, label: Label) -> None:
        """Store a label durably."""


def line_of(label: Label) -> bytes:
    """A label as a line of JSON, without empty fields.

    >>> line_of(Label("1", "right", "ada"))
    b'{"verdict":"1","outcome":"right","author":"ada"}'
    """
    row = {
        name: value for name, value in msgspec.structs.asdict(label).items() if value or name in ("verdict", "outcome")
    }
    try:
        return msgspec.json.encode(row)
    except (UnicodeEncodeError, ValueError):  # lone surrogates cannot be encoded
        import json

        return json.dumps(row, separators=(",", ":")).encode()


class LabelFile:
    """A file that labels are appended to."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)

    def write(self, label: Label) -> None:
        """Append a label, after removing a line that a crash left incomplete. Several people may write to one file."""
        with self.path.open("ab+") as file, _locked(file):
            _mend(file)
            file.write(line_of(label) + b"\n")
            file.flush()
            os.fsync(file.fileno())


@contextlib.contextmanager
def _locked(file: BinaryIO) -> Iterator[None]:
    """Keep other writers out. If files cannot be locked, one line is still one write."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
    except (ImportError, OSError):
        pass
    yield  # closing the file unlocks it


def _mend(file: BinaryIO) -> None:
    """End the last line of a file, or remove it if it is incomplete."""
    size = at = file.seek(0, os.SEEK_END)
    tail = b""
    while at and b"\n" not in tail:
        at = max(0, at - _BLOCK)
        file.seek(at)
        tail = file.read(size - at)
    last = tail.rpartition(b"\n")[2]
    if not last:
        return
    if is_torn(last):
        file.truncate(size - len(last))
    else:
        file.write(b"\n")


class LabelStore:
    """A `store` in which labels are recorded as feedback."""

    def __init__(self, store: Store) -> None:
        self.store = store
        """The store."""
        self.name = store.where
        """The location of the store."""

    def write(self, label: Label) -> None:
        """Record a `label`. A label about a missing verdict raises `UnknownVerdict`."""
        said: dict[str, Any] = {"outcome": label.outcome} if label.outcome != "comment" else {}
        self.store.record_feedback(
            label.verdict, note=label.note, user=label.author, subject=label.subject, drawn=label.drawn, **said
        )


def labels_of(path: str | Path) -> Iterator[Label]:
    """The labels in the file at `path`, without those that their author has replaced."""
    for labels in read_labels([path]).values():
        yield from labels


def write_labels(path: str | Path, labels: Iterable[Label]) -> int:
    """Write `labels` to a new file at `path`, and return their number. The file appears complete or not at all.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.jsonl"
    >>> write_labels(file, [Label("1", "right", "ada")]), [label.author for label in labels_of(file)]
    (1, ['ada'])
    """
    path = Path(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    n = 0
    try:
        with beside.open("wb") as file:
            for label in labels:
                n += 1
                file.write(line_of(label) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return n
