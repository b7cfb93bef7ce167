"""Joins two streams of units by id, in any order and of any length, with bounded memory.

Takes one mark for each unit: a hash of its id, its outcome, a digest, and the place of its record. Marks are written to files by
hash, and the files are joined pair by pair. The n-th unit with an id is joined with the n-th one on the other side.
"""

import struct
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from trueup.batch.disk.full_disk import writing

_MARK = struct.Struct("<16sB16sIQ")
_KEY = 16
_AT_ONCE = 16 << 20  # bytes of marks that wait to be written
PART = 32 << 20  # bytes of records whose marks are joined together
_MOST = 4096


class Mark(NamedTuple):
    """A unit of one side: whether it failed, a digest of its value or its errors, and the place of its record."""

    failed: bool
    digest: bytes
    piece: int
    place: int


def digest_of(text: bytes) -> bytes:
    """A digest of sixteen bytes for a text."""
    return blake2b(text, digest_size=_KEY).digest()


def parts_for(size: int) -> int:
    """The number of files for the marks of `size` bytes of records."""
    return max(1, min(_MOST, size // PART + 1))


class Spill:
    """The marks of one side, in files by the hash of the id."""

    def __init__(self, folder: Path, parts: int) -> None:
        self._folder = folder
        self._parts = parts
        self._waiting: dict[int, bytearray] = {}
        self._size = 0
        folder.mkdir()

    def add(self, unit_id: str, mark: Mark) -> None:
        """Add the mark of a unit."""
        key = digest_of(unit_id.encode("utf-8", "surrogatepass"))
        at = int.from_bytes(key[:4], "big") % self._parts
        self._waiting.setdefault(at, bytearray()).extend(_MARK.pack(key, mark.failed, *mark[1:]))
        self._size += _MARK.size
        if self._size >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the queued marks."""
        for at, marks in self._waiting.items():
            path = self._path(at)
            with writing(path), path.open("ab") as opened:
                opened.write(marks)
        self._waiting.clear()
        self._size = 0

    def part(self, at: int) -> Iterator[tuple[bytes, bytes]]:
        """The marks of one file in order: the hash of the id, and the rest."""
        path = self._path(at)
        if not path.exists():
            return
        with path.open("rb") as opened:
            while block := opened.read(_MARK.size * 4096):
                for start in range(0, len(block), _MARK.size):
                    yield block[start : start + _KEY], block[start + _KEY : start + _MARK.size]

    def _path(self, at: int) -> Path:
        return self._folder / f"{at:04d}"


def joined(left: Spill, right: Spill, parts: int) -> Iterator[tuple[Mark | None, Mark | None]]:
    """Every unit of either side, with the unit of the same id on the other side or None."""
    left.flush()
    right.flush()
    for at in range(parts):
        yield from _join(left.part(at), right.part(at))


def _join(
    left: Iterator[tuple[bytes, bytes]], right: Iterator[tuple[bytes, bytes]]
) -> Iterator[tuple[Mark | None, Mark | None]]:
    size = _MARK.size - _KEY
    waiting: dict[bytes, bytes] = {}
    for key, rest in left:
        waiting[key] = waiting.get(key, b"") + rest
    for key, rest in right:
        marks = waiting.get(key, b"")
        if not marks:
            yield None, _mark(rest)
            continue
        yield _mark(marks[:size]), _mark(rest)
        waiting[key] = marks[size:]
    for marks in waiting.values():
        for start in range(0, len(marks), size):
            yield _mark(marks[start : start + size]), None


def _mark(rest: bytes) -> Mark:
    _, failed, digest, piece, place = _MARK.unpack(bytes(_KEY) + rest)
    return Mark(bool(failed), digest, piece, place)
