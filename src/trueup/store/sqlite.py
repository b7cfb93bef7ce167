"""SQLite as a store: write-ahead log, every commit on disk before it is acknowledged.

Readers never wait for the writer. Writers of several processes take turns; one that waits too long gets StoreBusy.
"""

import contextlib
import errno
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from trueup.store.errors import NotStorable, StoreBusy, StoreError, StoreFull, StoreUnavailable
from trueup.store.session import Clock, Row

PATIENCE = 30.0
_LARGEST_CACHE = 64 << 20
_ROWS = 64  # per statement
_WAITING = "PRAGMA synchronous = FULL"  # a commit waits for the disk
# a commit reaches the system, and the disk with the next one that waits for it
_TRUSTING = "PRAGMA synchronous = NORMAL"
_BINDING = "Error binding parameter"  # a value of a type that no cell takes


def machine_clock() -> int:
    return time.time_ns() // 1000


@lru_cache(256)
def _insertion(table: str, columns: int, rows: int, tail: str) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)} {tail}"  # noqa: S608 - our own tables


class SqliteSession:
    """A connection to the file."""

    def __init__(self, path: Path, clock: Clock, *, writing: bool) -> None:
        self._clock = clock
        self._lasting = True
        self.books: Any = None
        self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(writing=writing)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, *, writing: bool) -> None:
        self.run("PRAGMA busy_timeout = 30000")
        if writing:
            self._begin_wal()
            self.run(_WAITING)
            self.run(f"PRAGMA journal_size_limit = {_LARGEST_CACHE}")
        else:
            self.run("PRAGMA query_only = 1")

    def _begin_wal(self) -> None:
        """Switch to the write-ahead log; SQLite itself does not wait if two processes do so together."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.run("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._db.execute(sql, values).fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._db.executemany(sql, rows)

    def insert(self, table: str, rows: Sequence[Sequence[Any]], tail: str = "") -> None:
        """Split rows by powers of two: each size is one statement, prepared once and run without a break."""
        at, size = 0, _ROWS
        while at < len(rows):
            while size > len(rows) - at:
                size //= 2
            some = rows[at : at + size]
            self._db.execute(_insertion(table, len(some[0]), size, tail), list(chain.from_iterable(some)))
            at += size

    def stream(self, sql: str, values: Sequence[Any] = (), size: int = 500) -> Iterator[Row]:
        cursor = self._db.execute(sql, values)
        while rows := cursor.fetchmany(size):
            yield from rows

    def begin(self, locks: Iterable[str] = (), *, lasting: bool = True) -> None:  # noqa: ARG002 - one writer at a time anyway
        if lasting is not self._lasting:
            self._db.execute(_WAITING if lasting else _TRUSTING)
            self._lasting = lasting
        self._db.execute("BEGIN IMMEDIATE")

    def snapshot(self) -> None:
        self._db.execute("BEGIN")

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def now(self) -> int:
        return self._clock()

    def shred(self, *, log: bool = False) -> bool:
        self.run("PRAGMA secure_delete = ON")
        if not log:
            return True
        self.run("PRAGMA busy_timeout = 500")  # writers wait as long as this takes
        return bool(self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0)

    def close(self) -> None:
        self._db.close()


class Sqlite:
    """A SQLite file."""

    blob = "BLOB"
    by_tenant = False

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path
        self.where = str(path)
        self._clock = clock or machine_clock

    def connect(self, *, writing: bool = False) -> SqliteSession:
        if not writing and not self.path.exists():
            raise StoreUnavailable(f"{self.where}: there is no such store yet")
        if writing and not self.path.exists():
            with contextlib.suppress(OSError):  # SQLite's own message is better
                self.path.touch(mode=0o600)  # other users of this machine must not read it
        return SqliteSession(self.path, self._clock, writing=writing)

    def explain(self, error: BaseException) -> StoreError | None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return self._full()
        if not isinstance(error, sqlite3.Error):
            return None
        text = str(error)
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or "disk is full" in text:
            return self._full()
        if code == sqlite3.SQLITE_IOERR:  # a write-ahead log that cannot grow is reported as an I/O error
            return StoreFull(f"{self.where}: the disk cannot be written to ({text}); free some space")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreBusy(f"{self.where}: another process has held the database for {PATIENCE:.0f} s; try again")
        if code == sqlite3.SQLITE_CANTOPEN:
            return StoreUnavailable(
                f"{self.where}: the file cannot be opened ({text}); check the folder and its permissions"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return StoreUnavailable(
                f"{self.where}: the file cannot be written ({text}); check the folder and its permissions"
            )
        if isinstance(error, sqlite3.DataError | sqlite3.IntegrityError) or _BINDING in text:
            return NotStorable(f"{self.where}: cannot store this value: {text}")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return StoreUnavailable(f"{self.where}: the file is not a store ({text}); give another path")
        return StoreError(f"{self.where}: {text}")

    def broken(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.ProgrammingError) and _BINDING not in str(error)

    def _full(self) -> StoreFull:
        return StoreFull(f"{self.where}: the disk is full; free some space and try again, nothing written is lost")
