"""Sources: what a user names becomes files that can be read from any place: lines and tables as they are, the rest spooled.

Plain files and addresses of a file system that fsspec knows are read where they are. `.gz`, `.zst`, standard input, CSV in another
encoding and what comes by HTTP, where many servers give nothing but the whole, are written once into the run's folder. A folder or a
pattern stands for the files in it. No name that leaves here carries a password.
"""

import codecs
import errno
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from trueup.batch.counting.groups import writable
from trueup.batch.input.folders import BadFolder, File, files_of
from trueup.batch.input.ranges import Long, Range, Spoiled, lines_of
from trueup.batch.tables.kinds import kind_of
from trueup.batch.tables.rows import Columns, renamed
from trueup.batch.tables.table import BadTable, Table
from trueup.verdict.extras import install

_CHUNK = 1 << 20
_EDGE = 65_536
STDIN = "-"
_WHOLE = ("http://", "https://")  # read from the first byte to the last, once
_PASSWORD = re.compile(r"//[^/@\s]*@")


class Unreadable(ValueError):
    """A source cannot be read: says which and why."""


class Form(NamedTuple):
    """How files are read: the columns of tables that a user named, the encoding of CSV files, and how long a line may be."""

    columns: Columns = Columns()
    encoding: str = "utf-8"
    max_line: int = 8 << 20


class _AtAddress(io.RawIOBase):
    """A file at an address. An `OSError` that it raises has a number: without one it would be taken for damage in the file."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._opened.seek(offset, whence))

    def tell(self) -> int:
        return int(self._opened.tell())

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._opened.read(len(buffer))
        except OSError as error:
            if type(error) is not OSError or error.errno is not None:
                raise
            raise OSError(errno.EIO, str(error)) from error
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        try:
            self._opened.close()
        finally:
            super().close()


class Source(NamedTuple):
    """One file: where it is read, what it is called, how long it is, what tells it from another, and what is in it if not lines."""

    path: str
    name: str
    size: int
    mark: str
    table: Table | None = None
    columns: Columns = Columns()

    def open(self) -> BinaryIO:
        """Open it for reading from any place."""
        if "://" in self.path:
            opened = _AtAddress(_fsspec(self.path).open(self.path, "rb"))
            return cast("BinaryIO", io.BufferedReader(opened, _CHUNK))  # its own `readline` takes no limit
        return Path(self.path).open("rb")

    @property
    def extent(self) -> int:
        """The bytes that its lines have a place in: those of the file, or those that a table counts as."""
        return self.size if self.table is None else self.table.extent

    @property
    def by_row(self) -> bool:
        """Whether a line has a place that does not follow from the lines before it."""
        return self.table is not None or any(self.columns)

    def row(self, place: int) -> int:
        """What names a line to people: the offset of its first byte, or the number of its row."""
        return place if self.table is None else self.table.row(place)

    def rows(self, opened: BinaryIO, piece: Range, limit: int) -> Iterator[tuple[int, bytes | Long | Spoiled]]:
        """The lines in a range, each with its place; a table opens the file itself."""
        if self.table is None:
            lines = lines_of(opened, piece, limit, self.size)
            return renamed(lines, self.columns) if any(self.columns) else lines
        from trueup.batch.tables.reading import lines_of_table  # not needed for lines

        return lines_of_table(self.table, f"{self.path} {self.mark}", self.open, piece, limit, self.columns)


PLAIN = Form()


def open_sources(
    given: list[str], spool: Path, stdin: BinaryIO | None = None, form: Form = PLAIN, *, grow: bool = False
) -> list[Source]:  # fmt: skip
    """The sources behind names, in order; what must be spooled is spooled, or found spooled already.

    With `grow`, a stream that was spooled may give more at its end.
    """
    if given.count(STDIN) > 1:
        raise Unreadable("standard input ('-') can be named once")
    files = [file for path in given for file in _files(path)]
    sources = []
    for index, ((path, _), name) in enumerate(zip(files, _names(files), strict=True)):
        target = spool / f"{index:04d}.jsonl"
        try:
            sources.append(_with_table(_source(path, name, target, stdin, grow=grow), target, form))
        except BadTable as error:
            raise Unreadable(f"{name}: {error}") from None
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


def _files(given: str) -> list[File]:
    """What a name stands for: itself, or the files in a folder."""
    try:
        found = None if given == STDIN else files_of(given, _fsspec)
    except BadFolder as error:
        raise Unreadable(f"{shown(given)}: {error}") from None
    except Unreadable:
        raise
    except Exception as error:
        if "://" not in given:
            raise
        raise Unreadable(f"{shown(given)}: cannot be read: {type(error).__name__}") from None  # as below
    return [File(given, shown(given).rstrip("/").rpartition("/")[2] or given)] if found is None else found


def _with_table(source: Source, target: Path, form: Form) -> Source:
    """A source with what is in it, where that is not lines."""
    with source.open() as opened:
        head = opened.read(8)
    kind = kind_of(source.name, head)
    if not kind:
        return source._replace(columns=form.columns)
    from trueup.batch.tables.reading import open_table  # not needed for lines

    if kind == "csv":
        source = _in_utf8(source, head, target, form.encoding)
    table = open_table(kind, source.open, form.columns, form.max_line)
    return source._replace(table=table, columns=form.columns)


def _in_utf8(source: Source, head: bytes, target: Path, encoding: str) -> Source:
    """A CSV file in UTF-8: itself, or a copy in the run's folder."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if codecs.lookup(encoding).name == "utf-8":
        return source
    copy = target.with_suffix(".csv")
    mark = source.mark if source.mark.startswith("spool ") else f"spool {source.mark}"
    try:
        _keep(copy, f"{mark} {encoding}", lambda: _decoded(source.open(), encoding))
    except UnicodeError as error:
        raise BadTable(f"not in {encoding}: {error}") from None
    return source._replace(path=str(copy), size=copy.stat().st_size, mark=mark)


def _decoded(opened: BinaryIO, encoding: str) -> Iterator[bytes]:
    with opened, io.TextIOWrapper(opened, encoding, newline="") as text:
        while chunk := text.read(_CHUNK):
            yield chunk.encode("utf-8")


def _keep(target: Path, mark: str, chunks: Callable[[], Iterator[bytes]]) -> None:
    """Spool what is not there yet, or is of another file."""
    note = target.with_suffix(f"{target.suffix}.mark")
    if not (target.exists() and note.exists() and note.read_text("utf-8") == mark):
        _spool(chunks(), target)
        note.write_text(mark, "utf-8")


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


def has_shrunk(source: Source) -> bool:
    """Whether a file is gone, or shorter than it was when the run began."""
    try:
        return _size(source.path) < source.size
    except OSError:
        return True


def shown(path: str) -> str:
    """A path or an address without the password that may be in it.

    >>> shown("s3://key:secret@bucket/a.jsonl?sig=1")
    's3://bucket/a.jsonl'
    """
    clean = _PASSWORD.sub("//", path)
    return clean.partition("?")[0] if "://" in clean else clean


def _source(path: str, name: str, target: Path, stdin: BinaryIO | None, *, grow: bool) -> Source:
    if path == STDIN:
        return _from_stream(target, stdin, "stdin", grow=grow)
    if "://" not in path and not Path(path).is_dir() and not stat.S_ISREG(Path(path).stat().st_mode):
        with Path(path).open("rb") as pipe:
            return _from_stream(target, pipe, name, grow=grow)
    packed = _packing(path)
    if not packed and not path.startswith(_WHOLE):
        mark = _mark(path)
        return Source(path, name, _size(path), mark)
    mark = f"spool {_mark(path)}"
    _keep(target, mark, lambda: _unpacked(path, packed))
    return Source(str(target), name, target.stat().st_size, mark)


def _from_stream(target: Path, stream: BinaryIO | None, name: str, *, grow: bool) -> Source:
    """What can be read once; of a run under way, the same again, or nothing where it was all read before."""
    if not target.exists():
        if stream is None:
            raise Unreadable(f"{name} was not read to its end before; pipe it in again")
        _spool(_chunks(stream), target)
    elif stream is not None:
        try:
            if grow:
                _spool(_grown(stream, target), target)
            else:
                _stay_same(stream, target)
        except _Differs as error:
            raise Unreadable(f"{name} {error} choose another --out, or --fresh") from None
    digest = hashlib.blake2b(digest_size=16)
    with target.open("rb") as opened:
        for chunk in _chunks(opened):
            digest.update(chunk)
    return Source(str(target), name, target.stat().st_size, f"spool {digest.hexdigest()}")


class _Differs(ValueError):
    """A stream does not give what was spooled: says how."""


def _stay_same(stream: BinaryIO, target: Path) -> None:
    """Make sure that a stream gives what was spooled; nothing at all counts as the same."""
    size = sum(map(len, _grown(stream, target)))
    if size > target.stat().st_size:
        raise _Differs("gives more than this run began with; use --grow to sift that too, or")


def _grown(stream: BinaryIO, target: Path) -> Iterator[bytes]:
    """What a stream gives: what was spooled, and more at its end; nothing at all counts as what was spooled."""
    with target.open("rb") as kept:
        size = 0
        for chunk in _chunks(stream):
            if not chunk.startswith(kept.read(len(chunk))):
                raise _Differs("is not what this run began with;")
            size += len(chunk)
            yield chunk
        for chunk in _chunks(kept):
            if size:
                raise _Differs("is not what this run began with;")
            yield chunk


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
            raise Unreadable(f"{shown(path)}: .zst needs a package: {install('sift')}") from None
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
        raise Unreadable(f"{shown(path)}: addresses need a package: {install('sift')}") from None
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


def _names(files: list[File]) -> list[str]:
    """Short names where they tell the files apart, else as given, never with a password."""
    short = Counter(file.name for file in files)
    return [writable(name if short[name] == 1 else shown(path)) for path, name in files]
