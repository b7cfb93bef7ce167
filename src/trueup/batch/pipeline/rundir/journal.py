"""The journal of a run: its events, one line each, never changed. Everything else can be computed from it.

A record is on the disk when `commit` returns. Each line has its number, the term of its owner and a checksum. An incomplete last
line is cut off; a damaged line in the middle is refused with its place. Times are for people, and decide nothing.
"""

import threading
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from trueup.batch.pipeline.rundir.disk import Appender, Damaged, Disk, decode, encode
from trueup.batch.pipeline.rundir.lock import Lock

JOURNAL = "journal.jsonl"
Record = dict[str, Any]


class Journal:
    """The journal of a run, opened by its owner."""

    def __init__(self, folder: Path, disk: Disk, lock: Lock, number: int) -> None:
        self._lock = lock
        self._number = number
        self._file = Appender(folder / JOURNAL, disk)
        self._turn = threading.Lock()

    def note(self, kind: str, **fact: Any) -> Record:
        """Append a record that survives the process, but may be lost if the machine crashes."""
        with self._turn:
            self._lock.check()
            record = {"n": self._number, "term": self._lock.term, "at": now(), "kind": kind, **fact}
            self._file.append(sealed(record))
            self._number += 1
        return record

    def commit(self, kind: str, **fact: Any) -> Record:
        """Append a record and wait until it, and everything before it, is durable."""
        record = self.note(kind, **fact)
        self._file.sync()
        return record

    def close(self) -> None:
        self._file.close()


def now() -> str:
    """The time, for people to read."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def sealed(record: Mapping[str, Any]) -> bytes:
    """A record as a line that ends with its checksum.

    >>> sealed({"n": 1})
    b'{"n":1,"sum":3561700222}\\n'
    """
    body = encode(record)
    return b'%s,"sum":%d}\n' % (body[:-1], zlib.crc32(body))


def unsealed(raw: bytes) -> Record | None:
    """The record of a line, or None if the line is damaged."""
    body, mark, rest = raw.rpartition(b',"sum":')
    if not mark or not rest.endswith(b"}\n") or not rest[:-2].isdigit():
        return None
    body += b"}"
    if zlib.crc32(body) != int(rest[:-2]):
        return None
    try:
        found = decode(body)
    except msgspec.MsgspecError:
        return None
    return found if isinstance(found, dict) else None


def read_journal(folder: Path, *, salvage: bool = False) -> Iterator[Record]:
    """Every valid record, in order. An incomplete last line is skipped, and so are records that an owner wrote after it was
    replaced.

    A damaged line is refused, even the last one if it is complete; with `salvage` it is skipped instead.
    """
    path = folder / JOURNAL
    term, bad = 0, 0
    with path.open("rb") as opened:
        for number, raw in enumerate(opened, 1):
            record = unsealed(raw)
            if record is None:
                bad = bad or number
            if bad and not salvage and (record is not None or is_whole(raw)):
                raise Damaged(f"{path}:{bad}: the line was changed or damaged; `trueup repair` works around it")
            if record is None:
                continue
            if record["term"] < term:
                continue
            term = record["term"]
            yield record


def is_whole(raw: bytes) -> bool:
    """Whether a line is complete JSON; an incomplete line never is."""
    try:
        return raw.endswith(b"\n") and isinstance(decode(raw), dict)
    except (ValueError, RecursionError):
        return False
