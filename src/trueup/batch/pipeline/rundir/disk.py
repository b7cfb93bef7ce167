"""The one module that writes to the disk: puts whole files in place, appends lines, repairs ends, and syncs everything.

After a crash, either all of the bytes are there or none. A full disk is `DiskFull`, and partly written bytes are removed. A line
without its end is cut off before anything is appended, and kept beside the file.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from trueup.batch.disk.full_disk import DiskFull, writing

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_BLOCK = 1 << 20
MOST_LINE = 256 << 20  # bytes of one line


def decode(raw: bytes) -> Any:
    """A line of JSON. Lone surrogates, which a model may write and most readers refuse, stay unchanged."""
    try:
        return _decode(raw)
    except msgspec.DecodeError:
        if b"\\ud" not in raw and b"\\uD" not in raw:
            raise
        return json.loads(raw)


class Damaged(ValueError):
    """A file of the run is damaged or was changed. The message says which, where, and what to do."""


class Disk:
    """All system calls that change something, in one place, so that a test can break each of them."""

    def write(self, handle: int, data: bytes | memoryview) -> int:
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    # Built on the above ------------------------------------------------------------------------------------------

    def write_all(self, handle: int, data: bytes, start: int | None = None) -> None:
        """Write every byte, or raise with the file as before, `start` bytes long."""
        start = os.fstat(handle).st_size if start is None else start
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self.write(handle, rest) :]
        except OSError:
            self.truncate(handle, start)
            raise

    def put(self, path: Path, chunks: Iterable[bytes]) -> None:
        """Put a whole file in place: after a crash, either the old file is there or all of the new one."""
        self.place(path, chunks)
        with writing(path):
            self.sync_folder(path.parent)

    def place(self, path: Path, chunks: Iterable[bytes]) -> None:
        """The same without syncing the folder: `sync_folder` makes the names of several files durable together."""
        beside = path.with_name(f".{path.name}.new")
        with writing(path):
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                self._write_chunks(handle, chunks)
            except OSError:
                self.remove(beside)
                raise
            finally:
                os.close(handle)
            self.replace(beside, path)

    def _write_chunks(self, handle: int, chunks: Iterable[bytes]) -> None:
        pending: list[bytes] = []
        held = 0
        for chunk in chunks:
            pending.append(chunk)
            held += len(chunk)
            if held >= _BLOCK:
                self.write_all(handle, b"".join(pending))
                pending, held = [], 0
        self.write_all(handle, b"".join(pending))
        self.sync(handle)

    def sync_folder(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.sync(handle)
        finally:
            os.close(handle)

    def mend(self, path: Path) -> bytes:
        """Cut off an incomplete line at the end of a file, keep it in a file beside it, and return it."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            size = os.fstat(handle).st_size
            good = _good_size(handle, size)
            if good == size:
                return b""
            torn = os.pread(handle, min(size - good, MOST_LINE), good)
            beside = os.open(path.with_name(f"{path.name}.torn"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                with writing(path):
                    self.write_all(beside, torn + b"\n")
            except DiskFull:
                pass  # an incomplete line is not a record; keeping it is a courtesy
            finally:
                os.close(beside)
            self.truncate(handle, good)
            self.sync(handle)
            return torn
        finally:
            os.close(handle)


class Appender:
    """A file of lines that only grows. Opening it repairs its end. It may be synced and closed from different threads."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._disk = disk
        self.torn = disk.mend(path)
        fresh = not path.exists()
        with writing(path):
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._handle).st_size
        self._turn = threading.Lock()
        try:
            if fresh:
                with writing(path):
                    disk.sync_folder(path.parent)
        except BaseException:
            self.close()
            raise

    def append(self, data: bytes) -> None:
        """Write one or more whole lines: they survive the end of this process, but not yet a crash of the machine."""
        with writing(self.path):
            self._disk.write_all(self._handle, data, self._size)
        self._size += len(data)

    def sync(self) -> None:
        """Make the appended lines survive a crash of the machine. If the file was closed, closing it did that."""
        with self._turn:
            if self._handle >= 0:
                with writing(self.path):
                    self._disk.sync(self._handle)

    def close(self) -> None:
        with self._turn:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1


def _good_size(handle: int, size: int) -> int:
    """How many bytes of a file are whole lines. A last line that is not JSON counts as incomplete."""
    good = _line_end(handle, size)
    while good:
        start = _line_end(handle, good - 1)
        try:
            decode(os.pread(handle, good - start, start))
        except (ValueError, RecursionError):
            good = start
            continue
        break
    return good


def _line_end(handle: int, size: int) -> int:
    """The position after the last line end before `size`."""
    at = size
    while at > 0:
        start = max(at - _BLOCK, 0)
        found = os.pread(handle, at - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


def line(record: Any) -> bytes:
    """One record as a line of JSON, with any text."""
    try:
        return encode(record) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def read_lines(path: Path, *, tail: bool = False) -> Iterator[Any]:
    """The records of a file of lines; a missing file has none. With `tail`, an incomplete last line is skipped."""
    try:
        opened = path.open("rb")
    except FileNotFoundError:
        return
    with opened:
        for number, raw in enumerate(opened, 1):
            if not raw.strip():
                continue
            try:
                yield decode(raw)
            except (ValueError, RecursionError) as error:
                if tail and not opened.read(1):
                    return
                raise Damaged(f"{path}:{number}: not a line of JSON ({error}); try `trueup repair`") from None


def is_record(row: Any) -> bool:
    """Whether a row names its unit, as all rows in the files of a chunk do."""
    return isinstance(row, dict) and isinstance(row.get("unit_id"), str)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a chunk's file. A row without the name of a unit is not one of them."""
    for number, row in enumerate(read_lines(path), 1):
        if not is_record(row):
            raise Damaged(f"{path}: row {number} names no unit; try `trueup repair`")
        yield row
