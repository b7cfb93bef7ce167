"""Back up a store into one checked file, and restore it into SQLite or PostgreSQL.

A backup is a SQLite file with the tables of a store at one instant, whatever the database. It gets its name when it is
complete: an interrupted backup leaves a hidden `.part` file, which `restore` refuses. A restore is one transaction, so it
succeeds completely or changes nothing.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from trueup.store.errors import MICROS, StoreError, StoreUnavailable
from trueup.store.open import backend_of
from trueup.store.quota import Quota
from trueup.store.schema import VERSIONS, migrate
from trueup.store.session import Backend, Row, Session
from trueup.store.sqlite import Sqlite
from trueup.store.store import Store

T = TypeVar("T")
_ROWS = 500  # rows per statement
_MARK = "backup"  # the row of `meta` that only a complete backup has
_KEPT = ("version", _MARK)  # rows of `meta` about the file, not about its content


class Copied(NamedTuple):
    """The result of a backup or a restore."""

    rows: dict[str, int]
    """The number of rows of each table."""
    made: str
    """When the backup was made, as ISO 8601."""
    faults: list[str]
    """Where the quota disagrees with its ledger; empty if they agree."""


def back_up(store: Store, path: Path, *, force: bool = False) -> Copied:
    """Write the `store`, as it is at this instant, to a file at `path`. Others may keep writing to the store.

    An existing file is replaced only with `force`, and only after the new one has been checked.
    """
    if path.exists() and not force:
        raise StoreError(f"{path}: there is a file already; give another name, or --force to replace it")
    if path.resolve() == Path(store.where).resolve():
        raise StoreError(f"{path}: that is the store itself; give another file")
    store.flush()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.touch(mode=0o600, exist_ok=True)  # replies are private
        with _explained(Sqlite(part)):
            made = _fill(store, part)
            copied = _checked(part, made)
            _mark(part, made)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)  # noqa: PTH105 - in one step, over what was there
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        for name in ("", "-journal", "-wal", "-shm"):
            part.with_name(part.name + name).unlink(missing_ok=True)
    return copied


def restore(file: Path, url: str, *, force: bool = False) -> Copied:
    """Restore the backup `file` into the store at `url`, and audit the result.

    A store that is not empty is refused, unless `force` allows replacing everything in it.
    """
    made = _made(file)
    with _newest(file) as source, contextlib.closing(source.connect()) as theirs:
        backend = backend_of(url)
        with _explained(backend), contextlib.closing(backend.connect(writing=True)) as session:
            migrate(backend, session)
            session.begin(["trueup schema"])
            try:
                rows = _replace(theirs, session, backend, force=force)
                faults = _audit(session)
                session.commit()
            except BaseException:
                session.rollback()
                raise
    return Copied(rows, made, faults)


def tables(session: Session, backend: Backend) -> dict[str, list[str]]:
    """The tables of a store with their columns, in a fixed order, without `meta`, which is about the store itself."""
    if not isinstance(backend, Sqlite):
        return _expected()  # other applications may share the database
    names = session.run(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    found = {row[0]: [info[1] for info in session.run(f"PRAGMA table_info({row[0]})")] for row in names}
    found.pop("meta", None)
    return found


def _expected() -> dict[str, list[str]]:
    """The tables of a store of this version."""
    with tempfile.TemporaryDirectory(prefix="trueup-") as folder:
        backend = Sqlite(Path(folder) / "empty.db")
        with contextlib.closing(backend.connect(writing=True)) as session:
            migrate(backend, session)
            return tables(session, backend)


def _fill(store: Store, part: Path) -> str:
    """Copy a store into a file; return the time of the copy."""
    backend = store.backend
    if isinstance(backend, Sqlite):
        with contextlib.closing(sqlite3.connect(backend.path)) as source:
            source.execute("VACUUM INTO ?", (str(part),))  # one snapshot, without deleted rows
    else:
        store.read(lambda theirs: _copy_out(theirs, backend, part))
    return datetime.fromtimestamp(store.read(lambda session: session.now()) / MICROS, UTC).isoformat(timespec="seconds")


def _mark(part: Path, made: str) -> None:
    """Mark a file as complete."""
    with contextlib.closing(sqlite3.connect(part)) as target, target:
        target.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_MARK, made))


def _copy_out(theirs: Session, backend: Backend, part: Path) -> None:
    target = Sqlite(part)
    with contextlib.closing(target.connect(writing=True)) as session:
        migrate(target, session)
        session.begin()
        _copy(theirs, session, tables(theirs, backend))
        session.commit()
        session.run("PRAGMA journal_mode = DELETE")  # leave one file only


def _replace(theirs: Session, session: Session, backend: Backend, *, force: bool) -> dict[str, int]:
    known = tables(session, backend)
    if backend.by_tenant:
        session.run(f"LOCK TABLE {', '.join(known)} IN ACCESS EXCLUSIVE MODE")  # block other writers
    for table in known:
        if not force and session.run(f"SELECT 1 FROM {table} LIMIT 1"):  # noqa: S608 - our own tables
            said = f"{backend.where}: there is data in this store ({table}); give another one, or --force to replace all of it"
            raise StoreError(said)
        session.run(f"DELETE FROM {table}")  # noqa: S608
    return _copy(theirs, session, known)


def _copy(theirs: Session, session: Session, known: dict[str, list[str]]) -> dict[str, int]:
    """Copy the rows of all tables; return the number of rows of each."""
    counts = {}
    for table, columns in known.items():
        listed = ", ".join(columns)
        counts[table] = 0
        for rows in _groups(theirs.stream(f"SELECT {listed} FROM {table}")):  # noqa: S608 - our own tables
            session.insert(f"{table} ({listed})", rows)
            counts[table] += len(rows)
    for name, value in theirs.run("SELECT name, value FROM meta"):
        if name not in _KEPT:
            session.run(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
            )
    return counts


def _groups(rows: Iterator[Row]) -> Iterator[Sequence[Row]]:
    group: list[Row] = []
    for row in rows:
        group.append(tuple(bytes(cell) if isinstance(cell, memoryview) else cell for cell in row))
        if len(group) == _ROWS:
            yield group
            group = []
    if group:
        yield group


def _checked(part: Path, made: str) -> Copied:
    """Describe a file that was just written; refuse a damaged one."""
    backend = Sqlite(part)
    with contextlib.closing(backend.connect()) as session:
        _refuse_damaged(session, part)
        rows = {table: int(session.run(f"SELECT count(*) FROM {table}")[0][0]) for table in tables(session, backend)}  # noqa: S608
        return Copied(rows, made, _audit(session))


def _made(file: Path) -> str:
    """When a backup was made. Refuses a file that is not a backup, or is incomplete or damaged."""
    if not file.is_file():
        raise StoreUnavailable(f"{file}: there is no such file")
    backend = Sqlite(file)
    said = f"{file}: this is not a whole backup; `trueup store backup --store {file} --to FILE` makes one of a store"
    with _explained(backend), contextlib.closing(backend.connect()) as session:
        _refuse_damaged(session, file)
        if not session.run("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            raise StoreError(said)
        about: dict[str, str] = dict(session.run("SELECT name, value FROM meta"))
    if _MARK not in about:
        raise StoreError(said)
    if int(about["version"]) > len(VERSIONS):
        raise StoreError(
            f"{file}: made by a newer trueup (tables of version {about['version']}, known here: {len(VERSIONS)}); upgrade trueup"
        )
    return str(about[_MARK])


@contextlib.contextmanager
def _newest(file: Path) -> Iterator[Sqlite]:
    """The backup with tables of the newest version; an older backup is migrated in a copy."""
    backend = Sqlite(file)
    with contextlib.closing(backend.connect()) as session:
        version = int(session.run("SELECT value FROM meta WHERE name = 'version'")[0][0])
    if version == len(VERSIONS):
        yield backend
        return
    with tempfile.TemporaryDirectory(prefix="trueup-") as folder:
        copy = Sqlite(Path(folder) / "copy.db")
        shutil.copyfile(file, copy.path)
        with contextlib.closing(copy.connect(writing=True)) as session:
            migrate(copy, session)
        yield copy


def _refuse_damaged(session: Session, file: Path) -> None:
    found = session.run("PRAGMA integrity_check(1)")
    if found != [("ok",)]:
        raise StoreError(f"{file}: the file is damaged ({found[0][0]}); take another one")


def _audit(session: Session) -> list[str]:
    class Reading:
        def __call__(self, work: Callable[[Session], T], /) -> T:
            return work(session)

    return Quota(None, Reading()).audit()  # type: ignore[arg-type]  # an audit writes nothing


@contextlib.contextmanager
def _explained(backend: Backend) -> Iterator[None]:
    """Convert a driver's error into one of ours."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        told = backend.explain(error)
        if told is None:
            raise
        raise told from None
