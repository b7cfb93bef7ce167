"""Opens the inputs that a user names as files that can be read from any position. Streams and packed files are copied first.

Plain files, and addresses of file systems that fsspec supports, are read where they are. `.gz`, `.zst`, standard input, CSV in
another encoding, and HTTP (many servers only send whole files) are written once into the run's folder. A folder or a pattern
means the files in it. No name that this module returns contains a password.
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
from trueup.batch.input.folders import BadFolder, FolderFile, files_of
from trueup.batch.input.ranges import LongLine, Range, UnreadableRow, lines_of
from trueup.batch.tables.kinds import kind_of
from trueup.batch.tables.rows import UnitColumns, renamed
from trueup.batch.tables.table import BadTable, SourceTable
from trueup.verdict.extras import install

_CHUNK = 1 << 20
_EDGE = 65_536
STDIN = "-"
_WHOLE = ("http://", "https://")  # read once, from the first byte to the last
_PASSWORD = re.compile(r"//[^/@\s]*@")


class UnreadableSource(ValueError):
    """A source cannot be read. The message says which and why."""


class InputForm(NamedTuple):
    """How files are read: the names of columns in tables, the encoding of CSV files, and the maximum length of a line."""

    columns: UnitColumns = UnitColumns()
    encoding: str = "utf-8"
    max_line: int = 8 << 20


class _AtAddress(io.RawIOBase):
    """A file at an address. Its `OSError`s get a number: without one they would be taken for damage in the file."""

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


class InputSource(NamedTuple):
    """One file: its path, its name, its size, a mark that identifies it, and its table if it does not consist of lines."""

    path: str
    name: str
    size: int
    mark: str
    table: SourceTable | None = None
    columns: UnitColumns = UnitColumns()

    def open(self) -> BinaryIO:
        """Open it for reading from any position."""
        if "://" in self.path:
            opened = _AtAddress(_fsspec(self.path).open(self.path, "rb"))
            return cast("BinaryIO", io.BufferedReader(opened, _CHUNK))  # its own `readline` takes no limit
        return Path(self.path).open("rb")

    @property
    def extent(self) -> int:
        """The number of bytes that places of lines refer to: the bytes of the file, or the size that a table counts as."""
        return self.size if self.table is None else self.table.extent

    @property
    def by_row(self) -> bool:
        """Whether a line has a place that does not follow from the lines before it."""
        return self.table is not None or any(self.columns)

    def row(self, place: int) -> int:
        """The name of a line in messages: the offset of its first byte, or the number of its row."""
        return place if self.table is None else self.table.row(place)

    def rows(
        self, opened: BinaryIO, piece: Range, limit: int
    ) -> Iterator[tuple[int, bytes | LongLine | UnreadableRow]]:
        """The lines in a range, each with its place. A table opens the file itself."""
        if self.table is None:
            lines = lines_of(opened, piece, limit, self.size)
            return renamed(lines, self.columns) if any(self.columns) else lines
        from trueup.batch.tables.reading import lines_of_table  # not needed for lines

        return lines_of_table(self.table, f"{self.path} {self.mark}", self.open, piece, limit, self.columns)


PLAIN = InputForm()


def open_sources(
    given: list[str], spool: Path, stdin: BinaryIO | None = None, form: InputForm = PLAIN, *, grow: bool = False
) -> list[InputSource]:  # fmt: skip
    """The sources for these names, in order. Copies are made where needed, unless an earlier start made them.

    With `grow`, a stream that was copied before may have more at its end.
    """
    if given.count(STDIN) > 1:
        raise UnreadableSource("standard input ('-') can only be named once")
    files = [file for path in given for file in _files(path)]
    sources = []
    for index, ((path, _), name) in enumerate(zip(files, _names(files), strict=True)):
        target = spool / f"{index:04d}.jsonl"
        try:
            sources.append(_with_table(_source(path, name, target, stdin, grow=grow), target, form))
        except BadTable as error:
            raise UnreadableSource(f"{name}: {error}") from None
        except FileNotFoundError as error:
            raise UnreadableSource(f"{shown(path)}: {_absent(error)}") from None
        except IsADirectoryError:
            raise UnreadableSource(f"{shown(path)}: that is a directory; name its files") from None
        except (OSError, EOFError, zlib.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            where = name if path == STDIN else shown(path)
            raise UnreadableSource(f"{where}: cannot be read: {shown(reason)}") from None
        except UnreadableSource:
            raise
        except Exception as error:
            if "://" not in path:
                raise
            raise UnreadableSource(
                f"{shown(path)}: cannot be read: {type(error).__name__}"
            ) from None  # its text may contain a key
    return sources


def _files(given: str) -> list[FolderFile]:
    """The paths that a name means: itself, or the files in a folder."""
    try:
        found = None if given == STDIN else files_of(given, _fsspec)
    except BadFolder as error:
        raise UnreadableSource(f"{shown(given)}: {error}") from None
    except UnreadableSource:
        raise
    except Exception as error:
        if "://" not in given:
            raise
        raise UnreadableSource(f"{shown(given)}: cannot be read: {type(error).__name__}") from None  # as below
    return [FolderFile(given, shown(given).rstrip("/").rpartition("/")[2] or given)] if found is None else found


def _with_table(source: InputSource, target: Path, form: InputForm) -> InputSource:
    """A source with its table, if it does not consist of lines."""
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


def _in_utf8(source: InputSource, head: bytes, target: Path, encoding: str) -> InputSource:
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
    """Write the copy if there is none yet, or if it is of another file."""
    note = target.with_suffix(f"{target.suffix}.mark")
    if not (target.exists() and note.exists() and note.read_text("utf-8") == mark):
        _spool(chunks(), target)
        note.write_text(mark, "utf-8")


def _absent(error: FileNotFoundError) -> str:
    """The reason why there is no file. If fsspec finds none at an address, the server may also have refused, or be unreachable."""
    cause = error.__cause__ or error.__context__
    status = getattr(cause, "status", None)
    if isinstance(status, int) and status not in (404, 410):
        return f"cannot be read: the server answered {status}"
    if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
        return "cannot be read: the server cannot be reached"
    return "there is no such file"


def changed(source: InputSource) -> bool:
    """Whether a file that is read where it is has changed since the run began."""
    try:
        return _mark(source.path) != source.mark if not source.mark.startswith("spool ") else False
    except OSError:
        return True


def has_shrunk(source: InputSource) -> bool:
    """Whether a file is gone, or shorter than when the run began."""
    try:
        return _size(source.path) < source.size
    except OSError:
        return True


def shown(path: str) -> str:
    """A path or an address without its password.

    >>> shown("s3://key:secret@bucket/a.jsonl?sig=1")
    's3://bucket/a.jsonl'
    """
    clean = _PASSWORD.sub("//", path)
    return clean.partition("?")[0] if "://" in clean else clean


def _source(path: str, name: str, target: Path, stdin: BinaryIO | None, *, grow: bool) -> InputSource:
    if path == STDIN:
        return _from_stream(target, stdin, "stdin", grow=grow)
    if "://" not in path and not Path(path).is_dir() and not stat.S_ISREG(Path(path).stat().st_mode):
        with Path(path).open("rb") as pipe:
            return _from_stream(target, pipe, name, grow=grow)
    packed = _packing(path)
    if not packed and not path.startswith(_WHOLE):
        mark = _mark(path)
        return InputSource(path, name, _size(path), mark)
    mark = f"spool {_mark(path)}"
    _keep(target, mark, lambda: _unpacked(path, packed))
    return InputSource(str(target), name, target.stat().st_size, mark)


def _from_stream(target: Path, stream: BinaryIO | None, name: str, *, grow: bool) -> InputSource:
    """A stream that can only be read once. When a run resumes, it must give the same bytes again, or nothing if all of it was
    read before.
    """
    if not target.exists():
        if stream is None:
            raise UnreadableSource(f"{name} was not read to its end the last time; pipe it in again")
        _spool(_chunks(stream), target)
    elif stream is not None:
        try:
            if grow:
                _spool(_grown(stream, target), target)
            else:
                _stay_same(stream, target)
        except _Differs as error:
            raise UnreadableSource(f"{name} {error} choose another --out, or use --fresh to start over") from None
    digest = hashlib.blake2b(digest_size=16)
    with target.open("rb") as opened:
        for chunk in _chunks(opened):
            digest.update(chunk)
    return InputSource(str(target), name, target.stat().st_size, f"spool {digest.hexdigest()}")


class _Differs(ValueError):
    """A stream does not give the bytes that were copied. The message says how."""


def _stay_same(stream: BinaryIO, target: Path) -> None:
    """Make sure that a stream gives the bytes that were copied; nothing at all counts as the same."""
    size = sum(map(len, _grown(stream, target)))
    if size > target.stat().st_size:
        raise _Differs("has more lines than when this run started; use --grow to sift those too, or")


def _grown(stream: BinaryIO, target: Path) -> Iterator[bytes]:
    """The bytes of a stream: the copied ones, and more at its end. Nothing at all counts as the copied ones."""
    with target.open("rb") as kept:
        size = 0
        for chunk in _chunks(stream):
            if not chunk.startswith(kept.read(len(chunk))):
                raise _Differs("differs from the input that this run started with;")
            size += len(chunk)
            yield chunk
        for chunk in _chunks(kept):
            if size:
                raise _Differs("differs from the input that this run started with;")
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
            raise UnreadableSource(f"{shown(path)}: .zst needs a package: {install('sift')}") from None
        try:
            with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as opened:
                yield from _chunks(cast("BinaryIO", opened))
        except zstandard.ZstdError as error:
            raise UnreadableSource(f"{shown(path)}: cannot be read: {error}") from None


def _raw(path: str) -> BinaryIO:
    if path.startswith(_WHOLE):
        return cast("BinaryIO", _fsspec(path).open(path, "rb", block_size=0))  # a stream: no part is requested
    return cast("BinaryIO", _fsspec(path).open(path, "rb")) if "://" in path else Path(path).open("rb")


def _fsspec(path: str) -> Any:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise UnreadableSource(f"{shown(path)}: addresses need a package: {install('sift')}") from None
    try:
        return fsspec.core.url_to_fs(path)[0]
    except (ImportError, ValueError) as error:
        raise UnreadableSource(f"{shown(path)}: {shown(str(error))}") from None


def _size(path: str) -> int:
    return int(_fsspec(path).size(path)) if "://" in path else Path(path).stat().st_size


def _mark(path: str) -> str:
    """Identifies a file and its state: size, time, first and last bytes."""
    if "://" in path:
        return hashlib.blake2b(repr(_fsspec(path).ukey(path)).encode(), digest_size=16).hexdigest()
    with Path(path).open("rb") as opened:
        about = os.fstat(opened.fileno())
        digest = hashlib.blake2b(f"{about.st_size} {about.st_mtime_ns} ".encode(), digest_size=16)
        digest.update(opened.read(_EDGE))
        opened.seek(max(0, about.st_size - _EDGE))
        digest.update(opened.read(_EDGE))
    return digest.hexdigest()


def _names(files: list[FolderFile]) -> list[str]:
    """Short names if they are distinct, else the full ones, never with a password."""
    short = Counter(file.name for file in files)
    return [writable(name if short[name] == 1 else shown(path)) for path, name in files]
