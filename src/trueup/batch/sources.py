"""Sources: what a user names becomes files that can be read from any place: JSONL as it is, the rest spooled beside the run.

Plain files and addresses of a file system that fsspec knows are read where they are. `.gz`, `.zst`, standard input and what comes by
HTTP, where many servers give nothing but the whole, are written once into the run's folder. No name that leaves here carries a
password.
"""

import gzip
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from trueup.batch.tally import writable

_CHUNK = 1 << 20
_EDGE = 65_536
STDIN = "-"
_WHOLE = ("http://", "https://")  # read from the first byte to the last, once
_PASSWORD = re.compile(r"//[^/@\s]*@")


class Unreadable(ValueError):
    """A source cannot be read: says which and why."""


class Source(NamedTuple):
    """One file of lines: where it is read, what it is called, how long it is, and what tells it from another."""

    path: str
    name: str
    size: int
    mark: str

    def open(self) -> BinaryIO:
        """Open it for reading from any place."""
        if "://" in self.path:
            return cast("BinaryIO", _fsspec(self.path).open(self.path, "rb"))
        return Path(self.path).open("rb")


def open_sources(given: list[str], spool: Path, stdin: BinaryIO | None = None) -> list[Source]:
    """The sources behind names, in order; what must be spooled is spooled, or found spooled already."""
    if given.count(STDIN) > 1:
        raise Unreadable("standard input ('-') can be named once")
    names = _names(given)
    sources = []
    for index, (path, name) in enumerate(zip(given, names, strict=True)):
        target = spool / f"{index:04d}.jsonl"
        try:
            sources.append(_source(path, name, target, stdin))
        except FileNotFoundError as error:
            raise Unreadable(f"{shown(path)}: {_absent(error)}") from None
        except IsADirectoryError:
            raise Unreadable(f"{shown(path)}: that is a directory; name its files") from None
        except (OSError, EOFError, zlib.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            where = name if path == STDIN else shown(path)
            raise Unreadable(f"{where}: cannot be read: {shown(reason)}") from None
        except Unreadable:
            raise
        except Exception as error:
            if "://" not in path:
                raise
            raise Unreadable(
                f"{shown(path)}: cannot be read: {type(error).__name__}"
            ) from None  # its text may hold a key
    return sources


def _absent(error: FileNotFoundError) -> str:
    """Why there is no file; what fsspec takes for none at an address may be a server that refuses, or is not there."""
    cause = error.__cause__ or error.__context__
    status = getattr(cause, "status", None)
    if isinstance(status, int) and status not in (404, 410):
        return f"cannot be read: the server answered {status}"
    if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
        return "cannot be read: the server cannot be reached"
    return "there is no such file"


def changed(source: Source) -> bool:
    """Whether a file that is read where it is has changed since the run began."""
    try:
        return _mark(source.path) != source.mark if not source.mark.startswith("spool ") else False
    except OSError:
        return True


def shown(path: str) -> str:
    """A path or an address without the password that may be in it.

    >>> shown("s3://key:secret@bucket/a.jsonl?sig=1")
    's3://bucket/a.jsonl'
    """
    clean = _PASSWORD.sub("//", path)
    return clean.partition("?")[0] if "://" in clean else clean


def _source(path: str, name: str, target: Path, stdin: BinaryIO | None) -> Source:
    if path == STDIN:
        return _from_stream(target, stdin, "stdin")
    if "://" not in path and not Path(path).is_dir() and not stat.S_ISREG(Path(path).stat().st_mode):
        with Path(path).open("rb") as pipe:
            return _from_stream(target, pipe, name)
    packed = _packing(path)
    if not packed and not path.startswith(_WHOLE):
        mark = _mark(path)
        return Source(path, name, _size(path), mark)
    mark = f"spool {_mark(path)}"
    note = target.with_suffix(".mark")
    if not (target.exists() and note.exists() and note.read_text("utf-8") == mark):
        _spool(_unpacked(path, packed), target)
        note.write_text(mark, "utf-8")
    return Source(str(target), name, target.stat().st_size, mark)


def _from_stream(target: Path, stream: BinaryIO | None, name: str) -> Source:
    """What can be read once; of a run under way, the same again, or nothing where it was all read before."""
    if not target.exists():
        if stream is None:
            raise Unreadable(f"{name} was not read to its end before; pipe it in again")
        _spool(_chunks(stream), target)
    elif stream is not None and not _same(stream, target):
        raise Unreadable(f"{name} is not what this run began with; choose another --out, or --fresh")
    digest = hashlib.blake2b(digest_size=16)
    with target.open("rb") as opened:
        for chunk in _chunks(opened):
            digest.update(chunk)
    return Source(str(target), name, target.stat().st_size, f"spool {digest.hexdigest()}")


def _same(stdin: BinaryIO, target: Path) -> bool:
    """Whether a stream gives what was spooled; nothing at all counts as the same."""
    size = 0
    with target.open("rb") as kept:
        for chunk in _chunks(stdin):
            size += len(chunk)
            if kept.read(len(chunk)) != chunk:
                return False
        return not size or not kept.read(1)


def _spool(chunks: Iterator[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_suffix(f".{os.getpid()}.tmp")
    try:
        with beside.open("wb") as opened:
            for chunk in chunks:
                opened.write(chunk)
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _chunks(opened: BinaryIO) -> Iterator[bytes]:
    while chunk := opened.read(_CHUNK):
        yield chunk


def _packing(path: str) -> str:
    end = shown(path).lower()
    return next((kind for kind in (".gz", ".zst") if end.endswith(kind)), "")


def _unpacked(path: str, packing: str) -> Iterator[bytes]:
    with _raw(path) as raw:
        if not packing:
            yield from _chunks(raw)
            return
        if packing == ".gz":
            with gzip.GzipFile(fileobj=raw) as opened:
                yield from _chunks(cast("BinaryIO", opened))
            return
        try:
            import zstandard
        except ImportError:
            raise Unreadable(f"{shown(path)}: .zst needs a package: pip install 'trueup[sift]'") from None
        try:
            with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as opened:
                yield from _chunks(cast("BinaryIO", opened))
        except zstandard.ZstdError as error:
            raise Unreadable(f"{shown(path)}: cannot be read: {error}") from None


def _raw(path: str) -> BinaryIO:
    if path.startswith(_WHOLE):
        return cast("BinaryIO", _fsspec(path).open(path, "rb", block_size=0))  # a stream: no part is asked for
    return cast("BinaryIO", _fsspec(path).open(path, "rb")) if "://" in path else Path(path).open("rb")


def _fsspec(path: str) -> Any:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise Unreadable(f"{shown(path)}: addresses need a package: pip install 'trueup[sift]'") from None
    try:
        return fsspec.core.url_to_fs(path)[0]
    except (ImportError, ValueError) as error:
        raise Unreadable(f"{shown(path)}: {shown(str(error))}") from None


def _size(path: str) -> int:
    return int(_fsspec(path).size(path)) if "://" in path else Path(path).stat().st_size


def _mark(path: str) -> str:
    """What tells a file from another one, or from itself after a change: size, time, first and last bytes."""
    if "://" in path:
        return hashlib.blake2b(repr(_fsspec(path).ukey(path)).encode(), digest_size=16).hexdigest()
    with Path(path).open("rb") as opened:
        about = os.fstat(opened.fileno())
        digest = hashlib.blake2b(f"{about.st_size} {about.st_mtime_ns} ".encode(), digest_size=16)
        digest.update(opened.read(_EDGE))
        opened.seek(max(0, about.st_size - _EDGE))
        digest.update(opened.read(_EDGE))
    return digest.hexdigest()


def _names(given: list[str]) -> list[str]:
    """Short names where they tell the files apart, else as given, never with a password."""
    short = [shown(path).rstrip("/").rpartition("/")[2] or path for path in given]
    return [writable(name if short.count(name) == 1 else shown(path)) for name, path in zip(short, given, strict=True)]
